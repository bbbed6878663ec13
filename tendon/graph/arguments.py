"""The `key:=value` arguments of the graph, the same for `tendon run` and `ros2 launch`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.data.recording.pictures import SUFFIXES
from tendon.graph.params_file import ALL, read_params_file
from tendon.policies.engines.engine import BEST, ENGINES

BOOLEAN = ("true", "false")
STAND_IN_BACKENDS = ("sim", "mock")
"""Backends in which a node of ours stands in for the robot; it can own time, which a robot does not wait for."""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of the graph.

    Attributes:
        name: left of `:=`.
        default: its value when it is not given.
        description: one line for `--help` and `ros2 launch --show-args`.
        choices: the values it may have; empty for any.
        imported: whether it may be `MODULE:NAME` beside the choices.
        whole: whether it must be a whole number of at least 0.
        number: whether it must be a number of at least 0, or one of the choices.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()
    imported: bool = False
    whole: bool = False
    number: bool = False


ARGUMENTS = (
    Argument(name="robot", default="panda", description="name of a robot, its folder, or its profile.yaml"),
    Argument(
        name="backend",
        default="sim",
        description=(
            "sim: the simulated robot and its cameras; mock: joints that go where they are told and test pictures, for "
            "any robot; hardware: drivers that run already"
        ),
        choices=(*STAND_IN_BACKENDS, "hardware"),
    ),
    Argument(
        name="policy",
        default="bundles/tabletop",
        description="folder of a policy bundle, a file that names a policy server, expert (does the simulated tasks) "
        "or none (no policy node)",
    ),
    Argument(
        name="standby",
        default="none",
        description="a second bundle or server, loaded and warm: `tendon policy switch` changes to it in mid-motion",
    ),
    Argument(
        name="residual",
        default="none",
        description="folder of a residual for that policy, as `tendon residual train` makes it, or none",
    ),
    Argument(
        name="engine",
        default=BEST,
        description="what runs the policy's graphs; `tendon policy bench` says which is the fastest here",
        choices=(BEST, *ENGINES),
    ),
    Argument(name="instruction", default="", description="the first task in words; topic `instruction` takes more"),
    Argument(
        name="arm",
        default="false",
        description="arm once when all is ready; never again after a stop or restart",
        choices=BOOLEAN,
    ),
    Argument(
        name="simulator",
        default="auto",
        description="pybullet or mujoco; auto: the first of them that is installed",
        choices=("auto", "pybullet", "mujoco"),
    ),
    Argument(
        name="suite",
        default="auto",
        description="tasks in simulation; auto: tabletop for one gripper, bimanual for two, reach for none; "
        "tabletop_hard: an arm that nobody calibrated; calibration: boards, and cameras and joints that are off; "
        "MODULE:NAME: one of your own",
        choices=("auto", "tabletop", "tabletop_hard", "assembly", "bimanual", "reach", "calibration"),
        imported=True,
    ),
    Argument(name="scene", default="100003", description="seed of the simulated scene", whole=True),
    Argument(name="family", default="", description="task family of the simulated scene; by default the seed decides"),
    Argument(
        name="environment",
        default="",
        description="what the arm keeps clear of: a name in environments/, a YAML file or none; sim has its table",
    ),
    Argument(
        name="clock",
        default="auto",
        description=(
            "sim and mock have simulated time, which waits for every node, so that a busy machine only slows it; "
            "realtime: the wall clock, to measure"
        ),
        choices=("auto", "simulated", "realtime"),
    ),
    Argument(
        name="speed",
        default="1",
        description="largest part of real time that simulated time goes at; 0: as fast as the machine can",
        number=True,
    ),
    Argument(
        name="inference_delay_ms",
        default="auto",
        description="what an inference takes in simulated time; auto: what it takes on this machine when warm",
        number=True,
        choices=("auto",),
    ),
    Argument(
        name="params_file",
        default="",
        description="YAML file of ROS parameters: these arguments under /**, a node's own under its name",
    ),
    Argument(
        name="namespace",
        default="",
        description="ROS namespace of all nodes and topics, for several graphs in one domain; default $ROS_NAMESPACE",
    ),
    Argument(
        name="home_on_exit",
        default="false",
        description="at Ctrl-C an armed robot moves to its home position before it stops (`tendon run` only)",
        choices=BOOLEAN,
    ),
    Argument(
        name="record",
        default="false",
        description="record every topic, an MCAP file an episode; manual waits for `tendon record start`",
        choices=(*BOOLEAN, "manual"),
    ),
    Argument(name="recordings", default="outputs/recordings", description="folder of the episodes"),
    Argument(
        name="images",
        default="raw",
        description="how cameras are recorded: raw, bit for bit what the policy saw, jpeg, or h264, the smallest",
        choices=tuple(SUFFIXES),
    ),
    Argument(name="operator", default="", description="who records, for the episode's metadata"),
    Argument(name="gui", default="false", description="open PyBullet's window", choices=BOOLEAN),
)


def parse_arguments(texts: Iterable[str]) -> dict[str, str]:
    """Returns every argument's value from texts such as `robot:=panda`.

    Raises:
        ConfigError: a text is not `key:=value`, a key is unknown or repeated, or a value is not allowed.
    """
    given: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition(":=")
        if not sign:
            raise ConfigError(f"argument {text!r} is not of the form key:=value")
        if name in given:
            raise ConfigError(f"argument {name} is given twice")
        given[name] = value
    return complete(given)


def complete(given: Mapping[str, str]) -> dict[str, str]:
    """Returns `given` with what is missing from the file `params_file` and from the defaults, all checked.

    Raises:
        ConfigError: a key is unknown, a value is not allowed, or there is no such file.
    """
    known = [argument.name for argument in ARGUMENTS]
    given = {**_of_file(given.get("params_file", ""), known), **given}
    for name in given:
        if name not in known:
            raise ConfigError(f"unknown argument {name}{closest(name, known)}")
    values = {argument.name: given.get(argument.name, argument.default) for argument in ARGUMENTS}
    for argument in ARGUMENTS:
        value = values[argument.name]
        if argument.number:
            _check_number(argument, value)
        elif argument.choices and value not in argument.choices and not (argument.imported and ":" in value):
            wanted = (*argument.choices, "MODULE:NAME") if argument.imported else argument.choices
            raise ConfigError(f"{argument.name}:={value} is not allowed{closest(value, wanted)}")
        if argument.whole and not (value.isascii() and value.isdigit()):
            raise ConfigError(f"{argument.name}:={value} is not allowed: it must be a whole number of at least 0")
    return values


def _of_file(file: str, known: Iterable[str]) -> dict[str, str]:
    """Returns the arguments that a file of parameters gives; the rest is for the nodes (`tendon.graph.parameters`)."""
    if not file:
        return {}
    found = read_params_file(Path(file)).get(ALL, {})
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in found.items()
        if name in known and name != "params_file"
    }


def _check_number(argument: Argument, value: str) -> None:
    try:
        fits = value in argument.choices or 0.0 <= float(value) < float("inf")
    except ValueError:
        fits = False
    if not fits:
        words = "".join(f", or {choice}" for choice in argument.choices)
        raise ConfigError(f"{argument.name}:={value} is not allowed: it must be a number of at least 0{words}")
