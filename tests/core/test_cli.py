"""The command line answers for itself."""

from __future__ import annotations

import pkgutil

import pytest

from tendon import commands
from tendon.cli import command_name, main

NAMES = [command_name(module.name) for module in pkgutil.iter_modules(commands.__path__)]


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in NAMES)])
def test_every_command_explains_itself(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert "usage: tendon" in capsys.readouterr().out


def test_the_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in NAMES)
