"""Inverse kinematics: how often it finds what is there to be found, how far it goes for it, and how long it takes.

Every target is the pose of a joint vector inside the limits, so each can be reached. `near`: up to 0.2 rad a joint
from the seed, anywhere. `limits`: the same with four joints of ten at a limit. `chunk`: 16 rows over up to 0.8 rad a
joint, each solved from the row before. Where pin-pink, qpsolvers and scipy are installed (`pip install pin-pink
scipy`; nothing of Tendon needs them), pink with daqp is measured beside it: the same tolerance, 60 steps, the same
limits. Times are of the processor.

Example:
  python benchmarks/studies/inverse_kinematics.py --cases 60 --robots panda ur5e so101
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
import pinocchio as pin
from harness import Number

from tendon.core.errors import KinematicsError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile

CASES = ("near", "limits", "chunk")
TOLERANCE = 1e-4
ITERATIONS = 60


class Solver(Protocol):
    """Finds the joints of a pose."""

    def solve(self, position: Array, rotation: Array, seed: Array, ahead: Array | None) -> Array:
        """Returns (n,) or raises KinematicsError."""
        ...


class Ours:
    """`Kinematics.inverse`."""

    def __init__(self, profile: RobotProfile) -> None:
        self._kinematics = Kinematics(profile)

    def solve(self, position: Array, rotation: Array, seed: Array, ahead: Array | None) -> Array:
        """See `Solver`."""
        return self._kinematics.inverse(position, rotation, seed, ahead=ahead)


class Pink:
    """pink's solve_ik with daqp: a task for the tool, a light one for the posture, limits as constraints."""

    def __init__(self, profile: RobotProfile) -> None:
        import pink
        from pink.limits import ConfigurationLimit

        self._pink = pink
        whole = pin.buildModelFromUrdf(str(profile.urdf))
        names = profile.groups["arm"]
        locked = [j for j in range(1, whole.njoints) if whole.names[j] not in names]
        self._model = pin.buildReducedModel(whole, locked, pin.neutral(whole))
        self._order = [self._model.joints[self._model.getJointId(name)].idx_q for name in names]
        self._arm = profile.group_indices("arm")
        self._model.lowerPositionLimit[self._order] = profile.vector("lower")[self._arm]
        self._model.upperPositionLimit[self._order] = profile.vector("upper")[self._arm]
        self._data = self._model.createData()
        self._tool = pink.tasks.FrameTask(profile.tool_frame, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)
        self._posture = pink.tasks.PostureTask(cost=1e-4)
        self._posture.set_target(self._inside(profile.vector("home")))
        self._limits = [ConfigurationLimit(self._model, config_limit_gain=1.0)]

    def _inside(self, joints: Array) -> Array:
        q = np.zeros(self._model.nq)
        q[self._order] = joints[self._arm]
        return np.clip(q, self._model.lowerPositionLimit, self._model.upperPositionLimit)

    def solve(self, position: Array, rotation: Array, seed: Array, ahead: Array | None) -> Array:
        """See `Solver`."""
        self._tool.set_target(pin.SE3(rotation, position))
        configuration = self._pink.Configuration(self._model, self._data, self._inside(seed))
        tasks: list[Any] = [self._tool, self._posture]
        for _ in range(ITERATIONS):
            pose = configuration.get_transform_frame_to_world(self._tool.frame)
            error = np.concatenate([position - pose.translation, pin.log3(rotation @ pose.rotation.T)])
            if np.abs(error).max() < TOLERANCE:
                answer = np.array(seed)
                answer[self._arm] = configuration.q[self._order]
                return answer
            try:
                step = self._pink.solve_ik(
                    configuration, tasks, 1.0, solver="daqp", limits=self._limits, safety_break=False
                )
            except self._pink.exceptions.PinkError as error:
                raise KinematicsError(str(error)) from error
            q = configuration.q + np.clip(step, -0.3, 0.3)
            configuration.update(np.clip(q, self._model.lowerPositionLimit, self._model.upperPositionLimit))
        raise KinematicsError("no solution")


def goals(case: str, profile: RobotProfile, rng: np.random.Generator) -> tuple[Array, list[Array]]:
    """Returns a seed and the joint vectors whose poses are asked for, one after another."""
    lower, upper, arm = profile.vector("lower"), profile.vector("upper"), profile.group_indices("arm")
    seed = np.array(profile.vector("home"))
    seed[arm] = rng.uniform(lower, upper)[arm]
    if case == "limits":
        stuck = [i for i in arm if rng.random() < 0.4]
        seed[stuck] = np.where(rng.random(len(lower)) < 0.5, lower, upper)[stuck]
    reach = 0.8 if case == "chunk" else 0.2
    goal = np.array(seed)
    goal[arm] += rng.uniform(-reach, reach, len(arm))
    goal = np.clip(goal, lower, upper)
    if case != "chunk":
        return seed, [goal]
    shares = np.arange(1, 17) / 16
    return seed, [seed + (3 * share**2 - 2 * share**3) * (goal - seed) for share in shares]


def measure(bench: harness.Bench, name: str, solver: Solver, case: str, profile: RobotProfile, count: int) -> None:
    """Prints and adds one line."""
    rng, kinematics = np.random.default_rng(1), Kinematics(profile)
    found, times_ns, moves = [], [], []
    for _ in range(count):
        last, targets = goals(case, profile, rng)
        ahead = None
        for target in targets:
            pose = kinematics.tool_pose(target)
            begin_ns = time.thread_time_ns()
            try:
                answer = solver.solve(*pose, last, ahead)
            except KinematicsError:
                answer, ahead = last, None
                found.append(False)
            else:
                ahead = answer - last
                found.append(True)
                moves.append(float(np.abs(ahead).max()))
            times_ns.append(time.thread_time_ns() - begin_ns)
            last = answer
    share, mean_us = 100 * float(np.mean(found)), float(np.mean(times_ns)) / 1e3
    p99_us = harness.spread_of(np.array(times_ns) / 1e3, "us")["p99"]
    farthest = harness.spread_of(moves, "rad")["p99"]
    print(
        f"| {profile.name} | {case} | {name} | {share:.1f} % of {len(found)} | {mean_us:.0f} us "
        f"| {p99_us.value:.0f} us | {farthest.value:.2f} rad |",
        flush=True,
    )
    bench.add(
        {"robot": profile.name, "case": case, "solver": name},
        {
            "found": Number(share, "%"),
            "of": Number(len(found)),
            "mean": Number(mean_us, "us"),
            "p99": p99_us,
            "largest joint move, p99": farthest,
        },
    )


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200, help="of each kind (%(default)s)")
    parser.add_argument("--robots", nargs="+", default=["panda", "ur5e", "so101", "g1_arms"], help="(%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "adapter/inverse-kinematics")
    solvers: dict[str, Any] = {"ours": Ours}
    if all(importlib.util.find_spec(package) for package in ("pink", "qpsolvers", "scipy")):
        solvers["pink"] = Pink
    print("| robot | case | solver | found | mean | p99 | largest joint move, p99 |")
    print("|---|---|---|---|---|---|---|")
    for robot in args.robots:
        profile = load_profile(robot)
        for case in CASES:
            for name, kind in solvers.items():
                measure(bench, name, kind(profile), case, profile, args.cases)


if __name__ == "__main__":
    main()
