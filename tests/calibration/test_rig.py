"""The joint refinement: known answers, laws, and what it says of views that do not tell."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tendon.calibration.boards.board import Board
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.closed_form import guess
from tendon.calibration.rig.diagnosis import diagnose, zeros_too_far
from tendon.calibration.rig.parts import RigBoard, View
from tendon.calibration.rig.solve import solve
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import Pose, exp, mm_and_deg
from tendon.calibration.words import describe_place, within
from tendon.core.errors import CalibrationError, ConfigError
from tendon.core.types import Array
from tendon.demo.calibration.pair import draw_pair, pair_views
from tests.calibration.rigs import BOARD, CAMERA, HAND, HOME, JOINTS, PANDA, known_rig, without_zeros


def test_exact_views_give_the_truth_to_a_micrometre() -> None:
    known = known_rig(noise=0.0, wrong=0.0)
    found = solve(known.rig, known.views)
    change = found.state.cameras[CAMERA].change_to(known.camera)
    assert np.abs(change).max() < 1e-6
    assert np.abs(found.state.zeros - known.zeros).max() < 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_noise_wrong_corners_and_zeros_of_two_degrees_leave_a_millimetre(seed: int) -> None:
    known = known_rig(seed)
    found = solve(known.rig, known.views)
    change = found.state.cameras[CAMERA].change_to(known.camera)
    assert np.linalg.norm(change[:3]) < 1e-3 and np.degrees(np.linalg.norm(change[3:])) < 0.1
    assert np.degrees(np.abs(found.state.zeros - known.zeros).max()) < 0.1
    assert 0.9 < found.fit.kept.mean() < 0.98
    mm, deg = within(found.covariance("camera", CAMERA))
    assert 1000 * np.linalg.norm(change[:3]) < 1.5 * mm and np.degrees(np.linalg.norm(change[3:])) < 1.5 * deg


def state_of(seed: int) -> RigState:
    known = known_rig(seed, count=4)
    camera = replace(known.rig.cameras[0], refine=True)
    return RigState(
        rig=replace(known.rig, cameras=(camera,)),
        views=tuple(known.views),
        chain=Chain(PANDA),
        cameras={CAMERA: known.camera},
        boards={"board": known.board},
        zeros=known.zeros + 0.01,
        models={CAMERA: camera.model},
        scale_of="board",
    )


def test_the_gradient_is_that_of_finite_differences() -> None:
    """Of camera, board, zeros, lens and the board's size."""
    state = state_of(1)
    _, jacobian = state.linearise()
    step = 1e-6
    for k in range(state.size):
        change = np.zeros(state.size)
        change[k] = step
        ahead, behind = state.moved(change).linearise()[0], state.moved(-change).linearise()[0]
        numeric = -(ahead - behind) / (2 * step)
        assert np.abs(numeric - jacobian[:, :, k]).max() < 1e-4 * (1 + np.abs(numeric).max()), k


def test_the_derivative_by_joints_is_minus_that_by_zeros() -> None:
    state = state_of(2)
    _, jacobian = state.linearise()
    shared = state.shared()
    assert shared is not None
    moving = state.moving()
    for joint in JOINTS:
        column = moving.index(PANDA.joint_names.index(joint))
        np.testing.assert_allclose(shared[:, :, column], -jacobian[:, :, state.places()["joint", joint].start])


def test_the_order_of_corners_makes_no_difference() -> None:
    known = known_rig(3)
    turned = [
        replace(view, found=replace(view.found, ids=view.found.ids[::-1], pixels=view.found.pixels[::-1]))
        for view in known.views
    ]
    one, other = solve(known.rig, known.views), solve(known.rig, turned)
    assert np.abs(one.state.cameras[CAMERA].change_to(other.state.cameras[CAMERA])).max() < 1e-6


@dataclass(frozen=True, kw_only=True)
class ShiftedBoard(Board):
    """The same board, told in another frame."""

    @property
    def points(self) -> Array:
        return SHIFT.apply(super().points)


SHIFT = Pose(rotation=exp(np.array([0.0, 0.0, 1.0])), translation=np.array([0.1, -0.2, 0.0]))


def test_the_boards_frame_makes_no_difference() -> None:
    """Another frame of the board is another pose of the board, and nothing else."""
    known = known_rig(3)
    other = replace(known.rig, boards=(RigBoard(board=ShiftedBoard(), link=PANDA.base_frame),))
    one, two = solve(known.rig, known.views), solve(other, known.views)
    assert np.abs(one.state.cameras[CAMERA].change_to(two.state.cameras[CAMERA])).max() < 1e-6
    moved = two.state.boards["board"] @ SHIFT
    assert np.abs(one.state.boards["board"].change_to(moved)).max() < 1e-6


def test_turning_the_base_turns_the_board_and_nothing_else() -> None:
    """The first joint turns the base: an offset of it is invisible."""
    plain = without_zeros(known_rig(4, zero_deg=0.0))
    views = known_rig(4, zero_deg=0.0).views
    turned = [replace(view, joints=view.joints + np.eye(len(HOME))[0] * 0.3) for view in views]
    one, other = solve(plain, views), solve(plain, turned)
    assert np.abs(one.state.cameras[CAMERA].change_to(other.state.cameras[CAMERA])).max() < 1e-6
    expected = Pose(rotation=exp(np.array([0.0, 0.0, 0.3])), translation=np.zeros(3)) @ one.state.boards["board"]
    assert np.abs(expected.change_to(other.state.boards["board"])).max() < 1e-5


def test_what_the_views_cannot_tell_is_left_and_said() -> None:
    """The zero of the first joint is the direction of the base, that of the last one the camera's turn on the hand."""
    known = known_rig(5)
    asked = replace(known.rig, joints=("panda_joint1", *JOINTS, "panda_joint7"))
    found = solve(asked, known.views)
    assert set(found.held) == {"panda_joint1", "panda_joint7"}
    assert "where board board is" in found.held["panda_joint1"]
    assert "where camera wrist is" in found.held["panda_joint7"]
    assert np.isinf(found.zero("panda_joint1")[1])
    assert np.degrees(np.abs(found.state.zeros - known.zeros).max()) < 0.1


def test_a_board_in_a_fixture_tells_the_first_joint_too() -> None:
    known = known_rig(6)
    fixed = RigBoard(board=BOARD, link=PANDA.base_frame, known=known.board, known_m=1e-4, known_rad=3e-4)
    asked = replace(known.rig, boards=(fixed,), joints=("panda_joint1", *JOINTS))
    found = solve(asked, known.views)
    assert not found.held
    zero, spread = found.zero("panda_joint1")
    assert abs(zero) < 4 * spread < np.radians(0.3)


def test_a_camera_that_stands_still_watches_a_board_in_the_hand() -> None:
    """Eye to hand is the same problem with the roles exchanged."""
    known = known_rig(7, zero_deg=0.0)
    rig = replace(
        known.rig,
        cameras=(replace(known.rig.cameras[0], link=PANDA.base_frame),),
        boards=(RigBoard(board=BOARD, link=HAND),),
        joints=(),
    )
    camera = Pose(rotation=exp(np.array([np.pi, 0.0, 0.0])), translation=np.array([0.5, 0.0, 1.3]))
    board = Pose(rotation=exp(np.array([0.1, 3.0, 0.2])), translation=np.array([0.1, 0.0, 0.05]))
    chain, rng, views = Chain(PANDA), np.random.default_rng(7), list[View]()
    model = known.rig.cameras[0].model
    while len(views) < 12:
        joints = HOME + np.append(rng.normal(0, 0.4, 7), 0.0)
        (hand, _), *_ = chain.poses(joints, (HAND,))
        seen = camera.inverse @ hand @ board
        pixels, _, _ = model.project(seen.apply(BOARD.points))
        if (seen.apply(BOARD.points)[:, 2] < 0.2).any() or not ((pixels > 0) & (pixels < (639, 479))).all():
            continue
        found = replace(
            known.views[0].found, ids=np.arange(len(pixels)), pixels=pixels + rng.normal(0, 0.1, pixels.shape)
        )
        views.append(View(camera=CAMERA, board="board", joints=joints, found=found))
    got = solve(rig, views)
    change = got.state.cameras[CAMERA].change_to(camera)
    mm, _ = within(got.covariance("camera", CAMERA))
    assert 1000 * np.linalg.norm(change[:3]) < 1.5 * mm < 15


def test_two_arms_and_three_cameras_are_one_problem() -> None:
    """A camera in each hand, and one that stands still and sees a board on each of them."""
    rng = np.random.default_rng(0)
    true = draw_pair(rng)
    found = solve(true.rig, pair_views(true, rng, poses=12), shares_joints=False)
    assert not found.held and np.degrees(np.abs(found.state.zeros - true.zeros).max()) < 0.1
    for name, place in true.cameras.items():
        off_by, within_95 = (
            mm_and_deg(found.state.cameras[name].change_to(place)),
            within(found.covariance("camera", name)),
        )
        assert off_by[0] < 1.5 * within_95[0] < 5.0 and off_by[1] < 1.5 * within_95[1] < 0.3, name


def test_the_closed_form_is_exact_on_exact_poses() -> None:
    rng = np.random.default_rng(8)

    def anything() -> Pose:
        return Pose(rotation=exp(rng.normal(0, 1, 3)), translation=rng.normal(0, 0.3, 3))

    camera, board = anything(), anything()
    between = [anything() for _ in range(6)]
    seen = [camera.inverse @ each @ board for each in between]
    got_camera, got_board = guess(between, seen)
    assert np.abs(camera.change_to(got_camera)).max() < 1e-9 and np.abs(board.change_to(got_board)).max() < 1e-9


@pytest.mark.parametrize(
    ("moving", "spread", "words"),
    [
        ((6,), 0.5, "turned about one axis only"),
        ((6,), 0.01, r"turned by \d deg only"),
        ((), 0.3, "1 views from different poses"),
    ],
    ids=["one axis", "hardly a turn", "no motion"],
)
def test_views_that_turn_too_little_are_refused_with_the_fix(
    moving: tuple[int, ...], spread: float, words: str
) -> None:
    known = known_rig(9, count=8, moving=moving, spread=spread)
    with pytest.raises(CalibrationError, match=words) as refused:
        solve(known.rig, known.views)
    assert "30 deg" in str(refused.value)


def test_too_few_views_are_refused() -> None:
    known = known_rig(10, count=2)
    with pytest.raises(CalibrationError, match="2 views from different poses, needed are 3"):
        solve(known.rig, known.views)


def test_a_robot_that_moves_is_refused() -> None:
    known = known_rig(11, count=5)
    views = [replace(known.views[0], speed=0.2), *known.views[1:]]
    with pytest.raises(CalibrationError, match=r"view 0: the robot moves, a joint at 0\.200"):
        solve(known.rig, views)


def test_the_same_view_again_makes_nothing_surer() -> None:
    known = known_rig(11)
    one, twice = solve(known.rig, known.views), solve(known.rig, [*known.views, *known.views])
    np.testing.assert_allclose(one.covariance("camera", CAMERA), twice.covariance("camera", CAMERA))


def test_a_zero_that_no_robot_is_loaded_with_is_a_fault() -> None:
    """Kinematics would refuse a profile that names such a calibration."""
    known = known_rig(16)
    turned = [replace(v, joints=v.joints + 0.4 * np.eye(len(HOME))[3]) for v in known.views]
    said = zeros_too_far(solve(known.rig, turned))
    assert len(said) == 1 and "panda_joint4" in said[0] and "at most 0.35" in said[0]


def test_a_board_of_another_size_is_found_out() -> None:
    known = known_rig(12, scale=1.04, zero_deg=0.0)
    said = diagnose(solve(without_zeros(known), known.views))
    assert said and "seem to be 31.2" in said[0] and "measure" in said[0]


def test_a_camera_that_was_knocked_is_found_out() -> None:
    known = known_rig(13, count=16, zero_deg=0.0, moved_after=8)
    said = diagnose(solve(without_zeros(known), known.views))
    assert said and "camera wrist" in said[0] and "between views 7 and 8" in said[0]


def test_good_views_are_not_complained_of() -> None:
    known = known_rig(14)
    assert diagnose(solve(known.rig, known.views)) == []


def test_a_name_that_is_not_there_is_refused_with_the_nearest() -> None:
    known = known_rig(15, count=3)
    with pytest.raises(ConfigError, match="did you mean panda_hand"):
        replace(known.rig, cameras=(replace(known.rig.cameras[0], link="panda_hnd"),))
    with pytest.raises(ConfigError, match="did you mean wrist"):
        solve(known.rig, [replace(view, camera="wirst") for view in known.views])


def test_words_name_the_weakest_direction() -> None:
    covariance = np.diag([1e-8, 1e-8, 4e-6, 1e-8, 1e-8, 1e-8])
    said = describe_place("camera wrist", "panda_hand", covariance)
    assert "(+0.00, +0.00, +1.00)" in said and "take more views" in said
