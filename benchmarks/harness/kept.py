"""Episodes that a benchmark keeps in a file, so that it goes on where it was cut: of one policy, setting and commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.bench import commit
from tendon.core.json_lines import json_lines_so_far


def kept_rows(file: Path, **about: str) -> list[Any]:
    """Returns the rows of a file so far, none where there is none; a file beside it says what they are of.

    Args:
        file: JSON lines.
        about: what was played, such as the digest of a policy; the commit of the code is added.

    Raises:
        SystemExit: the rows are of something else.
    """
    about["commit"] = commit()
    file.parent.mkdir(parents=True, exist_ok=True)
    said, rows = file.with_suffix(".about.json"), json_lines_so_far(file)
    before: dict[str, str] = json.loads(said.read_text()) if said.is_file() else {}
    changed = {name: now for name, now in about.items() if before.get(name) != now}
    if rows and changed:
        told = "; ".join(f"{name} {before.get(name, 'unknown')}, now {now}" for name, now in changed.items())
        raise SystemExit(f"{file} has episodes of another run ({told}): move it away, or name another place")
    said.write_text(json.dumps(about, indent=1))
    return rows
