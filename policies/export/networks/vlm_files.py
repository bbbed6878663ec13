"""The small files of a vision-language model that a policy was built on: its configuration and its tokenizer.

LeRobot reads them from a hub each time. Here they lie beside the policy, in the folder `vlm`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tendon.core.errors import ConfigError
from tendon.policies.export.lerobot.source import LeRobotSource

VLM_FOLDER = "vlm"
PALIGEMMA = "google/paligemma-3b-pt-224"
"""What LeRobot takes the tokenizer of pi0 and pi0.5 from."""

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
_CONFIG_FILE = "config.json"


def read_tokenizer(source: LeRobotSource, model: str) -> Any:
    """Returns transformers' tokenizer of a policy's language model.

    Args:
        source: the policy's directory.
        model: name of the language model, to tell the user whose files are meant.

    Raises:
        ConfigError: a file is missing or malformed, or no token is for padding.
    """
    folder = _folder(source, model, _TOKENIZER_FILES)
    transformers = importlib.import_module("transformers")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # `tokenizers` raises nothing narrower
        raise ConfigError(f"the tokenizer in {folder} does not load: {error}") from error
    if not tokenizer.is_fast or tokenizer.pad_token_id is None:
        raise ConfigError(f"{folder / _TOKENIZER_FILES[1]} names no pad_token, or no tokenizer of tokenizer.json")
    return tokenizer


def read_vlm_config(source: LeRobotSource, model: str) -> Any:
    """Returns transformers' configuration of a policy's vision-language model. Errors as `read_tokenizer`."""
    folder = _folder(source, model, (_CONFIG_FILE,))
    transformers = importlib.import_module("transformers")
    try:
        return transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{folder / _CONFIG_FILE} is not the configuration of {model}: {error}") from error


def bundle_tokenizer(tokenizer: Any) -> bytes:
    """Returns the `tokenizer.json` for `inference.prompt`: with all that transformers adds, and the padding."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.enable_padding(pad_id=tokenizer.pad_token_id, pad_token=tokenizer.pad_token)
    return backend.to_str().encode("utf-8")


def _folder(source: LeRobotSource, model: str, files: tuple[str, ...]) -> Path:
    folder = source.folder / VLM_FOLDER
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise ConfigError(
            f"{folder / missing[0]} is missing: copy config.json, tokenizer.json and tokenizer_config.json of {model} "
            f"to {folder}; LeRobot does not save them with the policy"
        )
    return folder
