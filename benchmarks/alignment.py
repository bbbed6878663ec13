"""How much nearer a simulator is to a robot after `tendon align`: MuJoCo with hidden servos plays the robot.

PyBullet is aligned to it by 45 s of motion; the error is that of the 15 s after these, which nothing was found from.

Example:
  python benchmarks/alignment.py
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
from scipy.interpolate import CubicSpline

from tendon.calibration.servos import Log, find_responses
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.servo_response import ServoResponse
from tendon.sim.mujoco.engine import MujocoEngine
from tendon.sim.replay import PERIOD_S, replay
from tendon.sim.response import Gravity
from tendon.sim.robot_body import robot_body

STATES_HZ, SECONDS = 100, 60.0
NOISE = 1e-4
"""Standard deviation of a measured joint, rad."""


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What nobody tells the simulator that is aligned.

    Attributes:
        stiffness, damping, feed_forward: of the servos, of what they are in our MuJoCo.
        friction: up to so much in each joint, N m.
        delay_s: of a command.
        weight: part of the arm's that its controller makes up for.
    """

    stiffness: float
    damping: float
    feed_forward: float
    friction: float
    delay_s: float
    weight: float


ROBOTS = {
    "stiff, late by 20 ms": Hidden(
        stiffness=0.6, damping=0.8, feed_forward=0.5, friction=1.0, delay_s=0.02, weight=1.0
    ),
    "soft, carries a tenth of itself": Hidden(
        stiffness=0.12, damping=0.5, feed_forward=0.3, friction=2.0, delay_s=0.012, weight=0.9
    ),
    "rubbing": Hidden(stiffness=0.3, damping=0.6, feed_forward=0.8, friction=6.0, delay_s=0.005, weight=1.0),
}


def motion(profile: RobotProfile, rng: np.random.Generator) -> tuple[Array, Array]:
    """Returns times and (k, n) commands: each joint of the arm swings in four rhythms around home."""
    times = np.arange(0.0, SECONDS, 1 / STATES_HZ)
    sent = np.tile(profile.vector("home"), (len(times), 1))
    for joint in profile.group_indices("arm"):
        for hz in rng.uniform(0.05, 0.6, 4):
            sent[:, joint] += 0.25 / (1 + 4 * hz) * np.sin(2 * np.pi * hz * times) * np.minimum(times, 1.0)
    return times, sent


def hide(engine: Any, hidden: Hidden, joints: int, rng: np.random.Generator) -> None:
    """Changes servos, friction and weight of a loaded robot."""
    model, servos = engine.model, engine._servos
    for i in range(joints):
        model.actuator_gainprm[i, 0] *= hidden.stiffness
        model.actuator_biasprm[i, 1] *= hidden.stiffness
        model.actuator_biasprm[i, 2] *= hidden.damping
        model.dof_frictionloss[servos.dofs[i]] = rng.uniform(0.2, 1.0) * hidden.friction
    model.body_gravcomp[1:] = hidden.weight
    servos._lead_s *= hidden.feed_forward


def play(profile: RobotProfile, hidden: Hidden, times: Array, sent: Array, rng: np.random.Generator) -> Array:
    """Returns (k, n) where the joints of a hidden robot were measured."""
    engine = MujocoEngine(robot_body(profile))
    engine.load([], [])
    engine.reset_joints(sent[0])
    hide(engine, hidden, len(profile.group_indices("arm")), rng)
    spline, steps = CubicSpline(times, sent), np.arange(PERIOD_S, times[-1] + PERIOD_S, PERIOD_S)
    late = np.clip(steps - hidden.delay_s, 0.0, times[-1])
    reached = [sent[0]]
    for position, velocity in zip(spline(late), spline(late, 1), strict=True):
        engine.set_target(position, velocity)
        engine.step()
        reached.append(engine.joint_state()[0].copy())
    engine.close()
    ends = np.concatenate([[0.0], steps])
    found = np.stack([np.interp(times, ends, column) for column in np.array(reached).T], axis=1)
    return np.asarray(found + NOISE * rng.standard_normal(found.shape))


def tool_error(kinematics: Kinematics, one: Array, other: Array) -> float:
    """Returns the root mean square distance of the tool between two motions [mm]."""
    away = [kinematics.tool_pose(a)[0] - kinematics.tool_pose(b)[0] for a, b in zip(one, other, strict=True)]
    return 1e3 * float(np.sqrt((np.array(away) ** 2).sum(axis=1).mean()))


def main() -> None:
    """Aligns PyBullet to each hidden robot and prints how far it is off before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "simulation/aligned")
    profile, rng = load_profile(args.robot), np.random.default_rng(0)
    arm, kinematics, gravity = profile.group_indices("arm"), Kinematics(profile), Gravity(profile)
    for name, hidden in ROBOTS.items():
        times, sent = motion(profile, rng)
        log = Log(
            times_s=times,
            commanded=sent,
            measured=play(profile, hidden, times, sent, rng),
            simulated=replay(profile, times, sent, simulator="pybullet"),
            gravity=np.array([gravity.at(row) for row in sent]),
        )
        travel = profile.vector("upper") - profile.vector("lower")
        response = ServoResponse([each.response for each in find_responses(log, profile.joint_names, travel)])
        aligned = replay(profile, times, sent, response, "pybullet")
        held_out = times >= log.end_s
        values: dict[str, harness.Number] = {}
        for when, simulated in (("before", log.simulated), ("after", aligned)):
            joints = 1e3 * float(np.sqrt((log.held_out_error(simulated)[arm] ** 2).mean()))
            tool = tool_error(kinematics, log.measured[held_out], simulated[held_out])
            values |= {f"joints {when}": harness.Number(joints, "mrad"), f"tool {when}": harness.Number(tool, "mm")}
        print(f"{name}: {', '.join(f'{key} {number.value:.2f} {number.unit}' for key, number in values.items())}")
        bench.add({"robot": profile.name, "its servos": name}, values)


if __name__ == "__main__":
    main()
