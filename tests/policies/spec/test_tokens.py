"""The tokenizer hears words, not typography, and never guesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import InstructionError
from tendon.policies.spec.tokens import Tokenizer, words

VOCABULARY = ("<pad>", "<unk>", "put", "the", "red", "blue", "cube", "bowl", "in", "on")
TOKENIZER = Tokenizer(VOCABULARY, 8)
sentences = st.lists(st.sampled_from(VOCABULARY[2:]), max_size=8)


@given(sentences)
def test_decode_is_the_inverse_of_encode(sentence: list[str]) -> None:
    tokens = TOKENIZER.encode(" ".join(sentence))
    assert tokens.shape == (8,)
    assert tokens.dtype == np.int64
    assert TOKENIZER.decode(tokens) == " ".join(sentence)


@given(sentences, st.sampled_from([" ", "  ", ", ", ". ", "\n", "-", "!? "]))
def test_case_punctuation_and_spaces_do_not_matter(sentence: list[str], between: str) -> None:
    loud = between.join(word.upper() for word in sentence) + "."
    np.testing.assert_array_equal(TOKENIZER.encode(loud), TOKENIZER.encode(" ".join(sentence)))


@given(st.text())
def test_words_are_stable(text: str) -> None:
    assert words(" ".join(words(text))) == words(text)


@given(st.text())
def test_any_text_is_known_words_or_an_error(text: str) -> None:
    try:
        tokens = TOKENIZER.encode(text)
    except InstructionError:
        return
    assert set(words(text)) <= set(VOCABULARY[2:])
    assert 1 not in tokens


def test_a_blank_instruction_is_all_padding() -> None:
    assert not TOKENIZER.encode(" .").any()


def test_an_unknown_word_is_named_with_the_closest_known() -> None:
    with pytest.raises(InstructionError, match=r"does not know 'bleu'; did you mean blue"):
        TOKENIZER.encode("put the bleu cube in the bowl")
    with pytest.raises(InstructionError, match=r"does not know 'xylophone'; known: put, the"):
        TOKENIZER.encode("put the xylophone in the bowl")


def test_the_name_of_a_marker_is_no_word_of_an_instruction() -> None:
    with pytest.raises(InstructionError, match="'pad'"):
        TOKENIZER.encode("<pad> put")


def test_too_many_words_are_refused_not_cut() -> None:
    with pytest.raises(InstructionError, match="9 words, the policy reads 8"):
        TOKENIZER.encode("put " * 9)
