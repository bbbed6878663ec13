"""`tendon align`: a recording in, a simulator that moves as the robot did out."""

from __future__ import annotations

import contextlib
import io
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendon.commands import align
from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.types import Array
from tendon.data.recording.episode import EpisodeEnd, Roles
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import Durability, EpisodeWriter, Sample
from tendon.robots.profile import load_profile
from tendon.robots.servo_response import JointResponse, ServoResponse, read_response
from tendon.sim.replay import replay
from tests import ROOT
from tests.calibration.test_servos import motion
from tests.data.samples import BEGIN

PROFILE = load_profile("panda")
COMMANDS = {each.name: f"/{each.name}/joint_trajectory" for each in PROFILE.controllers}
STATES = "/joint_states"
TRUE = JointResponse(delay_s=0.04, settling_s=0.06, friction=0.002)
SECOND_NS = 10**9
SECONDS = 12.0
"""Of motion: ten are needed."""


def put(writer: EpisodeWriter, at_ns: int, topic: str, kind: str, **values: Any) -> None:
    store = typestore()
    stamp = store.types["builtin_interfaces/msg/Time"](sec=at_ns // SECOND_NS, nanosec=at_ns % SECOND_NS)
    values["header"] = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="")
    data = bytes(store.serialize_cdr(store.types[kind](**values), kind))
    writer.write(Sample(topic=topic, kind=kind, log_ns=at_ns, publish_ns=at_ns, number=0, data=data))


def record(path: Path, times_s: Array, sent: Array, measured: Array) -> Path:
    """Writes a recording of a robot that was sent somewhere, 100 times a second."""
    roles = Roles(joint_names=PROFILE.joint_names, joint_states=STATES, commands=COMMANDS)
    writer = EpisodeWriter(path, replace(BEGIN, roles=roles), Durability(), "lz4")
    point, span = (
        typestore().types[kind]
        for kind in ("trajectory_msgs/msg/JointTrajectoryPoint", "builtin_interfaces/msg/Duration")
    )
    still = np.zeros(0)
    for time_s, goal, place in zip(times_s, sent, measured, strict=True):
        at_ns = SECOND_NS + round(time_s * 1e9)
        for controller in PROFILE.controllers:
            columns = [PROFILE.joint_names.index(joint) for joint in controller.joints]
            due = point(
                positions=goal[columns],
                velocities=still,
                accelerations=still,
                effort=still,
                time_from_start=span(sec=0, nanosec=0),
            )
            put(
                writer,
                at_ns,
                COMMANDS[controller.name],
                "trajectory_msgs/msg/JointTrajectory",
                joint_names=list(controller.joints),
                points=[due],
            )
        names = list(PROFILE.joint_names)
        values = {"position": place, "velocity": np.zeros(len(names)), "effort": still}
        put(writer, at_ns, STATES, "sensor_msgs/msg/JointState", name=names, **values)
    return writer.finish(EpisodeEnd())


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    times, sent = motion(SECONDS)
    measured = replay(PROFILE, times, sent, ServoResponse([TRUE] * len(PROFILE.joint_names)))
    return record(tmp_path_factory.mktemp("log") / "episode.mcap", times, sent, measured)


@pytest.fixture(scope="module")
def aligned(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a robot that was aligned by that recording, and what was told; no test changes it."""
    folder, told = tmp_path_factory.mktemp("aligned") / "panda", io.StringIO()
    shutil.copytree(ROOT / "robots" / "panda", folder)
    with contextlib.redirect_stdout(told):
        assert align.command(recording, robot=str(folder / "profile.yaml")) == 0
    return folder, told.getvalue()


def test_a_profile_learns_how_its_servos_follow(
    recording: Path, aligned: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, told = aligned
    profile = folder / "profile.yaml"
    assert "panda_joint7" in told and "still" in told and f"profile: {profile} names it" in told
    named = load_profile(profile).response
    assert named is not None
    response = read_response(named, "panda", PROFILE.joint_names)
    late = response.delay_s + response.settling_s - response.terms[:, 0]
    np.testing.assert_allclose(late[:7], 0.1, atol=5e-3)
    profile = shutil.copytree(folder, tmp_path / "panda") / "profile.yaml"
    named = load_profile(profile).response
    assert align.command(recording, robot=str(profile)) == 0
    assert "the one before" in capsys.readouterr().out
    assert load_profile(profile).response == named


def test_a_dry_run_and_a_named_file_leave_the_profile_alone(recording: Path, tmp_path: Path) -> None:
    profile = ROOT / "robots" / "panda" / "profile.yaml"
    before = profile.read_bytes()
    assert align.command(recording, dry_run=True) == 0
    assert align.command(recording, out=tmp_path / "mine.yaml") == 0
    assert (tmp_path / "mine.yaml").is_file() and profile.read_bytes() == before
    assert not (profile.parent / "response.yaml").exists()


def test_what_is_wrong_with_the_options_is_said_before_the_work(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of reading came first, and --out replaced a profile."""
    monkeypatch.setattr(align, "_read", None)  # not called
    profile = shutil.copytree(ROOT / "robots" / "panda", tmp_path / "panda") / "profile.yaml"
    before = profile.read_bytes()
    with pytest.raises(ConfigError, match=r"--out .*profile.yaml is there, and this command did not write it"):
        align.command(recording, out=profile)
    with pytest.raises(ConfigError, match="simulator is 'bullet'"):
        align.command(recording, simulator="bullet")
    assert profile.read_bytes() == before


def test_a_recording_without_motion_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = np.arange(0.0, 12.0, 0.01)
    still = np.tile(PROFILE.vector("home"), (len(times), 1))
    assert align.command(record(tmp_path / "a.mcap", times, still, still), out=tmp_path / "mine.yaml") == 1
    assert "nothing was written" in capsys.readouterr().out and not (tmp_path / "mine.yaml").exists()


def test_a_recording_without_commands_is_refused(tmp_path: Path) -> None:
    path = record(tmp_path / "a.mcap", np.zeros(0), np.zeros((0, 8)), np.zeros((0, 8)))
    with pytest.raises(InvalidDataError, match="has no commands of every controller of panda: record a motion"):
        align.command(path)


def test_joints_that_a_recording_does_not_tell_of_keep_what_was_found_before(
    aligned: tuple[Path, str], tmp_path: Path
) -> None:
    """One joint after the other: all but the last one that moves were written as ideal, in place of what was there."""
    profile = shutil.copytree(aligned[0], tmp_path / "panda") / "profile.yaml"
    times, sent = motion(SECONDS)
    file = load_profile(profile).response
    assert file is not None
    before = read_response(file, "panda", PROFILE.joint_names).joints
    one = np.tile(sent[:1], (len(sent), 1))
    one[:, 2] = sent[:, 2]
    later = replace(TRUE, delay_s=0.08)
    alone = record(
        tmp_path / "one.mcap", times, one, replay(PROFILE, times, one, ServoResponse([later] * len(sent[0])))
    )
    assert align.command(alone, robot=str(profile)) == 0
    after = read_response(file, "panda", PROFILE.joint_names).joints
    assert [k for k in range(len(after)) if after[k] != before[k]] == [2]


def test_a_joint_that_is_no_nearer_is_left_as_it_was_whatever_the_others_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Joint 4 is another one in the last quarter: what the first three tell of it makes it worse there."""
    times, sent = motion(SECONDS)
    measured = replay(PROFILE, times, sent, ServoResponse([TRUE] * len(sent[0]))).copy()
    last = times >= times[-1] * 0.75
    measured[last, 3] = replay(PROFILE, times, sent)[last, 3]
    path = record(tmp_path / "a.mcap", times, sent, measured)
    assert align.command(path, out=tmp_path / "mine.yaml") == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "panda_joint4" in line]
    assert "no nearer" in row and "as it was" in row
    joints = read_response(tmp_path / "mine.yaml", "panda", PROFILE.joint_names).joints
    assert joints[3] == JointResponse() and joints[2].lag_s > 0.09


def test_a_recording_of_other_joints_is_refused(recording: Path) -> None:
    with pytest.raises(MismatchError, match=r"has joints panda_joint1.*ur5e has shoulder_pan_joint"):
        align.command(recording, robot="ur5e")
