"""A bundle as a policy: observation in, joint-space action chunk out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.pace import Pace
from tendon.core.types import ActionChunk, Array, Features, Image, Observation, freeze
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.adapter.matching import EMBEDDING, POINTS, check_profile
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.engines.engine import CPU_PROVIDERS
from tendon.policies.engines.loading import Engine, Load, load_graph
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.input_encoder import InputEncoder
from tendon.policies.inference.model import PolicyModel
from tendon.policies.progress.estimator import load_estimator
from tendon.policies.spec.manifest import CameraInput, Continuation, Manifest
from tendon.policies.spec.prefix import Prefix, rows_on_grid
from tendon.policies.spec.steering import Steering
from tendon.robots.profile import RobotProfile

WARM_RUNS, WARM_NS = 6, 500_000_000
"""How often a policy is run before it counts as warm, and for how long at most once that is so."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Inference:
    """What one inference was like, beside its chunk.

    Attributes:
        instruction: what it was asked for.
        points: (2, 3) predicted positions of the target object and of the reference [m, base frame]; `None` when its
            graph does not tell.
        targets: (T, K) what each row asks for: tool position in the base frame and fingers, or joints.
        given_rows: leading rows that continue the running plan.
        embedding: (E,) the policy's own summary of what it saw; `None` when its graph does not tell.
        state: (S,) what it was told of the robot, normalised.
        progress: how much of the task is done, by the bundle's estimator; `None` without one.
        clamped_rows: rows of the chunk moved to the border of the workspace.
        held_rows: rows that hold the last reachable one.
        model_ns: time in the engine.
        kinematics_ns: time to turn the answer into joints.
        total_ns: time in all.
    """

    instruction: str
    points: Array | None
    targets: Array
    given_rows: int
    embedding: Array | None
    state: Array
    progress: float | None
    clamped_rows: tuple[int, ...]
    held_rows: tuple[int, ...]
    model_ns: int
    kinematics_ns: int
    total_ns: int


class BundlePolicy:
    """Runs a bundle on a robot; a core `Policy`. Everything is checked here, before anything moves.

    Args:
        bundle: from `load_bundle`.
        profile: the robot.
        engine: what runs the graphs; `None` takes the best there is, see `load_graph`.
        threads: CPU threads of one inference.
        continuation: how chunks continue the running plan; `None` takes the best that the bundle supports.
        load: see `PolicyModel`.

    Attributes:
        digest: which policy it is, see `policy_digest`.
        last: what the last inference was like.

    Raises:
        ConfigError: the engine does not start, or the bundle does not support the continuation.
        MissingDependencyError: the engine is not installed.
        IntegrityError: a graph does not load.
        MismatchError: bundle and profile, or graph and bundle, do not agree, or a camera is too far from where the
            bundle was trained to see from.
    """

    def __init__(
        self,
        bundle: Bundle,
        profile: RobotProfile,
        engine: Engine | None = None,
        threads: int = 2,
        continuation: Continuation | None = None,
        load: Load = load_graph,
    ) -> None:
        manifest = bundle.manifest
        check_profile(manifest, profile)
        self.continuation = continuation or manifest.continuations[0]
        if self.continuation not in manifest.continuations:
            known = ", ".join(each.value for each in manifest.continuations)
            raise ConfigError(f"bundle {manifest.name} does not support {self.continuation.value}, it has: {known}")
        self._model = PolicyModel(bundle, engine, threads, load=load)
        self._manifest, self.digest = manifest, policy_digest(manifest)
        self._home = profile.vector("home")
        self._adapter = Adapter(manifest, profile)
        self._encoder = InputEncoder(bundle, self._adapter, profile)
        self._steering = Steering(manifest.steering)
        self._estimator = load_estimator(bundle)
        self._action_mean, self._action_std = np.array(manifest.action.mean), np.array(manifest.action.std)
        self.last: Inference | None = None

    def reseed(self, seed: int) -> None:
        """Draws the noise of a denoiser from another seed: its answers then do not depend on those before."""
        self._model.reseed(seed)

    @property
    def name(self) -> str:
        """Of the policy."""
        return self._manifest.name

    @property
    def manifest(self) -> Manifest:
        """The bundle's `bundle.yaml`."""
        return self._manifest

    @property
    def engine(self) -> Engine:
        """What runs the graphs."""
        return self._model.engine

    @property
    def pace(self) -> Pace:
        """How long its plans are kept."""
        return self._manifest.pace

    @property
    def cameras(self) -> tuple[CameraInput, ...]:
        """Images it sees."""
        return self._manifest.cameras

    @property
    def step_ns(self) -> int:
        """Time between rows."""
        return self._manifest.action.step_ns

    @property
    def prefix_rows(self) -> int:
        """Most frozen rows of a prefix."""
        trained = self.continuation is Continuation.TRAINED_PREFIX
        return self._manifest.prefix_rows if trained else self._manifest.action.rows - 1

    @property
    def overlap_rows(self) -> int:
        """Rows of a prefix after the frozen ones that the answer is led by."""
        return 0 if self.continuation is Continuation.TRAINED_PREFIX else self._manifest.action.rows

    @property
    def last_points(self) -> Array | None:
        """(2, 3) predicted target and reference [m, base frame] of the last inference; `None` where it tells none."""
        return self.last.points if self.last else None

    def check_instruction(self, instruction: str) -> None:
        """Raises InstructionError when the policy does not know a word, so that a node can refuse it on arrival."""
        self._encoder.read(instruction, np.zeros(self._manifest.state_size))

    @property
    def steering(self) -> Mapping[str, float]:
        """What the policy is steered by: name to value."""
        return self._steering.values

    def check_steering(self, name: str, value: float) -> None:
        """Raises ConfigError when the policy cannot be steered by that number, or not so far."""
        self._steering.check(name, value)

    def steer(self, name: str, value: float) -> None:
        """Sets one of the numbers that the policy can be steered by, from the next inference on. Any thread may.

        Raises:
            ConfigError: the bundle has no such number, or the value is out of its range.
        """
        self._steering.set(name, value)

    @property
    def sees_past(self) -> bool:
        """Whether it sees earlier observations besides."""
        return self._manifest.history > 1

    def observe(self, observation: Observation) -> None:
        """Takes an observation that is not inferred from, for a policy that sees its past. Cheap."""
        self._encoder.add(observation)

    def close(self) -> None:
        """Does nothing: all that it holds is memory. A policy of a server has a connection."""

    def warm_up(self, runs: int = WARM_RUNS) -> int:
        """Runs the whole of `infer` on a black view of home, so that the first real inference is as fast as the rest.

        `last` stays as it was.

        Args:
            runs: at most; after two, only while they take less than `WARM_NS` together.

        Returns:
            What an inference takes [ns] when nothing is in its way: the shortest of those after the first. On the CPU
            never more than the CPU time it took, for on a busy machine most of a run is waiting.
        """
        observation = self._black()
        last = self.last
        took_ns: list[int] = []
        while len(took_ns) < runs and (len(took_ns) < 2 or sum(took_ns) < WARM_NS):
            begin_ns, begin_cpu_ns = time.perf_counter_ns(), time.process_time_ns()
            self.infer(observation)
            wall_ns, cpu_ns = time.perf_counter_ns() - begin_ns, time.process_time_ns() - begin_cpu_ns
            took_ns.append(min(wall_ns, cpu_ns) if self.engine.provider in CPU_PROVIDERS else wall_ns)
        self.last = last
        return min(took_ns[1:] or took_ns)

    def feature_sizes(self) -> tuple[int, int]:
        """Returns how many numbers of an embedding, and how many points, each of its chunks tells."""
        last = self.last
        self.infer(self._black())
        features, self.last = self._features(), last
        return len(features.embedding), len(features.points)

    @property
    def estimates_progress(self) -> bool:
        """Whether it tells how much of its task is done."""
        return self._estimator is not None

    def _features(self) -> Features:
        """Returns what the last inference made of its observation; empty where the graph tells no embedding."""
        embedding = None if self.last is None else self.last.embedding
        points = None if self.last is None or embedding is None else self.last.points
        return Features(
            policy=self.digest,
            embedding=np.zeros(0) if embedding is None else embedding,
            points=np.zeros((0, 3)) if points is None else points,
            progress=None if self.last is None else self.last.progress,
        )

    def _black(self) -> Observation:
        """Returns a black view of home."""
        images = {
            camera.name: Image(stamp_ns=0, pixels=np.zeros((camera.height, camera.width, 3), np.uint8))
            for camera in self._manifest.cameras
        }
        rest = np.zeros_like(self._home)
        return Observation(stamp_ns=0, joint_position=self._home, joint_velocity=rest, images=images)

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Returns the next chunk: row k is due (k + 1) steps after the observation.

        It starts with the frozen rows of `prefix`, unchanged. A row outside the workspace is moved to its border, one
        out of reach holds the last reachable row; `last` says which. A blank instruction is allowed (it is the control
        run of an evaluation): a node must not pass one on.

        Raises:
            InvalidDataError: the observation lacks a camera, an image or joint vector has another size,
                `prefix` is on another time grid or too long, or the model's answer is not finite.
            InstructionError: the policy does not know a word of the instruction.
        """
        begin_ns = time.perf_counter_ns()
        step_ns = self._manifest.action.step_ns
        start_ns = observation.stamp_ns + step_ns
        feeds = self._encoder.feeds(observation) | self._steering.feeds()
        origin = observation.joint_position
        rows = rows_on_grid(prefix, start_ns, step_ns, self._manifest.action.rows, len(self._manifest.joint_names))
        known = len(rows) if frozen is None else min(frozen, len(rows))
        if known > self.prefix_rows:
            raise InvalidDataError(f"prefix has {known} frozen rows, the policy continues at most {self.prefix_rows}")
        continued = self._adapter.to_components(rows, origin)
        given = Prefix(rows=(continued - self._action_mean) / self._action_std, frozen=known)

        model_begin_ns = time.perf_counter_ns()
        actions, answer = self._model.answer(feeds, given, self.continuation)
        model_ns = time.perf_counter_ns() - model_begin_ns

        wanted = actions[known:] * self._action_std + self._action_mean
        seed = rows[known - 1] if known else observation.joint_position
        solve_begin_ns = time.perf_counter_ns()
        solved = self._adapter.to_joints(wanted, origin, seed, observation.stamp_ns)
        kinematics_ns = time.perf_counter_ns() - solve_begin_ns
        points, embedding = _output(answer, POINTS, (2, 3)), _output(answer, EMBEDDING, (None,))
        state, progress = freeze("state", feeds["state"][-1], (None,)), None
        if self._estimator is not None:
            progress = self._estimator.estimate(state, points, embedding)
        self.last = Inference(
            instruction=observation.instruction,
            points=points,
            targets=self._adapter.targets(np.concatenate([continued[:known], wanted]), origin),
            given_rows=known,
            embedding=embedding,
            state=state,
            progress=progress,
            clamped_rows=tuple(k + known for k in solved.clamped),
            held_rows=tuple(k + known for k in solved.held),
            model_ns=model_ns,
            kinematics_ns=kinematics_ns,
            total_ns=time.perf_counter_ns() - begin_ns,
        )
        return ActionChunk(
            actions=np.concatenate([rows[:known], solved.actions]),
            start_ns=start_ns,
            step_ns=step_ns,
            observation_stamp_ns=observation.stamp_ns,
            features=self._features(),
        )


def _output(answer: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> Array | None:
    return freeze(f"{name} (of the model's answer)", answer[name][0], shape) if name in answer else None
