"""Of what somebody else wrote the beginning is said, and no message makes what is said, kept and logged grow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tendon.core.causes import Cause, Reason, texts_of
from tendon.core.phrases import TEXT, TEXTS, beginning


@given(text=st.text(max_size=300), characters=st.integers(40, 200))
def test_a_text_has_no_more_characters_than_are_said_and_stays_when_it_is_cut_again(text: str, characters: int) -> None:
    cut = beginning(text, characters)
    assert len(cut) <= characters and beginning(cut, characters) == cut
    assert cut == text if len(text) <= characters else cut.endswith(f"... of {len(text)} characters")
    assert text.startswith(cut.rpartition("... of ")[0])


def test_a_reason_is_cut_when_it_is_made_and_so_are_many_of_them() -> None:
    reason = Reason(Cause.LAW, "x" * 1_000_000)
    assert len(reason.text) == TEXT and reason.text.startswith("xxx")
    assert len(texts_of([reason] * 1000)) == TEXTS
    assert texts_of([Reason(Cause.LAW, "a"), Reason(Cause.LATE, "b")]) == "a; b"
