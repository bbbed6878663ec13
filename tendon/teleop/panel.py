"""What a person sees who teleoperates: a few lines, drawn ten times a second. Nothing is read or timed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from tendon.core.modes import Mode, Source
from tendon.core.types import Array
from tendon.safety.reports import ControlState
from tendon.teleop.axis_map import ANY, GRIPPER, AxisMap
from tendon.teleop.hand import HandState
from tendon.teleop.motion import rotation_degrees

_DIM, _BOLD = Style(dim=True), Style(bold=True)
_HELD = Style(bold=True, reverse=True, color="green")
_FREE = Style(bold=True, reverse=True, color="cyan")
_LOST = Style(bold=True, reverse=True, color="red")
LABEL = 10
ALONG_THE_BASE = {"x": "forward, back", "y": "left, right", "z": "up, down"}
LITTLE_MARGIN = 0.1
"""From here on the filter has little room left."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HandView:
    """One hand as it is shown.

    Attributes:
        state: what it does.
        position: (3,) of its tool where the robot is now [m, base frame]; `None` before that was heard.
        rotation: (3, 3) likewise.
        gripper: how far the fingers are open, 0 to 1; `None` without any.
    """

    state: HandState
    position: Array | None = None
    rotation: Array | None = None
    gripper: float | None = None


@dataclass(frozen=True, kw_only=True)
class View:
    """All that is shown.

    Attributes:
        title: robot, graph.
        hands: one or two.
        control: what the control node says; `None` before it was heard.
        silent_s: how long it has said nothing.
        permission: the safety monitor's, in words.
        recorder: what the recorder says of itself; empty without one.
        keys: what may be pressed.
        log: where the log is.
    """

    title: str
    hands: Sequence[HandView]
    control: ControlState | None
    silent_s: float
    permission: str
    recorder: str
    keys: Sequence[str]
    log: str


def keys_of(axis_map: AxisMap) -> tuple[str, ...]:
    """Returns what may be pressed at a device, for a person, by its map."""
    words = {**(ALONG_THE_BASE if axis_map.frame == "base" else {}), GRIPPER: "open, close"}
    moves = [f"{_sides(names)} {words.get(axis, axis)}" for axis, names in axis_map.axes.items() if names]
    holds = [name for name in axis_map.hold if name != ANY]
    rest = [
        f"{' '.join(names)} {does}"
        for names, does in (
            (axis_map.gripper_toggle, "open or close"),
            ((*axis_map.slower[:1], *axis_map.faster[:1]), "speed"),
        )
        if names
    ]
    hold = f"{' or '.join(holds)} {'holds' if ANY in axis_map.hold else 'has to be held'}" if holds else ""
    return tuple(filter(None, ("   ".join(moves), "   ".join(filter(None, (*rest, hold, "Ctrl-C ends"))))))


def _sides(names: Sequence[str]) -> str:
    """Returns what drives an axis, and what drives it back behind a stroke: w/s."""
    back = [name[1:] for name in names if len(name) > 1 and name[0] == "-"]
    there = [name for name in names if len(name) == 1 or name[0] != "-"]
    return "/".join(" or ".join(side) for side in (there, back) if side)


def draw(view: View, width: int) -> list[Text]:
    """Returns the lines, none wider than the terminal."""
    lines = [Text(view.title, _BOLD)]
    for hand in view.hands:
        lines += _hand(hand, several=len(view.hands) > 1)
    lines += [_robot(view), _filter(view), _line("recording", view.recorder or "no recorder in this graph")]
    lines += [Text(text, _DIM) for text in (*view.keys, view.log) if text]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _line(label: str, *parts: str | tuple[str, Style]) -> Text:
    return Text.assemble((f"{label:<{LABEL}}", _DIM), *parts)


def _hand(hand: HandView, several: bool) -> list[Text]:
    state = hand.state
    if state.held:
        word = (" HELD ", _HELD)
    elif state.waits:
        word = (" WAITS ", _LOST)
    else:
        word = (" FREE ", _FREE)
    what = state.note if state.held else state.waits or "press to move"
    group = f"{state.group}: " if several else ""
    lines = [
        _line("device", f"{group}{state.device}   ", (f"speed {100 * state.speed:.0f} %", _BOLD)),
        _line("clutch", word, f" {what}"),
    ]
    if hand.position is not None and hand.rotation is not None:
        x, y, z = ((1e3 * hand.position).round(1) + 0.0).tolist()
        roll, pitch, yaw = (round(angle, 1) + 0.0 for angle in rotation_degrees(hand.rotation))
        lines.append(
            _line(
                "tool", f"x {x:7.1f}  y {y:7.1f}  z {z:7.1f} mm   roll {roll:6.1f}  pitch {pitch:6.1f}  yaw {yaw:6.1f}°"
            )
        )
    if hand.gripper is not None:
        full = round(10 * min(max(hand.gripper, 0.0), 1.0))
        lines.append(_line("gripper", "█" * full, ("░" * (10 - full), _DIM), f" {100 * hand.gripper:.0f} % open"))
    return lines


def _robot(view: View) -> Text:
    control = view.control
    if control is None:
        return _line("robot", "the control node has not been heard yet")
    if view.silent_s > 1.0:
        return _line("robot", (f" the control node is silent for {view.silent_s:.0f} s ", _LOST))
    leads = "" if control.source is Source.TELEOP else f"   {control.source.value} leads: the first press takes over"
    if control.mode.moving:
        return _line("robot", control.mode.value, leads)
    asks = "arm it: `tendon safety arm`" if control.mode is Mode.STANDBY else "then `tendon safety reset`"
    return _line("robot", (f" {control.mode.value.upper()} ", _LOST), f" {view.permission or asks}", leads)


def _filter(view: View) -> Text:
    control = view.control
    if control is None:
        return _line("filter", "-")
    style = _LOST if control.margin < LITTLE_MARGIN else Style()
    margin = (f"margin {100 * control.margin:.0f} %", style)
    return _line("filter", margin, f" {control.binding}   {control.reason}".rstrip())
