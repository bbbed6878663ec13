"""Print the JSON schema of robot profiles: editors complete keys, show meanings and mark mistakes with it.

Examples:
  tendon robot schema
"""

from __future__ import annotations


def command() -> int:
    """Prints."""
    from tendon.core.json_schema import schema_text
    from tendon.robots.profile import RobotProfile

    print(schema_text(RobotProfile), end="")
    return 0
