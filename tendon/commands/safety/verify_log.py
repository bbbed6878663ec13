"""Check that no line of an event log was altered; exit code 1 when one was.

Example:
  tendon safety verify-log RUN.jsonl
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.log_verdict import verdict
from tendon.safety.event_log import read_log


def command(file: Annotated[Path, typer.Argument(metavar="FILE", help="Event log.")]) -> int:
    """Prints the verdict.

    Raises:
        IntegrityError: there is no such log, or it is none.
    """
    return verdict(file, read_log(file))
