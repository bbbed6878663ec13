"""Which processes make the graph, with which parameters. Pure data: nothing is started or imported here."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.evaluation.suites import load_suite, suite_for
from tendon.graph.arguments import STAND_IN_BACKENDS, complete
from tendon.graph.namespace import CLOCK_REMAPPING, NAMESPACE_VARIABLE, parse_namespace
from tendon.graph.parameters import parameters_of
from tendon.graph.params_file import Value
from tendon.graph.running.state import RECORDER_NODE
from tendon.policies.bundle.places import EXPERT, find_policy
from tendon.policies.engines.engine import BEST
from tendon.robots.profile import load_profile

RESPAWN_LIMIT = 3
RESPAWN_WINDOW_S = 60.0
RESPAWN_DELAY_S = 1.0
RANGE_VARIABLE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PRIORITY_VARIABLE = "TENDON_PRIORITY"
"""high asks for real-time scheduling; normal for nothing: simulated time cannot be late, so others may go first."""
EXIT_REFUSED = 2
"""Exit code of a node that found its configuration wrong: starting it again would not help."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of the graph.

    Attributes:
        name: of the process and of its ROS node.
        module: what `python -m` runs.
        parameters: ROS parameters of its node.
        once: it ends by itself when it has done its work, and is never started again.
        namespace: of its node, without the slash in front; empty for none.
        remappings: of names of its node.
        optional: the graph goes on without it, and it is no cause of a stop.
    """

    name: str
    module: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    once: bool = False
    namespace: str = ""
    remappings: tuple[tuple[str, str], ...] = ()
    optional: bool = False

    @property
    def executable(self) -> str:
        """What the same process is called under lib/tendon, for launch and `ros2 run`."""
        return self.module.rpartition(".")[2]

    @property
    def command(self) -> list[str]:
        """The command line, the interpreter first."""
        # JSON strings are YAML strings, so a colon, quote or "yes" in an instruction stays text.
        settings = [text for key, value in self.parameters.items() for text in ("-p", f"{key}:={json.dumps(value)}")]
        names = [("__node", self.name), *([("__ns", f"/{self.namespace}")] if self.namespace else []), *self.remappings]
        remap = [text for name, new in names for text in ("-r", f"{name}:={new}")]
        return [sys.executable, "-m", self.module, "--ros-args", *remap, *settings]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What makes up a graph.

    Attributes:
        processes: in the order of their start.
        environment: variables that they all need.
        simulated_time: they live by `/clock`.
    """

    processes: tuple[Process, ...]
    environment: Mapping[str, str]
    simulated_time: bool = False


def describe(given: Mapping[str, str]) -> Graph:
    """Returns the graph for arguments as `arguments.complete` takes them.

    Raises:
        ConfigError: an argument is wrong, or what it names does not exist.
    """
    values = complete(given)
    backend, clock = values["backend"], values["clock"]
    simulated_time = clock == "simulated" or (clock == "auto" and backend in STAND_IN_BACKENDS)
    if simulated_time and backend not in STAND_IN_BACKENDS:
        raise ConfigError(f"clock:=simulated needs backend:=sim or backend:=mock: backend:={backend} does not wait")
    robot: dict[str, Value] = {"robot": values["robot"]}
    common: dict[str, Value] = {**robot, "backend": backend, "use_sim_time": simulated_time}
    nodes = "tendon.ros2_nodes"
    time: dict[str, Value] = {"simulated_time": simulated_time, "speed": float(values["speed"])}
    processes = []
    profile = load_profile(values["robot"])
    if backend == "sim":
        suite = suite_for(profile, values["suite"])
        simulator: dict[str, Value] = {"simulator": values["simulator"], "suite": suite}
        scene: dict[str, Value] = {"scene": int(values["scene"]), "family": values["family"]}
        shown: dict[str, Value] = {"gui": values["gui"] == "true"}
        processes.append(
            Process(
                name="sim_node", module=f"{nodes}.sim_node", parameters={**robot, **simulator, **scene, **shown, **time}
            )
        )
        if profile.cameras:
            processes.append(
                Process(name="camera_node", module=f"{nodes}.camera_node", parameters={**common, **simulator})
            )
    if backend == "mock":
        processes.append(Process(name="mock_node", module=f"{nodes}.mock_node", parameters={**robot, **time}))
        if profile.cameras:
            processes.append(Process(name="mock_camera_node", module=f"{nodes}.mock_camera_node", parameters=common))
    place: dict[str, Value] = {"environment": environment_of(values)}
    corrected = _residual(values)
    processes += [
        Process(name="safety_monitor", module=f"{nodes}.safety_monitor", parameters={**common, **place}),
        Process(name="control_node", module=f"{nodes}.control_node", parameters={**common, **place, **corrected}),
    ]
    if values["policy"] != "none":
        named = [values[name] for name in ("policy", "standby") if values[name] != "none"]
        policies = [Path(EXPERT) if name == EXPERT else find_policy(name) for name in named]
        if values["engine"] != BEST and all(policy.is_file() for policy in policies):
            raise ConfigError(
                f"engine:={values['engine']} has no graph to run: {policies[0].name} names a policy server, which "
                "chooses its own (`tendon policy serve --engine`)"
            )
        told: dict[str, Value] = {"bundle": str(policies[0]), "standby": "".join(map(str, policies[1:]))}
        told |= {name: values[name] for name in ("engine", "instruction")}
        if EXPERT in named:
            told |= {"suite": suite_for(profile, values["suite"])}
        delay = values["inference_delay_ms"]
        told |= {} if delay == "auto" else {"inference_delay_ms": float(delay)}
        told |= corrected  # a detector that was calibrated with it watches the policy
        processes.append(Process(name="policy_node", module=f"{nodes}.policy_node", parameters={**common, **told}))
    if values["record"] != "false":
        processes.append(_recorder(values, common))
    if values["arm"] == "true":
        waits: dict[str, Value] = {"for_policy": values["policy"] != "none"}
        processes.append(Process(name="arm_once", module=f"{nodes}.arm_once", once=True, parameters=waits))
    namespace = parse_namespace(values["namespace"] or os.environ.get(NAMESPACE_VARIABLE, ""))
    remappings = (CLOCK_REMAPPING,) if simulated_time else ()
    file = values["params_file"]
    given_to = {each.name: parameters_of(file, each.name, each.parameters) for each in processes if not each.once}
    return Graph(
        processes=tuple(
            replace(
                each,
                parameters={**given_to.get(each.name, {}), **each.parameters},
                namespace=namespace,
                remappings=remappings,
            )
            for each in processes
        ),
        environment={**_environment(backend, simulated_time), NAMESPACE_VARIABLE: namespace},
        simulated_time=simulated_time,
    )


def teleop_process(
    *, robot: str, backend: str, simulated_time: bool, devices: Sequence[str], maps: Sequence[str] = ()
) -> Process:
    """Returns the process that leads the robot of a graph by hand.

    Args:
        robot: the graph's profile.
        backend: the graph's.
        simulated_time: the graph lives by `/clock`.
        devices: one for each hand, as `tendon.teleop.opening` reads them.
        maps: files of what their axes mean, in the same order.
    """
    namespace = parse_namespace(os.environ.get(NAMESPACE_VARIABLE, ""))
    return Process(
        name="teleop_node",
        module="tendon.ros2_nodes.teleop_node",
        parameters={
            "robot": robot,
            "backend": backend,
            "use_sim_time": simulated_time,
            "devices": shlex.join(devices),
            "maps": shlex.join(maps),
        },
        namespace=namespace,
        remappings=(CLOCK_REMAPPING,) if simulated_time else (),
    )


def _residual(values: Mapping[str, str]) -> dict[str, Value]:
    """Returns the parameter of who has to know what corrects the policy; nothing where nothing does."""
    given = values["residual"]
    return {} if given == "none" else {"residual": str(Path(given).expanduser().resolve())}


def _recorder(values: Mapping[str, str], common: Mapping[str, Value]) -> Process:
    told: dict[str, Value] = {name: values[name] for name in ("recordings", "images", "operator")}
    told |= {"at_once": values["record"] == "true", **_residual(values)}
    if values["policy"] not in ("none", EXPERT):
        told |= {"bundle": str(find_policy(values["policy"]))}
    if values["backend"] == "sim":
        told |= {"suite": suite_for(load_profile(values["robot"]), values["suite"]), "seed": values["scene"]}
    return Process(
        name=RECORDER_NODE,
        module=f"tendon.ros2_nodes.{RECORDER_NODE}",
        parameters={**common, **told},
        optional=True,
    )


def environment_of(values: Mapping[str, str]) -> str:
    """Returns what stands around the robot, for complete arguments: a name or a file, empty for nothing."""
    if values["environment"] == "none":
        return ""
    if values["environment"] or values["backend"] != "sim":
        return values["environment"]
    return load_suite(suite_for(load_profile(values["robot"]), values["suite"])).environment or ""


def _environment(backend: str, simulated_time: bool) -> dict[str, str]:
    """Returns variables the processes need; what the user has set wins."""
    wanted = {
        "PYTHONUNBUFFERED": "1",
        "OPENBLAS_NUM_THREADS": "1",  # no matrix here is large, and its threads spin when they have nothing to do
        PRIORITY_VARIABLE: "normal" if simulated_time else "high",
    }
    if backend != "hardware":  # a robot that is not there must not answer to somebody else's graph on the same network
        wanted[RANGE_VARIABLE] = "LOCALHOST"
    elif RANGE_VARIABLE in os.environ:
        wanted[RANGE_VARIABLE] = os.environ[RANGE_VARIABLE]
    return {name: os.environ.get(name, value) for name, value in wanted.items()}
