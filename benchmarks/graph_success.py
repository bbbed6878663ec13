"""Success of a policy through the whole ROS graph, beside the loop without ROS on the same seeds.

Starts `tendon run` once in simulated time, with detector, safety monitor and filter. For each seed it loads the scene,
resets and arms, says the instruction, and asks the simulator whether the task is done, as `tendon eval` does. A stop
that nobody asked for ends the episode and is counted by its cause. Episodes are kept in a file: an interrupted run
goes on. With `--used` two thirds of the episodes have a second task, which counts: when the first is done, or on the
way there.

Examples:
  python benchmarks/graph_success.py --seeds 200000:200480
  python benchmarks/graph_success.py --used --seeds 200000:200240
  python benchmarks/graph_success.py --seeds 200000:200003 --busy --rows /tmp/rows --kept /tmp/graph.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import harness
from harness import Number
from harness.apart import keep_apart
from harness.kept import kept_rows
from harness.pages import value_text
from harness.progress import progress_bar
from harness.second_tasks import SeenTable, drawn_switch

from tendon.cli.seeds import parse_seeds
from tendon.core.errors import StoppedError
from tendon.core.json_lines import open_json_lines
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import ControlStatus, SimulationStatus
from tendon.evaluation.episode import Switch
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.statistics import paired_difference, wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.residual.bundle import load_residual
from tendon.safety.reports import MonitorState, TaskState
from tendon.safety.response import Response
from tendon.sim.tabletop.scene import sample_scene

LIMIT_S, HOLD_CHECKS, PATIENCE_S = 12.0, 3, 120.0
DELAY_MS = 50.0
SETTLE_NS = 500_000_000
"""Simulated time before and after a scene is loaded: by then the last command has ended, and is forgotten."""
ARMED_NS = 1_000_000_000
"""Simulated time from arming to the instruction: a new scene moved the arm away from where the last stop left
it, and the control node gives the robot side time to come there."""
IMAGE_NS = 10_000_000
"""Simulated time from an exposure to its picture in the graph: a tick."""


class Graph:
    """A running graph that plays one episode after the other.

    Args:
        bundle: its policy.
        delay_ms: of an inference.
        speed: of simulated time; 0 is as fast as it goes.
        log: of its nodes.
        robot: profile.
        more: arguments of `tendon run`; a residual among them acts in every episode.
    """

    def __init__(
        self, bundle: str, delay_ms: float, speed: float, log: Path, robot: str, more: Sequence[str] = ()
    ) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from rcl_interfaces.srv import SetParametersAtomically

        from tendon.ros2_nodes import wire
        from tendon.ros2_nodes.base import qos
        from tendon.ros2_nodes.clients.operator import Operator
        from tendon.ros2_nodes.policy_node import OLD_WORDS_S

        arguments = [f"policy:={bundle}", f"robot:={robot}", f"inference_delay_ms:={delay_ms:g}", f"speed:={speed:g}"]
        self._corrected = any(each.startswith("residual:=") for each in more)
        with log.open("w") as output:
            self._run = subprocess.Popen(
                [sys.executable, "-m", "tendon.cli", "run", "--plain", *arguments, *more],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._decode, self._log = wire.TASK.decode, log
        self._task: TaskState | None = None
        self._seen = 0
        self.operator = Operator("graph_success", simulated_time=True)
        node = self.operator.node
        node.create_subscription(DiagnosticArray, wire.TASK.name, self._judged, qos.EACH)
        self._table = SeenTable(node)
        self._set = node.create_client(SetParametersAtomically, "sim_node/set_parameters_atomically")
        names = ("sim_node", "camera_node", "control_node", "safety_monitor", "policy_node")
        self._wait(lambda: all(self.operator.reports.status(name) for name in names), "all nodes")
        time.sleep(OLD_WORDS_S)  # until then a task is not taken for a new one

    def _judged(self, message: object) -> None:
        self._task = self._decode(message)
        self._seen += 1

    def _wait(self, condition: Callable[[], object], what: str) -> None:
        def over() -> bool:
            if self._run.poll() is not None:
                raise SystemExit(f"the graph has ended with code {self._run.returncode}: see {self._log}")
            return bool(condition())

        if not self.operator.wait(over, PATIENCE_S):
            raise SystemExit(f"not within {PATIENCE_S:.0f} s: {what}")

    def _monitor(self) -> MonitorState | None:
        return self.operator.reports.newest(MonitorState)

    def episode(self, seed: int, switch: Switch | None = None) -> dict[str, object]:
        """Plays one episode, whose last task counts, and returns what came of it."""
        scene = sample_scene(seed)
        self._load(seed, f"{scene.task.family}/{seed}")
        self._arm()
        self._pass(ARMED_NS, "time to settle")
        start_ns = begin_ns = self.operator.time.now_ns()
        self.operator.say(scene.instruction)
        seen, stop, done, slow_ns, last_ns, tasks = self._seen, None, 0, 0, begin_ns, 1
        restrictions: set[str] = set()
        while stop is None:
            now_ns = self.operator.time.now_ns()
            if switch is not None and (
                done >= HOLD_CHECKS if switch.at_ns is None else now_ns - start_ns >= switch.at_ns
            ):
                scene, switch, tasks = self._table.another_task(scene), None, 2
                self.operator.say(scene.instruction)
                seen, begin_ns, done = self._seen, now_ns, 0
            if done >= HOLD_CHECKS or now_ns - begin_ns > LIMIT_S * 1e9:
                break
            if self._seen > seen:
                seen = self._seen
                task = self._task
                done = done + 1 if task is not None and task.done and task.instruction == scene.instruction else 0
            monitor = self._monitor()
            if monitor is not None:
                stop = monitor.permission.latch
            if monitor is not None and monitor.response in (Response.SLOW, Response.HOLD):
                slow_ns += now_ns - last_ns
                cause = monitor.permission.cause
                restrictions.add(f"{monitor.response.word}: {'' if cause is None else cause.value}")
            last_ns = now_ns
            time.sleep(0.001)
        duration_s = (self.operator.time.now_ns() - begin_ns) * 1e-9
        return {
            "seed": seed,
            "tasks": tasks,
            "instruction": scene.instruction,
            "success": done >= HOLD_CHECKS,
            "stop": "" if stop is None else stop.cause.value,
            "stop_text": "" if stop is None else stop.text,
            "duration_s": round(duration_s, 2),
            "slowed_s": round(slow_ns * 1e-9, 2),
            "restrictions": sorted(restrictions),
        }

    def _load(self, seed: int, label: str) -> None:
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        with contextlib.suppress(StoppedError):
            self.operator.stop(10.0)
        self.operator.say("stop")  # no task: the next one begins with its own words
        self._wait(lambda: self.operator.permission() is PermissionState.LATCHED, "a stop")
        self._wait(lambda: self.operator.mode() in (Mode.LATCHED, Mode.STANDBY), "rest")
        self._settle()
        values = [Parameter("scene", value=seed), Parameter("family", value="")]
        request = SetParametersAtomically.Request(parameters=[value.to_parameter_msg() for value in values])

        def loaded() -> bool:
            future = self._set.call_async(request)
            return self.operator.wait(future.done, 10.0) and future.result().result.successful

        self._wait(loaded, f"scene {seed} at rest")
        self._wait(lambda: self._task is not None and self._task.scene == label, f"scene {label}")
        self._settle()

    def _settle(self) -> None:
        """Lets time go: a new scene puts the arm elsewhere at once, which no arm does, and no monitor would take."""
        self._pass(SETTLE_NS, "time beside the loading of a scene")

    def _pass(self, time_ns: int, what: str) -> None:
        over_ns = self.operator.time.now_ns() + time_ns
        self._wait(lambda: self.operator.time.now_ns() >= over_ns, what)

    def _arm(self) -> None:
        def armed() -> bool:
            for request in (self.operator.reset, self.operator.arm):
                with contextlib.suppress(StoppedError):
                    request(10.0)
            return self.operator.wait(
                lambda: self.operator.mode() is Mode.ARMED and self.operator.permission() is PermissionState.ARMED,
                1.0,
            )

        self._wait(armed, f"armed; {self._monitor()}")

    def acts(self) -> bool:
        """Whether the residual acts, if there is one: that is drawn when the graph starts, and after an outcome."""

        def state() -> str:
            status = self.operator.reports.newest(ControlStatus)
            return "" if status is None else status.residual

        if self._corrected:
            self._wait(state, "what becomes of the residual")
        return not self._corrected or state().startswith("acts")

    def factor(self) -> float:
        """Returns the newest real-time factor."""
        status = self.operator.reports.newest(SimulationStatus)
        return float("nan") if status is None or status.real_time_factor is None else status.real_time_factor

    def end(self) -> None:
        """Ends the graph."""
        self._run.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._run.wait(30)
        self._run.kill()
        self.operator.close()


def play(
    seeds: range,
    bundle: str,
    delay_ms: float,
    speed: float,
    kept: Path,
    robot: str = "panda",
    more: Sequence[str] = (),
    used: bool = False,
) -> list[dict[str, object]]:
    """Plays what is missing in the file of kept episodes, with second tasks if it is as used; returns all, by seed.

    Raises:
        SystemExit: the file is of another policy, setting or commit.
    """
    digest = load_bundle(find_bundle(bundle)).digest
    told = " ".join(_with_digest(each) for each in more)
    about = {"bundle": digest, "robot": robot, "delay_ms": f"{delay_ms:g}", "more": told, "used": str(used)}
    rows: list[dict[str, object]] = kept_rows(kept, **about)
    known = {row["seed"] for row in rows}
    missing = [seed for seed in seeds if seed not in known]
    if missing:
        started = partial(Graph, bundle, delay_ms, speed, kept.with_suffix(".log"), robot, more)
        graph = started()
        try:
            while not graph.acts():
                graph.end()
                graph = started()
            with open_json_lines(kept) as file, _bar(len(missing)) as advance:
                for seed in missing:
                    rows.append(graph.episode(seed, drawn_switch(seed, used)))
                    file.write(json.dumps(rows[-1]) + "\n")
                    file.flush()
                    advance(f"real-time factor {graph.factor():.2f}")
        finally:
            graph.end()
    return sorted((row for row in rows if row["seed"] in seeds), key=lambda row: int(str(row["seed"])))


def _with_digest(argument: str) -> str:
    """Returns an argument of the graph; a residual is named by what it is."""
    name, _, value = argument.partition(":=")
    return f"{name}:={load_residual(Path(value)).manifest.digest}" if name == "residual" else argument


@contextlib.contextmanager
def _bar(total: int) -> Iterator[Callable[[str], None]]:
    with progress_bar() as bar:
        task = bar.add_task("episodes", total=total)
        yield lambda text: bar.update(task, advance=1, description=text)


def without_ros(seeds: range, bundle: str, delay_ns: int, used: bool) -> dict[int, bool]:
    """Returns the success of the loop by seed, with the delay and the tasks that the graph has."""
    from tendon.evaluation.detection.tracing import TraceJob, run_traces

    folder = find_bundle(bundle)
    jobs = [
        TraceJob(bundle=folder, robot="panda", seed=seed, delay_ns=delay_ns, switch=drawn_switch(seed, used))
        for seed in seeds
    ]
    return {one.job.seed: one.episode.success for one in run_traces(jobs, os.cpu_count() or 1)}


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="bundles/tabletop", help="policy (%(default)s)")
    parser.add_argument("--seeds", default="200000:200480", help="first:last+1 (%(default)s)")
    parser.add_argument("--delay-ms", type=float, default=DELAY_MS, help="of an inference (%(default)s)")
    parser.add_argument("--speed", type=float, default=0.0, help="of simulated time; 0 is as fast as it goes")
    parser.add_argument("--used", action="store_true", help="with second tasks, of which the last one counts")
    parser.add_argument("--kept", type=Path, default=Path("outputs/graph-success.jsonl"), help="(%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "success/used" if args.used else "success/graph")
    keep_apart()
    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    episodes = play(seeds, args.bundle, args.delay_ms, args.speed, args.kept, used=args.used)
    alone = without_ros(seeds, args.bundle, round(args.delay_ms * 1e6) + IMAGE_NS, args.used)
    graph = [bool(row["success"]) for row in episodes]
    stops = Counter(str(row["stop"]) for row in episodes if row["stop"])

    def tell(measure: str, value: harness.Value) -> None:
        print(f"{measure}: {value_text(value)}")
        bench.add({"measure": measure}, {"result": value})

    tell("through the whole graph", wilson(sum(graph), len(graph)))
    families: dict[str, list[bool]] = {}
    for seed, success in zip(seeds, graph, strict=True):
        families.setdefault(sample_scene(seed).task.family, []).append(success)
    for family, done in families.items():
        tell(f"through the whole graph, {family}", wilson(sum(done), len(done)))
    tell("without ROS, same seeds and delay", wilson(sum(alone.values()), len(alone)))
    difference = paired_difference([alone[seed] for seed in seeds], graph)
    tell("graph less loop, paired, points", Number(100 * difference.difference))
    tell("95 % lower bound of it, points", Number(100 * difference.lower))
    tell("stops that nobody asked for", Number(sum(stops.values())))
    for cause, count in stops.most_common():
        tell(f"stopped: {cause}", Number(count))


if __name__ == "__main__":
    main()
