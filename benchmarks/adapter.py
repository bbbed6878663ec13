"""Time to translate between a policy's numbers and joints: state, prefix and answer, for the spaces of an action.

The motion is a reach over 0.4 m with 1 mm of noise from row to row, as networks have it. `--cpu` counts processor time
instead of wall time, for a machine that is busy.

Example:
  python benchmarks/adapter.py --runs 1000
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import numpy as np

from tendon.core.errors import KinematicsError
from tendon.core.types import Array
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.spec.components import JointComponent
from tendon.policies.spec.manifest import Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile

TABLETOP = Path("bundles/tabletop")
PREFIX_ROWS = 5


def report(bench: harness.Bench, space: str, what: str, times_ns: Sequence[int], note: str) -> None:
    """Prints p50, p99 and max in ms, and adds the row."""
    found = harness.spread_of(np.array(times_ns) * 1e-6, "ms")
    print(f"{f'{space}: {what}':58s} " + "  ".join(f"{name} {number.value:7.3f}" for name, number in found.items()))
    bench.add({"space": space, "what": what}, found, note=note)


def reach(profile: RobotProfile, rows: int, seed: int) -> Array:
    """Returns (rows, n) joints of a reach from home with the tool pointing down, and its noise."""
    rng, kinematics = np.random.default_rng(seed), Kinematics(profile)
    joints = np.array(profile.vector("home"))
    start, rotation = kinematics.tool_pose(joints)
    tolerance = 1e-4 if len(profile.groups["arm"]) > 5 else 3.0
    end = np.clip(start + rng.uniform(-0.25, 0.25, 3), profile.workspace.lower, profile.workspace.upper)
    found = []
    for share in np.linspace(0.0, 1.0, rows + 1)[1:]:
        place = start + (3 * share**2 - 2 * share**3) * (end - start) + rng.normal(0.0, 0.001, 3)
        joints = kinematics.inverse(place, rotation, joints, rotation_tolerance=tolerance)
        found.append(joints)
    return np.array(found)


def policy_of(manifest: Manifest, profile: RobotProfile, rows: int, state: Any = None, **action: Any) -> Manifest:
    """Returns a manifest for a robot that says only what its numbers mean."""
    joints = action.get("joints", ())
    size = {"tool_position": 4, "tool_pose": 9 + len(joints)}.get(action.get("space", "tool_position"), len(joints))
    state = state or (StateItem(name="joints", joints=joints),)
    count = sum(item.size for item in state)
    return replace(
        manifest,
        robot=profile.name,
        joint_names=profile.joint_names,
        state=state,
        state_mean=(0.0,) * count,
        state_std=(1.0,) * count,
        action=ActionSpace(rows=rows, step_s=0.1, mean=(0.0,) * size, std=(1.0,) * size, **action),
    )


def cases(manifest: Manifest, rows: int) -> list[tuple[str, RobotProfile, Manifest]]:
    """Returns the spaces to time: name, robot, policy."""
    panda, so101 = load_profile("panda"), load_profile("so101")
    finger = JointComponent(joint="panda_finger_joint1", unit="fraction", open=0)
    speeds = tuple(JointComponent(joint=name, unit="rad/s", scale=3.0) for name in panda.groups["arm"])
    angles = tuple(replace(speed, unit="rad", scale=1.0) for speed in speeds)
    degrees = tuple(JointComponent(joint=name, unit="deg") for name in so101.groups["arm"])
    jaw = JointComponent(joint="gripper", unit="percent", open=100)
    measured = (StateItem(name="joints", joints=(*angles, finger)),)
    return [
        ("tool_position, Panda", panda, policy_of(manifest, panda, rows, manifest.state)),
        (
            "tool_pose rot6d, Panda",
            panda,
            policy_of(
                manifest,
                panda,
                rows,
                measured,
                space="tool_pose",
                rotation="rot6d_columns",
                relative_to="observation",
                joints=(finger,),
            ),
        ),
        (
            "joint_velocity, Panda (DROID)",
            panda,
            policy_of(manifest, panda, rows, measured, space="joint_velocity", joints=(*speeds, finger)),
        ),
        (
            "joint_position deg, SO-101 (LeRobot)",
            so101,
            policy_of(manifest, so101, rows, space="joint_position", relative_to="nothing", joints=(*degrees, jaw)),
        ),
    ]


def main() -> None:
    """Prints a line for each space and direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="of each (%(default)s)")
    parser.add_argument("--cpu", action="store_true", help="processor time")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "adapter/spaces")
    manifest = load_bundle(TABLETOP).manifest
    print(f"{'processor' if args.cpu else 'wall'} time, n {args.runs}")
    for rows in (16, 50):
        for name, profile, policy in cases(manifest, rows):
            measure(bench, name, Adapter(policy, profile), profile, rows, args)


def measure(
    bench: harness.Bench, name: str, adapter: Adapter, profile: RobotProfile, rows: int, args: argparse.Namespace
) -> None:
    """Prints the lines of one space."""
    clock = time.thread_time_ns if args.cpu else time.perf_counter_ns
    home = profile.vector("home")
    plans: list[Array] = []
    for seed in itertools.count():
        with contextlib.suppress(KinematicsError):  # the way there leads out of reach
            plans.append(reach(profile, rows, seed))
        if len(plans) == 8:
            break
    numbers = [adapter.to_components(plan, home) for plan in plans]
    calls: dict[str, Callable[[int], object]] = {
        "state": lambda k: adapter.state(home, home),
        f"prefix of {PREFIX_ROWS}": lambda k: adapter.to_components(plans[k % 8][:PREFIX_ROWS], home),
        f"answer of {rows}": lambda k: adapter.to_joints(numbers[k % 8], home, home),
    }
    for what, call in calls.items():
        times_ns = []
        for k in range(args.runs):
            begin_ns = clock()
            call(k)
            times_ns.append(clock() - begin_ns)
        report(bench, name, what, times_ns, "processor time" if args.cpu else "")


if __name__ == "__main__":
    main()
