"""`tendon record keys` on a pty: each key that is typed does what it says, however fast they come."""

from __future__ import annotations

import os
import pty
import sys
import termios
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tendon.cli.episode_ends import EpisodeEnds
from tendon.cli.keys import Keys
from tendon.cli.recording import call
from tendon.commands.record import keys as record_keys
from tendon.core.errors import ConfigError, StoppedError
from tendon.core.node_status import Level, RecorderStatus
from tendon.graph import topics


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> int:
    master, slave = pty.openpty()
    monkeypatch.setattr(sys, "stdin", os.fdopen(slave, encoding="utf-8"))
    return master


def test_keys_that_come_together_are_all_done_and_the_terminal_is_given_back(
    typed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(record_keys, "call", lambda operator, service: done.append(service) or "done")
    before = termios.tcgetattr(sys.stdin)
    listening, waiting = Keys(), [b" sfdq"]

    def newest(kind: object) -> None:
        """Asked at each look: somebody types once it listens."""
        if waiting:
            os.write(typed, waiting.pop())

    operator = cast(Any, SimpleNamespace(reports=SimpleNamespace(newest=newest, age_s=lambda node: None)))
    record_keys._listen(operator, listening)
    assert done == [topics.RECORD_START, topics.RECORD_SUCCESS, topics.RECORD_FAILURE, topics.RECORD_DISCARD]
    assert termios.tcgetattr(sys.stdin) == before


def test_a_key_of_several_bytes_is_none_of_its_digits(typed: int) -> None:
    keys = Keys()
    with keys:
        os.write(typed, b"\x1b[3~\x1b[15;2~\x1bOP\x1b5y")  # Delete, Shift-F5, F1, Alt-5
        found = [keys.read(1.0) for _ in range(5)]
    assert found == ["", "", "", "", "y"]


def test_without_a_terminal_it_says_what_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    read, _ = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(read))
    with pytest.raises(ConfigError, match="run it in a terminal; in a script take tendon record start"):
        record_keys.command()


def recorder(episode: str = "", kept: int = 0) -> RecorderStatus:
    return RecorderStatus(
        node="recorder_node",
        level=Level.OK,
        text="",
        episode=episode,
        seconds=1.0,
        messages=1011,
        megabytes=1.3,
        queued_megabytes=0.0,
        dropped=0,
        lost=0,
        kept=kept,
    )


def test_a_recorder_that_is_silent_is_said_to_be_and_not_to_record(
    typed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episode = tmp_path / "episode-000003.mcap"
    ages = [0.2, 0.4, 20.0, 20.2]

    def age_s(node: str) -> float:
        if len(ages) == 1:
            os.write(typed, b"q")
        if len(ages) == 2:
            episode.touch()
        return ages.pop(0) if ages else 20.4

    reports = SimpleNamespace(newest=lambda kind: recorder(str(episode)), age_s=age_s)
    record_keys._listen(cast(Any, SimpleNamespace(reports=reports)), Keys())
    said = capsys.readouterr().out
    assert said.count("episode-000003.mcap was ended by no key here: the recorder kept it, and is gone") == 1
    last = said.strip().rsplit("\r\x1b[K", 1)[-1]
    assert last == "the recorder is silent for 20 s: `tendon status` says whether the graph still runs"


def test_a_key_without_a_graph_does_not_speak_of_this_graph() -> None:
    operator = SimpleNamespace(wait=lambda condition, timeout_s: False, graph_nodes=str)
    with pytest.raises(StoppedError, match="the graph has ended: start it with `tendon run record:=manual`"):
        call(cast(Any, operator), topics.RECORD_SUCCESS)


class TestEnds:
    """An end that no key brought is told once, with what became of the episode."""

    def test_by_a_key_it_needs_no_words(self) -> None:
        ends = EpisodeEnds()
        assert not ends.look(recorder("e.mcap"))
        ends.by_key = True
        assert not ends.look(recorder(kept=1))

    def test_it_was_kept_from_elsewhere(self) -> None:
        ends = EpisodeEnds()
        ends.look(recorder("e.mcap"))
        assert ends.look(recorder(kept=1)) == "e.mcap was ended by no key here: it was kept"
        assert not ends.look(recorder(kept=1))

    def test_it_was_cut_with_its_recorder_that_was_started_again(self, tmp_path: Path) -> None:
        episode, ends = tmp_path / "e.mcap", EpisodeEnds()
        ends.look(recorder(str(episode)))
        episode.touch()
        assert "it was cut, and what was written is given back" in ends.look(recorder())

    def test_it_is_cut_while_its_recorder_is_gone(self, tmp_path: Path) -> None:
        ends = EpisodeEnds()
        ends.look(recorder(str(tmp_path / "e.mcap")))
        (tmp_path / "e.mcap.part").touch()
        assert "has not kept it; its next start there gives back what was written" in ends.look(None)
        assert not ends.look(recorder())

    def test_without_its_file_it_was_discarded_or_cut(self, tmp_path: Path) -> None:
        ends = EpisodeEnds()
        ends.look(recorder(str(tmp_path / "e.mcap")))
        assert ends.look(recorder()).endswith("it was discarded, or cut with its recorder")
