"""What the filter was given, gathered: the log holds the same steps, at the same times, as of a message a tick."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from trajectory_msgs.msg import JointTrajectory

from tendon.core.filter_input import LEAD_TICKS, FilterInput
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.control.given_inputs import GivenInputs
from tendon.ros2_nodes.wire.cdr import deserialize

NAMES = ("a", "b")
PERIOD_NS = 10_000_000
STEPS = {"quiet": 0, "reset": LEAD_TICKS + 1}

Step = tuple[int, float, float | None]


def steps_of(messages: Iterable[bytes]) -> list[Step]:
    """Returns due time, target and pose before it of each step, as the monitor reads them."""
    found: list[Step] = []
    pose: float | None = None
    for data in messages:
        deserialize(data, JointTrajectory)
        read = wire.read_filter_inputs(data, NAMES)
        if read.reset is not None:
            pose = float(read.reset[0])
        for k, step in enumerate(read.steps):
            assert step.target is not None
            due_ns = read.stamp_ns + (LEAD_TICKS + 1 - len(read.steps) + k) * PERIOD_NS
            found.append((due_ns, float(step.target[0]), pose))
            pose = None
    return found


@given(st.lists(st.one_of(st.just("quiet"), st.just("reset"), st.integers(1, 9)), max_size=60))
def test_the_log_holds_the_same_steps_at_the_same_times(ticks: list[str | int]) -> None:
    """A tick adds one step, several after some that were missed, five after a reset, none in standby."""
    sent: list[bytes] = []
    gathering = GivenInputs(NAMES, sent.append)
    each: list[bytes] = []
    now_ns = step = 0
    for tick in [*ticks, "quiet"]:
        count = STEPS[tick] if isinstance(tick, str) else tick
        now_ns += PERIOD_NS * (tick if isinstance(tick, int) else 1)
        inputs = []
        for k in range(count):
            step += 1
            pose = np.full(2, float(step)) if tick == "reset" and k == 0 else None
            inputs.append(FilterInput(reset=pose, target=np.full(2, float(step)), velocity=None, speed=1.0))
        gathering.add(now_ns, inputs)
        each.extend(wire.filter_input_bytes(now_ns, NAMES, inputs))
    assert steps_of(sent) == steps_of(each)


def test_a_robot_in_motion_sends_a_fifth_of_the_messages() -> None:
    sent: list[bytes] = []
    gathering = GivenInputs(NAMES, sent.append)
    for k in range(100):
        gathering.add(k * PERIOD_NS, [FilterInput(reset=None, target=np.zeros(2), velocity=None, speed=1.0)])
    assert len(sent) == 20


def test_a_reset_among_steps_keeps_its_place() -> None:
    step = FilterInput(reset=None, target=np.zeros(2), velocity=None, speed=1.0)
    anew = FilterInput(reset=np.ones(2), target=np.ones(2), velocity=None, speed=1.0)
    kinds = [wire.read_filter_inputs(data, NAMES) for data in wire.filter_input_bytes(7, NAMES, [step, anew, step])]
    assert [(each.reset is not None, len(each.steps)) for each in kinds] == [(False, 1), (True, 0), (False, 2)]
