"""Timeline and video of made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tendon.core.errors import InvalidDataError
from tendon.core.modes import Mode
from tendon.demo.caption import SIZE, VIEW, Frame, caption_at
from tendon.demo.recording import Motion, Outcome, Recording
from tendon.demo.timeline import draw_timeline, joint_labels
from tendon.demo.video import FRAME_HZ, LAST_FRAME_S, moments, write_video
from tendon.pictures.palette import joint_colour, pastel_colour
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.spectator.spectator import open_spectator

LONGEST = "set the purple cylinder on the left side of the green cylinder"
"""Of the simulator's instructions."""


@pytest.mark.parametrize("last", [Outcome.DONE, Outcome.NOT_DONE])
def test_the_timeline_is_a_picture_with_much_on_it(
    make_recording: Callable[..., Recording], tmp_path: Path, last: Outcome
) -> None:
    draw_timeline(make_recording(last=last), tmp_path / "timeline.png", "a title")
    picture = cv2.imread(str(tmp_path / "timeline.png"))
    assert min(picture.shape[:2]) > 1000
    assert 0.01 < np.mean(picture < 200) < 0.6


def test_a_run_in_which_nothing_happened_has_a_timeline_too(empty_recording: Recording, tmp_path: Path) -> None:
    draw_timeline(empty_recording, tmp_path / "timeline.png", "nothing")
    assert (tmp_path / "timeline.png").stat().st_size > 10_000


def test_no_words_run_off_the_timeline(make_recording: Callable[..., Recording], tmp_path: Path) -> None:
    """Fourteen joints with long names and a long last instruction: the picture's edge stays white."""
    recording = make_recording()

    def widened(motion: Motion) -> Motion:
        position = np.tile(motion.position, (1, 2))[:, :15]
        return replace(motion, position=position, velocity=np.zeros_like(position))

    *first, last = recording.attempts
    brief = replace(last, begin_ns=recording.end_ns - 20_000_000, instruction=LONGEST)
    recording = replace(
        recording,
        joint_names=(*load_profile("g1_arms").joint_names, "grip"),
        acceleration_limit=np.ones(15),
        measured=widened(recording.measured),
        commanded=widened(recording.commanded),
        attempts=(*first, brief),
        modes=(*recording.modes, (recording.end_ns - 10_000_000, Mode.LATCHED)),
    )
    draw_timeline(recording, tmp_path / "timeline.png", "a title")
    picture = cv2.imread(str(tmp_path / "timeline.png"))
    edge = np.concatenate([picture[:, :6].reshape(-1, 3), picture[:, -6:].reshape(-1, 3), picture[:6].reshape(-1, 3)])
    assert (edge == 255).all()


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["panda_joint1", "panda_joint2"], ("joint1", "joint2")),
        (["shoulder_pan_joint", "elbow_joint"], ("shoulder_pan", "elbow")),
        (["left_wrist_roll_joint", "right_wrist_roll_joint"], ("left", "right")),
        (["a_joint", "b_c_joint"], ("a", "b_c")),
        (["only_joint"], ("joint",)),
        (["pan", "pan_pan"], ("pan", "pan_pan")),
        ([], ()),
    ],
)
def test_joints_are_labelled_by_what_tells_them_apart(names: list[str], labels: tuple[str, ...]) -> None:
    assert joint_labels(names) == labels


def test_twelve_colours_differ_from_each_other_and_from_white() -> None:
    """Any two are at least 30 apart in CIELAB: a tenth of that is a just noticeable difference."""
    rgb = [[int(c[k : k + 2], 16) / 255 for k in (1, 3, 5)] for c in ("#ffffff", *map(joint_colour, range(12)))]
    lab = cv2.cvtColor(np.float32(rgb)[None], cv2.COLOR_RGB2LAB)[0]
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=-1)
    assert distances[~np.eye(13, dtype=bool)].min() > 30
    pastel = cv2.cvtColor(np.float32([pastel_colour(k) for k in range(12)])[None], cv2.COLOR_RGB2LAB)[0]
    distances = np.linalg.norm(pastel[:, None] - pastel[None], axis=-1)
    assert distances[~np.eye(12, dtype=bool)].min() > 15


def test_captions_follow_the_run(make_recording: Callable[..., Recording]) -> None:
    recording = make_recording()
    first, _, last = recording.attempts
    early = caption_at(recording, recording.begin_ns + 10_000_000)
    assert (early.instruction, early.mode, early.latency_ms, early.toast) == (first.instruction, Mode.ARMED, None, "")
    switched = caption_at(recording, last.begin_ns + 10_000_000)
    assert (switched.instruction, switched.current) == (last.instruction, 2)
    assert switched.toast_outcome is Outcome.SWITCHED
    assert switched.outcomes == (Outcome.DONE, Outcome.SWITCHED, None)
    assert switched.latency_ms == pytest.approx(34.0)


def test_the_video_is_h264_of_the_right_length_and_not_empty(
    make_recording: Callable[..., Recording], scene: Scene, profile: RobotProfile, tmp_path: Path
) -> None:
    recording = make_recording(duration_s=0.3)
    steps: list[tuple[int, int]] = []
    path = tmp_path / "demo.mp4"
    write_video(recording, scene, profile, path, lambda done, total: steps.append((done, total)), workers=1)
    drawn, held = round(0.3 * FRAME_HZ), round(LAST_FRAME_S * FRAME_HZ)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.width, stream.height) == ("h264", *SIZE)
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
    assert len(frames) == drawn + held
    assert steps == [(k + 1, drawn) for k in range(drawn)]
    assert frames[0].std() > 20


def test_a_run_without_states_has_no_video_and_says_so(empty_recording: Recording) -> None:
    with pytest.raises(InvalidDataError, match="nothing to draw"):
        moments(empty_recording)


def test_the_spectator_sees_the_red_cube_and_the_robot(
    make_recording: Callable[..., Recording], scene: Scene, profile: RobotProfile
) -> None:
    spectator = open_spectator(scene, profile, *VIEW)
    view = spectator.draw(make_recording().worlds[0]).astype(int)
    spectator.close()
    red = (view[..., 0] > 120) & (view[..., 1] < 70) & (view[..., 2] < 70)
    white = view.min(axis=-1) > 215
    assert red.sum() > 300
    assert white.sum() > 5_000


def test_a_frame_shows_view_and_insets_unchanged_where_no_words_are(make_recording: Callable[..., Recording]) -> None:
    recording = make_recording()
    view = np.full((VIEW[1], VIEW[0], 3), 90, np.uint8)
    insets = {"scene": np.full((128, 128, 3), 10, np.uint8), "wrist": np.full((96, 96, 3), 250, np.uint8)}
    frame = Frame().compose(view, insets, caption_at(recording, recording.begin_ns + 10_000_000))
    assert frame.shape == (SIZE[1], SIZE[0], 3)
    assert (frame[: VIEW[1], : VIEW[0]] == 90).all()
    assert (frame[100, -20] == 10).all()
    assert (frame[400, -20] == 250).all()


def test_long_words_end_before_what_is_beside_them(make_recording: Callable[..., Recording]) -> None:
    """The longest instruction changes no pixel of the mode, the time, the latency or the policy's pictures."""
    recording = make_recording()
    view = np.zeros((VIEW[1], VIEW[0], 3), np.uint8)
    insets = {"scene": np.zeros((128, 128, 3), np.uint8)}
    begun = caption_at(recording, recording.begin_ns + 500_000_000)
    plain = replace(begun, toast="", toast_outcome=None, latency_ms=188.0)
    wordy = replace(plain, instruction=LONGEST, toast=f"✔  done: {LONGEST}", toast_outcome=Outcome.DONE)
    short, long = (Frame().compose(view, insets, caption) for caption in (plain, wordy))
    changed = (short != long).any(axis=-1)
    assert changed.sum() > 1000
    assert not changed[: VIEW[1]].any()
    assert not changed[:, SIZE[0] - 110 :].any()
    assert not changed[VIEW[1] + 46 :, : int(0.36 * SIZE[0])].any()
    bare = Frame().compose(view, insets, replace(plain, latency_ms=None))
    beside = np.flatnonzero((short != bare).any(axis=(0, 2))).max()
    assert beside < np.flatnonzero(changed[VIEW[1] + 46 :].any(axis=0)).min(), "the latency ends before the words begin"
