"""What a recorder is told to record of a robot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tendon.data.recording.schemas import definition
from tendon.graph.recorded import recorded_topics
from tendon.robots.profile import StopInput, load_profile


@pytest.mark.parametrize("written", ["std_msgs/Bool", "std_msgs/msg/Bool"])
def test_a_stop_input_is_recorded_by_the_whole_name_of_its_type(written: str) -> None:
    """By the short one, which a profile has by default, nobody knew its definition: every episode was bad."""
    stop = StopInput(name="emergency stop", topic="/stop", permits=(True,), type=written)
    (found,) = [
        each for each in recorded_topics(replace(load_profile("panda"), stop_inputs=(stop,))) if each.name == "/stop"
    ]
    assert found.kind == "std_msgs/msg/Bool" and "bool data" in definition(found.kind)
