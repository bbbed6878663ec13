"""Devices by name: `keyboard`, `gamepad:/dev/input/event5`, `leader:so101@/leader+keyboard`, one for each hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.robots.profile import RobotProfile, load_profile
from tendon.teleop.axis_map import AxisMap, load_map, read_map
from tendon.teleop.device import Device
from tendon.teleop.devices.evdev_device import EvdevDevice
from tendon.teleop.devices.keyboard import KeyboardDevice
from tendon.teleop.devices.leader import LeaderDevice
from tendon.teleop.devices.lerobot import GRIPPER, LeRobotDevice, make_teleoperator
from tendon.teleop.devices.paired import PairedDevice
from tendon.teleop.devices.spacemouse import SpaceMouseDevice
from tendon.teleop.hand import Hand
from tendon.teleop.maps import MAPS
from tendon.teleop.motion import ArmMotion, Motion, ToolMotion

DEFAULT_GROUP = "arm"

PLUGINS: Mapping[str, Callable[[str], Device]] = {
    "keyboard": lambda place: KeyboardDevice(),
    "gamepad": EvdevDevice,
    "spacemouse": SpaceMouseDevice,
    "leader": LeaderDevice,
    "lerobot": lambda place: LeRobotDevice(Path(place).stem, lambda: make_teleoperator(Path(place))),
}
"""Kind of device to what makes one from its place: what follows the colon, empty for the first that is found."""
ARMS = ("leader", "lerobot")
"""Kinds that are arms: they need a place, and something with a deadman beside them."""


@dataclass(frozen=True, kw_only=True)
class DeviceName:
    """A device as it is typed.

    Attributes:
        group: of joints that it drives.
        kind: one of `PLUGINS`.
        place: what follows the colon.
        holder: what is held beside an arm; `None` for others.
    """

    group: str
    kind: str
    place: str = ""
    holder: DeviceName | None = None


def parse_device(text: str) -> DeviceName:
    """Returns a device from `[GROUP=]KIND[:PLACE][+HOLDER]`.

    Raises:
        ConfigError: it is none, an arm has no holder, or another kind has one.
    """
    group, sign, rest = text.partition("=")
    group, rest = (group, rest) if sign else (DEFAULT_GROUP, text)
    first, plus, second = rest.partition("+")
    kind, _, place = first.partition(":")
    if kind not in PLUGINS:
        raise ConfigError(f"no device {kind!r}{closest(kind, tuple(PLUGINS))}")
    if kind in ARMS:
        form = "leader:PROFILE@NAMESPACE" if kind == "leader" else "lerobot:FILE.yaml"
        if not place or (kind == "leader" and not all(place.partition("@"))):
            raise ConfigError(f"device {first!r} does not say which arm: {form}+keyboard")
        if not second:
            raise ConfigError(f"a {kind} arm has no deadman: add what is held meanwhile, such as {first}+keyboard")
    elif plus:
        raise ConfigError(f"device {rest!r}: only an arm ({', '.join(ARMS)}) has something beside it that is held")
    holder = parse_device(f"{group}={second}") if second else None
    if holder is not None and holder.kind in ARMS:
        raise ConfigError(f"device {rest!r}: what is held beside an arm must have keys, {holder.kind} has none")
    return DeviceName(group=group, kind=kind, place=place, holder=holder)


def parse_devices(texts: Sequence[str], profile: RobotProfile) -> tuple[DeviceName, ...]:
    """Returns the devices of all hands.

    Raises:
        ConfigError: one is none, its group is not the profile's, or two drive the same joint or are the same device.
    """
    if not texts:
        raise ConfigError(f"no device is named: one of {', '.join(PLUGINS)}")
    names = tuple(map(parse_device, texts))
    driven: dict[int, str] = {}
    for name in names:
        for column in profile.group_indices(name.group):
            if column in driven:
                raise ConfigError(
                    f"{name.group} and {driven[column]} share joint {profile.joint_names[column]}: name a group for "
                    f"each hand, such as left_arm=gamepad; {profile.name} has {', '.join(profile.groups)}"
                )
            driven[column] = name.group
    used = [(each.kind, each.place) for name in names for each in (name, name.holder) if each is not None]
    for kind, place in used:
        if used.count((kind, place)) > 1:
            raise ConfigError(
                f"{kind} is named for two hands: say which is which by its place, such as {kind}:/dev/..."
            )
    return names


def open_device(name: DeviceName) -> Device:
    """Returns a device, not open yet."""
    device = PLUGINS[name.kind](name.place)
    return device if name.holder is None else PairedDevice(device, open_device(name.holder))


def make_hand(name: DeviceName, profile: RobotProfile, map_file: Path | None = None) -> Hand:
    """Returns a hand with its device, not open yet.

    Args:
        name: of the device.
        profile: of the robot.
        map_file: of its axes; by default the map of its kind.

    Raises:
        ConfigError: the map or the profile of the leader arm is wrong.
    """
    axis_map = read_map(MAPS[name.kind], f"map of {name.kind}") if map_file is None else load_map(map_file)
    return Hand(name.group, open_device(name), axis_map, _motion(name, profile, axis_map))


def _motion(name: DeviceName, profile: RobotProfile, axis_map: AxisMap) -> Motion:
    if name.kind not in ARMS:
        return ToolMotion(profile, name.group)
    grippers = {GRIPPER: (0.0, 1.0)}
    if name.kind == "leader":
        leader = load_profile(name.place.partition("@")[0])
        grippers = {gripper.joint: (gripper.closed, gripper.open) for gripper in leader.grippers}
    return ArmMotion(profile, name.group, axis_map.joints, grippers)
