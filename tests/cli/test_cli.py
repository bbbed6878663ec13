"""The command line answers for itself: help, examples that hold, what is meant by a wrong word."""

from __future__ import annotations

import ast
import importlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import tendon.commands
from tendon.cli import EXIT_INTERRUPTED, main
from tendon.cli.root import EXIT_ERROR, app
from tendon.cli.tree import Group, load_command, walk
from tendon.commands import say

COMMANDS = list(walk(Group()))
NAMES = [" ".join(path) for path in COMMANDS]
GROUPS = sorted({path[0] for path in COMMANDS if len(path) > 1})


def examples() -> list[str]:
    """Every line of every help that begins with `tendon`, continued lines joined."""
    lines = []
    for path in COMMANDS:
        text = load_command(path).examples.replace("\\\n", " ")
        lines += [line.strip() for line in text.splitlines() if line.strip().startswith("tendon ")]
    return lines


@pytest.mark.parametrize("arguments", [[], *([name] for name in GROUPS), *map(list, COMMANDS)], ids=" ".join)
def test_every_command_and_group_explains_itself(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"Usage: {' '.join(['tendon', *arguments])} " in printed


@pytest.mark.parametrize("arguments", [[], *([name] for name in GROUPS)], ids=" ".join)
def test_without_a_command_the_help_is_shown_and_names_each(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    depth = len(arguments)
    for path in COMMANDS:
        if list(path[:depth]) == arguments:
            assert f" {path[depth]} " in printed


def test_a_unit_in_brackets_is_no_style_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "board", "--help"]) == 0
    assert "Side of a marker [mm]." in capsys.readouterr().out


@pytest.mark.parametrize("path", COMMANDS, ids=NAMES)
def test_every_command_has_an_example_of_itself(path: tuple[str, ...]) -> None:
    assert f"tendon {' '.join(path)}" in load_command(path).examples


@pytest.mark.parametrize("line", examples())
def test_every_example_is_a_command_line_that_parses(line: str) -> None:
    """Down to each option and the type of each value; nothing is run."""
    words = shlex.split(line, comments=True)[1:]
    command = get_command(app)
    context = command.make_context("tendon", list(words))
    while isinstance(command, Group):
        name, command, words = command.resolve_command(context, words)
        context = command.make_context(name, list(words), parent=context)


@pytest.mark.parametrize("path", COMMANDS, ids=NAMES)
def test_the_listing_says_what_the_docstring_begins_with(path: tuple[str, ...]) -> None:
    """The listing reads the first line of the file, so as not to import it."""
    group = Group(package=".".join(["tendon.commands", *path[:-1]]))
    module = group.modules[path[-1]].name
    source = Path(group.package.__path__[0], f"{module}.py").read_text(encoding="utf-8")
    documented = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    assert group.get_command(None, path[-1]).help.replace("\\[", "[") == documented


def test_every_command_stands_under_a_heading() -> None:
    for package in ("tendon.commands", *(f"tendon.commands.{name}" for name in GROUPS)):
        group = Group(package=package)
        if hasattr(importlib.import_module(package), "PANELS"):
            assert set(group.modules) <= set(group.panels), package
    assert tendon.commands.PANELS


WITH_WORKERS = ["eval run bundles/tabletop", "policy calibrate-detector bundles/tabletop", "data demos --out x"]
WITH_DELAY = [(command, ms) for command in WITH_WORKERS[:2] for ms in ("-1", "nan", "inf", "10001")]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("import pretrained_model bundles/mine", "did you mean tendon policy import?"),
        ("demos --out x", "did you mean tendon data demos?"),
        ("train --data x", "did you mean tendon policy train or tendon residual train?"),
        ("calibrate-detector bundles/tabletop", "did you mean tendon policy calibrate-detector?"),
        ("record-inputs", "did you mean tendon data record-inputs?"),
        ("eval bundles/tabletop expert", "did you mean tendon eval compare bundles/tabletop expert?"),
        ("eval tabletop --report x.html", "did you mean tendon eval run tabletop --report x.html?"),
        ("bundle sign bundles/tabletop", "did you mean tendon policy sign or tendon residual sign?"),
        ("bundle", "did you mean tendon policy?"),
        ("check", "did you mean tendon robot check or tendon policy check or tendon data check?"),
        ("polcy bench", "did you mean tendon policy bench?"),
        ("polcy", "did you mean tendon policy?"),
        ("policy bensh", "did you mean tendon policy bench?"),
        ("policy demos", "did you mean tendon data demos?"),
        ("rum", "did you mean tendon run?"),
        ("serve bundles/tabletop", "did you mean tendon policy serve?"),
        ("safety verify x", "did you mean tendon safety verify-log?"),
        ("xyzzy", "known: demo, run, teleop, say"),
        ("eval bundles/tabletop", "did you mean tendon eval run bundles/tabletop?"),
        ("policy bench bundles/tabletop --secs 3", "no option --secs; did you mean --seconds?"),
        ("--verson", "no option --verson; did you mean --version?"),
        ("run robto:=panda", "unknown argument robto; did you mean robot?"),
        ("eval run bundles/tabletop --robot pnada", "did you mean panda?"),
        ("policy bench", "missing argument 'BUNDLE'"),
        ("eval run /tmp", "no policy bundle at /tmp: name its folder"),
        ("eval run bundles/tabletop --at-least 1", "--at-least is 1.0: no number of episodes shows a rate of 1"),
        ("eval run bundles/tabletop --at-least 0", "--at-least is 0.0, must be a finite number above 0"),
        *((f"{command} --workers 0", "invalid value for '--workers'") for command in WITH_WORKERS),
        *((f"{command} --delay-ms {ms}", f"--delay-ms is {ms}, must be 0 to 10000") for command, ms in WITH_DELAY),
        ("policy bench bundles/tabletop --seconds much", "invalid value for '--seconds'"),
        ("policy sign bundles/tabletop", "missing option '--key'"),
        ("eval run expert --timing fast", "invalid value for '--timing': 'fast' is not one of 'auto'"),
        ("demo --seed x", "valid integer (tendon demo --help)"),
        ("eval run expert --robot ur5e --suite tabletop", "names none; the suite reach needs none"),
    ],
)
def test_what_is_wrong_is_one_line_that_says_what_is_right(
    line: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(line)) == EXIT_ERROR
    said = capsys.readouterr()
    assert meant in said.err and said.err.count("\n") == 1, said.err
    assert said.err.startswith("tendon")
    assert not said.out


def test_a_task_in_words_needs_no_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = list[str]()
    monkeypatch.setattr(say, "_tell", lambda operator, instruction: heard.append(instruction))
    monkeypatch.setattr(say, "ask", lambda name, question: question(None))
    assert main(["say", "pick", "up", "the cube"]) == main(["say", "pick up the cube"]) == 0
    assert heard == ["pick up the cube"] * 2


def test_the_version_names_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"tendon {tendon.__version__} (")
    assert str(Path(tendon.__file__).parents[1]) in printed


def test_ctrl_c_in_a_command_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    from tendon.commands import doctor

    monkeypatch.setattr(doctor, "examine", interrupted)
    assert main(["doctor"]) == EXIT_INTERRUPTED


@pytest.mark.parametrize("name", ["tabletop", "bundles/tabletop"])
@pytest.mark.parametrize("command", [["policy", "verify"], ["policy", "check"]], ids=" ".join)
def test_a_bundle_that_comes_with_tendon_is_found_from_any_folder(
    command: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main([*command, name])
    assert "no policy bundle" not in capsys.readouterr().err


BUNDLE_TAKERS = [path for path in COMMANDS if {"bundle", "learner"} & {p.name for p in load_command(path).params}]
NEW = {("policy", "import"), ("policy", "export")}
"""These write the bundle."""


@pytest.mark.parametrize("path", [path for path in BUNDLE_TAKERS if path not in NEW], ids=" ".join)
def test_every_command_looks_for_a_bundle_in_the_same_places(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is nowhere is answered with both places and what comes with Tendon, by all of them alike."""
    monkeypatch.chdir(tmp_path)
    given = {
        "demos": ["--out", "x", "--learner", "nowhere"],
        "redteam": ["nowhere", "--out", "x"],
        "demo": ["--bundle", "nowhere"],
        "record-inputs": ["nowhere", "x.safetensors"],
        "variant": ["nowhere", "x", "--precision", "fp16"],
        "sign": ["nowhere", "--key", "x"],
        "train": ["nowhere", "--out", "x"],
        "train-progress": ["nowhere", "--data", "x"],
        "add-steering": [
            *("nowhere", "x", "--name", "a", "--meaning", "b", "--direction", "no", "--lower", "0", "--upper", "1"),
        ],
    }
    assert main([*path, *given.get(path[-1], ["nowhere"])]) == EXIT_ERROR
    said = capsys.readouterr().err
    assert "no policy bundle at nowhere or " in said and "tabletop" in said, said


def test_ctrl_c_while_modules_are_imported_is_no_traceback(tmp_path: Path) -> None:
    """The first second of a command is imports: one that is interrupted there ends like any other."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    search = os.pathsep.join([str(tmp_path), *sys.path])
    for program in (
        ["-m", "tendon.cli"],
        ["-m", "tendon"],
        ["-c", "import sys; from tendon.cli import main; sys.exit(main())"],
    ):
        result = subprocess.run(
            [sys.executable, *program, "doctor"], capture_output=True, env={**os.environ, "PYTHONPATH": search}
        )
        assert (result.returncode, result.stdout, result.stderr) == (EXIT_INTERRUPTED, b"", b"")
