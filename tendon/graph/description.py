"""Which processes make the graph, with which parameters. Pure data: nothing is started or imported here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.graph.arguments import complete
from tendon.policies.engine import BEST

Value = bool | int | float | str

RESPAWN_LIMIT = 3
RESPAWN_WINDOW_S = 60.0
RESPAWN_DELAY_S = 1.0
RANGE_VARIABLE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
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
    """

    name: str
    module: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    once: bool = False

    @property
    def command(self) -> list[str]:
        """The command line, the interpreter first."""
        # JSON strings are YAML strings, so a colon, quote or "yes" in an instruction stays text.
        settings = [text for key, value in self.parameters.items() for text in ("-p", f"{key}:={json.dumps(value)}")]
        remap = ["-r", f"__node:={self.name}"]
        return [sys.executable, "-m", self.module, "--ros-args", *remap, *settings]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The processes in the order of their start, and the environment they all need."""

    processes: tuple[Process, ...]
    environment: Mapping[str, str]


def find_bundle(policy: str) -> Path:
    """Returns the folder of a bundle: a path, or a place below the folder Tendon's data files are in.

    Raises:
        ConfigError: there is no bundle.
    """
    places = [Path(policy).expanduser(), share_folder() / policy]
    for place in places:
        if (place / "bundle.yaml").is_file():
            return place.resolve()
    raise ConfigError(f"no policy bundle at {' or '.join(map(str, places))}: policy:= names its folder")


def find_policy(policy: str) -> Path:
    """Returns the folder of a bundle, or the file that names a policy server (docs/remote.md).

    Raises:
        ConfigError: there is neither.
    """
    file = Path(policy).expanduser()
    if file.suffix not in (".yaml", ".yml"):
        return find_bundle(policy)
    if not file.is_file():
        raise ConfigError(f"no file {file}: policy:= names a file with kind and url of a policy server, or a bundle")
    return file.resolve()


def describe(given: Mapping[str, str]) -> Graph:
    """Returns the graph for arguments as `arguments.complete` takes them.

    Raises:
        ConfigError: an argument is wrong, or the bundle it names does not exist.
    """
    values = complete(given)
    simulated, lockstep = values["backend"] == "sim", values["clock"] == "lockstep"
    if lockstep and not simulated:
        raise ConfigError("clock:=lockstep needs backend:=sim: hardware does not wait")
    robot: dict[str, Value] = {"robot": values["robot"]}
    common: dict[str, Value] = {**robot, "use_sim_time": lockstep}
    nodes = "tendon.ros2_nodes"
    processes = []
    if simulated:
        scene: dict[str, Value] = {"scene": int(values["scene"]), "family": values["family"]}
        shown: dict[str, Value] = {"gui": values["gui"] == "true"}
        processes += [
            Process(
                name="sim_node",
                module=f"{nodes}.sim_node",
                parameters={**robot, **scene, **shown, "lockstep": lockstep},
            ),
            Process(name="camera_node", module=f"{nodes}.camera_node", parameters=common),
        ]
    place: dict[str, Value] = {"environment": _place(values["environment"], simulated)}
    processes += [
        Process(name="safety_monitor", module=f"{nodes}.safety_monitor", parameters={**robot, **place}),
        Process(name="control_node", module=f"{nodes}.control_node", parameters={**common, **place}),
    ]
    if values["policy"] != "none":
        policies = [find_policy(values[name]) for name in ("policy", "standby") if values[name] != "none"]
        if values["engine"] != BEST and all(policy.is_file() for policy in policies):
            raise ConfigError(
                f"engine:={values['engine']} has no graph to run: {policies[0].name} names a policy server, which "
                "chooses its own (`tendon serve --engine`)"
            )
        told: dict[str, Value] = {"bundle": str(policies[0]), "standby": "".join(map(str, policies[1:]))}
        told |= {name: values[name] for name in ("engine", "instruction")}
        processes.append(Process(name="policy_node", module=f"{nodes}.policy_node", parameters={**common, **told}))
    if values["arm"] == "true":
        processes.append(Process(name="arm_once", module=f"{nodes}.arm_once", once=True))
    return Graph(processes=tuple(processes), environment=_environment(simulated))


def _place(environment: str, simulated: bool) -> str:
    """Returns what stands around the robot, empty for nothing."""
    if environment == "none":
        return ""
    return environment or ("tabletop" if simulated else "")


def _environment(simulated: bool) -> dict[str, str]:
    """Returns variables the processes need; what the user has set wins."""
    wanted = {"PYTHONUNBUFFERED": "1"}
    if simulated:  # a simulated robot must not answer to somebody else's graph on the same network
        wanted[RANGE_VARIABLE] = "LOCALHOST"
    elif RANGE_VARIABLE in os.environ:
        wanted[RANGE_VARIABLE] = os.environ[RANGE_VARIABLE]
    return {name: os.environ.get(name, value) for name, value in wanted.items()}
