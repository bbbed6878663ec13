"""What is shown: who holds what, where the tool is, what filter and mode say; never wider than the terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.modes import Mode, Source
from tendon.safety.reports import ControlState
from tendon.teleop.axis_map import read_map
from tendon.teleop.hand import HandState
from tendon.teleop.maps import MAPS
from tendon.teleop.panel import HandView, View, draw, keys_of

HAND = HandState(group="arm", device="keyboard", held=True, waits="", note="", speed=0.5)
CONTROL = ControlState(
    mode=Mode.RUNNING, event=1, margin=0.34, binding="panda_link5 - panda_hand", source=Source.TELEOP
)
VIEW = View(
    title="tendon teleop · panda · domain 0",
    hands=[HandView(state=HAND, position=np.array([0.4, -0.01, 0.3]), rotation=np.eye(3), gripper=0.34)],
    control=CONTROL,
    silent_s=0.1,
    permission="",
    recorder="",
    keys=("w/s forward, back",),
    log="log: ~/x",
)


def shown(view: View, width: int = 118) -> list[str]:
    return [line.plain for line in draw(view, width)]


def test_it_says_device_clutch_pose_gripper_mode_and_filter() -> None:
    assert shown(VIEW) == [
        "tendon teleop · panda · domain 0",
        "device    keyboard   speed 50 %",
        "clutch     HELD  ",
        "tool      x   400.0  y   -10.0  z   300.0 mm   roll    0.0  pitch    0.0  yaw    0.0°",
        "gripper   ███░░░░░░░ 34 % open",
        "robot     running",
        "filter    margin 34 % panda_link5 - panda_hand",
        "recording no recorder in this graph",
        "w/s forward, back",
        "log: ~/x",
    ]


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (replace(VIEW, hands=[HandView(state=replace(HAND, held=False))]), "FREE  press to move"),
        (replace(VIEW, hands=[HandView(state=replace(HAND, held=False, waits="let go first"))]), "WAITS  let go first"),
        (
            replace(VIEW, hands=[HandView(state=replace(HAND, note="at the end of its reach"))]),
            "at the end of its reach",
        ),
        (replace(VIEW, control=None), "has not been heard yet"),
        (replace(VIEW, silent_s=3.2), "silent for 3 s"),
        (replace(VIEW, control=replace(CONTROL, mode=Mode.STANDBY)), "STANDBY  arm it: `tendon safety arm`"),
        (replace(VIEW, control=replace(CONTROL, mode=Mode.LATCHED), permission="contact"), "LATCHED  contact"),
        (replace(VIEW, control=replace(CONTROL, source=Source.POLICY)), "policy leads: the first press takes over"),
        (replace(VIEW, control=replace(CONTROL, reason="released: press to go on")), "released: press to go on"),
        (replace(VIEW, recorder="episode 3, 12 s"), "recording episode 3, 12 s"),
        (
            replace(VIEW, hands=[HandView(state=replace(HAND, group=g)) for g in ("left_arm", "right_arm")]),
            "left_arm: key",
        ),
    ],
)
def test_what_a_person_has_to_know_is_in_a_line(view: View, said: str) -> None:
    assert said in "\n".join(shown(view))


@given(width=st.integers(1, 200), text=st.text(max_size=80))
def test_no_line_is_wider_than_the_terminal(width: int, text: str) -> None:
    hand = HandView(state=replace(HAND, device=text, held=False, waits=text))
    assert all(line.cell_len <= width for line in draw(replace(VIEW, hands=[hand], recorder=text), width))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            MAPS["keyboard"],
            (
                "w/s forward, back   a/d left, right   r/f up, down   u/o roll   i/k pitch   j/l yaw   v/c open, close",
                "- + speed   space holds   Ctrl-C ends",
            ),
        ),
        (MAPS["leader"], ("space or BTN_TL or KEY_SPACE has to be held   Ctrl-C ends",)),
        (
            "hold: [h]\naxes: {x: [t, up, -g], gripper: [-ABS_Z]}\nframe: tool\ngripper_toggle: [n]",
            ("t or up/g x   ABS_Z open, close", "n open or close   h has to be held   Ctrl-C ends"),
        ),
    ],
)
def test_keys_are_those_of_the_map(text: str, said: tuple[str, ...]) -> None:
    """A map of one's own and a leader arm have others than the keyboard that comes with Tendon."""
    assert keys_of(read_map(text, "map")) == said
