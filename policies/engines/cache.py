"""Where TensorRT keeps what it builds: one folder for each model, GPU, version and precision."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import onnxruntime

from tendon.core.errors import ConfigError
from tendon.policies.engines.engine import Engine

KEY_FILE = "key.json"
_QUERY_S = 10.0


def cache_root() -> Path:
    """Returns `$XDG_CACHE_HOME/tendon/engines`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tendon" / "engines"


def gpu() -> dict[str, str]:
    """Returns name and driver of the first GPU, as `nvidia-smi` tells; `unknown` where it does not."""
    command = shutil.which("nvidia-smi")
    if command is not None:
        query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
        try:
            done = subprocess.run(query, capture_output=True, text=True, timeout=_QUERY_S, check=True)
            name, driver = (word.strip() for word in done.stdout.strip().split(","))
            return {"gpu": name, "driver": driver}
        except (OSError, subprocess.SubprocessError, ValueError):
            pass
    return {"gpu": "unknown", "driver": "unknown"}


def machine() -> dict[str, str]:
    """Returns what an engine that was built is good for: GPU, driver and the libraries' versions."""
    try:
        tensorrt = metadata.version("tensorrt")
    except metadata.PackageNotFoundError:
        tensorrt = "of the system"
    return gpu() | {"tensorrt": tensorrt, "onnxruntime": onnxruntime.__version__}


def engine_folders(
    engine: Engine, content: Mapping[str, bytes], files: Sequence[str], found: Mapping[str, str]
) -> tuple[Path, Path]:
    """Makes the folders for built engines and for their timings and returns them.

    What lies there is run without a hash, so that only its owner may write to it.

    Args:
        engine: with its precision.
        content: files by name.
        files: the graph and its external tensor data.
        found: from `machine`.

    Raises:
        ConfigError: a folder cannot be made, or somebody else could have put something there.
    """
    model = {name: hashlib.sha256(content[name]).hexdigest() for name in files}
    key = {"model": model, "engine": str(engine), **found}
    built = cache_root() / f"{Path(files[0]).stem}-{_digest(key)}"
    timings = cache_root() / f"timings-{_digest(found)}"
    for folder in (cache_root(), built, timings):
        _make_private(folder)
    (built / KEY_FILE).write_text(json.dumps(key, indent=1), encoding="utf-8")
    return built, timings


def _digest(key: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode("utf-8")).hexdigest()[:16]


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise ConfigError(f"no folder for built engines: {error}; set XDG_CACHE_HOME to where you may write") from error
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(
            f"{folder} can be written by others than you, and built engines are not verified: "
            f"remove it, or chmod go-w {folder}"
        )
