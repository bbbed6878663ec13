"""What a language policy reads: templates, padding, and every way in which an instruction cannot be read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from tendon.core.errors import ConfigError, InstructionError, InvalidDataError
from tendon.policies.inference.prompt import STATE_NUMBERS, Prompt


def small_tokenizer(pad: int | None = 0) -> bytes:
    """A real tokenizer.json: words of single characters after <bos>."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        special_tokens=["<pad>", "<bos>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["pick up the cube"], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 1)])
    if pad is not None:
        tokenizer.enable_padding(pad_id=pad, pad_token="<pad>", length=3)
    tokenizer.enable_truncation(4)
    return tokenizer.to_str().encode()


def text_of(tokens: np.ndarray, mask: np.ndarray) -> str:
    """What was read, spaces and newlines as bytes are written."""
    tokenizer = Tokenizer.from_str(small_tokenizer().decode())
    return "".join(tokenizer.id_to_token(token) for token in tokens[mask]).replace("Ġ", " ").replace("Ċ", "\n")


@pytest.mark.parametrize("kind", ["smolvla", "pi0"])
@pytest.mark.parametrize("instruction", ["pick up the cube", "pick up the cube\n"])
def test_an_instruction_ends_with_one_newline(kind: str, instruction: str) -> None:
    tokens, mask = Prompt(kind, small_tokenizer(), 16).encode(instruction)
    assert text_of(tokens, mask) == "<bos>pick up the cube\n"
    assert tokens.dtype == np.int64 and mask.dtype == np.bool_ and tokens.shape == mask.shape == (16,)


def test_what_is_no_token_is_padding_at_the_end() -> None:
    tokens, mask = Prompt("smolvla", small_tokenizer(pad=7), 64).encode("cube")
    count = int(mask.sum())
    assert 1 < count < 64
    assert mask[:count].all() and not mask[count:].any()
    assert (tokens[count:] == 7).all()


def test_padding_and_truncation_in_the_file_are_not_the_policys() -> None:
    tokens, mask = Prompt("pi0", small_tokenizer(), 40).encode("pick up the cube, then the other cube")
    assert text_of(tokens, mask) == "<bos>pick up the cube, then the other cube\n"


def test_pi05_spells_out_the_state_in_256_bins() -> None:
    state = [-1.5, -1.0, -0.9999, 0.0, 0.9999, 1.0, 7.0]
    tokens, mask = Prompt("pi05", small_tokenizer(), 400).encode("  pick_up\nthe cube ", state)
    bins = ["-1", "0", "0", "128", "255", "255", "255", *["128"] * (STATE_NUMBERS - len(state))]
    assert text_of(tokens, mask) == f"<bos>Task: pick up the cube, State: {' '.join(bins)};\nAction: "


def test_the_other_prompts_do_not_hold_the_state() -> None:
    prompt = Prompt("pi0", small_tokenizer(), 16)
    assert np.array_equal(prompt.encode("cube", [0.5])[0], prompt.encode("cube", [-0.5])[0])


@pytest.mark.parametrize("state", [[np.nan], [np.inf], np.zeros(STATE_NUMBERS + 1), np.zeros((1, 3))])
def test_a_state_that_cannot_be_spelled_out_is_refused(state: np.ndarray) -> None:
    with pytest.raises(InvalidDataError, match="up to 32 finite numbers"):
        Prompt("pi05", small_tokenizer(), 400).encode("cube", state)


def test_an_instruction_is_never_cut_off() -> None:
    prompt = Prompt("smolvla", small_tokenizer(), 8)
    with pytest.raises(InstructionError, match=r"makes a prompt of \d+ tokens, the policy reads 8: shorten"):
        prompt.encode("an instruction with far more words than the policy reads")


def test_an_unknown_template_is_named() -> None:
    with pytest.raises(ConfigError, match="prompt kind is 'openvla', known: smolvla, pi0, pi05"):
        Prompt("openvla", small_tokenizer(), 8)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[1]", json.dumps({"model": {"type": "X"}}).encode()])
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes) -> None:
    with pytest.raises(ConfigError, match=r"not a tokenizer\.json"):
        Prompt("smolvla", content, 8)


def test_a_tokenizer_without_padding_is_refused() -> None:
    with pytest.raises(ConfigError, match="names no padding token"):
        Prompt("smolvla", small_tokenizer(pad=None), 8)
