"""The `tendon` command. Each module below `tendon.commands` is a command and is imported only when it is called.

A command is a module with a docstring, whose first line is its summary and whose `Examples:` can be typed as they
stand, and a function `command` with typer's annotations that returns an exit code. A package of them is a group.
"""

from __future__ import annotations

from collections.abc import Sequence

EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; what is wrong is one line on stderr and code 2, Ctrl-C is code 130.

    Everything is imported in here, so that Ctrl-C in the first second is no traceback either.
    """
    try:
        from tendon.cli.root import run

        return run(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
