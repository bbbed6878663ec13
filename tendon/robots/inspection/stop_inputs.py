"""Stop inputs that could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from tendon.core.errors import ConfigError
from tendon.robots.inspection.finding import Finding, error, warning
from tendon.robots.profile import RobotProfile
from tendon.robots.stop_input_type import NotInstalledError, message_type


def inspect_stop_inputs(profile: RobotProfile) -> Iterator[Finding]:
    """Yields what is wrong with the message types of stop inputs."""
    for spec in profile.stop_inputs:
        try:
            message_type(spec)
        except NotInstalledError as problem:
            yield warning("stop_inputs", str(problem), "nothing, if it is there where the graph will run")
        except ConfigError as problem:
            yield error("stop_inputs", str(problem), "correct it; until then the graph does not start")
