"""What a policy makes of demonstrations that are to teach it better: it knows something of the task already.

Where a demonstration is far from what the policy would do, one of the two is wrong. Where the policy would come nearer
to it under other instructions than under its own, something else was done than was said.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from tendon.core.errors import InstructionError, MismatchError
from tendon.core.protocols import Policy
from tendon.core.types import Array
from tendon.data.lerobot.layout import ACTION
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import Frame

MOMENTS, LAST = 6, 0.7
"""At how many moments of an episode a policy is asked, evenly up to this part: at its end little is left to do."""
AHEAD_S = (0.3, 1.0)
"""Which part of an answer is compared: before it the robot still does what it did, after it people differ."""
OTHERS = 16
"""Other instructions of the dataset that a policy is asked about, at most."""


class Agreement:
    """Asks a policy about the episodes of a dataset.

    Args:
        dataset: of demonstrations.
        policy: of the same robot; it is asked without a running plan.
        joints: of its robot, in its order.

    Raises:
        MismatchError: the dataset is of other joints.
    """

    def __init__(self, dataset: LeRobotDataset, policy: Policy, joints: Sequence[str]) -> None:
        if tuple(dataset.shape.joints) != tuple(joints):
            raise MismatchError(
                f"{dataset.root} has joints {', '.join(dataset.shape.joints)}, the policy's robot {', '.join(joints)}: "
                "name a policy of that robot"
            )
        self._dataset, self._policy = dataset, policy
        self._tasks = sorted({task for task in dataset.tasks.values() if task})
        actions = [dataset.rows(number)[ACTION] for number in range(len(dataset))]
        self._scale = np.maximum(np.concatenate(actions).std(axis=0), 1e-4)

    def of(self, number: int) -> tuple[float, float]:
        """Returns what a policy makes of an episode.

        Returns:
            (disagreement, otherwise): how far what was commanded is from what it would have commanded, root mean
            square in standard deviations of the dataset; and the share of other instructions under which that is less.
            NaN where it does not know the instruction, or where the dataset has no other that it knows.

        Raises:
            InvalidDataError: the episode cannot be read.
        """
        actions = np.asarray(self._dataset.rows(number)[ACTION], dtype=np.float64)
        moments = sorted(set(np.linspace(0, LAST * (len(actions) - 1), MOMENTS).astype(int).tolist()))
        frames = [
            frame for k, frame in enumerate(islice(self._dataset.frames(number), moments[-1] + 1)) if k in moments
        ]
        task = frames[0].task
        others = [each for each in self._tasks if each != task]
        others = random.Random(number).sample(others, min(OTHERS, len(others)))
        own = self._away(moments, frames, actions, task)
        away = [self._away(moments, frames, actions, each) for each in others] if own == own else []
        known = [each for each in away if each == each]
        return own, float(np.mean([each < own for each in known])) if known else float("nan")

    def _away(self, moments: Sequence[int], frames: Sequence[Frame], actions: Array, task: str) -> float:
        gaps = []
        for k, frame in zip(moments, frames, strict=True):
            try:
                chunk = self._policy.infer(replace(frame.observation(), instruction=task))
            except InstructionError:
                return float("nan")
            ahead_s = (chunk.start_ns + chunk.step_ns * np.arange(len(chunk.actions)) - frame.stamp_ns) * 1e-9
            compared = (ahead_s >= AHEAD_S[0]) & (ahead_s <= AHEAD_S[1])
            done = np.minimum(k + np.round(ahead_s[compared] * self._dataset.shape.fps).astype(int), len(actions) - 1)
            gaps.append((chunk.actions[compared] - actions[done]) / self._scale)
        return float(np.sqrt((np.concatenate(gaps) ** 2).mean()))
