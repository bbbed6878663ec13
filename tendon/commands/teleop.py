"""Lead the robot of a running graph by hand: keyboard, gamepad, SpaceMouse, leader arm.

DEVICE is keyboard, gamepad, spacemouse, leader:PROFILE@NAMESPACE+HOLDER or lerobot:FILE+HOLDER; a gamepad or SpaceMouse
may be followed by its path. For two hands name the group of joints of each: left_arm=gamepad right_arm=spacemouse. The
robot moves only while the deadman is held, brakes when it is not, and takes every command through the filter.

Examples:
  tendon teleop keyboard
  tendon teleop gamepad:/dev/input/event5 --map my_pad.yaml
  tendon teleop gamepad --show-map
  tendon teleop leader:so101@/leader+keyboard
  tendon teleop left_arm=gamepad right_arm=spacemouse
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.operator import ask, status_of
from tendon.core.errors import ConfigError, StoppedError

if TYPE_CHECKING:
    from tendon.graph.description import Process
    from tendon.ros2_nodes.clients.operator import Operator

NODE = "teleop_node"
KEYBOARD = "keyboard"


def complete_device(incomplete: str) -> list[str]:
    """Returns the kinds of devices that begin so."""
    from tendon.teleop.maps import MAPS

    return [kind for kind in MAPS if kind.startswith(incomplete)]


def command(
    devices: Annotated[
        list[str], typer.Argument(metavar="[GROUP=]DEVICE...", help="See above.", autocompletion=complete_device)
    ],
    map_: Annotated[
        list[Path] | None, typer.Option("--map", metavar="FILE", help="What its axes mean; one for each device.")
    ] = None,
    show_map: Annotated[bool, typer.Option("--show-map", help="Print the map that DEVICE has, to begin with.")] = False,
) -> int:
    """Leads the robot until Ctrl-C; then it brakes and follows nobody.

    Raises:
        ConfigError: a device or a map is wrong, or does not fit the robot.
        MissingDependencyError: ROS, or a device's library, is not installed.
        StoppedError: there is no graph.
    """
    from tendon.teleop.axis_map import load_map
    from tendon.teleop.maps import MAPS
    from tendon.teleop.opening import parse_device

    names = [parse_device(text) for text in devices]
    if show_map:
        print("\n".join(MAPS[name.kind] for name in names), end="")
        return 0
    for file in map_ or ():
        load_map(file)
    held = [each.kind for name in names for each in (name, name.holder) if each is not None]
    if KEYBOARD in held and not sys.stdin.isatty():
        raise ConfigError("the keyboard needs a terminal, and standard input is none: type it in a terminal of its own")
    process = ask("tendon_teleop", lambda operator: _process(operator, devices, map_ or []))
    return _run(process)


def _process(operator: Operator, devices: list[str], maps: list[Path]) -> Process:
    """Returns the node that fits the running graph."""
    from tendon.graph.description import teleop_process
    from tendon.graph.running.state import STAND_INS
    from tendon.robots.profile import load_profile
    from tendon.teleop.opening import parse_devices

    control = status_of(operator)
    parse_devices(devices, load_profile(control.robot))
    if operator.finds(NODE):
        raise StoppedError(f"{NODE} runs in this graph already: only one may lead the robot")
    stand_in = next((name for name in STAND_INS if name in operator.nodes()), "")
    backend = {"sim_node": "sim", "mock_node": "mock"}.get(stand_in, "hardware")
    return teleop_process(
        robot=control.robot,
        backend=backend,
        simulated_time=control.simulated_time,
        devices=devices,
        maps=[str(file.absolute()) for file in maps],
    )


def _run(process: Process) -> int:
    """Runs the node on this terminal, which is given back as it was even when the node is killed."""
    from tendon.graph.running.ending import on_end_request
    from tendon.graph.running.process_group import SUPERVISOR_VARIABLE

    with _terminal_kept():
        environment = {**os.environ, SUPERVISOR_VARIABLE: str(os.getpid())}
        child = subprocess.Popen(process.command, env=environment)
        before = on_end_request(lambda number, _: child.send_signal(number))  # a terminal may tell this process alone
        try:
            code = child.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if code < 0:
        raise StoppedError(f"{NODE} was ended by {signal.Signals(-code).name}; the robot brakes by itself")
    return code


@contextlib.contextmanager
def _terminal_kept() -> Iterator[None]:
    try:
        settings = termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, settings)
