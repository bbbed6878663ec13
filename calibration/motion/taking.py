"""Takes views into a session: around where a robot is, along a plan, or wherever somebody leads it and lets it rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tendon.calibration.boards.detect import detect
from tendon.calibration.motion.looking import MOST_LOOKS, next_look, tell_enough
from tendon.calibration.motion.plan import Clear, nothing_seen
from tendon.calibration.rig.parts import Rig, View
from tendon.calibration.session import Session, Shot
from tendon.core.errors import CalibrationError
from tendon.core.types import Array, Observation

REST_SPEED = 5e-3
"""Of a joint that rests, rad/s or m/s: half of what a view may have."""
REST_NS = 500_000_000
"""How long a robot that is led rests before that is a pose."""
NEW_RAD = 0.08
"""By how much a joint differs at least from every pose before: what is nearer tells little new."""
Pixels = npt.NDArray[np.uint8]
Pictures = Mapping[str, tuple[int, Pixels]]
"""By camera: stamp [ns], and (height, width, 3) RGB."""


class Mover(Protocol):
    """A robot that goes from view to view, with its cameras."""

    def go(self, goal: Array) -> Observation:
        """Moves to a (n,) joint vector; returns the joints there, once it rests.

        Raises:
            NoWayError: there is no free way.
            StoppedError: it was stopped on the way.
        """

    def pictures(self) -> Pictures:
        """Returns what its cameras see, exposed after the call."""


class Looker(Mover, Protocol):
    """A robot that also says where it is."""

    def joints(self) -> Observation:
        """Returns the newest joints."""


def look_around(
    robot: Looker, session: Session, rig: Rig, clear: Clear, seed: int, tell: Callable[[str], None]
) -> list[View]:
    """Takes the first views, from where the robot is and around, until a plan can be made of them; returns all views.

    It looks in small steps, for where cameras and boards are nobody knows yet. Views that the session has count, so
    that it goes on after a stop.

    Args:
        robot: that moves; some camera sees a board from where it is.
        session: takes views that show a board.
        rig: whose boards are looked for.
        clear: whether the robot may be at a joint vector.
        seed: of the poses.
        tell: gets a line about each.

    Raises:
        CalibrationError: no camera sees a board, or there is no room to turn; with what to do.
        NoWayError, StoppedError: see `Mover.go`; views that are there are kept.
    """

    def skip(picture: str, why: str) -> None:
        """Views before that show no board tell nothing."""

    views = session.views(rig, skip, shots=session.shots())
    rng = np.random.default_rng([seed, len(views)])
    for number in range(1, MOST_LOOKS + 1):
        if tell_enough(rig, views):
            break
        at = robot.go(next_look(rig, views, clear, rng) if views else robot.joints().joint_position)
        shown, said = {}, []
        for camera, (stamp_ns, pixels) in robot.pictures().items():
            boards, _ = boards_in(rig, pixels, f"camera {camera}")
            if boards:
                shown[camera] = stamp_ns, pixels
                said.append(f"camera {camera} sees board {', '.join(boards)}")
        if not views and not shown:
            raise nothing_seen(rig)
        views += session.views(rig, skip, shots=add_views(session, shown, at, rig.profile.joint_names))
        tell(f"look {number}: {'; '.join(said) or 'no camera sees a board'}")
    return views


def follow_plan(
    robot: Mover, session: Session, poses: Sequence[Array], names: Sequence[str], tell: Callable[[str], None]
) -> int:
    """Leads a robot from pose to pose and takes a picture with every camera at each; returns how many it went to.

    Poses of which the session has views are left out, so that it goes on after a stop.

    Args:
        robot: that goes there.
        session: takes the views.
        poses: (n,) each, in order.
        names: of the joints.
        tell: gets a line about each.

    Raises:
        NoWayError, StoppedError: see `Mover.go`; views that are there are kept.
    """
    done = {shot.pose for shot in session.shots()}
    left = [(number, pose) for number, pose in enumerate(poses, 1) if number not in done]
    for number, pose in left:
        at = robot.go(pose)
        add_views(session, robot.pictures(), at, names, number)
        tell(f"view {number} of {len(poses)}")
    return len(left)


def add_views(session: Session, pictures: Pictures, at: Observation, names: Sequence[str], pose: int = 0) -> list[Shot]:
    """Adds a view a camera to a session, from where the robot rests."""
    speed = float(np.abs(at.joint_velocity).max())
    joints = dict(zip(names, at.joint_position.tolist(), strict=True))
    return [
        session.add(camera, pixels, joints, speed, stamp_ns, pose) for camera, (stamp_ns, pixels) in pictures.items()
    ]


def boards_in(rig: Rig, pixels: Pixels, where: str) -> tuple[list[str], list[str]]:
    """Returns names of the boards that a picture shows, and why it does not show the others."""
    seen, reasons = [], []
    for board in rig.boards:
        try:
            detect(board.board, pixels, where)
            seen.append(board.name)
        except CalibrationError as error:
            reasons.append(str(error))
    return seen, reasons


class RestWatch:
    """Says when a robot that somebody leads rests at a pose of which there is no view yet.

    Args:
        before: (n,) each, poses of which there are.
    """

    def __init__(self, before: Sequence[Sequence[float]] = ()) -> None:
        self._poses = [np.asarray(pose) for pose in before]
        self._since_ns: int | None = None
        self._refused = False

    def see(self, joints: Observation) -> bool:
        """Takes a joint state; returns whether a view is to be taken now. It counts as taken then."""
        if np.abs(joints.joint_velocity).max() > REST_SPEED:
            self._since_ns, self._refused = None, False
            return False
        if self._since_ns is None:
            self._since_ns = joints.stamp_ns
        near = any(np.abs(joints.joint_position - pose).max() < NEW_RAD for pose in self._poses)
        if near or self._refused or joints.stamp_ns - self._since_ns < REST_NS:
            return False
        self._poses.append(np.array(joints.joint_position))
        return True

    def forget(self) -> None:
        """Takes the last pose back, whose view showed no board: it is looked at again once the robot has moved."""
        self._poses.pop()
        self._refused = True
