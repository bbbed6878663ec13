"""Asserts that a robot was commanded, and measured, inside the limits of its profile."""

from __future__ import annotations

import numpy as np

from tendon.evaluation.limits import measured_beyond, worst_of
from tendon.testing.graph import GraphUnderTest


def assert_limits(graph: GraphUnderTest) -> None:
    """Fails when a limit of the profile was broken since the graph was armed.

    Commanded is what the simulated controllers did in every physics step: position, velocity, acceleration and jerk.
    The mock does not say that; of it, as of every robot, the measured positions and velocities are checked. None of the
    code is the filter's.

    Args:
        graph: that was armed.

    Raises:
        AssertionError: a limit was broken; the message says by how much.
        GraphError: nothing was measured, so nothing can be said.
    """
    __tracebackhide__ = True
    graph.wait(lambda: bool(graph.witness.measured), "a joint state")
    motion, measured = graph.witness.motion(), graph.witness.measured.copy()
    problems = []
    if len(motion.time_ns) and (worst := worst_of(motion)).broken:
        parts = {"velocity": worst.velocity, "acceleration": worst.acceleration, "jerk": worst.jerk}
        shares = ", ".join(f"{name} {100 * part:.1f} %" for name, part in parts.items())
        problems.append(
            f"{worst.broken} of {len(motion.time_ns)} commanded samples of {graph.profile.name} broke a limit: "
            f"at most {shares} of the limits, {worst.position:.2g} rad or m outside the positions"
        )
    position, velocity = (np.array([sample[k] for sample in measured]) for k in (1, 2))
    if beyond := measured_beyond(graph.profile, position, velocity):
        problems.append(beyond)
    if problems:
        raise AssertionError("; ".join(problems))
