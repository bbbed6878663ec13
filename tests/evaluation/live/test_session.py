"""A blind session: fair turns, each written down once, and a file that only its own session goes on from."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError
from tendon.evaluation.live.session import Session, Settings, Turn, check_tasks, session_seed
from tests.laws import law_settings

SETTINGS = Settings(a="one", b="two", tasks=("left", "right"), pairs=3, seed=5)


def turn(session: Session, success: bool = True) -> Turn:
    following = session.next
    assert following is not None
    number, pair, side, task = following
    return Turn(
        number=number,
        seed=pair,
        side=side,
        family=task,
        instruction=task,
        success=success,
        progress=float(success),
        duration_s=1.0,
    )


@law_settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_in_each_pair_both_have_the_same_task_once_and_a_seed_is_one_order(seed: int, pairs: int) -> None:
    settings = replace(SETTINGS, seed=seed, pairs=pairs)
    turns = settings.turns()
    assert turns == settings.turns() and len(turns) == 2 * pairs
    for first, other in zip(turns[::2], turns[1::2], strict=True):
        assert first[0] == other[0] and first[2] == other[2] and {first[1], other[1]} == {"A", "B"}


@law_settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_of_every_two_pairs_each_side_begins_one(seed: int, pairs: int) -> None:
    firsts = [side for _, side, _ in replace(SETTINGS, seed=seed, pairs=pairs).turns()[::2]]
    for one, other in zip(firsts[::2], firsts[1::2], strict=False):
        assert {one, other} == {"A", "B"}


def test_which_one_begins_is_not_to_be_guessed() -> None:
    """Neither of the first pair of two, nor of a single one that is left over."""
    for pairs, at in ((1, 0), (6, 2), (7, 6)):
        firsts = [replace(SETTINGS, seed=seed, pairs=pairs).turns()[2 * at][1] for seed in range(1000)]
        assert 0.45 < firsts.count("A") / len(firsts) < 0.55


def test_a_session_keeps_the_seed_that_nobody_named(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    fresh = {session_seed(file) for _ in range(20)}
    assert len(fresh) > 10 and not file.exists()
    begun = replace(SETTINGS, seed=fresh.pop())
    Session(file, begun)
    assert session_seed(file) == begun.seed
    file.write_text("no json\n")
    with pytest.raises(ConfigError, match="is no session"):
        session_seed(file)


@pytest.mark.parametrize("seed", [None, "x", 1.5, -1, True, []])
def test_a_seed_that_was_edited_is_refused(seed: object, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps({"session": {**asdict(SETTINGS), "seed": seed}}) + "\n")
    with pytest.raises(ConfigError, match=r"s.jsonl: seed is .*, must be a whole number of at least 0"):
        session_seed(file)


def test_a_session_goes_on_where_it_was_left(tmp_path: Path) -> None:
    file, order = tmp_path / "s.jsonl", SETTINGS.turns()
    for number in range(6):
        session = Session(file, SETTINGS)
        assert len(session.turns) == number and session.next == (number, *order[number])
        session.take(turn(session, success=number % 2 == 0))
    done = Session(file, SETTINGS)
    assert done.next is None and [(a.side, b.side) for a, b in done.pairs()] == [("A", "B")] * 3


@pytest.mark.parametrize(
    ("other", "said"),
    [({"a": "three"}, "whose a is 'one'"), ({"tasks": ("left",)}, "whose tasks"), ({"seed": 6}, "whose seed is 5")],
)
def test_a_file_of_another_session_is_refused_and_left_as_it_is(
    other: dict[str, object], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    Session(file, SETTINGS)
    before = file.read_bytes()
    with pytest.raises(ConfigError, match=said):
        Session(file, replace(SETTINGS, **other))  # type: ignore[arg-type]
    assert file.read_bytes() == before


def test_a_policy_that_was_exported_again_under_its_name_is_another(tmp_path: Path) -> None:
    """A file from before digests were told goes on."""
    file, told = tmp_path / "s.jsonl", replace(SETTINGS, digests=("abc", "def"))
    Session(file, SETTINGS)
    head = asdict(SETTINGS)
    del head["digests"]
    file.write_text(json.dumps({"session": head}) + "\n")
    Session(file, told)
    file.unlink()
    Session(file, told)
    Session(file, told)
    with pytest.raises(ConfigError, match=r"whose digests is .*abc.*, this one's is .*ghi.*another --session"):
        Session(file, replace(SETTINGS, digests=("ghi", "def")))


@pytest.mark.parametrize("text", ["no json\n", "[]\n", '{"session": 3}\n', '{"x": 1}\n', "\n", "\x00\n"])
def test_what_is_no_session_is_refused_in_a_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(text)
    with pytest.raises(ConfigError, match="take another --session"):
        Session(file, SETTINGS)
    assert file.read_text() == text


@pytest.mark.parametrize(
    "change", [{"side": "C"}, {"progress": 2.0}, {"seed": 9}, {"extra": 1}, {"instruction": "up"}, {"number": 3}]
)
def test_a_turn_that_was_edited_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    session = Session(file, SETTINGS)
    line = {**asdict(turn(session)), **change}
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")
    with pytest.raises(ConfigError, match=r"s\.jsonl"):
        Session(file, SETTINGS)


def test_a_file_with_more_turns_than_planned_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    session = Session(file, SETTINGS)
    for _ in range(6):
        session.take(last := turn(session))
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(replace(last, number=6))) + "\n")
    with pytest.raises(ConfigError, match=r"s.jsonl has 7 turns, this session plans 6: was it edited\?"):
        Session(file, SETTINGS)


def test_tasks_are_wanted() -> None:
    for tasks in ([], [" "], ["left", ""]):
        with pytest.raises(ConfigError, match="name the tasks"):
            check_tasks(tasks)


@pytest.mark.parametrize("cut", [2, 20, 60])
def test_a_turn_that_was_cut_while_it_was_written_is_played_again(cut: int, tmp_path: Path) -> None:
    """The machine lost its power: what was judged before is there."""
    file = tmp_path / "s.jsonl"
    session = Session(file, SETTINGS)
    for _ in range(2):
        session.take(turn(session))
    file.write_bytes(file.read_bytes()[:-cut])
    again = Session(file, SETTINGS)
    assert len(again.turns) == 1
    again.take(turn(again))
    assert len(Session(file, SETTINGS).turns) == 2


def test_a_last_turn_without_the_end_of_its_line_counts(tmp_path: Path) -> None:
    """As editors leave it."""
    file = tmp_path / "s.jsonl"
    session = Session(file, SETTINGS)
    session.take(turn(session))
    file.write_bytes(file.read_bytes()[:-1])
    again = Session(file, SETTINGS)
    assert again.turns == session.turns
    again.take(turn(again))
    assert len(Session(file, SETTINGS).turns) == 2


def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(data := b'{"x": 1}\n{"important": 2')
    with pytest.raises(ConfigError, match="is no session"):
        Session(file, SETTINGS)
    assert file.read_bytes() == data


def test_a_session_says_which_robot_had_its_turns(tmp_path: Path) -> None:
    """As the graph said, not as an option was left at its default."""
    session = Session(tmp_path / "s.jsonl", SETTINGS)
    assert session.robot == ""
    session.take(replace(turn(session), robot="so101"))
    assert Session(tmp_path / "s.jsonl", SETTINGS).robot == "so101"


def test_turns_that_are_had_again_are_counted_by_side_and_a_session_goes_on_behind_them(tmp_path: Path) -> None:
    """Who repeats one policy's turns until they work could not be told from who repeats none."""
    session = Session(tmp_path / "s.jsonl", SETTINGS)
    for number, count in ((0, 3), (1, 1), (3, 2)):
        while len(session.turns) < number:
            session.take(turn(session))
        for _ in range(count):
            session.repeat(number)
    again = Session(tmp_path / "s.jsonl", SETTINGS)
    assert again.turns == session.turns and again.next == session.next
    sides = [side for _, side, _ in SETTINGS.turns()]
    wanted = {"A": 0, "B": 0}
    for number, count in ((0, 3), (1, 1), (3, 2)):
        wanted[sides[number]] += count
    assert session.repeats() == again.repeats() == wanted


def test_another_time_limit_is_another_session(tmp_path: Path) -> None:
    Session(tmp_path / "s.jsonl", SETTINGS)
    with pytest.raises(ConfigError, match=r"limit_s is 60\.0, this one's is 20\.0"):
        Session(tmp_path / "s.jsonl", replace(SETTINGS, limit_s=20.0))
