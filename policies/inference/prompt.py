"""What a vision-language-action policy reads: the instruction in its own template, as its tokenizer's numbers.

The templates are those of LeRobot's processors: SmolVLA and pi0 end the instruction with a newline, pi0.5 also spells
out the state, up to LeRobot 0.4 always 32 numbers of it. No torch and no transformers here: the tokenizer is the
`tokenizer.json` of a bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from tendon.core.errors import ConfigError, InstructionError, InvalidDataError
from tendon.core.types import Array

STATE_NUMBERS = 32
"""pi0.5 of LeRobot 0.4 spells out so many numbers of state, those that a robot lacks as 0."""
STATE_BINS = 256

_BIN_EDGES = np.linspace(-1.0, 1.0, STATE_BINS + 1)[:-1]


class Prompt:
    """Turns instructions into tokens.

    Args:
        kind: whose template: one of `PROMPTS`.
        tokenizer: a file in the format of the `tokenizers` package, which also names the padding token.
        length: numbers in an answer, padding included.

    Raises:
        ConfigError: the kind is unknown, or the file is no such tokenizer.
    """

    def __init__(self, kind: str, tokenizer: bytes, length: int) -> None:
        if kind not in PROMPTS:
            raise ConfigError(f"prompt kind is {kind!r}, known: {', '.join(PROMPTS)}")
        self._template = PROMPTS[kind]
        self._length = length
        try:
            self._tokenizer = Tokenizer.from_str(tokenizer.decode("utf-8"))
        except Exception as error:  # `tokenizers` raises nothing narrower
            raise ConfigError(f"the policy's tokenizer is not a tokenizer.json: {error}") from error
        if self._tokenizer.padding is None:
            raise ConfigError("the policy's tokenizer.json names no padding token: import the policy again")
        self._padding = int(self._tokenizer.padding["pad_id"])
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encode(
        self, instruction: str, state: Sequence[float] | Array = ()
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Returns (L,) tokens, padded at the end, and the (L,) mask of those that are no padding.

        Args:
            instruction: in words.
            state: (S,) normalised as the policy reads it; only pi0.5 looks at it.

        Raises:
            InstructionError: it has more tokens than the policy reads. LeRobot cuts it off.
            InvalidDataError: the state is not finite or has more numbers than the template.
        """
        ids = self._tokenizer.encode(self._template(instruction, state)).ids
        if len(ids) > self._length:
            raise InstructionError(
                f"instruction {instruction!r} makes a prompt of {len(ids)} tokens, the policy reads {self._length}: "
                "shorten it"
            )
        tokens = np.full(self._length, self._padding, dtype=np.int64)
        tokens[: len(ids)] = ids
        return tokens, np.arange(self._length) < len(ids)


def _with_newline(instruction: str, state: Sequence[float] | Array) -> str:
    return instruction if instruction.endswith("\n") else f"{instruction}\n"


def _with_state(instruction: str, state: Sequence[float] | Array) -> str:
    """Returns pi0.5's prompt: numbers in [-1, 1] become bins 0 to 255, those below become -1."""
    numbers = np.asarray(state, dtype=np.float32)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidDataError(f"state of shape {list(numbers.shape)} cannot be spelled out: must be finite numbers")
    bins = np.digitize(numbers, _BIN_EDGES) - 1
    words = instruction.strip().replace("_", " ").replace("\n", " ")
    return f"Task: {words}, State: {' '.join(map(str, bins))};\nAction: "


def _with_padded_state(instruction: str, state: Sequence[float] | Array) -> str:
    """Returns the same of a state that is padded with zeros to `STATE_NUMBERS`."""
    numbers = np.asarray(state, dtype=np.float32)
    if numbers.ndim != 1 or len(numbers) > STATE_NUMBERS or not np.isfinite(numbers).all():
        raise InvalidDataError(
            f"state of shape {list(numbers.shape)} cannot be spelled out: must be up to {STATE_NUMBERS} finite numbers"
        )
    return _with_state(instruction, np.pad(numbers, (0, STATE_NUMBERS - len(numbers))))


PROMPTS: dict[str, Callable[[str, Sequence[float] | Array], str]] = {
    "smolvla": _with_newline,
    "pi0": _with_newline,
    "pi05": _with_padded_state,
    "pi05_unpadded": _with_state,
}
