"""The `key:=value` arguments of the graph, the same for `tendon run` and `ros2 launch`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tendon.core.errors import ConfigError
from tendon.policies.engine import BEST, ENGINES

BOOLEAN = ("true", "false")


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of the graph.

    Attributes:
        name: left of `:=`.
        default: its value when it is not given.
        description: one line for `--help` and `ros2 launch --show-args`.
        choices: the values it may have; empty for any.
        whole: whether it must be a whole number of at least 0.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()
    whole: bool = False


ARGUMENTS = (
    Argument(name="robot", default="panda", description="folder in robots/, or path of a profile.yaml"),
    Argument(
        name="backend",
        default="sim",
        description="sim starts the simulated robot and its cameras; hardware expects drivers that run already",
        choices=("sim", "hardware"),
    ),
    Argument(
        name="policy",
        default="bundles/tabletop",
        description="folder of a policy bundle, or a file that names a policy server; none starts no policy node",
    ),
    Argument(
        name="standby",
        default="none",
        description="a second bundle or server, loaded and warm: `tendon switch` changes to it in mid-motion",
    ),
    Argument(
        name="engine",
        default=BEST,
        description="what runs the policy's graphs; `tendon bench` says which is the fastest here",
        choices=(BEST, *ENGINES),
    ),
    Argument(name="instruction", default="", description="the first task in words; topic `instruction` takes more"),
    Argument(
        name="arm",
        default="false",
        description="arm once when all is ready; never again after a stop or restart",
        choices=BOOLEAN,
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
        default="realtime",
        description="lockstep: the simulation waits for each control tick and publishes /clock",
        choices=("realtime", "lockstep"),
    ),
    Argument(
        name="home_on_exit",
        default="false",
        description="at Ctrl-C an armed robot moves to its home position before it stops (`tendon run` only)",
        choices=BOOLEAN,
    ),
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
    """Returns `given` with the defaults of what is missing, all checked.

    Raises:
        ConfigError: a key is unknown, or a value is not allowed.
    """
    known = [argument.name for argument in ARGUMENTS]
    for name in given:
        if name not in known:
            raise ConfigError(f"unknown argument {name}{closest(name, known)}")
    values = {argument.name: given.get(argument.name, argument.default) for argument in ARGUMENTS}
    for argument in ARGUMENTS:
        value = values[argument.name]
        if argument.choices and value not in argument.choices:
            raise ConfigError(f"{argument.name}:={value} is not allowed{closest(value, argument.choices)}")
        if argument.whole and not (value.isascii() and value.isdigit()):
            raise ConfigError(f"{argument.name}:={value} is not allowed: it must be a whole number of at least 0")
    return values


def closest(word: str, known: Sequence[str]) -> str:
    """Returns the end of an error message: the known word nearest to a wrong one, or all known ones."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
