"""Hands that a script leads: from the state of a world to a plan in joint space, for any number of grippers.

There is no physics in the plan: tools move inside a limit of acceleration, and what is held follows.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from tendon.core.errors import KinematicsError
from tendon.core.types import Array, Observation
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.sim.scenes.jaws import aside_of, still_face, yaw_between_fingers
from tendon.sim.scenes.scene import DescribedScene
from tendon.sim.world_state import WorldState

ACCELERATION = 2.0
"""Largest of a tool [m/s^2]."""
GAIN = 5.0
"""Speed toward a goal for each metre of distance [1/s]."""
FINGER_SPEED = 0.09
"""Of one finger [m/s]."""
SUBSTEP_S = 0.025
TURN_STEP = 2.0 * SUBSTEP_S
"""Largest of a tool about z in a substep [rad]."""
NEAR_M = 0.02
"""From a grip, where fingers that close hold the thing."""
CLOSED = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Hand:
    """A gripper.

    Attributes:
        tool: (3,) where it is [m].
        velocity: (3,) [m/s].
        yaw: of the tool, about z [rad]; a hand whose fingers both move turns things straight, and stays at 0.
        finger: how far each finger is from the middle [m].
        sent: where its fingers are sent [m]: to one another while they hold, and that far they come back to let go.
        holds: what is to be moved.
        rest: (3,) where its tool is at home [m].
        aside: (3,) from where the thing is gripped to where its tool goes for that [m].
        askew: yaw of the thing, as it meets the fingers [rad].
        lean: (3,) from under the middle of the thing to its foot, along the table [m].
        widest: of `finger`.
    """

    tool: Array
    velocity: Array
    yaw: float
    finger: float
    sent: float
    holds: bool
    rest: Array
    aside: Array
    askew: float
    lean: Array
    widest: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """What a script looks at.

    Attributes:
        hands: in the order of the profile's grippers.
        thing: (3,) centre of mass of the first item, which is to be moved [m].
        grips: (k, 3) where it may be gripped now [m].
    """

    hands: tuple[Hand, ...]
    thing: Array
    grips: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Lead:
    """Where a tool should go, where its fingers should be [m], and its yaw [rad]: by default as it is."""

    goal: Array
    finger: float
    yaw: float | None = None


Script = Callable[[DescribedScene, Moment], Sequence[Lead]]
"""Says what to do now, a lead for each hand, from the state alone."""


def advance(scene: DescribedScene, moment: Moment, leads: Sequence[Lead]) -> Moment:
    """Returns the moment `SUBSTEP_S` later."""
    halves = [grip.half for grip in scene.items[0].grips]
    hands, moved = [], []
    for hand, lead in zip(moment.hands, leads, strict=True):
        way = lead.goal - hand.tool
        away = float(np.linalg.norm(way))
        wanted = way * (min(scene.stage.speed, GAIN * away) / away) if away > 1e-9 else np.zeros(3)
        change = wanted - hand.velocity
        size = float(np.linalg.norm(change))
        velocity = hand.velocity + change * min(1.0, ACCELERATION * SUBSTEP_S / size) if size > 1e-9 else wanted
        step = 0.5 * (hand.velocity + velocity) * SUBSTEP_S
        tool = hand.tool + step
        stroke = FINGER_SPEED * SUBSTEP_S
        sent = hand.sent + float(np.clip(lead.finger - hand.sent, -stroke, stroke))
        finger = max(sent, hand.finger - min(max(hand.finger - lead.finger, 0.0), stroke))
        places = moment.grips + hand.aside
        near = [half for half, at in zip(halves, places, strict=True) if np.linalg.norm(at - tool) < NEAR_M]
        holds = hand.holds and lead.finger <= hand.finger + 0.004
        if near and lead.finger == CLOSED and (holds or finger <= near[0] + 0.001):
            holds, finger = True, max(finger, near[0])
        turn = 0.0 if lead.yaw is None else float(np.clip(lead.yaw - hand.yaw, -TURN_STEP, TURN_STEP))
        askew = hand.askew + turn if holds else hand.askew
        later = replace(hand, tool=tool, velocity=velocity, yaw=hand.yaw + turn, finger=finger, sent=sent)
        hands.append(replace(later, holds=holds, askew=askew))
        if holds:
            moved.append(step)
    return _carried(moment, hands, moved)


def _pushed(moment: Moment, steps: Array) -> Moment:
    hands = [replace(hand, tool=hand.tool + step) for hand, step in zip(moment.hands, steps, strict=True)]
    return _carried(moment, hands, [step for hand, step in zip(hands, steps, strict=True) if hand.holds])


def _carried(moment: Moment, hands: Sequence[Hand], moved: Sequence[Array]) -> Moment:
    """Returns a moment with other hands; the thing goes with those that hold it, which moved so far."""
    shift = np.mean(moved, axis=0) if moved else np.zeros(3)
    return Moment(hands=tuple(hands), thing=moment.thing + shift, grips=moment.grips + shift)


class HandsExpert:
    """Plans with all grippers of a robot, tools pointing down. One instance a thread.

    Args:
        profile: the robot.
        script: what the hands do.
    """

    def __init__(self, profile: RobotProfile, script: Script) -> None:
        self._script, self._grippers = script, profile.grippers
        self._arms = [Kinematics(profile, gripper.frame, gripper.group) for gripper in profile.grippers]
        self._fingers = [profile.joint_names.index(gripper.joint) for gripper in profile.grippers]
        home = profile.vector("home")
        self._rests = [arm.tool_pose(home)[0] for arm in self._arms]
        self._faces = [still_face(profile, gripper) for gripper in profile.grippers]

    def plan(self, scene: DescribedScene, state: WorldState, joints: Observation, rows: int, step_s: float) -> Array:
        """See `tendon.sim.suite.Expert`."""
        return self.stray(scene, self.look(scene, state, joints), joints.joint_position, rows, step_s)

    def stray(
        self,
        scene: DescribedScene,
        moment: Moment,
        joints: Array,
        rows: int,
        step_s: float,
        drift: Array | None = None,
    ) -> Array:
        """Plans while something pushes the hands aside in the first rows.

        Args:
            scene: with the task that is asked.
            moment: where to begin.
            joints: (n,) there.
            rows: how many to plan.
            step_s: between two of them.
            drift: (rows that are pushed, hands, 3) how far in each [m]; what a hand holds goes along.

        Returns:
            (rows, n) joint targets.
        """
        planned, last = np.empty((rows, len(joints))), joints
        for row in range(rows):
            leads: Sequence[Lead] = ()
            for _ in range(round(step_s / SUBSTEP_S)):
                leads = self._script(scene, moment)
                moment = advance(scene, moment, leads)
            if drift is not None and row < len(drift):
                moment = _pushed(moment, drift[row])
            planned[row] = last = self._follow(moment, leads, last)
        return planned

    def look(self, scene: DescribedScene, state: WorldState, joints: Observation) -> Moment:
        """Returns what the script sees of a world."""
        thing = pin.XYZQUATToSE3(np.array(state.poses[0]))
        hands = tuple(
            self._hand(number, scene, thing.rotation, joints, held == 0) for number, held in enumerate(state.held)
        )
        grips = np.array([thing.act(np.array(grip.place)) for grip in scene.items[0].grips])
        return Moment(hands=hands, thing=thing.translation, grips=grips)

    def _hand(self, number: int, scene: DescribedScene, thing: Array, joints: Observation, holds: bool) -> Hand:
        """Returns a hand, for a thing whose rotation is (3, 3)."""
        arm, gripper, face = self._arms[number], self._grippers[number], self._faces[number]
        position, velocity = joints.joint_position, joints.joint_velocity
        tool, rotation = arm.tool_pose(position)
        askew = yaw_between_fingers(thing) if face else 0.0
        finger = gripper.half_width(float(position[self._fingers[number]]))
        return Hand(
            tool=tool,
            velocity=arm.tool_velocity(position, velocity),
            yaw=math.atan2(rotation[1, 0], rotation[0, 0]) if face else 0.0,
            finger=finger,
            sent=CLOSED if holds else finger,
            holds=holds,
            rest=self._rests[number],
            aside=aside_of(face, scene.items[0].grips[0].half, askew),
            askew=askew,
            lean=-scene.items[0].height * np.array([*thing[:2, 2], 0.0]) if face else np.zeros(3),
            widest=gripper.width / 2,
        )

    def _follow(self, moment: Moment, leads: Sequence[Lead], last: Array) -> Array:
        """Returns the (n,) joint target; an arm that cannot reach its tool's place stays where it is."""
        joints = np.array(last)
        for arm, gripper, finger, hand, lead in zip(
            self._arms, self._grippers, self._fingers, moment.hands, leads, strict=True
        ):
            with contextlib.suppress(KinematicsError):
                joints = arm.inverse_down(hand.tool, joints, hand.yaw)
            joints[finger] = gripper.position(lead.finger)
        return joints
