"""The file, the report, the profile that names them, and `verify`."""

from __future__ import annotations

import contextlib
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from tendon.calibration.cameras.camera_info import write_camera_info
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.results.record import CalibrationRecord, record_of
from tendon.calibration.results.report import faults, write_report
from tendon.calibration.rig.solve import RigCalibration, solve
from tendon.calibration.surface import plane_through, write_environment
from tendon.calibration.verify import verify
from tendon.cli import main
from tendon.control.clearance.model import Clearance
from tendon.core import files
from tendon.core.errors import CalibrationError, ConfigError, IntegrityError, MismatchError
from tendon.policies.adapter.matching import robot_digests
from tendon.robots.calibration import values_digest
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile, profile_file
from tendon.robots.profile_edit import name_calibration
from tests.calibration.rigs import CAMERA, HOME, KnownRig, known_rig


@pytest.fixture(scope="module")
def known() -> KnownRig:
    return known_rig(21, count=16)


@pytest.fixture(scope="module")
def found(known: KnownRig) -> RigCalibration:
    return solve(known.rig, known.views)


@pytest.fixture(scope="module")
def record(found: RigCalibration) -> CalibrationRecord:
    return record_of(found, "good")


def test_a_calibration_comes_back_and_the_one_before_is_kept(record: CalibrationRecord, tmp_path: Path) -> None:
    file = tmp_path / "calibration.yaml"
    assert write_record(record, file) is None
    first = file.read_bytes()
    again = load_record(file)
    assert replace(again, sha256="") == record
    change = again.cameras[CAMERA].place.pose.change_to(record.cameras[CAMERA].place.pose)
    assert np.abs(change).max() < 1e-8
    kept = [write_record(replace(record, verdict=f"number {k}"), file) for k in range(3)]
    assert all(each is not None and each.is_file() for each in kept) and len(set(kept)) == 3
    assert kept[0] is not None and kept[0].read_bytes() == first


def test_a_number_that_was_changed_by_hand_is_refused(record: CalibrationRecord, tmp_path: Path) -> None:
    file = tmp_path / "calibration.yaml"
    write_record(record, file)
    text = file.read_text()
    file.write_text(text.replace("verdict: good", "verdict: fine"))
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        load_record(file)
    file.write_text(text.replace("format: 1", "format: 2"))
    with pytest.raises(ConfigError, match="this Tendon reads 1"):
        load_record(file)
    file.write_text(text + "extra: 1\n")
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        load_record(file)


def test_a_folder_that_cannot_be_written_leaves_what_was_there(record: CalibrationRecord, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("a file")
    with pytest.raises(ConfigError, match="choose another place"):
        write_record(record, tmp_path / "here" / "calibration.yaml")


@pytest.fixture
def own_profile(record: CalibrationRecord, tmp_path: Path) -> Path:
    """A Panda of its own, whose profile names the calibration."""
    folder = tmp_path / "panda"
    shutil.copytree(profile_file("panda").parent, folder)
    write_record(record, folder / "calibration.yaml")
    name_calibration(folder / "profile.yaml", "calibration.yaml")
    return folder / "profile.yaml"


def test_the_zeros_count_in_kinematics_and_in_the_filters_clearances(own_profile: Path, known: KnownRig) -> None:
    """What the robot says, less the zeros, is where it is: for the tool and for every distance."""
    plain, calibrated = load_profile("panda"), load_profile(own_profile)
    said, true = HOME + known.zeros, HOME
    away = Kinematics(calibrated).tool_pose(said)[0] - Kinematics(plain).tool_pose(true)[0]
    before = Kinematics(plain).tool_pose(said)[0] - Kinematics(plain).tool_pose(true)[0]
    assert np.linalg.norm(away) < 2e-3 < 5e-3 < np.linalg.norm(before)
    distances = Clearance(calibrated).distances(said) - Clearance(plain).distances(true)
    assert np.abs(distances).max() < 3e-3


def test_another_calibration_has_another_digest(own_profile: Path, record: CalibrationRecord) -> None:
    first = robot_digests(load_profile(own_profile))
    write_record(replace(record, date="2026-01-01T00:00:00Z"), own_profile.parent / "calibration.yaml")
    second = robot_digests(load_profile(own_profile))
    assert first["calibration"] != second["calibration"] and first["kinematics"] == second["kinematics"]


@pytest.mark.parametrize(("joint", "zero", "words"), [("panda_jont2", 0.1, "did you mean"), ("panda_joint2", 9.0, "9")])
def test_a_calibration_of_another_robot_is_refused(
    joint: str, zero: float, words: str, own_profile: Path, record: CalibrationRecord
) -> None:
    joints = {joint: replace(record.joints["panda_joint2"], zero=zero)}
    write_record(
        replace(record, joints=joints, zero_covariance=((1e-8,),), cameras={}), own_profile.parent / "calibration.yaml"
    )
    with pytest.raises(ConfigError, match=words):
        Kinematics(load_profile(own_profile))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"format": 2}, ConfigError, "this Tendon reads 1"),
        ({"verdict": "fine", "sha256": "0"}, IntegrityError, "was changed after it was written"),
        ({"robot": "ur5e"}, MismatchError, "is of robot ur5e, the profile is panda"),
        ({"joints": 3}, ConfigError, "joints is 3, must be a mapping"),
        ({"joints": {"panda_joint2": 0.01}}, ConfigError, "must be a mapping with its zero"),
        ({"joints": {"panda_joint2": {}}}, ConfigError, "panda_joint2 zero is None"),
    ],
)
def test_the_filters_kinematics_check_the_calibration_as_verify_does(
    change: dict[str, object], error: type[Exception], words: str, own_profile: Path
) -> None:
    """A number in place of a mapping was a zero of 0, and another robot's zeros were taken."""
    file = own_profile.parent / "calibration.yaml"
    values = yaml.safe_load(file.read_text()) | change
    bare = {key: value for key, value in values.items() if key != "sha256"}
    file.write_text(yaml.safe_dump({**bare, "sha256": change.get("sha256", values_digest(bare, "here"))}))
    with pytest.raises(error, match=words):
        Kinematics(load_profile(own_profile))


@pytest.mark.parametrize("text", ["zeros: {panda_joint1: 0.1}\n", "joints: {panda_joint1: {zero: 0.1}}\n", ""])
def test_a_robot_does_not_load_with_a_file_that_is_no_calibration(
    text: str, own_profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file without `format` was taken for no zeros at all, and the robot was armed with nominal ones."""
    (own_profile.parent / "calibration.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"calibration .*(format is None, this Tendon reads 1|must hold a mapping)"):
        load_profile(own_profile)
    for command in (["robot", "check", str(own_profile)], ["run", f"robot:={own_profile}", "backend:=mock"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "calibration.yaml" in said and "calibrate again" in said


def test_a_write_that_fails_leaves_the_file_and_its_permissions(
    record: CalibrationRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, lens, table = (tmp_path / name for name in ("calibration.yaml", "wrist.yaml", "table.yaml"))
    flat = plane_through(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]))

    def write_all() -> None:
        for write in (
            lambda: write_record(record, file),
            lambda: write_camera_info(record.cameras[CAMERA].model, CAMERA, lens),
            lambda: write_environment(flat, table),
        ):
            with contextlib.suppress(ConfigError):
                write()

    write_all()
    for each in (file, lens, table):
        each.chmod(0o640)
    write_all()
    before = {each: each.read_bytes() for each in (file, lens, table)}
    assert {stat.S_IMODE(each.stat().st_mode) for each in before} == {0o640}

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(files.os, "fsync", full)
    write_all()
    assert {each: each.read_bytes() for each in before} == before
    assert not list(tmp_path.glob(".*"))


def test_the_report_is_one_file_that_loads_nothing(found: RigCalibration, tmp_path: Path) -> None:
    wrong = faults(found)
    assert not wrong
    grey = np.full((480, 640, 3), 120, np.uint8)
    write_report(found, wrong, tmp_path / "report.html", lambda _: grey, ["a note & more"])
    page = (tmp_path / "report.html").read_text()
    assert "Good: use it." in page and "a note &amp; more" in page and "data:image/jpeg;base64," in page
    assert not [word for word in ("http:", "https:", "<script", "<link") if word in page]


def test_a_calibration_that_holds_is_said_to(record: CalibrationRecord, known: KnownRig) -> None:
    few = known_rig(21, count=24).views[-8:]
    said = verify(record, known.rig, few)
    assert said.holds and "still holds" in said.lines()[0]


def test_a_camera_that_moved_by_two_millimetres_is_found(record: CalibrationRecord, known: KnownRig) -> None:
    place = record.cameras[CAMERA].place
    x, y, z = place.translation
    moved = replace(
        record, cameras={CAMERA: replace(record.cameras[CAMERA], place=replace(place, translation=(x, y + 0.002, z)))}
    )
    said = verify(moved, known.rig, known.views[:8])
    assert not said.holds and "drifted by" in said.lines()[0] and "calibrate again" in said.lines()[0]
    assert said.cameras[0].away_mm == pytest.approx(2.0, abs=0.5) and said.cameras[0].confidence > 0.99


def test_a_robot_that_moves_or_does_not_turn_verifies_nothing(record: CalibrationRecord, known: KnownRig) -> None:
    with pytest.raises(CalibrationError, match="the robot moves"):
        verify(record, known.rig, [replace(view, speed=0.5) for view in known.views])
    with pytest.raises(CalibrationError, match="has 1 views"):
        verify(record, known.rig, [known.views[0]] * 8)


def test_what_does_not_fit_the_calibration_is_refused(record: CalibrationRecord, known: KnownRig) -> None:
    with pytest.raises(CalibrationError, match="has 2 views"):
        verify(record, known.rig, known.views[:2])
    with pytest.raises(MismatchError, match="is of robot ur5e"):
        verify(replace(record, robot="ur5e"), known.rig, known.views)
    with pytest.raises(MismatchError, match="no camera wrist"):
        verify(replace(record, cameras={}), known.rig, known.views)
