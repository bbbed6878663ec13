"""The `tendon` command. Each module of `tendon.commands` is one subcommand and is imported only when it is called.

A subcommand is a module with a docstring (its first line is the help), `add_arguments(parser)` and `run(args) -> int`.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tendon import commands
from tendon.core.errors import TendonError

EXIT_ERROR = 2


def _summary(module: str) -> str:
    """Returns the first line of a subcommand's docstring without importing what it needs."""
    source = Path(commands.__path__[0], f"{module}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def command_name(module: str) -> str:
    """Returns what a subcommand is called: `calibrate_detector` is calibrate-detector, `import_` is import."""
    return module.rstrip("_").replace("_", "-")


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Returns the parser; only the chosen subcommand is imported and has its arguments."""
    parser = argparse.ArgumentParser(prog="tendon", description="Deploys vision-language-action policies with ROS 2.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in pkgutil.iter_modules(commands.__path__):
        summary, name = _summary(module.name), command_name(module.name)
        subparser = subparsers.add_parser(
            name,
            help=summary.replace("%", "%%"),  # argparse formats help, not descriptions
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == chosen:
            command = importlib.import_module(f"{commands.__name__}.{module.name}")
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand and returns its exit code; a `TendonError` is one line on stderr and code 2."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    chosen = next((text for text in arguments if not text.startswith("-")), None)
    try:
        args = build_parser(chosen).parse_args(arguments)
        return int(args.run(args))
    except TendonError as error:
        print(f"tendon {chosen}: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
