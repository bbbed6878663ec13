"""Which task held when: the words of it, and those of observations, come in any order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tendon.data.reading.recording import McapRecording
from tendon.data.reading.tasks import Tasks
from tendon.data.recording.episode import EpisodeBegin, Roles
from tests.data.samples import BEGIN, MS, text, write

SAID = [text(k, "/followed") for k in (10, 20, 30)]
WORDS = [f"number {k} " + "x" * k for k in (10, 20, 30)]
LISTENING = replace(BEGIN, instruction="", roles=Roles(joint_names=("a",), others={"followed": "/followed"}))


def tasks(path: Path, begin: EpisodeBegin = LISTENING) -> Tasks:
    return Tasks(McapRecording(write(path / "episode.mcap", SAID)), begin)


def test_the_newest_word_holds(tmp_path: Path) -> None:
    found = tasks(tmp_path)
    assert [found.at((1000 + k) * MS) for k in (10, 19, 20, 29, 30, 1000)] == [WORDS[i] for i in (0, 0, 1, 1, 2, 2)]


def test_the_first_word_holds_from_the_begin_unless_the_begin_says_another(tmp_path: Path) -> None:
    """A recorder that joins late hears an observation before the task that it is of."""
    assert tasks(tmp_path).at(0) == WORDS[0]
    (tmp_path / "told").mkdir()
    found = tasks(tmp_path / "told", replace(LISTENING, instruction="the one before"))
    assert (found.at(0), found.at(1010 * MS)) == ("the one before", WORDS[0])


def test_around_an_instant_are_the_words_on_both_sides_of_it(tmp_path: Path) -> None:
    found = tasks(tmp_path)
    assert found.around(1025 * MS) == (WORDS[1], WORDS[0], WORDS[2], "")
    assert found.around(0) == (WORDS[0], WORDS[0], "")
    assert found.around(2000 * MS) == (WORDS[2], WORDS[1], "")


@pytest.mark.parametrize("others", [{}, {"followed": "/unheard", "instruction": "/followed"}])
def test_without_the_policys_word_it_is_the_operators_and_without_both_none(
    others: dict[str, str], tmp_path: Path
) -> None:
    found = tasks(tmp_path, replace(LISTENING, roles=replace(LISTENING.roles, others=others)))
    assert found.at(1025 * MS) == (WORDS[1] if others else "")
