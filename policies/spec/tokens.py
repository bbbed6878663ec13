"""A word tokenizer: an instruction becomes a row of vocabulary indices, or an error that names the odd word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InstructionError

PAD = "<pad>"
UNKNOWN = "<unk>"
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Returns the lower-case words of a text without punctuation."""
    return _WORD.findall(text.lower())


class Tokenizer:
    """Maps instructions to indices of a fixed vocabulary.

    Args:
        vocabulary: `<pad>`, `<unk>`, then words as `words` gives them. The answer never holds `<unk>`: it is
            there for training with words left out.
        length: numbers in an answer.
    """

    def __init__(self, vocabulary: Sequence[str], length: int) -> None:
        self._vocabulary = tuple(vocabulary)
        self._index = {word: i for i, word in enumerate(self._vocabulary)}
        self._length = length

    def encode(self, instruction: str) -> npt.NDArray[np.int64]:
        """Returns (length,) indices, padded at the end. A blank instruction is all padding.

        Raises:
            InstructionError: a word is not in the vocabulary, or there are too many.
        """
        found = words(instruction)
        for word in found:
            if word not in self._index:
                raise InstructionError(
                    f"instruction {instruction!r}: the policy does not know {word!r}{self._near(word)}"
                )
        if len(found) > self._length:
            raise InstructionError(
                f"instruction {instruction!r} has {len(found)} words, the policy reads {self._length}: shorten it"
            )
        tokens = np.zeros(self._length, dtype=np.int64)
        tokens[: len(found)] = [self._index[word] for word in found]
        return tokens

    def decode(self, tokens: Sequence[int] | npt.NDArray[np.int64]) -> str:
        """Returns the words of indices, without padding."""
        return " ".join(self._vocabulary[i] for i in tokens if i != 0)

    def _near(self, word: str) -> str:
        close = difflib.get_close_matches(word, self._vocabulary[2:], n=3)
        return f"; did you mean {' or '.join(close)}?" if close else f"; known: {', '.join(self._vocabulary[2:])}"
