"""A bundle is verified before it is parsed, says what is wrong, and reads back as it was written."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.bundle import bundle as bundle_module
from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.engines.external_data import external_locations
from tendon.policies.engines.loading import load_graph
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.policies.spec.steering import SteeringInput
from tests.laws import law_settings

Make = Callable[..., Bundle]

finite = st.floats(-1e6, 1e6)
spread = st.floats(1e-6, 1e6)
word = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    rows = draw(st.integers(1, 32))
    sizes = {"tool_position": (3, "m"), "tool_velocity": (3, "m/s"), "finger_position": (1, "m")}
    names = draw(st.permutations(sorted(sizes)))[: draw(st.integers(1, 3))]
    count = sum(sizes[name][0] for name in names)
    return Manifest(
        name=draw(st.text(min_size=1, max_size=12)),
        robot=draw(word),
        tool_frame=draw(word),
        joint_names=tuple(draw(st.lists(word, min_size=1, max_size=8, unique=True))),
        cameras=tuple(
            CameraInput(name=name, width=draw(st.integers(1, 640)), height=draw(st.integers(1, 480)))
            for name in draw(st.lists(word, min_size=1, max_size=3, unique=True))
        ),
        state=tuple(StateItem(name=name, size=sizes[name][0], unit=sizes[name][1]) for name in names),
        state_mean=tuple(draw(st.lists(finite, min_size=count, max_size=count))),
        state_std=tuple(draw(st.lists(spread, min_size=count, max_size=count))),
        action=ActionSpace(
            rows=rows,
            step_s=draw(st.floats(0.001, 10.0)),
            mean=tuple(draw(st.lists(finite, min_size=4, max_size=4))),
            std=tuple(draw(st.lists(spread, min_size=4, max_size=4))),
        ),
        prefix_rows=draw(st.integers(0, rows - 1)),
        instruction=InstructionInput(
            tokens=draw(st.integers(1, 32)),
            vocabulary=("<pad>", "<unk>", *draw(st.lists(word, max_size=8, unique=True))),
        ),
        steering=tuple(
            SteeringInput(name=name, lower=-1.0, upper=1.0, default=draw(st.floats(-1.0, 1.0)), meaning=draw(word))
            for name in draw(st.lists(word, max_size=2, unique=True))
        ),
        training=draw(st.dictionaries(st.text(max_size=5), plain, max_size=3)),
    )


@law_settings(max_examples=40)
@given(
    manifest=manifests(),
    extra=st.text(st.characters(codec="utf-8"), max_size=64).map(lambda text: f"# {text}".encode()),
)
def test_what_is_written_is_what_is_loaded(manifest: Manifest, extra: bytes) -> None:
    """Every manifest and file content comes back equal, and the digest names the content."""
    with tempfile.TemporaryDirectory() as folder:
        written = write_bundle(folder, manifest, {"policy.onnx": b"graph", "notes/eval.yaml": extra})
        loaded = load_bundle(folder)
        assert loaded == written
        assert loaded.content == {"policy.onnx": b"graph", "notes/eval.yaml": extra}
        assert {**vars(loaded.manifest), "files": {}} == {**vars(manifest), "files": {}}
        assert loaded.unlisted == ()


def test_statistics_may_come_from_numpy(make_bundle: Make) -> None:
    """Training code passes arrays; what is written is plain numbers."""
    made = make_bundle(state_mean=np.arange(7, dtype=np.float32), training={"loss": np.float32(0.5)})
    assert made.manifest.state_mean == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert made.manifest.training == {"loss": 0.5}


def test_one_flipped_bit_in_the_model_is_refused_before_it_is_parsed(
    make_bundle: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither YAML-named files nor onnxruntime see a model whose hash is wrong."""
    path = make_bundle().folder / "policy.onnx"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: pytest.fail("parsed"))
    with pytest.raises(IntegrityError, match=r"policy\.onnx was changed: SHA-256 is .* says"):
        load_bundle(path.parent)


def test_a_file_changed_after_loading_changes_nothing(make_bundle: Make) -> None:
    """What was hashed is what is run: the session is made from the verified bytes."""
    made = make_bundle()
    (made.folder / "policy.onnx").write_bytes(b"other")
    assert "actions" in load_graph(made.content, "policy.onnx").outputs


@pytest.mark.parametrize(
    "name", ["../policy.onnx", "/etc/passwd", "a/../../b", "./policy.onnx", "", "a//b", "a\\b", "."]
)
def test_a_path_that_leaves_the_bundle_is_refused(make_bundle: Make, name: str) -> None:
    """Reading and writing alike; the file need not exist."""
    made = make_bundle()
    raw = yaml.safe_load((made.folder / "bundle.yaml").read_text())
    raw["files"][name] = "0" * 64
    (made.folder / "bundle.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises((IntegrityError, ConfigError), match=r"plain path inside|non-empty"):
        load_bundle(made.folder)
    with pytest.raises((IntegrityError, ConfigError), match=r"plain path inside|non-empty"):
        write_bundle(made.folder, made.manifest, {"policy.onnx": b"", name: b""})


@pytest.mark.parametrize("link", ["policy.onnx", "bundle.yaml", "folder"])
def test_a_symbolic_link_is_refused(make_bundle: Make, tmp_path: Path, link: str) -> None:
    """Even when the target has the right content, for it could be changed from elsewhere."""
    made = make_bundle()
    if link == "folder":
        write_bundle(made.folder, made.manifest, {"policy.onnx": b"x", "folder/data.yaml": b"y"})
    (made.folder / link).rename(tmp_path / "elsewhere")
    (made.folder / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IntegrityError, match=f"{link} is a symbolic link"):
        load_bundle(made.folder)


def test_files_the_manifest_does_not_name_are_flagged_and_not_opened(
    make_bundle: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """A stray checkpoint is named in the log and in `unlisted`."""
    folder = make_bundle().folder
    (folder / "old.pt").write_bytes(pickle.dumps({}))
    assert load_bundle(folder).unlisted == ("old.pt",)
    assert "old.pt" in caplog.text


def test_a_missing_file_or_hash_is_named(make_bundle: Make) -> None:
    """A bundle that was copied in part says which file to fetch."""
    made = make_bundle()
    (made.folder / "policy.onnx").unlink()
    with pytest.raises(IntegrityError, match=r"names file policy\.onnx, but .* is no file"):
        load_bundle(made.folder)
    raw = yaml.safe_load((made.folder / "bundle.yaml").read_text()) | {"files": {}}
    (made.folder / "bundle.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(IntegrityError, match="no hash of the model"):
        load_bundle(made.folder)
    with pytest.raises(ConfigError, match="no bundle at"):
        load_bundle(made.folder / "nowhere")


def test_a_write_cut_short_does_not_load(make_bundle: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest goes last, so that a new model under an old manifest fails its hash."""
    made = make_bundle()
    replace = bundle_module.replace_file

    def stop_at_manifest(path: Path, data: bytes) -> None:
        if path.name == "bundle.yaml":
            raise OSError("disk full")
        replace(path, data)

    monkeypatch.setattr(bundle_module, "replace_file", stop_at_manifest)
    with pytest.raises(OSError, match="disk full"):
        write_bundle(made.folder, made.manifest, {"policy.onnx": b"new"})
    with pytest.raises(IntegrityError, match="was changed"):
        load_bundle(made.folder)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("prefix_row",), 3, "unknown key prefix_row; did you mean prefix_rows?"),
        (("action", "colums"), 3, "action: unknown key colums"),
        (("cameras", 0, "with"), 3, r"cameras\[0\]: unknown key with; did you mean width?"),
        (("format",), 3, "format is 3, this version reads 2"),
        (("robot",), None, "robot is None"),
        (("joint_names",), "panda", "joint_names is 'panda', must be a list of names"),
        (("joint_names",), ["a", "a"], "joint_names repeats a"),
        (("state", 0, "name"), "tool_speed", "state name is 'tool_speed', known: tool_position"),
        (("state", 0, "unit"), "mm", "state tool_position: unit is 'mm', known: m"),
        (("state_mean",), [0.0], "state_mean is .*, must be 7 finite numbers"),
        (("state_std",), [0.0] * 7, "state_std is .*, must be positive"),
        (("state_mean",), [float("nan")] * 7, "must be 7 finite numbers"),
        (("action", "space"), "joint", "action space is 'joint', known: tool_position"),
        (("action", "step_s"), 0, "action step_s is 0"),
        (("action", "rows"), "many", r"action:? rows is 'many'"),
        (("action", "mean"), ["x"] * 4, "action mean must be 4 numbers"),
        (("prefix_rows",), 6, "prefix_rows is 6, must be below action rows 6"),
        (("pace",), {"replan_rows": 6}, "pace replan_rows is 6, must be at most 5"),
        (("pace",), {"continued_rows": 9}, "pace continued_rows is 9, must be at most 5"),
        (("pace",), {"replan_rows": 0}, "replan_rows is 0, must be"),
        (("pace",), {"replan": 3}, "unknown key replan"),
        (("instruction", "vocabulary"), ["put"], r"must be \[<pad>, <unk>\]"),
        (("instruction", "vocabulary"), ["<pad>", "<unk>", True], "in YAML, quote words such as 'on'"),
        (("instruction", "vocabulary"), ["<pad>", "<unk>", "Put"], "one lower-case word"),
        (("files", "policy.onnx"), "abc", "must be 64 lower-case hex digits"),
    ],
)
def test_each_wrong_value_in_bundle_yaml_is_one_clear_error(
    make_bundle: Make, where: tuple[Any, ...], value: Any, message: str
) -> None:
    """Field, value and what is allowed."""
    folder = make_bundle().folder
    raw = yaml.safe_load((folder / "bundle.yaml").read_text())
    inner = raw
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    (folder / "bundle.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises(ConfigError, match=message):
        load_bundle(folder)


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "", "\x00"])
def test_a_manifest_that_is_no_mapping_is_refused(make_bundle: Make, text: str) -> None:
    """Not a traceback from the YAML parser."""
    folder = make_bundle().folder
    (folder / "bundle.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"mapping|is not YAML"):
        load_bundle(folder)


class TestModelFile:
    """What the bytes of a model may hold, once their hash is right."""

    @pytest.mark.parametrize("data", [pickle.dumps({"weights": [1.0]}), b"", b"not a model", b"\x08"])
    def test_what_is_no_onnx_graph_is_refused(self, data: bytes) -> None:
        """A pickle, for one, is never unpickled."""
        with pytest.raises(IntegrityError, match=r"not an ONNX graph|cannot load"):
            load_graph({"policy.onnx": data}, "policy.onnx")

    @law_settings(max_examples=200)
    @given(data=st.binary(max_size=200))
    def test_any_bytes_give_an_answer_or_an_integrity_error(self, data: bytes) -> None:
        """The walk over the wire format neither crashes nor hangs."""
        with contextlib.suppress(IntegrityError):
            external_locations(data)

    @pytest.mark.parametrize("location", ["weights.bin", "../secret", "/etc/passwd"])
    def test_tensor_data_outside_the_bundle_is_refused(self, location: str) -> None:
        """Weights in a file that the manifest does not hash could be any file."""
        with pytest.raises(IntegrityError, match=r"which bundle\.yaml does not list"):
            load_graph({"policy.onnx": _external_model(location)}, "policy.onnx")

    def test_tensor_data_inside_the_bundle_is_taken_from_the_verified_bytes(self) -> None:
        """A model over 2 GB must keep its weights beside it; they are hashed like all else."""
        content = {"policy.onnx": _external_model("w.bin"), "w.bin": np.full(4, 2.5, np.float32).tobytes()}
        answer = load_graph(content, "policy.onnx").run({"x": np.ones(4, np.float32)})
        np.testing.assert_array_equal(answer["y"], np.full(4, 3.5))

    def test_a_graph_nested_without_end_is_refused(self) -> None:
        """Deep nesting is an error about the model, not a crash of the reader."""
        message = b""
        for _ in range(3000):  # graph -> node -> attribute -> graph, each the only field of the one outside
            for tag in (b"\x32", b"\x2a", b"\x0a"):
                message = tag + _length(message) + message
        with pytest.raises(IntegrityError, match="not an ONNX graph"):
            external_locations(b"\x3a" + _length(message) + message)


def _length(message: bytes) -> bytes:
    rest, digits = len(message), []
    while rest > 0x7F:
        digits.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*digits, rest])


def _external_model(location: str) -> bytes:
    """Adds w to x, with w (4,) in another file."""
    weight = onnx.numpy_helper.from_array(np.zeros(4, np.float32), "w")
    onnx.external_data_helper.set_external_data(weight, location=location)
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (4,))
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (4,))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def test_external_data_hidden_in_a_branch_is_found() -> None:
    """A constant in the sub-graph of a node reads files as well as one at the top."""
    inner = onnx.ModelProto.FromString(_external_model("hidden")).graph
    node = onnx.helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    graph = onnx.helper.make_graph([node], "g", [], [])
    assert external_locations(onnx.helper.make_model(graph).SerializeToString()) == {"hidden"}
