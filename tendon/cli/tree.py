"""The tree of commands, read from the folders of `tendon.commands`; a module is imported when its command is called."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tendon.cli.outputs import system_error
from tendon.cli.termination import EXIT_TERMINATED, TerminationError
from tendon.core.errors import TendonError

EXIT_ERROR = 2
ROOT = "tendon.commands"


class Command(TyperCommand):
    """A command: its help ends in examples, and a `TendonError` or `OSError` is one line on stderr and exit code 2."""

    examples = ""
    notes = ""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command and returns its exit code."""
        try:
            return super().invoke(ctx)
        except TendonError as error:
            print(f"{ctx.command_path}: {error}", file=sys.stderr)
            return EXIT_ERROR
        except TerminationError:
            return EXIT_TERMINATED
        except BrokenPipeError:  # see `tendon.cli.root`
            raise
        except OSError as error:
            print(f"{ctx.command_path}: {system_error(error)}", file=sys.stderr)
            return EXIT_ERROR

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help, then notes and examples as they stand: a broken line could not be pasted."""
        super().format_help(ctx, formatter)
        if self.notes:
            formatter.write(f" {self.notes}\n\n")
        if self.examples:
            formatter.write(f" Examples:\n{self.examples}\n")


class Group(TyperGroup):
    """A group of commands: a package, whose `PANELS` order the commands under headings."""

    def __init__(self, *, package: str = ROOT, **settings: Any) -> None:
        """Reads which commands there are.

        Args:
            package: dotted name of the package.
            settings: typer's.
        """
        super().__init__(**settings)
        self.package = importlib.import_module(package)
        self.modules = {command_name(module.name): module for module in pkgutil.iter_modules(self.package.__path__)}
        panels: dict[str, tuple[str, ...]] = getattr(self.package, "PANELS", {})
        self.panels = {name: panel for panel, names in panels.items() for name in names}

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns names in the order of the headings, what is under none at the end."""
        del ctx
        under_none = [name for name in self.modules if name not in self.panels]
        return [*(name for name in self.panels if name in self.modules), *under_none]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns enough of a command to be listed: it is not imported."""
        del ctx
        module = self.modules.get(cmd_name)
        if module is None:
            return None
        name = f"{self.package.__name__}.{module.name}"
        if module.ispkg:
            summary, panel = _docstring(importlib.import_module(name))[0], self.panels.get(cmd_name)
            return Group(package=name, name=cmd_name, help=summary, rich_help_panel=panel, rich_markup_mode="rich")
        source = Path(self.package.__path__[0], f"{module.name}.py")
        return Command(cmd_name, help=_first_line(source), rich_help_panel=self.panels.get(cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Returns name, command and what is left of the arguments; the command is imported."""
        from tendon.cli.mistakes import unknown_command

        name = args[0]
        if name not in self.modules and ctx.resilient_parsing:  # the Tab key, which says nothing of what is wrong
            return None, None, args
        if name not in self.modules:
            ctx.fail(unknown_command(self, ctx.command_path, args))
        found = self.get_command(ctx, name)
        if not isinstance(found, Group):
            found = _load(f"{self.package.__name__}.{self.modules[name].name}", name)
        return name, found, args[1:]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Shows the help where no command is named."""
        return super().parse_args(ctx, args or ([] if ctx.resilient_parsing else ["--help"]))


def command_name(module: str) -> str:
    """Returns what a command is called: `calibrate_detector` is calibrate-detector, `import_` is import."""
    return module.rstrip("_").replace("_", "-")


def walk(group: Group, *path: str) -> Iterator[tuple[str, ...]]:
    """Yields the path of every command below a group, such as ("policy", "bench")."""
    for name in group.list_commands(None):
        found = group.get_command(None, name)
        if isinstance(found, Group):
            yield from walk(found, *path, name)
        else:
            yield (*path, name)


def load_command(path: Sequence[str]) -> Command:
    """Imports the command at a path that `walk` yields."""
    *groups, name = path
    group = Group(package=".".join([ROOT, *groups]))
    return _load(f"{group.package.__name__}.{group.modules[name].name}", name)


@cache
def _load(module: str, name: str) -> Command:
    imported = importlib.import_module(module)
    text, examples = _docstring(imported)
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    settings = getattr(imported, "CONTEXT", {})
    single.command(name, cls=Command, help=text, context_settings=settings)(imported.command)
    loaded = get_command(single)
    assert isinstance(loaded, Command)
    for parameter in loaded.params:
        if getattr(parameter, "help", None):
            parameter.help = _as_markup(parameter.help)  # type: ignore[attr-defined]
    loaded.examples = examples
    if hasattr(imported, "notes"):
        loaded.notes = imported.notes()
    return loaded


def _docstring(module: ModuleType) -> tuple[str, str]:
    """Returns a module's prose as rich markup, a paragraph a line, and its examples."""
    prose, examples = list[str](), ""
    for paragraph in (module.__doc__ or "").strip().split("\n\n"):
        heading, _, rest = paragraph.partition("\n")
        if heading in ("Example:", "Examples:"):
            examples = rest
        else:
            prose.append(_as_markup(paragraph.replace("\n", " ")))
    return "\n\n".join(prose), examples


def _first_line(source: Path) -> str:
    """Returns the first line of a file's docstring, as rich markup."""
    with source.open(encoding="utf-8") as file:
        return _as_markup(file.readline().strip().lstrip("r").strip('"'))


def _as_markup(text: str) -> str:
    """Returns text as rich markup that prints it: a unit in brackets, such as [mm], is no style."""
    return text.replace("[", "\\[")
