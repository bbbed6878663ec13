"""What TensorRT builds is kept by model, machine and precision, where nobody else can write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.policies.engines import cache as engine_cache
from tendon.policies.engines.cache import engine_folders, gpu, machine
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.ort_graph import provider_options

FOUND = {"gpu": "NVIDIA H100", "driver": "570.1", "tensorrt": "10.9", "onnxruntime": "1.31.1"}
CONTENT = {"policy.onnx": b"graph", "policy.onnx.data": b"weights"}
FILES = ["policy.onnx", "policy.onnx.data"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tendon" / "engines"


def test_the_same_key_finds_the_same_folder(cache: Path) -> None:
    """In another run too; the key is beside the engines for a person to read."""
    first = engine_folders(Engine("tensorrt"), CONTENT, FILES, FOUND)
    assert engine_folders(Engine("tensorrt"), dict(reversed(CONTENT.items())), FILES, FOUND) == first
    built, timings = first
    assert built.parent == timings.parent == cache
    assert json.loads((built / "key.json").read_text())["gpu"] == "NVIDIA H100"
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in (cache, built, timings))


@pytest.mark.parametrize("change", ["graph", "weights", "precision", *FOUND])
def test_anything_that_changes_an_engine_changes_its_folder(change: str) -> None:
    """An engine of another model, precision, GPU or version is never loaded; timings are the machine's alone."""
    engine, content, found = Engine("tensorrt"), dict(CONTENT), dict(FOUND)
    before = engine_folders(engine, content, FILES, found)
    if change == "graph":
        content["policy.onnx"] = b"other"
    elif change == "weights":
        content["policy.onnx.data"] = b"other"
    elif change == "precision":
        engine = Engine("tensorrt", "fp16")
    else:
        found[change] = "other"
    after = engine_folders(engine, content, FILES, found)
    assert after[0] != before[0]
    assert (after[1] != before[1]) == (change in FOUND)


def test_a_folder_that_others_can_write_to_is_refused(cache: Path) -> None:
    """A built engine is code that no hash covers."""
    built, _ = engine_folders(Engine("tensorrt"), CONTENT, FILES, FOUND)
    built.chmod(0o777)
    with pytest.raises(ConfigError, match=r"can be written by others than you.*chmod go-w"):
        engine_folders(Engine("tensorrt"), CONTENT, FILES, FOUND)


def test_a_folder_that_cannot_be_made_says_what_to_set(cache: Path) -> None:
    cache.parent.parent.joinpath("tendon").write_text("a file is in the way")
    with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
        engine_folders(Engine("tensorrt"), CONTENT, FILES, FOUND)


def test_the_gpu_is_what_nvidia_smi_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it tells nothing, engines are kept all the same."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 570.124.06'\n")
    tool.chmod(0o755)
    monkeypatch.setattr(engine_cache.shutil, "which", lambda _: str(tool))
    assert gpu() == {"gpu": "NVIDIA H100 80GB HBM3", "driver": "570.124.06"}
    for text in ("echo nothing", "exit 9"):
        tool.write_text(f"#!/bin/sh\n{text}\n")
        assert gpu() == {"gpu": "unknown", "driver": "unknown"}
    monkeypatch.setattr(engine_cache.shutil, "which", lambda _: None)
    assert machine().keys() == FOUND.keys()


def test_options_are_what_the_name_says(cache: Path) -> None:
    """float32 is float32: onnxruntime's own default on CUDA is TF32."""
    assert provider_options(Engine("cpu"), CONTENT, FILES) == [("CPUExecutionProvider", {})]
    assert [name for name, _ in provider_options(Engine("cuda"), CONTENT, FILES)] == [
        "CUDAExecutionProvider",
        "CPUExecutionProvider",
    ]
    assert provider_options(Engine("cuda"), CONTENT, FILES)[0][1] == {"use_tf32": "0"}
    assert provider_options(Engine("cuda", "tf32"), CONTENT, FILES)[0][1] == {"use_tf32": "1"}
    plain, half = (provider_options(Engine("tensorrt", p), CONTENT, FILES) for p in (None, "fp16"))
    assert [name.removesuffix("ExecutionProvider") for name, _ in half] == ["Tensorrt", "CUDA", "CPU"]
    assert half[0][1]["trt_fp16_enable"] == "1" and "trt_fp16_enable" not in plain[0][1]
    assert Path(half[0][1]["trt_engine_cache_path"]).parent == cache
    assert half[0][1]["trt_engine_cache_path"] != plain[0][1]["trt_engine_cache_path"]
    assert half[0][1]["trt_timing_cache_path"] == plain[0][1]["trt_timing_cache_path"]
