"""What any core `Policy` keeps, local or remote."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tendon.core.errors import InvalidDataError
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Observation
from tendon.policies.inference.load_place import LoadedPolicy
from tendon.robots.profile import RobotProfile

Observe = Callable[..., Observation]
Prefix = Callable[..., ActionChunk]
STEP_NS = 10**8


class PolicyConformance:
    """What any policy that Tendon loads keeps; a test class of a policy inherits this and has a fixture `policy`."""

    def test_a_chunk_is_placed_by_the_observation_stamp(self, policy: Policy, observe: Observe) -> None:
        """Row 0 is due one step after the exposure, whatever the inference takes."""
        chunk = policy.infer(observe(stamp_ns=7 * 10**9))
        assert chunk.observation_stamp_ns == 7 * 10**9
        assert chunk.start_ns == 7 * 10**9 + chunk.step_ns

    def test_a_chunk_speaks_the_joints_of_the_profile(
        self, policy: Policy, observe: Observe, profile: RobotProfile
    ) -> None:
        """In number, and inside their limits."""
        actions = policy.infer(observe()).actions
        assert actions.shape[1] == len(profile.joint_names)
        assert (actions >= profile.vector("lower")).all()
        assert (actions <= profile.vector("upper")).all()

    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_the_prefix_comes_back_bit_by_bit(
        self, policy: Policy, observe: Observe, make_prefix: Prefix, rows: int
    ) -> None:
        """What runs while the answer is on its way is not rewritten."""
        prefix = make_prefix(rows)
        np.testing.assert_array_equal(policy.infer(observe(), prefix).actions[:rows], prefix.actions)

    def test_it_has_a_name_and_is_closed_as_often_as_anyone_likes(self, policy: LoadedPolicy) -> None:
        """So that who loads one need not know of what kind it is."""
        assert policy.name
        policy.close()
        policy.close()

    def test_a_prefix_on_another_grid_is_refused(self, policy: Policy, observe: Observe, make_prefix: Prefix) -> None:
        """Rows due at other times would be a shifted motion."""
        for wrong in (make_prefix(2, start_ns=10**9), make_prefix(2, step_ns=STEP_NS // 2)):
            with pytest.raises(InvalidDataError, match="grid"):
                policy.infer(observe(), wrong)
