"""What a person is told while the robot does not follow the policy."""

from __future__ import annotations

from tendon.core.modes import Source
from tendon.graph import topics

PUBLISH = f"or publish policy on {topics.CONTROL_SOURCE}"
UNLED = {
    Source.TELEOP: f"teleop leads: end it, then say a task, {PUBLISH}",
    Source.HOLD: f"nobody leads: say a task, {PUBLISH}",
}
"""Source of the control node to why the policy is not followed, and what changes that."""
UNLED_WITHOUT_POLICY = f"nobody leads: press in `tendon teleop`, or publish a source on {topics.CONTROL_SOURCE}"
UNARMED = "the robot is not armed: tendon safety arm"
STOPPED = "the robot is stopped, tendon status says why: tendon safety reset, then tendon safety arm"
