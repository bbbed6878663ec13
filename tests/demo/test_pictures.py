"""Timeline and video of made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tendon.core.errors import InvalidDataError
from tendon.core.profile import RobotProfile
from tendon.evaluation.caption import SIZE, VIEW, Frame, caption_at
from tendon.evaluation.recording import Outcome, Recording
from tendon.evaluation.timeline import draw_timeline
from tendon.evaluation.video import FRAME_HZ, LAST_FRAME_S, moments, write_video
from tendon.sim.scene import Scene
from tendon.sim.spectator import Spectator


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


def test_captions_follow_the_run(make_recording: Callable[..., Recording]) -> None:
    recording = make_recording()
    first, _, last = recording.attempts
    early = caption_at(recording, recording.begin_ns + 10_000_000)
    assert (early.instruction, early.mode, early.latency_ms, early.toast) == (first.instruction, "armed", None, "")
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
    spectator = Spectator(scene, profile, *VIEW)
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
