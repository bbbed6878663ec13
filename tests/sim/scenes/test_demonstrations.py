"""Demonstrations of two hands: what a frame holds, that labels do the task, and that a bundle can say what they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from tendon.core.config import build
from tendon.core.types import ActionChunk, Observation
from tendon.evaluation.suites import load_suite
from tendon.policies.adapter.state_vector import StateVector
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.policies.training.spaces import ABOUT, count_tools, state_noise
from tendon.robots.profile import load_profile
from tendon.sim.demonstrations import LARGEST_PREFIX, ROWS, STEP_S, Collector
from tendon.sim.scenes import demonstrations

PROFILE, SUITE = load_profile("panda_pair"), load_suite("bimanual")
SEED = 2  # two hands lift a tray
REPEATED = 12
"""Frames of an episode that is run once more; by then both hands have moved."""


class Standing:
    """A learner that asks the robot to stay where it is."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def infer(self, observation: Observation) -> ActionChunk:
        self.seen.append(observation)
        rows = np.tile(observation.joint_position, (ROWS, 1))
        return ActionChunk(actions=rows, start_ns=0, step_ns=10**8, observation_stamp_ns=observation.stamp_ns)


def collector(learner: Standing | None = None) -> Collector:
    assert SUITE.collector is not None
    return SUITE.collector(PROFILE, learner)  # type: ignore[arg-type]


def test_frames_hold_what_about_says_and_labels_do_the_task() -> None:
    made = collector()
    try:
        assert set(made.about) == set(ABOUT) and made.about["step_s"] == STEP_S
        items = [build(StateItem, "state", item) for item in made.about["state"]]
        size = sum(item.size for item in items)
        assert count_tools(made.about["state"]) == 2 and len(state_noise(made.about["state"])) == size
        action = build(
            ActionSpace,
            "action",
            {**made.about["action"], "rows": 16, "step_s": 0.1, "mean": [0.0] * 16, "std": [1.0] * 16},
        )
        assert action.components == PROFILE.joint_names
        frames = list(made.episode(SEED))
        again = list(islice(made.episode(SEED), REPEATED))
        for (frame, labels), (other, others) in zip(frames[:REPEATED], again, strict=True):
            assert all(np.array_equal(frame[key], other[key]) for key in frame)
            assert np.array_equal(labels[0].actions, others[0].actions)
        reads = StateVector("test", items, np.zeros(size), PROFILE)
        for frame, (label,) in frames:
            assert {f"image_{camera.name}" for camera in PROFILE.cameras} | {"state"} == set(frame)
            joints, velocities = frame["state"][6:22], np.zeros(16)
            velocities[[k for k in range(16) if k not in (7, 15)]] = frame["state"][22:]
            np.testing.assert_allclose(reads.read(joints, velocities), frame["state"])
            assert label.actions.shape == (ROWS, 16) and label.points.shape == (2, 3)
            assert 0 <= label.prefix_rows <= LARGEST_PREFIX
            reached = np.where(np.isin(np.arange(16), (7, 15)), label.actions, joints + label.actions)
            slack = 1e-3 * (PROFILE.vector("upper") - PROFILE.vector("lower"))
            assert (reached >= PROFILE.vector("lower") - slack).all() and (
                reached <= PROFILE.vector("upper") + slack
            ).all()
        assert frames[-1][1][0].flags[1] == 1.0, "the expert did not do the task"
    finally:
        made.close()


def test_a_learner_acts_and_the_expert_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demonstrations, "LONGEST_S", 2.0)
    learner = Standing()
    made = collector(learner)
    try:
        frames = list(made.episode(SEED))
    finally:
        made.close()
    assert len(learner.seen) == len(frames) == 10
    joints = np.array([seen.joint_position for seen in learner.seen])
    assert np.ptp(joints[1:], axis=0).max() < 0.02, "it did not stay"
    assert min(np.abs(label.actions[-1]).max() for _, (label,) in frames) > 0.1, "the expert would have moved"


def test_a_push_goes_along_with_what_is_held() -> None:
    assert SUITE.expert is not None
    expert = SUITE.expert(PROFILE)
    made = collector()
    try:
        scene = SUITE.scene(PROFILE, SEED)
        world = made._world  # type: ignore[attr-defined]
        world.reset(scene)
        seen = made._observe(scene)  # type: ignore[attr-defined]
        moment = expert.look(scene, world.state(), seen)  # type: ignore[attr-defined]
        held = replace(moment, hands=tuple(replace(hand, holds=True) for hand in moment.hands))
        drift = np.full((3, 2, 3), (0.0, 0.0, 0.01))
        still, pushed = (
            expert.stray(scene, held, seen.joint_position, 3, STEP_S, push)  # type: ignore[attr-defined]
            for push in (None, drift)
        )
        heights = [[arm.tool_pose(rows[-1])[0][2] for arm in made._arms] for rows in (still, pushed)]  # type: ignore[attr-defined]
        assert (np.diff(heights, axis=0) > 0.015).all(), "a script that lifts goes on from where it was pushed"
    finally:
        made.close()
