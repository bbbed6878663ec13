"""A policy of your own in Python, no ONNX: any object with these members runs in the simulator.

Run: python examples/evaluate_own_policy.py
"""

from __future__ import annotations

import numpy as np

import tendon


class Wave:
    """Turns the first joint to and fro, whatever it sees: it does no task."""

    step_ns = 100_000_000  # time between rows
    prefix_rows = 0  # rows of the running plan that it can continue
    overlap_rows = 0
    pace = tendon.Pace(replan_rows=2)  # it is asked anew every two rows

    def infer(
        self, observation: tendon.Observation, prefix: tendon.ActionChunk | None = None, frozen: int | None = None
    ) -> tendon.ActionChunk:
        """Answers ten rows; row k is due k + 1 steps after the observation."""
        due_s = observation.stamp_ns * 1e-9 + 0.1 * np.arange(1, 11)
        actions = np.tile(observation.joint_position, (10, 1))
        actions[:, 0] = 0.3 * np.sin(due_s)
        return tendon.ActionChunk(
            actions=actions,
            start_ns=observation.stamp_ns + self.step_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )


result = tendon.evaluate(Wave(), seeds=[100_003], timing="overwrite")
(episode,) = result.episodes
print(f"{episode.instruction}: {result.success}")
print(f"commanded acceleration: at most {100 * episode.peak_acceleration:.0f} % of the limit")
