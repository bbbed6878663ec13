"""Print the JSON schema of bundle.yaml: editors complete keys, show meanings and mark mistakes with it.

Examples:
  tendon policy schema
"""

from __future__ import annotations


def command() -> int:
    """Prints."""
    from tendon.core.json_schema import schema_text
    from tendon.policies.spec.manifest import Manifest

    print(schema_text(Manifest), end="")
    return 0
