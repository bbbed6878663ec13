"""Looking around: from one view of a board to enough of them to plan more, of a rig of which nothing is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.camera_info import write_camera_info
from tendon.calibration.motion.guide import clear_of
from tendon.calibration.motion.looking import MOST_LOOKS, next_look, tell_enough
from tendon.calibration.motion.plan import LIMIT_MARGIN, plan_more, views_at
from tendon.calibration.motion.taking import Pictures, look_around
from tendon.calibration.rig.parts import RigBoard, View
from tendon.calibration.session import Session, SessionBoard, SessionCamera, Setup
from tendon.control.clearance.model import Clearance
from tendon.core.errors import CalibrationError, StoppedError
from tendon.core.types import Array, Observation
from tendon.robots.environment import load_environment
from tests.calibration.rigs import BOARD, CAMERA, HAND, HOME, MODEL, PANDA, KnownRig, drawn, known_rig, true_state
from tests.laws import law_settings

CLEAR = clear_of(Clearance(PANDA, load_environment("tabletop")))
LOWER, UPPER = PANDA.vector("lower"), PANDA.vector("upper")


def first_view(known: KnownRig) -> list[View]:
    """From home, where the board is in the middle of the picture and not all in view in no rig."""
    return views_at(true_state(known), HOME, "0")


@law_settings(4)
@given(seed=st.integers(0, 10_000))
def test_looks_are_inside_limits_and_clear_and_lead_to_a_plan(seed: int) -> None:
    """Whatever the camera's place and turn in the hand are, of which it is told nothing."""
    known, rng = known_rig(seed, count=1), np.random.default_rng(seed)
    state, views = true_state(known), first_view(known)
    assert views
    margin = LIMIT_MARGIN * (UPPER - LOWER)
    for count in range(MOST_LOOKS):
        if tell_enough(known.rig, views):
            break
        joints = next_look(known.rig, views, CLEAR, rng)
        assert CLEAR(joints) and (joints >= LOWER + margin)[:7].all() and (joints <= UPPER - margin)[:7].all()
        np.testing.assert_array_equal(joints[7:], HOME[7:])
        views += views_at(state, joints, str(count + 1))
    assert tell_enough(known.rig, views)
    assert len(views) > 0.6 * count, "most looks show the board"
    assert len(plan_more(known.rig, views, CLEAR, 4)) == 4


def test_one_view_and_views_that_do_not_turn_tell_nothing() -> None:
    known = known_rig(0, count=20)
    assert tell_enough(known.rig, known.views)
    assert not tell_enough(known.rig, []) and not tell_enough(known.rig, known.views[:1])
    assert not tell_enough(known.rig, known.views[:1] * 20)


def test_a_board_that_does_not_move_before_its_camera_is_no_beginning() -> None:
    known = known_rig(0, count=3)
    still = replace(known.rig, boards=(RigBoard(board=BOARD, link=HAND),))
    with pytest.raises(CalibrationError, match="no camera has seen a board yet that moves before it"):
        next_look(still, known.views, CLEAR, np.random.default_rng(0))


def test_no_room_to_turn_is_said_with_the_fix() -> None:
    known = known_rig(0, count=1)
    with pytest.raises(CalibrationError, match=r"cannot turn board board before camera wrist.*lead it to where"):
        next_look(known.rig, first_view(known), lambda _: False, np.random.default_rng(0))
    (view,) = first_view(known)
    edge = Detection(ids=view.found.ids, pixels=view.found.pixels - view.found.pixels.min(), width=640, height=480)
    with pytest.raises(CalibrationError, match="keep it in the picture"):
        next_look(known.rig, [replace(view, found=edge)], CLEAR, np.random.default_rng(0))


class Looking:
    """A robot that is at once where it is sent; its camera sees a drawn board, where the rig has it."""

    def __init__(self, known: KnownRig, stops_at: int = 0, blind: bool = False) -> None:
        self._state, self._at, self._stops_at, self._blind = true_state(known), HOME, stops_at, blind
        self.went = 0
        scale = 8000.0
        quiet = 0.5 * BOARD.square_m
        self._paper = drawn(BOARD, scale)
        self._to_board = np.array([[1 / scale, 0, -quiet], [0, 1 / scale, -quiet], [0, 0, 1.0]])

    def joints(self) -> Observation:
        return Observation(stamp_ns=self.went, joint_position=self._at, joint_velocity=np.zeros(len(HOME)))

    def go(self, goal: Array) -> Observation:
        self.went += 1
        if self.went == self._stops_at:
            raise StoppedError("somebody pressed stop")
        self._at = goal
        return self.joints()

    def pictures(self) -> Pictures:
        picture = np.full((480, 640), 120, np.uint8)
        if not self._blind:
            (hand, _), *_ = self._state.chain.poses(self._at - self._state.zeros, (HAND,))
            seen = (hand @ self._state.cameras[CAMERA]).inverse @ self._state.boards["board"]
            corners = np.array([[0.0, 0.0], [0.2, 0.0], [0.2, 0.15], [0.0, 0.15]])
            pixels, _, _ = self._state.models[CAMERA].project(seen.apply(np.column_stack([corners, np.zeros(4)])))
            to_pixels = cv2.getPerspectiveTransform(corners.astype(np.float32), pixels.astype(np.float32))
            size, border = (640, 480), cv2.BORDER_CONSTANT
            picture = cv2.warpPerspective(
                self._paper, to_pixels @ self._to_board, size, flags=cv2.INTER_AREA, borderMode=border, borderValue=120
            )
        return {CAMERA: (self.went, np.stack([picture] * 3, axis=2))}


def new_session(folder: Path) -> Session:
    write_camera_info(MODEL, CAMERA, folder / "wrist.yaml")
    cameras = {CAMERA: SessionCamera(link=HAND, camera_info="wrist.yaml")}
    return Session(folder, Setup(robot="panda", cameras=cameras, boards={"board": SessionBoard(link="panda_link0")}))


def test_it_looks_around_until_it_can_plan_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    known, session, said = known_rig(3, count=1), new_session(tmp_path), list[str]()
    rig = session.rig(PANDA)
    with pytest.raises(StoppedError):
        look_around(Looking(known, stops_at=3), session, rig, CLEAR, 0, said.append)
    assert len(said) == 2 and said[0] == "look 1: camera wrist sees board board"
    views = look_around(Looking(known), Session(tmp_path), rig, CLEAR, 0, said.append)
    assert tell_enough(rig, views) and len(views) == len(list(session.shots())) <= MOST_LOOKS + 2
    robot = Looking(known)
    assert len(look_around(robot, session, rig, CLEAR, 0, said.append)) == len(views) and robot.went == 0


def test_a_robot_from_which_no_board_is_seen_does_not_move_and_keeps_no_picture(tmp_path: Path) -> None:
    session, robot = new_session(tmp_path), Looking(known_rig(3, count=1), blind=True)
    with pytest.raises(CalibrationError, match=r"no camera has seen a board yet.*board \(7 x 5\).*calibrate capture"):
        look_around(robot, session, session.rig(PANDA), CLEAR, 0, print)
    np.testing.assert_array_equal(robot.joints().joint_position, HOME)
    assert not list(session.shots())
