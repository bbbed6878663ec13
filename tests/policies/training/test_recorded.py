"""Recorded episodes become what the policy is given and what it should have answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendon.core.errors import ConfigError, InstructionError, MismatchError
from tendon.core.types import Image, Observation
from tendon.data.lerobot.writer import Frame
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.inference.input_encoder import InputEncoder
from tendon.policies.training import recorded
from tendon.policies.training.recorded import RecordedSource
from tendon.robots.kinematics import Kinematics
from tests.policies.training.recorded_episodes import (
    BUNDLE,
    FPS,
    PROFILE,
    Memory,
    joints_at,
    moving,
    recording,
    source,
)
from tests.robots.calibrated import load_calibrated_panda

STEP_S, ROWS = BUNDLE.manifest.action.step_s, BUNDLE.manifest.action.rows


def labelled(episodes: Memory) -> list[dict[str, np.ndarray]]:
    return list(source(episodes).labelled(0, np.random.default_rng(0)))


def test_a_chunk_is_where_the_tool_and_the_fingers_were_sent_from_then_on() -> None:
    """Row k is due (k + 1) steps after the frame; after the end the last target stays."""
    count, tool = 60, Kinematics(PROFILE)
    for number, frame in enumerate(labelled(Memory([moving(count)]))):
        begin = tool.tool_pose(joints_at(number / FPS))[0]
        for k, row in enumerate(frame["actions"][0]):
            joints = joints_at(min(number / FPS + (k + 1) * STEP_S, count / FPS))
            np.testing.assert_allclose(row[:3], tool.tool_pose(joints)[0] - begin, atol=1e-6)
            assert row[3] == pytest.approx(joints[-1], abs=1e-6)
        assert (frame["actions"] == frame["actions"][0]).all()
        assert (frame["prefix_rows"] <= BUNDLE.manifest.prefix_rows).all()


def test_a_recorded_frame_is_to_the_policy_what_it_is_given_in_the_graph() -> None:
    frames = moving(40)
    encoder = InputEncoder(BUNDLE, Adapter(BUNDLE.manifest, PROFILE), PROFILE)
    mean, std = np.array(BUNDLE.manifest.state_mean), np.array(BUNDLE.manifest.state_std)
    for frame, learned in zip(frames, labelled(Memory([frames])), strict=True):
        images = {name: Image(stamp_ns=frame.stamp_ns, pixels=pixels) for name, pixels in frame.images.items()}
        given = encoder.feeds(
            Observation(
                stamp_ns=frame.stamp_ns,
                joint_position=frame.state.astype(np.float64),
                joint_velocity=frame.velocity.astype(np.float64),
                images=images,
                instruction=frame.task,
            )
        )
        np.testing.assert_allclose((learned["state"] - mean) / std, given["state"][0], atol=1e-5)
        assert (learned["tokens"] == given["tokens"]).all()
        assert all((learned[name] == given[name][0]).all() for name in ("image_scene", "image_wrist"))


def test_a_robot_with_calibrated_zeros_learns_what_its_policy_is_given(tmp_path: Path) -> None:
    """Episodes have joints as they are; the robot says them with its zeros."""
    calibrated, episodes = load_calibrated_panda(tmp_path), Memory([moving(40)])
    learned = RecordedSource(replace(recording(episodes), profile=calibrated), BUNDLE.manifest, 1)
    live = Adapter(BUNDLE.manifest, calibrated)
    assert np.abs(calibrated.zeros).max() > 0
    for frame, found in zip(episodes.episodes[0], learned.labelled(0, np.random.default_rng(0)), strict=True):
        said = frame.state.astype(np.float64) + calibrated.zeros
        np.testing.assert_allclose(found["state"], live.state(said, frame.velocity.astype(np.float64)), atol=1e-5)


def test_a_pause_teaches_nothing_and_the_rest_at_the_end_does() -> None:
    still = [replace(frame, stamp_ns=k * 10**9 // FPS) for k, frame in enumerate(moving(1) * 30)]
    goes_on = [replace(frame, stamp_ns=frame.stamp_ns + 30 * 10**9 // FPS) for frame in moving(40)]
    found = labelled(Memory([[*still, *goes_on]]))
    assert 40 < len(found) <= 40 + round(recorded.IDLE_ROWS * STEP_S * FPS)
    rest = [replace(moving(40)[-1], stamp_ns=(40 + k) * 10**9 // FPS) for k in range(60)]
    assert 40 < len(labelled(Memory([[*moving(40), *rest]]))) <= 40 + round((ROWS + 1) * STEP_S * FPS)


def test_where_frames_are_missing_nothing_is_made_up() -> None:
    frames = moving(100)
    del frames[50:60]
    stamps = {int(frame["image_scene"][0, 0, 0]) for frame in labelled(Memory([frames]))}
    assert not stamps & set(range(50 - ROWS * 2, 50)) and set(range(60, 90)) <= stamps


def carried(grasp: int, release: int) -> list[Frame]:
    """Something 3 cm wide is picked up at one frame and let go at another."""
    found = []
    for k, frame in enumerate(moving(80)):
        state, action = frame.state.copy(), frame.action.copy()
        state[-1] = 0.015 if grasp <= k < release else 0.04
        action[-1] = 0.0 if grasp - 1 <= k < release else 0.04
        found.append(replace(frame, state=state, action=action))
    return found


def test_where_the_hand_closed_was_the_target_and_where_it_opened_is_the_goal() -> None:
    grasp, release, tool = 20, 50, Kinematics(PROFILE)
    frames = labelled(Memory([carried(grasp, release)]))
    places = [tool.tool_pose(joints_at(k / FPS))[0] for k in range(80)]
    for k, frame in enumerate(frames):
        assert (frame["flags"][:, 0] == (grasp < k <= release)).all() or k in (grasp, grasp + 1)
        target = places[min(max(k, grasp), release)]
        np.testing.assert_allclose(frame["points"][0, 0], target, atol=4e-3)
        np.testing.assert_allclose(frame["points"][0, 1], places[release], atol=4e-3)
        assert frame["placed"].tolist() == [[[True, True, False]] * 2] * 3
    unknown = labelled(Memory([moving(40)]))[0]
    assert np.isnan(unknown["points"]).all() and not unknown["placed"].any()


def test_memory_does_not_depend_on_how_much_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "POOL_FRAMES", 50)
    episodes = Memory([moving(40) for _ in range(30)])
    draw = source(episodes).drawing(np.random.default_rng(0))
    seen = [draw(16) for _ in range(40)]
    assert episodes.most == recorded.OPEN
    assert all(len(batch["state"]) == 16 for batch in seen)
    assert {int(n) for batch in seen for n in batch["image_scene"][:, 0, 0, 0]} == set(range(40))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"joints": PROFILE.joint_names[:-1]}, "mine has joints .* take data of this robot"),
        ({"cameras": {"scene": (128, 128)}}, r"no camera wrist, which the policy sees \(it has scene\)"),
        ({"cameras": {"scene": (480, 640), "wrist": (96, 96)}}, "scene has 640x480 px, the policy sees 128x128"),
        ({"fps": 5.0}, "5 frames a second, the policy's rows are 0.1 s apart: it takes at least 10"),
        ({"has_velocity": False}, "no velocities, which the policy sees"),
    ],
)
def test_data_that_do_not_fit_the_policy_are_one_clear_error(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(MismatchError, match=said):
        source(Memory([moving(4)], **changed))


def test_frames_of_which_nothing_can_be_learned_are_one_clear_error() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match="mine has frames without an instruction"):
        source(Memory([moving(40, task=" ")])).drawing(rng)(4)
    with pytest.raises(InstructionError, match="does not know 'juggle'"):
        source(Memory([moving(40, task="juggle")])).drawing(rng)(4)
    with pytest.raises(ConfigError, match="mine has no frame to learn from"):
        source(Memory([[]])).drawing(rng)(4)


def test_no_chunk_runs_from_one_task_into_the_next() -> None:
    """A new instruction in mid-motion: frames told the old one learned to go where the new one is."""
    first, other = moving(3 * FPS), moving(3 * FPS, task="open the drawer")
    joined = [*first, *(replace(each, stamp_ns=each.stamp_ns + 3 * 10**9) for each in other)]
    found = labelled(Memory([joined]))
    alone = [*labelled(Memory([first])), *labelled(Memory([other]))]
    cut = round(FPS * (ROWS + 1) * STEP_S)
    assert len(found) == len(alone) - cut, "what was on its way when the next one was told teaches neither"
    kept = [*alone[: 3 * FPS - cut], *alone[3 * FPS :]]
    for one, two in zip(found, kept, strict=True):
        np.testing.assert_allclose(one["actions"], two["actions"], atol=1e-6)
        assert (one["tokens"] == two["tokens"]).all()


def test_waiting_frames_do_not_count_where_weights_are_shared_out() -> None:
    """Six seconds of waiting before four of motion had each frame of the motion drawn more than twice as often."""
    moves = moving(4 * FPS)
    waits = [
        replace(moves[0], stamp_ns=moves[0].stamp_ns + k * 10**9 // FPS, action=moves[0].state) for k in range(6 * FPS)
    ]
    late = [replace(each, stamp_ns=each.stamp_ns + 6 * 10**9) for each in moves]
    episodes = Memory([[*waits, *late]])
    assert abs(len(source(episodes)) - len(labelled(episodes))) <= 8
    assert len(source(episodes)) < 5 * FPS < episodes.count
