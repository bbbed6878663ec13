"""What the joints bear: a contact that the controller does not stop for, and a payload that is too heavy."""

from __future__ import annotations

from collections.abc import Iterable

from tendon.core.causes import Cause
from tendon.core.types import Array
from tendon.robots.effort import EffortLimit
from tendon.robots.profile import RobotProfile
from tendon.safety.response import Finding, Response


class EffortWatch:
    """Stops for a contact, later than the controller, which comes back from it; slows down for a payload.

    Slow, and not held: whoever holds too much has to be able to set it down.

    Args:
        profile: the efforts that each joint may bear.
    """

    def __init__(self, profile: RobotProfile) -> None:
        settings, names = profile.safety, profile.joint_names
        self._contact = EffortLimit(names, profile.effort_limit("contact_effort"), settings.contact_ignored_s)
        self._payload = EffortLimit(names, profile.effort_limit("payload_effort"), settings.payload_lasts_s)

    def measured(self, effort: Array, now_ns: int) -> None:
        """Takes (n,) efforts in the profile's order, N m or N."""
        self._contact.measured(effort, now_ns)
        self._payload.measured(effort, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns what is borne now."""
        del now_ns  # joint states that do not come any more are looked at elsewhere
        for what, limit, response in (
            ("contact", self._contact, Response.STOP),
            ("payload", self._payload, Response.SLOW),
        ):
            if limit.problem:
                text = f"{what}: {limit.problem}"
                yield Finding(source=what, response=response, cause=Cause.EFFORT, reason=text)
