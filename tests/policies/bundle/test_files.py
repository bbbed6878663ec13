"""Whatever is in the folder of a bundle: what was changed, leads out of it or could hold code is never parsed."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tendon.cli import main
from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.policies.adapter.matching import check_profile, robot_digests
from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.bundle.files import LARGEST_TEXT, check_content
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import RobotProfile, load_profile
from tests.laws import law_settings
from tests.robots.calibrated import calibration_file

Make = Callable[..., Any]
FIXTURES = [HealthCheck.function_scoped_fixture]


def name_in_manifest(folder: Path, name: str, digest: str = "0" * 64) -> None:
    raw = yaml.safe_load((folder / "bundle.yaml").read_text())
    raw["files"][name] = digest
    (folder / "bundle.yaml").write_text(yaml.safe_dump(raw))


@law_settings(max_examples=150, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_one_bit_flipped_anywhere_in_a_file_is_refused(data: st.DataObject, manifest: Make, model: Make) -> None:
    """At every offset of every listed file, before anything looks into it."""
    content = {"policy.onnx": model(), "detector.yaml": b"threshold: 0.5\n"}
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(folder, manifest(), content)
        name = data.draw(st.sampled_from(sorted(content)))
        bit = data.draw(st.integers(0, 8 * len(content[name]) - 1))
        changed = bytearray(content[name])
        changed[bit // 8] ^= 1 << bit % 8
        Path(folder, name).write_bytes(changed)
        with pytest.raises(IntegrityError, match="was changed"):
            load_bundle(folder)


@law_settings(max_examples=60, suppress_health_check=FIXTURES)
@given(length=st.integers(0, 400))
def test_a_truncated_or_extended_file_is_refused(length: int, manifest: Make, model: Make) -> None:
    whole = model()
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(folder, manifest(), {"policy.onnx": whole})
        Path(folder, "policy.onnx").write_bytes(whole[:length] if length < len(whole) else whole + b"\0" * length)
        with pytest.raises(IntegrityError, match="was changed"):
            load_bundle(folder)


def test_two_files_swapped_are_refused(make_bundle: Make, model: Make) -> None:
    made = make_bundle()
    write_bundle(made.folder, made.manifest, {"policy.onnx": model(), "other.onnx": model((1.0, 0.0, 0.0, 0.0))})
    (made.folder / "policy.onnx").rename(made.folder / "x")
    (made.folder / "other.onnx").rename(made.folder / "policy.onnx")
    (made.folder / "x").rename(made.folder / "other.onnx")
    with pytest.raises(IntegrityError, match=r"policy\.onnx was changed"):
        load_bundle(made.folder)


@pytest.mark.parametrize(
    "name", ["policy.pt", "weights.bin", "notes.txt", "policy.pkl", "run.py", "x.yaml.exe", "yaml"]
)
def test_only_known_file_types_may_be_listed(make_bundle: Make, name: str) -> None:
    made = make_bundle()
    with pytest.raises(IntegrityError, match="its type must be one of"):
        write_bundle(made.folder, made.manifest, {"policy.onnx": b"x", name: b"y"})
    name_in_manifest(made.folder, name)
    with pytest.raises(IntegrityError, match="its type must be one of"):
        load_bundle(made.folder)


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
    return buffer.getvalue()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["a.onnx", "a.onnx.data", "a.safetensors", "a.yaml"])
def test_a_pickle_under_another_name_is_refused(name: str, protocol: int) -> None:
    with pytest.raises(IntegrityError, match="Python pickle"):
        check_content(Path(name), pickle.dumps({"weights": [1.0]}, protocol))


@pytest.mark.parametrize("before", [b"", b"\x08\x08 an ONNX graph and an archive in one"])
def test_a_zip_archive_under_another_name_is_refused(before: bytes) -> None:
    with pytest.raises(IntegrityError, match="zip archive"):
        check_content(Path("policy.onnx"), before + _zip())


@pytest.mark.parametrize("data", [b"", b"\x08", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]"])
def test_what_is_not_safetensors_is_refused(data: bytes) -> None:
    with pytest.raises(IntegrityError, match="safetensors format"):
        check_content(Path("a.safetensors"), data)
    check_content(Path("a.safetensors"), (2).to_bytes(8, "little") + b"{}")


@law_settings(max_examples=200)
@given(data=st.binary(max_size=200), name=st.sampled_from(["a.onnx", "a.safetensors", "a.yaml"]))
def test_any_content_passes_or_is_an_integrity_error(data: bytes, name: str) -> None:
    try:
        check_content(Path(name), data)
    except IntegrityError:
        return
    assert data[:2] != b"PK"


def test_a_folder_that_became_a_link_after_listing_cannot_lead_out(make_bundle: Make, tmp_path: Path) -> None:
    made = make_bundle()
    write_bundle(made.folder, made.manifest, {"policy.onnx": b"x", "sub/deep/data.yaml": b"y"})
    outside = tmp_path / "outside"
    shutil.move(made.folder / "sub", outside)
    (made.folder / "sub").symlink_to(outside)
    with pytest.raises(IntegrityError, match="sub is a symbolic link"):
        load_bundle(made.folder)


@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling link"])
def test_what_is_no_regular_file_is_refused_without_waiting(make_bundle: Make, kind: str) -> None:
    folder = make_bundle().folder
    path = folder / "policy.onnx"
    path.unlink()
    {"pipe": os.mkfifo, "folder": os.mkdir, "dangling link": lambda p: p.symlink_to("/nowhere")}[kind](path)
    with pytest.raises(IntegrityError, match=r"is no file|symbolic link"):
        load_bundle(folder)


def test_a_hard_link_has_no_more_power_than_a_copy(make_bundle: Make, tmp_path: Path) -> None:
    """Its content is hashed like any other, and a change through the other name is too late or found."""
    made = make_bundle()
    os.link(made.folder / "policy.onnx", tmp_path / "outside.onnx")
    loaded = load_bundle(made.folder)
    (tmp_path / "outside.onnx").write_bytes(b"changed")
    assert loaded.content == made.content
    with pytest.raises(IntegrityError, match="was changed"):
        load_bundle(made.folder)


def test_a_manifest_without_end_is_refused_before_it_is_parsed(make_bundle: Make) -> None:
    folder = make_bundle().folder
    with (folder / "bundle.yaml").open("ab") as file:
        file.truncate(LARGEST_TEXT + 1)
    with pytest.raises(IntegrityError, match="at most 1048576"):
        load_bundle(folder)


class TestMadeFor:
    """A bundle bound to a robot refuses another, and says which part differs."""

    @pytest.fixture
    def bound(self, make_bundle: Make, profile: RobotProfile) -> Bundle:
        return make_bundle(made_for=robot_digests(profile))

    def test_the_robot_itself_passes(self, bound: Bundle, profile: RobotProfile) -> None:
        check_profile(bound.manifest, profile)
        assert set(bound.manifest.made_for) == {"joints", "limits", "kinematics", "cameras"}

    @pytest.mark.parametrize("limit", ["lower", "upper", "velocity", "acceleration", "jerk"])
    def test_another_limit_is_refused(self, bound: Bundle, profile: RobotProfile, limit: str) -> None:
        first, *rest = profile.joints
        changed = replace(profile, joints=(replace(first, **{limit: getattr(first, limit) * 0.99}), *rest))
        with pytest.raises(
            MismatchError, match=r"made_for limits of profile panda is .*, expected .*: the robot has other limits"
        ):
            check_profile(bound.manifest, changed)

    def test_another_camera_rate_is_refused(self, bound: Bundle, profile: RobotProfile) -> None:
        first, *rest = profile.cameras
        with pytest.raises(MismatchError, match="made_for cameras"):
            check_profile(bound.manifest, replace(profile, cameras=(replace(first, rate_hz=first.rate_hz / 2), *rest)))

    def test_another_urdf_is_refused_but_not_another_layout_of_it(
        self, bound: Bundle, profile: RobotProfile, tmp_path: Path
    ) -> None:
        text = profile.urdf.read_text()
        same, other = tmp_path / "same.urdf", tmp_path / "other.urdf"
        same.write_text(text.replace("<joint", "<!-- layout -->\n\n  <joint"))
        other.write_text(text.replace('xyz="0 0 0.333"', 'xyz="0 0 0.334"'))
        assert other.read_text() != text
        check_profile(bound.manifest, replace(profile, urdf=same))
        with pytest.raises(MismatchError, match="made_for kinematics"):
            check_profile(bound.manifest, replace(profile, urdf=other))

    def test_the_calibration_counts_by_its_values(
        self, make_bundle: Make, profile: RobotProfile, tmp_path: Path
    ) -> None:
        folders = tmp_path / "first", tmp_path / "other"
        for folder in folders:
            folder.mkdir()
        first, same = calibration_file(folders[0], camera_s=0.01), tmp_path / "same.yaml"
        values = yaml.safe_load(first.read_text())
        values["cameras"]["scene"]["width"] = 128.0
        same.write_text("# again\n" + yaml.safe_dump(values, sort_keys=True, default_flow_style=True))
        other = calibration_file(folders[1], camera_s=0.02)
        digests = robot_digests(replace(profile, calibration=first))
        manifest = make_bundle(made_for=digests).manifest
        check_profile(manifest, replace(profile, calibration=same))
        found = robot_digests(replace(profile, calibration=other))["calibration"]
        both = (
            f"made_for calibration of profile panda is {found[:16]}, expected {digests['calibration'][:16]}: .*restore"
        )
        with pytest.raises(MismatchError, match=both):
            check_profile(manifest, replace(profile, calibration=other))
        with pytest.raises(
            MismatchError, match=r"bound to a calibration .*has none: .*`calibration: calibration.yaml`"
        ):
            check_profile(manifest, profile)

    def test_pinned_to_the_calibration_that_the_profile_names_it_starts(
        self, make_bundle: Make, profile: RobotProfile, tmp_path: Path
    ) -> None:
        """A key in the profile, `tendon policy pin`, and the policy answers; on another calibration it does not."""
        own = shutil.copytree(profile.urdf.parent, tmp_path / "panda") / "profile.yaml"
        calibration_file(own.parent, camera_s=0.01)
        own.write_text(own.read_text() + "calibration: calibration.yaml\n")
        folder = make_bundle().folder
        assert main(["policy", "pin", str(folder), "--robot", str(own)]) == 0
        bound = load_bundle(folder)
        assert "calibration" in bound.manifest.made_for
        BundlePolicy(bound, load_profile(own))
        calibration_file(own.parent, camera_s=0.02)
        with pytest.raises(MismatchError, match="made_for calibration"):
            BundlePolicy(bound, load_profile(own))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "must hold a mapping, got NoneType"),
            ("- 1\n", "must hold a mapping, got list"),
            ("a: {", "is not YAML"),
            ("a: [1.0, .nan]\n", r"a\[1\] is nan, must be"),
        ],
    )
    def test_what_is_no_calibration_is_refused(
        self, profile: RobotProfile, tmp_path: Path, text: str, message: str
    ) -> None:
        path = tmp_path / "calibration.yaml"
        path.write_text(text)
        with pytest.raises(ConfigError, match=rf"calibration {path}.*{message}"):
            robot_digests(replace(profile, calibration=path))

    @pytest.mark.parametrize(
        ("value", "message"), [({"limit": "0" * 64}, "made_for is 'limit'"), ({"limits": "x"}, "hex")]
    )
    def test_a_wrong_entry_is_named(self, make_bundle: Make, value: Any, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            make_bundle(made_for=value)
