"""`tendon data demos` mixes nothing in a folder that another command filled."""

import os
from pathlib import Path

import numpy as np
import pytest

from tendon.cli import main
from tendon.core.files import lock_folder

SHORT = ["data", "demos", "--workers", "1", "--seeds"]


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demos")
    assert main([*SHORT, "0:2", "--families", "pick", "--out", str(folder)]) == 0
    return folder


def test_only_scenes_of_the_families_that_are_asked_for_are_collected(demos: Path) -> None:
    shards = sorted(demos.glob("seeds-*"))
    assert [np.load(shard / "seeds.npy").tolist() for shard in shards] == [[0]]
    assert main([*SHORT, "0:2", "--families", "pick", "--out", str(demos)]) == 0, "the same once more"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["0:2"], "holds demonstrations of families pick, now it is None: name another folder"),
        (["0:2", "--families", "pick", "--learner", "tabletop"], "holds demonstrations of learner None, now it is"),
        (["0:2", "--families", "pick", "--robot", "ur5e_2f85"], "holds demonstrations of robot"),
        (["0:7", "--families", "pick"], "has 1 scenes and not the 2 from 0 on"),
        (["0:2", "--families", "stcak"], "families has 'stcak'; did you mean stack?"),
        (["0:2", "--families", "stack"], "seeds has no scene of stack: take more"),
    ],
)
def test_others_need_another_folder(
    given: list[str], message: str, demos: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted((file, file.stat().st_mtime_ns) for file in demos.rglob("*"))
    assert main([*SHORT, *given, "--out", str(demos)]) != 0
    assert message in " ".join(capfd.readouterr().err.split())
    assert sorted((file, file.stat().st_mtime_ns) for file in demos.rglob("*")) == before


def test_two_do_not_fill_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They removed each other's unfinished shards."""
    held = lock_folder(tmp_path)
    try:
        assert main([*SHORT, "0:1", "--out", str(tmp_path)]) != 0
        assert "is being written" in capsys.readouterr().err
    finally:
        os.close(held)


def test_shards_that_nothing_tells_of_are_not_added_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "seeds-000040").mkdir()
    assert main([*SHORT, "0:1", "--out", str(tmp_path)]) != 0
    assert "nothing says what made them" in capsys.readouterr().err
