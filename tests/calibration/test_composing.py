"""One calibration of many steps: what each leaves of the others, and what it says to be stale."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from tendon.calibration.joints import JointZero
from tendon.calibration.latency import Delay
from tendon.calibration.results.composing import rig_knowing, solve_onto, with_solved, with_zero
from tendon.calibration.results.file import load_record, write_record
from tendon.calibration.results.keeping import keep_latency, keep_solved, keep_zero
from tendon.calibration.results.record import CalibrationRecord, record_of
from tendon.calibration.results.report import faults, reservations, sentences
from tendon.calibration.verify import verify
from tendon.cli.root import run
from tendon.core.errors import IntegrityError, MismatchError
from tendon.robots.profile import load_profile, profile_file
from tendon.robots.profile_edit import name_calibration
from tests.calibration.rigs import CAMERA, JOINTS, PANDA, KnownRig, known_rig
from tests.robots.calibrated import calibrated_panda

ELBOW, BASE = "panda_joint4", "panda_joint1"
OTHER = "scene"


@pytest.fixture(scope="module")
def known() -> KnownRig:
    return known_rig(21, count=16)


@pytest.fixture(scope="module")
def solved(known: KnownRig) -> CalibrationRecord:
    return record_of(solve_onto(known.rig, known.views, None), "good")


@pytest.fixture
def own(solved: CalibrationRecord, tmp_path: Path) -> Path:
    """The profile of a Panda of its own, which names a calibration with a camera, whose stamps are late."""
    folder = tmp_path / "panda"
    shutil.copytree(profile_file("panda").parent, folder)
    late = replace(solved.cameras[CAMERA], latency_s=0.04, latency_deviation_s=1e-3)
    record = replace(solved, cameras={CAMERA: late}, command_latency_s=0.02, date="2026-01-01T00:00:00Z")
    write_record(record, folder / "calibration.yaml")
    name_calibration(folder / "profile.yaml", "calibration.yaml")
    return folder / "profile.yaml"


def stops(joint: str, zero: float, deviation: float = 0.0014) -> JointZero:
    return JointZero(joint=joint, sign=1, zero=zero, deviation=deviation)


def truth(known: KnownRig, joint: str) -> float:
    return float(known.zeros[PANDA.joint_names.index(joint)])


def asking(known: KnownRig, *joints: str, camera: str = CAMERA) -> KnownRig:
    """The same rig, of which other zeros are asked for and the camera has another name."""
    rig = replace(known.rig, joints=joints, cameras=(replace(known.rig.cameras[0], name=camera),))
    return replace(known, rig=rig, views=[replace(view, camera=camera) for view in known.views])


def test_a_zero_by_stops_goes_into_a_calibration_with_cameras_which_are_stale_then(own: Path) -> None:
    file, profile = own.parent / "calibration.yaml", load_profile(own)
    bytes_before, before = file.read_bytes(), load_record(file)
    kept = keep_zero(profile, own, stops(ELBOW, before.joints[ELBOW].zero + 0.01))
    after = load_record(file)
    assert kept.before is not None and kept.before.read_bytes() == bytes_before
    assert after.sha256 != before.sha256 and after.date > before.date and after.dates[f"joint {ELBOW}"] == after.date
    assert after.dates[f"camera {CAMERA}"] == before.dates[f"camera {CAMERA}"]
    assert after.joints[ELBOW].zero == pytest.approx(before.joints[ELBOW].zero + 0.01)
    assert {name: each for name, each in after.joints.items() if name != ELBOW} == {
        name: each for name, each in before.joints.items() if name != ELBOW
    }
    assert after.cameras[CAMERA].place == before.cameras[CAMERA].place and after.boards == before.boards
    assert (after.cameras[CAMERA].latency_s, after.command_latency_s) == (0.04, 0.02)
    others = {f"joint {joint}" for joint in JOINTS if joint != ELBOW}
    assert set(after.stale) == {f"camera {CAMERA}", "board board"} | others
    assert after.stale[f"camera {CAMERA}"] == {ELBOW: pytest.approx(0.01)}
    (line,) = (line for line in kept.lines() if line.startswith("stale: camera wrist"))
    assert f"{ELBOW} by +0.01000" in line and "`tendon calibrate solve SESSION`" in line


def test_a_change_within_what_the_zero_was_known_makes_nothing_stale(solved: CalibrationRecord) -> None:
    old = solved.joints[ELBOW]
    assert not with_zero(solved, stops(ELBOW, old.zero + old.deviation), PANDA).stale
    assert with_zero(solved, stops(ELBOW, old.zero + 3 * old.deviation), PANDA).stale


def test_changes_that_are_each_within_what_was_known_add_up(solved: CalibrationRecord) -> None:
    camera, old = f"camera {CAMERA}", solved.joints[ELBOW]
    step, record = 1.5 * old.deviation, solved
    for count in range(1, 4):
        record = with_zero(record, stops(ELBOW, old.zero + count * step, old.deviation), PANDA)
        assert (camera in record.stale) is (count > 1), count
    assert record.stale[camera] == {ELBOW: pytest.approx(3 * step)}
    back = with_zero(record, stops(ELBOW, old.zero), PANDA)
    assert not back.stale
    assert camera in with_zero(back, stops(ELBOW, old.zero + 0.01), PANDA).stale  # and once more after that


def test_a_file_that_tells_changes_alone_is_added_to(solved: CalibrationRecord) -> None:
    camera, zero = f"camera {CAMERA}", solved.joints[ELBOW].zero
    old = replace(with_zero(solved, stops(ELBOW, zero + 0.01), PANDA), found_with={})
    more = with_zero(old, stops(ELBOW, zero + 0.0101), PANDA)
    assert more.stale[camera] == {ELBOW: pytest.approx(0.0101)}
    assert camera not in with_zero(more, stops(ELBOW, zero), PANDA).stale


def test_changes_add_up_and_one_that_is_taken_back_leaves_nothing_stale(solved: CalibrationRecord) -> None:
    camera, zero = f"camera {CAMERA}", solved.joints[ELBOW].zero
    other, base = solved.joints[JOINTS[0]].zero, with_zero(solved, stops(ELBOW, zero + 0.01), PANDA)
    both = with_zero(with_zero(base, stops(JOINTS[0], other + 0.02), PANDA), stops(ELBOW, zero + 0.011), PANDA)
    assert both.stale[camera] == {ELBOW: pytest.approx(0.011), JOINTS[0]: pytest.approx(0.02)}
    back = with_zero(with_zero(both, stops(ELBOW, zero), PANDA), stops(JOINTS[0], other), PANDA)
    assert camera not in back.stale and "board board" not in back.stale


def test_a_zero_that_nothing_leaned_on_makes_nothing_stale(known: KnownRig) -> None:
    """The fingers carry neither camera nor board; the first joint turns the base below the camera, not the board."""
    bare = asking(known_rig(5, zero_deg=0.0))
    record = record_of(solve_onto(bare.rig, bare.views, None), "good")
    assert not with_zero(record, stops("panda_finger_joint1", 0.001), PANDA).stale
    assert set(with_zero(record, stops(BASE, 0.01), PANDA).stale) == {f"camera {CAMERA}", "board board"}


def test_solving_again_keeps_latencies_and_takes_what_was_stale(own: Path, known: KnownRig) -> None:
    profile = load_profile(own)
    keep_zero(profile, own, stops(ELBOW, truth(known, ELBOW) + 0.002))
    before = load_record(own.parent / "calibration.yaml")
    assert before.stale
    kept = keep_solved(profile, own, record_of(solve_onto(known.rig, known.views, before), "good"))
    after = load_record(kept.file)
    assert not after.stale and after.cameras[CAMERA].latency_s == 0.04 and after.command_latency_s == 0.02
    assert after.measured[ELBOW] == before.measured[ELBOW]
    # What the stops told counts beside what views tell, by how sure each is.
    assert after.joints[ELBOW].zero == pytest.approx(truth(known, ELBOW), abs=5e-4)


def test_another_cameras_session_leaves_the_first_and_its_covariance_with_zeros(
    solved: CalibrationRecord, known: KnownRig
) -> None:
    second = asking(known, camera=OTHER)
    found = record_of(solve_onto(second.rig, second.views, solved), "good")
    both = with_solved(solved, found, PANDA)
    assert set(both.cameras) == {CAMERA, OTHER} and not both.stale
    assert both.cameras[CAMERA] == solved.cameras[CAMERA] and list(both.joints) == list(solved.joints)
    for joint in JOINTS:
        assert both.joints[joint].zero == pytest.approx(solved.joints[joint].zero, abs=1e-9)
        assert both.joints[joint].deviation == pytest.approx(solved.joints[joint].deviation, rel=1e-3)
    fewer = with_zero(both, stops(ELBOW, 0.3), PANDA)
    column = list(fewer.joints).index(ELBOW)
    for name in both.cameras:
        assert not np.array(fewer.cameras[name].with_zeros)[:, column].any()
        others = [k for k in range(len(JOINTS)) if k != column]
        np.testing.assert_array_equal(
            np.array(fewer.cameras[name].with_zeros)[:, others], np.array(both.cameras[name].with_zeros)[:, others]
        )


def test_zeros_that_are_found_anew_make_the_camera_stale_that_was_not_seen_again(
    solved: CalibrationRecord, known: KnownRig
) -> None:
    wrong = replace(
        solved,
        joints={**solved.joints, ELBOW: replace(solved.joints[ELBOW], zero=solved.joints[ELBOW].zero + 0.01)},
    )
    second = asking(known, *JOINTS, camera=OTHER)
    both = with_solved(wrong, record_of(solve_onto(second.rig, second.views, wrong), "good"), PANDA)
    assert both.stale == {f"camera {CAMERA}": {ELBOW: pytest.approx(-0.01, abs=1e-6)}}


def test_the_same_views_a_second_time_change_nothing(solved: CalibrationRecord, known: KnownRig) -> None:
    """No view counts twice: neither for a zero that is asked for nor for one that is kept."""
    for joints in (JOINTS, JOINTS[:2], ()):
        rig = replace(known.rig, joints=joints)
        once = with_solved(solved, record_of(solve_onto(rig, known.views, solved), "good"), PANDA)
        twice = with_solved(once, record_of(solve_onto(rig, known.views, once), "good"), PANDA)
        assert list(once.joints) == list(twice.joints) and not twice.stale
        for joint in once.joints:
            assert twice.joints[joint].zero == pytest.approx(once.joints[joint].zero, abs=1e-7)
        np.testing.assert_allclose(twice.zero_covariance, once.zero_covariance, rtol=1e-3, atol=1e-12)
        one, two = once.cameras[CAMERA].place, twice.cameras[CAMERA].place
        assert np.abs(one.pose.change_to(two.pose)).max() < 1e-6
        np.testing.assert_allclose(two.spread, one.spread, rtol=1e-2, atol=1e-12)


@pytest.mark.parametrize("asked", [True, False])
def test_a_zero_by_stops_that_no_view_tells_is_carried_over(asked: bool, known: KnownRig) -> None:
    """What the first joint is off by looks the same as a board that lies elsewhere."""
    before = with_zero(None, stops(BASE, 0.02), PANDA)
    rig = replace(known.rig, joints=(*JOINTS, BASE) if asked else JOINTS)
    after = with_solved(before, record_of(solve_onto(rig, known.views, before), "good"), PANDA)
    assert after.joints[BASE].zero == pytest.approx(0.02, abs=1e-5)
    assert after.joints[BASE].deviation == pytest.approx(0.0014, rel=0.02)
    assert set(after.joints) == {*JOINTS, BASE} and after.measured == before.measured
    assert solve_onto(replace(known.rig, joints=(*JOINTS, BASE)), known.views, None).held


def test_a_zero_of_other_views_that_these_do_not_tell_is_kept(solved: CalibrationRecord, known: KnownRig) -> None:
    rows = np.zeros((6, 6))
    rows[:5, :5], rows[5, 5] = solved.zero_covariance, 1e-6
    camera = solved.cameras[CAMERA]
    told = replace(
        solved,
        joints={**solved.joints, BASE: replace(solved.joints[ELBOW], zero=0.02, deviation=1e-3)},
        zero_covariance=tuple(tuple(row) for row in rows.tolist()),
        cameras={CAMERA: replace(camera, with_zeros=tuple((*row, 0.0) for row in camera.with_zeros))},
    )
    found = solve_onto(replace(known.rig, joints=(*JOINTS, BASE)), known.views, told)
    after = with_solved(told, record_of(found, "good"), PANDA)
    assert after.joints[BASE].zero == pytest.approx(0.02) and BASE in after.held
    assert any("it was known before and is kept" in line for line in sentences(found))


def test_a_kept_zero_is_as_it_was_and_its_doubt_counts(known: KnownRig, solved: CalibrationRecord) -> None:
    """The place of the camera is the one that fits the zero as it is, and is known so much worse."""
    before, away = None, 0.001
    for joint in JOINTS[:3]:
        before = with_zero(before, stops(joint, truth(known, joint) + away), PANDA)
    rig = replace(known.rig, joints=JOINTS[3:])
    after = record_of(solve_onto(rig, known.views, before), "good")
    for joint in JOINTS[:3]:
        assert after.joints[joint].zero == pytest.approx(truth(known, joint) + away, abs=1e-9)
        assert after.joints[joint].deviation == pytest.approx(0.0014, rel=1e-6)
    mine, other = after.cameras[CAMERA].place, solved.cameras[CAMERA].place
    assert np.trace(mine.spread[:3, :3]) > 2 * np.trace(other.spread[:3, :3])
    change = mine.pose.change_to(known.camera)
    assert change @ np.linalg.solve(mine.spread, change) < 16.8  # 99 % of six


@pytest.mark.laws
def test_the_region_of_a_camera_holds_the_truth_when_zeros_are_kept() -> None:
    """Of 60 rigs whose kept zeros are off by what their deviation says, 51 at least: 95 % less three deviations."""
    rng, inside, trials = np.random.default_rng(8), 0, 60
    for seed in range(trials):
        known, before = known_rig(100 + seed, count=20), None
        for joint in JOINTS[:3]:
            before = with_zero(before, stops(joint, truth(known, joint) + rng.normal(0, 0.0014)), PANDA)
        found = record_of(solve_onto(replace(known.rig, joints=JOINTS[3:]), known.views, before), "good")
        place = found.cameras[CAMERA].place
        change = place.pose.change_to(known.camera)
        inside += change @ np.linalg.solve(place.spread, change) < 12.59
    assert inside >= 51, inside


def test_views_that_contradict_a_kept_zero_are_a_fault_with_its_fix(known: KnownRig) -> None:
    before = with_zero(None, stops(ELBOW, truth(known, ELBOW) + 0.03), PANDA)
    rig = replace(known.rig, joints=tuple(joint for joint in JOINTS if joint != ELBOW))
    wrong = faults(solve_onto(rig, known.views, before))
    assert any(f"put {ELBOW} under `joints`" in line for line in wrong), wrong


def test_a_camera_that_a_kept_zero_leaves_in_doubt_says_to_measure_that(known: KnownRig) -> None:
    before = with_zero(None, stops(ELBOW, truth(known, ELBOW), 0.01), PANDA)
    rig = replace(known.rig, joints=tuple(joint for joint in JOINTS if joint != ELBOW))
    found = solve_onto(rig, known.views, before)
    (wrong,) = faults(found)
    assert f"most of that is the zero of {ELBOW}" in wrong and f"put {ELBOW} under `joints` of the session" in wrong
    assert not reservations(found)


def test_a_rough_zero_that_no_view_tells_does_not_keep_good_views_from_being_written(known: KnownRig) -> None:
    """No view tells the last joint's zero from where the camera is: more of them would mend nothing."""
    last = "panda_joint7"
    before = with_zero(None, stops(last, 0.0, 0.02), PANDA)
    found = solve_onto(known.rig, known.views, before)
    assert faults(found) == []
    (said,) = reservations(found)
    assert f"most of that is the zero of {last}" in said and "measure that zero more exactly" in said
    few = solve_onto(replace(known.rig, joints=()), known.views[:5], before)
    assert faults(few)  # views that are bad themselves are refused, whatever the zero


def test_a_rig_without_a_calibration_before_is_as_it_was(known: KnownRig) -> None:
    assert rig_knowing(known.rig, None) is known.rig


def test_verify_takes_a_calibration_of_many_steps(known: KnownRig) -> None:
    before = with_zero(None, stops(JOINTS[0], truth(known, JOINTS[0])), PANDA)
    rig = replace(known.rig, joints=JOINTS[1:])
    record = with_solved(before, record_of(solve_onto(rig, known.views, before), "good"), PANDA)
    assert verify(record, rig, known_rig(21, count=24).views[-8:]).holds


def test_a_latency_has_its_date(own: Path) -> None:
    kept = keep_latency(load_profile(own), Delay(seconds=0.03, deviation_s=1e-3, correlation=0.99))
    again = load_record(kept.file)
    assert again.dates["latency of commands"] == again.date > "2026-01-01T00:00:00Z"


def test_a_camera_called_commands_has_a_latency_of_its_own(own: Path, solved: CalibrationRecord) -> None:
    camera = solved.cameras[CAMERA]
    write_record(replace(solved, cameras={"commands": camera}), own.parent / "calibration.yaml")
    for name in ("", "commands"):
        kept = keep_latency(load_profile(own), Delay(seconds=0.03, deviation_s=1e-3, correlation=0.99), name)
    assert {part for part in load_record(kept.file).dates if part.startswith("latency")} == {
        "latency of commands",
        "latency of camera commands",
    }


def test_a_calibration_that_cannot_be_taken_is_refused_and_stays(own: Path, solved: CalibrationRecord) -> None:
    file = own.parent / "calibration.yaml"
    file.write_text(file.read_text().replace("verdict: good", "verdict: fine"))
    changed = file.read_bytes()
    with pytest.raises(IntegrityError, match="out of the profile and calibrate again"):
        keep_zero(load_profile(own), own, stops(ELBOW, 0.01))
    assert file.read_bytes() == changed and len(list(own.parent.glob("calibration*"))) == 1
    write_record(replace(solved, robot="ur5e"), file)
    with pytest.raises(MismatchError, match="is of robot ur5e"):
        keep_zero(load_profile(own), own, stops(ELBOW, 0.01))


def test_the_commands_say_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Camera scene stands still and looks at a board that the arm carries."""
    robot = calibrated_panda(tmp_path)
    file = robot.parent / "calibration.yaml"
    record = load_record(file)
    place = replace(record.cameras["scene"].place, link="panda_hand")
    write_record(replace(record, boards={"hand": place}), file)
    words = ["calibrate", "joint", str(robot), BASE, "--said", "0.05", "--true", "0", "--write"]
    assert run(words) == 0
    said = capsys.readouterr().out
    assert "the one before" in said and "stale: camera scene was found with other zeros" in said
    assert yaml.safe_load(file.read_text())["stale"]
    assert run(["calibrate", "frames", str(robot)]) == 0
    shown = capsys.readouterr()
    assert "stale: camera scene" in shown.err and "stale" not in shown.out
