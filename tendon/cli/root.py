"""The root of the commands: its options, and how the exit code comes about."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command

from tendon.cli.mistakes import ParseError, one_line
from tendon.cli.outputs import system_error
from tendon.cli.terminal import lead_nowhere
from tendon.cli.tree import EXIT_ERROR, Group
from tendon.core.errors import ConfigError
from tendon.graph.namespace import NAMESPACE_VARIABLE, parse_namespace

EXIT_BROKEN_PIPE = 141
"""What a shell reports of a program that SIGPIPE ended."""

app = typer.Typer(
    name="tendon",
    cls=Group,
    help="Tendon deploys vision-language-action policies on robots with ROS 2.",
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from tendon.cli.version import version_line

        print(version_line())
        raise typer.Exit


def _parse_namespace(text: str) -> str:
    try:
        return parse_namespace(text)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from error


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show version and place, and exit."),
    ] = False,
    namespace: Annotated[
        str,
        typer.Option(
            envvar=NAMESPACE_VARIABLE, metavar="NAME", callback=_parse_namespace, help="ROS namespace of the graph."
        ),
    ] = "",
) -> None:
    del version  # its callback has printed it
    os.environ[NAMESPACE_VARIABLE] = namespace


def _mend_bash_words() -> None:
    """Moves the cursor behind a `:=`, which bash takes for the word to complete: what is asked for is what follows."""
    words, at = os.environ.get("COMP_WORDS", "").splitlines(), os.environ.get("COMP_CWORD", "")
    if at.isdigit() and words[int(at) : int(at) + 1] == [":="]:
        os.environ["COMP_CWORD"] = str(int(at) + 1)


def _unread() -> int:
    """Returns the exit code when who read our output, such as `head`, has seen enough."""
    lead_nowhere(sys.stdout)
    return EXIT_BROKEN_PIPE


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; what is wrong is one line on stderr and code 2, a closed pipe code 141.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    _mend_bash_words()
    if sys.stdout is None:  # closed by whoever started us: `tendon ... >&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115, until the process ends
    try:
        result = get_command(app).main(given, prog_name="tendon", standalone_mode=False)
        sys.stdout.flush()
    except ParseError as error:
        print(one_line(error), file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        return _unread()
    except SystemExit as error:  # by which typer and rich answer a broken pipe
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return _unread()
    except OSError as error:  # of --help and --version, which are no command
        print(f"tendon: {system_error(error)}", file=sys.stderr)
        return EXIT_ERROR
    except typer.Abort as abort:  # what Ctrl-C is to typer
        raise KeyboardInterrupt from abort
    return int(result or 0)
