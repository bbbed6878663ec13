"""Inputs from outside that must permit motion: what they say, what their silence says, and what arming needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.causes import Cause
from tendon.core.errors import ConfigError, StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.robots.profile import StopInput, load_profile
from tendon.safety.input_watch import QUEUE, StopInputWatch
from tendon.safety.monitor import SafetyMonitor
from tendon.safety.response import Response
from tests import ROOT

MS = 1_000_000
PROFILE = load_profile("panda")
HOME = PROFILE.vector("home")


def spec(**more: Any) -> StopInput:
    return StopInput(**({"name": "emergency stop", "topic": "safety/external_stop", "permits": (False,)} | more))


BUTTON = spec(max_age_s=0.2)
ENABLING = spec(name="enabling device", topic="teach/enabled", permits=(True,), response="hold", max_age_s=0.1)
MODE = spec(name="robot mode", topic="robot_mode", permits=(7, 8), type="std_msgs/UInt8")


def found(watch: StopInputWatch, now_ns: int) -> tuple[Response, str] | None:
    findings = list(watch.findings(now_ns))
    assert all(finding.cause is Cause.STOP_INPUT for finding in findings) and len(findings) <= 1
    return (findings[0].response, findings[0].reason) if findings else None


def test_an_input_that_permits_and_is_fresh_restricts_nothing() -> None:
    for each, value in ((BUTTON, False), (ENABLING, True), (MODE, 7), (MODE, 8)):
        watch = StopInputWatch(each)
        watch.hear(value, 0)
        assert found(watch, 50 * MS) is None


def test_never_heard_stops_when_it_is_required_and_only_then() -> None:
    assert found(StopInputWatch(BUTTON), 0) == (Response.STOP, "stop input emergency stop was not heard yet")
    assert found(StopInputWatch(spec(required=False, max_age_s=0.2)), 10**12) is None


@pytest.mark.parametrize("required", [True, False])
def test_silence_stops_once_it_was_heard_required_or_not(required: bool) -> None:
    watch = StopInputWatch(spec(name="enabling device", response="hold", max_age_s=0.1, required=required))
    watch.hear(False, 0)
    assert found(watch, 100 * MS) is None
    assert found(watch, 100 * MS + 1) == (Response.STOP, "stop input enabling device has been silent for 100 ms")


def test_an_input_of_changes_holds_while_somebody_publishes() -> None:
    watch = StopInputWatch(MODE)
    watch.hear(7, 0)
    watch.attend(1)
    assert found(watch, 10**15) is None
    watch.attend(0)
    assert found(watch, 10**15) == (Response.STOP, "stop input robot mode is silent: nobody publishes on robot_mode")
    watch.attend(2)
    assert found(watch, 10**15) is None


def test_each_other_value_restricts_as_the_profile_says() -> None:
    button, enabling, mode = map(StopInputWatch, (BUTTON, ENABLING, MODE))
    button.hear(True, 0)
    enabling.hear(False, 0)
    mode.hear(3, 0)
    assert found(button, 0) == (Response.STOP, "stop input emergency stop is true, motion needs false")
    assert found(enabling, 0) == (Response.HOLD, "stop input enabling device is false, motion needs true")
    assert found(mode, 0) == (Response.STOP, "stop input robot mode is 3, motion needs 7 or 8")


def test_a_button_that_was_pushed_between_two_looks_is_seen_once() -> None:
    watch = StopInputWatch(BUTTON)
    for value in (False, True, False):
        watch.hear(value, 0)
    assert found(watch, 0) == (Response.STOP, "stop input emergency stop is true, motion needs false")
    assert found(watch, 0) is None


@pytest.mark.parametrize("each", [spec(required=False), spec(required=False, max_age_s=0.2), MODE])
def test_who_publishes_and_is_never_heard_stops_required_or_not(each: StopInput) -> None:
    """A pressed button was published 50 times a second, in a way that no message of it came: nothing was found."""
    watch = StopInputWatch(each)
    assert (found(watch, 0) is None) is not each.required
    watch.attend(1)
    assert (found(watch, 0) is None) is not each.required and (found(watch, 1000 * MS) is None) is not each.required
    says = f"was not heard yet, although somebody publishes on {each.topic}"
    assert found(watch, 1001 * MS) == (Response.STOP, f"stop input {each.name} {says}")
    watch.attend(0)
    assert (found(watch, 1002 * MS) is None) is not each.required
    watch.attend(1)
    watch.hear(each.permits[0], 1003 * MS)
    assert found(watch, 1003 * MS) is None


def test_a_publisher_that_cannot_be_heard_stops_beside_one_that_is() -> None:
    watch = StopInputWatch(spec(required=False))
    watch.hear(False, 0)
    watch.attend(2, "panel publishes best effort")
    says = "cannot be heard on safety/external_stop: panel publishes best effort"
    assert found(watch, 0) == (Response.STOP, f"stop input emergency stop {says}")
    watch.attend(2)
    assert found(watch, 0) is None


def test_a_flood_in_which_a_value_may_be_lost_is_a_stop() -> None:
    """The reader's queue kept the last twenty: the one that said "pressed" was overwritten."""
    watch = StopInputWatch(MODE)
    for count, stops in ((QUEUE - 1, False), (QUEUE, True), (1, False)):
        for _ in range(count):
            watch.hear(7, 0)
        assert (found(watch, 0) is not None) is stops
    for _ in range(QUEUE):
        watch.hear(7, 0)
    said = f"came {QUEUE} times at once, must be fewer than {QUEUE}: a value that stops may be lost"
    assert found(watch, 0) == (Response.STOP, f"stop input robot mode {said}")


def test_each_queue_of_an_input_is_counted_by_itself() -> None:
    """A latched publisher matches both subscriptions of an input of changes, and each message came twice."""
    watch = StopInputWatch(MODE)
    for k in range(2 * (QUEUE - 1)):
        watch.hear(7, 0, queue=k % 2)
    assert found(watch, 0) is None


@given(
    said=st.lists(
        st.tuples(st.sampled_from([True, False, 0, 1, 7, "true", ""]), st.integers(0, 300)), min_size=1, max_size=8
    ),
    response=st.sampled_from(["stop", "hold"]),
)
def test_nothing_restricts_only_when_all_since_the_last_look_permitted_and_the_newest_is_fresh(
    said: list[tuple[Any, int]], response: Any
) -> None:
    """True is not 1 and false is not 0, whatever Python says."""
    watch, now_ns = StopInputWatch(spec(permits=(False,), response=response, max_age_s=0.1)), 0
    for value, _ in said:
        watch.hear(value, now_ns)
    now_ns += said[-1][1] * MS
    permitted = all(value is False for value, _ in said)
    answer = found(watch, now_ns)
    assert (answer is None) == (permitted and said[-1][1] <= 100)
    if answer is not None and said[-1][1] > 100:
        assert answer[0] is Response.STOP


class Armed:
    """A monitor with one input, and a controller that follows."""

    def __init__(self, each: StopInput) -> None:
        self.watch, self.now_ns = StopInputWatch(each), 10**12
        self.monitor = SafetyMonitor(PROFILE, ("control_node",), watches=(self.watch,))

    def pass_ms(self, milliseconds: int, say: Callable[[int], None] = lambda now_ns: None) -> PermissionState:
        for _ in range(milliseconds // 20):
            self.now_ns += 20 * MS
            say(self.now_ns)
            self.monitor.beat("control_node", "1", self.now_ns)
            self.monitor.measured(HOME, np.zeros(8), self.now_ns)
            permission = self.monitor.permission(self.now_ns)
            self.monitor.report(Mode(permission.state.value), permission.event, "")
        return permission.state

    def says(self, value: Any) -> Callable[[int], None]:
        return lambda now_ns: self.watch.hear(value, now_ns)


def test_never_heard_it_refuses_to_arm_and_permitting_it_does_not() -> None:
    armed = Armed(BUTTON)
    armed.pass_ms(100)
    with pytest.raises(StoppedError, match="cannot arm: stop input emergency stop was not heard yet"):
        armed.monitor.arm(armed.now_ns)
    armed.pass_ms(100, armed.says(False))
    armed.monitor.arm(armed.now_ns)
    assert armed.pass_ms(1000, armed.says(False)) is PermissionState.ARMED


def test_a_stop_latches_and_reset_waits_until_it_is_released() -> None:
    armed = Armed(BUTTON)
    armed.pass_ms(100, armed.says(False))
    armed.monitor.arm(armed.now_ns)
    assert armed.pass_ms(20, armed.says(True)) is PermissionState.LATCHED
    with pytest.raises(StoppedError, match="cannot reset: stop input emergency stop is true"):
        armed.monitor.reset(armed.now_ns)
    assert armed.pass_ms(100, armed.says(False)) is PermissionState.LATCHED
    armed.monitor.reset(armed.now_ns)


def test_silence_latches() -> None:
    armed = Armed(ENABLING)
    armed.pass_ms(100, armed.says(True))
    armed.monitor.arm(armed.now_ns)
    assert armed.pass_ms(100) is PermissionState.ARMED
    assert armed.pass_ms(20) is PermissionState.LATCHED


def test_an_enabling_device_holds_while_released_and_refuses_to_arm() -> None:
    armed = Armed(ENABLING)
    armed.pass_ms(600, armed.says(False))
    with pytest.raises(StoppedError, match=r"cannot arm: .*enabling device is false, motion needs true"):
        armed.monitor.arm(armed.now_ns)
    armed.pass_ms(600, armed.says(True))
    armed.monitor.arm(armed.now_ns)
    for value, speed in ((True, 1.0), (False, 0.0), (True, 1.0)):
        assert armed.pass_ms(600, armed.says(value)) is PermissionState.ARMED
        assert armed.monitor.permission(armed.now_ns).speed == speed


def load(inputs: Any, folder: Path) -> tuple[StopInput, ...]:
    values = yaml.safe_load((ROOT / "robots" / "panda" / "profile.yaml").read_text())
    values |= {key: str(ROOT / "robots" / "panda" / values[key]) for key in ("urdf", "collisions")}
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values | {"stop_inputs": inputs}))
    return load_profile(path).stop_inputs


GOOD = {"name": "emergency stop", "topic": "safety/external_stop", "permits": [False], "max_age_s": 0.2}


def test_a_profile_may_have_inputs(tmp_path: Path) -> None:
    assert load([GOOD], tmp_path) == (BUTTON,) and load_profile("panda").stop_inputs == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"permit": [True]}, r"stop_inputs\[0\]: unknown key permit; did you mean permits\?"),
        ({"permits": []}, r"permits is \(\), must be a list of the values at which the robot may move"),
        ({"permits": True}, r"permits is True, must be a list"),
        ({"permits": [0.5]}, r"permits has 0.5, must be true, false, a whole number or a text"),
        ({"permits": [True, 1]}, r"permits has \[True, 1\], must be of one kind"),
        ({"topic": "9 lives"}, r"topic is '9 lives', which no ROS topic can be called"),
        ({"type": "Bool"}, r"type is 'Bool', must be a package and a message such as std_msgs/Bool"),
        ({"field": "a..b"}, r"field is 'a..b', must be a field such as data"),
        ({"response": "slow"}, r"response is 'slow'"),
        ({"required": "yes"}, r"required is 'yes'"),
        ({"max_age_s": 0}, r"max_age_s is 0, must be"),
        ({"max_age_s": 5.0}, r"max_age_s is 5.0, must be"),
    ],
)
def test_a_mistake_in_one_is_named(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"profile.yaml.*{says}"):
        load([GOOD | change], tmp_path)


@pytest.mark.parametrize("inputs", [5, "text", [5], {"a": 5}, [GOOD, GOOD]])
def test_inputs_of_another_form_are_an_error(inputs: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stop_inputs"):
        load(inputs, tmp_path)
