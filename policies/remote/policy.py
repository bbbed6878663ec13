"""A policy on another machine as a core `Policy`: the same chunks at the same times as a local one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import InvalidDataError, MismatchError, RemoteError
from tendon.core.pace import Pace
from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.inference.input_encoder import check_observation
from tendon.policies.remote.link import Link
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.prefix import rows_on_grid
from tendon.robots.profile import RobotProfile


@dataclass(frozen=True, kw_only=True, eq=False)
class RemoteInference:
    """What one inference was like, beside its chunk. Times are of this machine's clock, but `server_ns`.

    Attributes:
        given_rows: leading rows that continue the running plan.
        clamped_rows: rows of the chunk moved to a border on this side.
        held_rows: rows that hold the last reachable one.
        server_ns: how long the server says that it took; `None` when it does not tell.
        total_ns: from the observation being handed over to its chunk, the way there and back included.
    """

    given_rows: int
    clamped_rows: tuple[int, ...]
    held_rows: tuple[int, ...]
    server_ns: int | None
    total_ns: int

    @property
    def network_ns(self) -> int | None:
        """Time beside that of the server: coding and the way there and back; `None` when it does not tell its own."""
        return None if self.server_ns is None else self.total_ns - self.server_ns


class RemotePolicy:
    """Asks a server. It is a core `Policy`; a chunk is placed by the stamp of its observation, however long it took.

    An observation is sent once. When there is no answer in time the error is of this observation alone: the running
    plan goes on, the next observation is tried, and when the plan is over the robot stops.

    Args:
        link: to the server, connected and checked.
        profile: the robot.
        timeout_s: longest time of an inference.
        start_s: longest time of one at start, where some servers compile.
    """

    def __init__(self, link: Link, profile: RobotProfile, *, timeout_s: float, start_s: float) -> None:
        self._link, self._profile = link, profile
        self._timeout_s, self._start_s = timeout_s, start_s
        self.last: RemoteInference | None = None

    @property
    def name(self) -> str:
        """Of the policy."""
        return self._link.name

    @property
    def engine(self) -> str:
        """What runs it: the address of the server."""
        return self._link.url

    @property
    def cameras(self) -> tuple[CameraInput, ...]:
        """Images it sees."""
        return self._link.cameras

    @property
    def step_ns(self) -> int:
        """Time between rows of a chunk."""
        return self._link.step_ns

    @property
    def prefix_rows(self) -> int:
        """Most frozen rows of a prefix."""
        return self._link.prefix_rows

    @property
    def overlap_rows(self) -> int:
        """Rows of a prefix after the frozen ones that the answer is led by."""
        return self._link.overlap_rows

    @property
    def pace(self) -> Pace:
        """How long its plans are kept."""
        return self._link.pace

    def check_instruction(self, instruction: str) -> None:
        """Raises InstructionError for an instruction that the policy cannot read, as far as that is known here."""
        self._link.check_instruction(instruction)

    @property
    def steering(self) -> Mapping[str, float]:
        """What the policy is steered by: name to value."""
        return self._link.steering.values

    def check_steering(self, name: str, value: float) -> None:
        """Raises ConfigError when the policy cannot be steered by that number, or not so far."""
        self._link.steering.check(name, value)

    def steer(self, name: str, value: float) -> None:
        """Sets one of the numbers that the policy can be steered by, from the next inference on. Any thread may.

        Raises:
            ConfigError: the policy has no such number, or the value is out of its range.
        """
        self._link.steering.set(name, value)

    def observe(self, observation: Observation) -> None:
        """Takes an observation that is not inferred from, for a policy that sees its past. Any thread."""
        self._link.observe(observation)

    def warm_up(self, runs: int = 2) -> int:
        """Asks with a black view of home, so that what does not fit, or must be compiled, is found out now.

        The first answer does not count; of the `runs` after it one at least has to be in time.

        Returns:
            What the last answer took [ns]: the delay to expect before one is measured.

        Raises:
            RemoteError: there is no answer, or all take longer than `timeout_s`.
            MismatchError: the answer is not what was said of it.
        """
        rest = np.zeros(len(self._profile.joints))
        images = {
            camera.name: Image(stamp_ns=0, pixels=np.zeros((camera.height, camera.width, 3), np.uint8))
            for camera in self.cameras
        }
        observation = Observation(
            stamp_ns=0, joint_position=self._profile.vector("home"), joint_velocity=rest, images=images
        )
        try:
            _, *took_ns = [self._ask(observation, None, None, self._start_s)[1].total_ns for _ in range(1 + runs)]
        except InvalidDataError as error:
            raise MismatchError(f"policy {self.name} does not answer as it should: {error}") from error
        if min(took_ns) > 1e9 * self._timeout_s:
            raise RemoteError(
                f"policy server {self.engine} takes {min(took_ns) / 1e9:.1f} s for an answer, timeout_s is "
                f"{self._timeout_s:g}: raise it as far as the plan reaches, or take a faster server"
            )
        return took_ns[-1]

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Returns the next chunk: row k is due (k + 1) steps after the observation.

        Raises:
            RemoteError: there is no answer in time, or the server answered with an error.
            InvalidDataError: the observation or the prefix does not fit, or the answer is malformed or not finite.
        """
        chunk, self.last = self._ask(observation, prefix, frozen, self._timeout_s)
        return chunk

    def close(self) -> None:
        """Drops the connection."""
        self._link.close()

    def _ask(
        self, observation: Observation, prefix: ActionChunk | None, frozen: int | None, timeout_s: float
    ) -> tuple[ActionChunk, RemoteInference]:
        begin_ns = time.perf_counter_ns()
        check_observation(observation, self._profile.joint_names, self.cameras)
        start_ns = observation.stamp_ns + self.step_ns
        given = rows_on_grid(prefix, start_ns, self.step_ns, self._link.rows, len(self._profile.joints))
        known = len(given) if frozen is None else min(frozen, len(given))
        if known > self.prefix_rows:
            raise InvalidDataError(f"prefix has {known} frozen rows, the policy continues at most {self.prefix_rows}")
        answer = self._link.ask(observation, given, known, timeout_s)
        chunk = ActionChunk(
            actions=answer.actions,
            start_ns=start_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )
        inference = RemoteInference(
            given_rows=known,
            clamped_rows=answer.clamped_rows,
            held_rows=answer.held_rows,
            server_ns=answer.server_ns,
            total_ns=time.perf_counter_ns() - begin_ns,
        )
        return chunk, inference
