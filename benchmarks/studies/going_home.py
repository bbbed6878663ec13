"""Going home from random starts: how many get there, in a straight line in joint space and by a planned way.

`face`: any posture whose tool is within 3 cm of a face of its workspace. `anywhere`: any posture at all. `reached`:
where a random motion from home has led. All starts keep their clearances. The whole controller with its filter runs
against a robot that follows exactly; a start counts as stuck when nothing has moved for a second. `no way found` are
those for which there was none in 2 s, so that nothing moved and the caller was told. Limits broken are looked for in
what was commanded: position, velocity and clearances at every control tick. `in a straight line` is what Tendon did
before it planned.

Example:
  python benchmarks/studies/going_home.py --starts 80 --robots panda
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number, spread_of

from tendon.control.clearance.model import Clearance
from tendon.control.controller import Controller
from tendon.control.homing.free_space import FreeSpace
from tendon.control.homing.planner import HomePlanner
from tendon.core.errors import NoWayError
from tendon.core.types import Array, Observation
from tendon.evaluation.statistics import wilson
from tendon.robots.environment import load_environment
from tendon.robots.profile import RobotProfile, load_profile

CELL = Path(__file__).with_name("cell.yaml")
KINDS = {"panda": ("face",), "ur5e": ("reached", "anywhere"), "so101": ("reached", "anywhere")}
FACE_M = 0.03
LEGS, LEG_STEPS = 6, 40
STUCK_S, LONGEST_S = 1.0, 120.0
WAYS = ("in a straight line", "by a planned way")


@dataclass
class Found:
    """What was found over all starts of a case."""

    home: int = 0
    none: int = 0
    broken: int = 0
    planning_ms: list[float] = field(default_factory=list)
    travel_s: list[float] = field(default_factory=list)


def make_starts(kind: str, profile: RobotProfile, clearance: Clearance, count: int) -> list[Array]:
    """Returns (n,) joint vectors that keep limits and clearances."""
    rng, starts = np.random.default_rng(7), list[Array]()
    lower, upper = profile.vector("lower"), profile.vector("upper")
    space, none = FreeSpace(clearance, lower, upper), np.zeros(len(clearance.names))
    while len(starts) < count:
        if kind == "reached":
            q = np.array(profile.vector("home"))
            for target in rng.uniform(lower, upper, (LEGS, len(q))):
                for _ in range(LEG_STEPS):
                    there = space.slide(q, target, none) if (q != target).any() else None
                    if there is None or not space.keeps(q, there, none):
                        break
                    q = there
        else:
            q = rng.uniform(lower, upper)
        distances = clearance.distances(q)
        near = kind != "face" or distances[-6:].min() <= FACE_M
        if near and (distances >= clearance.margin).all():
            starts.append(q)
    return starts


def go_home(profile: RobotProfile, clearance: Clearance, start: Array, way: Array, found: Found) -> None:
    """Runs a controller from (n,) `start` along a (k, n) way."""
    controller, now_ns, position = Controller(profile, clearance=clearance, held=start), 10**9, start
    lower, upper, velocity = (profile.vector(name) for name in ("lower", "upper", "velocity"))
    still, rest = np.zeros(len(start)), 0
    ticks = round(LONGEST_S * profile.control_hz)
    for k in range(ticks):
        now_ns += controller.period_ns
        tick = controller.tick(now_ns, Observation(stamp_ns=now_ns, joint_position=position, joint_velocity=still))
        if k == 0:
            controller.arm()
            controller.begin_home()
            controller.follow_home(way)
            continue
        if tick.command is not None:
            points = tick.command.trajectory
            rest = rest + 1 if (points.position[-1] == position).all() else 0
            position = points.position[min(1, len(points.position) - 1)]
            inside = (position >= lower - 1e-9).all() and (position <= upper + 1e-9).all()
            slow = (np.abs(points.velocity) <= velocity + 1e-9).all()
            found.broken += not (inside and slow and (clearance.distances(position) >= clearance.margin - 1e-9).all())
        if controller.at_home():
            found.home += 1
            found.travel_s.append(k / profile.control_hz)
            return
        if tick.cause is not None or rest > STUCK_S * profile.control_hz:
            return


def measure(bench: harness.Bench, profile: RobotProfile, place: Path | None, kind: str, count: int) -> None:
    """Adds one row for each way of going."""
    clearance = Clearance(profile, None if place is None else load_environment(place))
    starts, planner = make_starts(kind, profile, clearance, count), HomePlanner(profile, clearance)
    for name in WAYS:
        found = Found()
        for start in starts:
            way = np.array([start, profile.vector("home")])
            begin_s = time.perf_counter()
            if name == WAYS[1]:
                try:
                    way = planner.plan(start)
                except NoWayError:
                    found.none += 1
                    continue
                finally:
                    found.planning_ms.append(1e3 * (time.perf_counter() - begin_s))
            go_home(profile, clearance, start, way, found)
        case = {
            "robot": profile.name,
            "around it": "nothing" if place is None else place.stem,
            "start": kind,
            "goes": name,
        }
        spread = {
            f"planning, {key}": value for key, value in spread_of(found.planning_ms, "ms").items() if key != "p99"
        }
        travel = {f"on its way, {key}": value for key, value in spread_of(found.travel_s, "s").items() if key != "p99"}
        values: dict[str, harness.Value] = {
            "reached home": wilson(found.home, count),
            "no way found": Number(found.none),
            "stuck": Number(count - found.home - found.none),
            "limits broken": Number(found.broken),
        }
        print(case, found.home, found.none, found.broken, spread, flush=True)
        bench.add(case, {**values, **spread, **travel})


def main() -> None:
    """Measures every case of some robots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=80, help="of each kind (%(default)s)")
    parser.add_argument("--robots", nargs="+", default=list(KINDS), choices=list(KINDS), help="(%(default)s)")
    harness.add_arguments(parser)
    arguments = parser.parse_args()
    bench = harness.begin(arguments, "control/home")
    for robot in arguments.robots:
        profile = load_profile(robot)
        for place in (None, CELL):
            for kind in KINDS[robot]:
                measure(bench, profile, place, kind, arguments.starts)


if __name__ == "__main__":
    main()
