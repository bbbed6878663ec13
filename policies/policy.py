"""A bundle as a policy: observation in, joint-space action chunk out."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.profile import RobotProfile
from tendon.core.types import ActionChunk, Array, Image, Observation, freeze
from tendon.policies.adapter import ToolAdapter
from tendon.policies.bundle import Bundle
from tendon.policies.manifest import Manifest
from tendon.policies.matching import EMBEDDING, check_model, check_profile
from tendon.policies.runtime import Engine, Tensor, load_graph
from tendon.policies.tokens import Tokenizer


@dataclass(frozen=True, kw_only=True, eq=False)
class Inference:
    """What one inference was like, beside its chunk.

    Attributes:
        points: (2, 3) predicted positions of the target object and of the reference [m, base frame].
        targets: (T, 4) tool position in the base frame and finger position that each row asks for [m].
        given_rows: leading rows that continue the running plan.
        embedding: (E,) the policy's own summary of what it saw; `None` when its graph does not tell.
        clamped_rows: rows of the chunk moved to the border of the workspace.
        held_rows: rows that hold the last reachable one.
        model_ns: time in the engine.
        kinematics_ns: time to turn tool targets into joints.
        total_ns: time in all.
    """

    points: Array
    targets: Array
    given_rows: int
    embedding: Array | None
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
        engine: what runs the graph; `None` takes the best there is, see `load_graph`.
        threads: CPU threads of one inference.

    Raises:
        ConfigError: the engine does not start.
        MissingDependencyError: the engine is not installed.
        IntegrityError: the model does not load.
        MismatchError: bundle and profile, or graph and bundle, do not agree.
    """

    def __init__(
        self,
        bundle: Bundle,
        profile: RobotProfile,
        engine: Engine | None = None,
        threads: int = 2,
    ) -> None:
        manifest = bundle.manifest
        check_profile(manifest, profile)
        self._model = load_graph(bundle.content, manifest.model, engine, threads)
        check_model(manifest, self._model)
        self._manifest = manifest
        self._home = profile.vector("home")
        self._adapter = ToolAdapter(manifest, profile)
        self._tokenizer = Tokenizer(manifest.instruction.vocabulary, manifest.instruction.tokens)
        self._state_mean, self._state_std = np.array(manifest.state_mean), np.array(manifest.state_std)
        self._action_mean, self._action_std = np.array(manifest.action.mean), np.array(manifest.action.std)
        self.last: Inference | None = None

    @property
    def manifest(self) -> Manifest:
        """The bundle's `bundle.yaml`."""
        return self._manifest

    @property
    def engine(self) -> Engine:
        """What runs the graph."""
        return self._model.engine

    @property
    def last_points(self) -> Array | None:
        """(2, 3) predicted target and reference [m, base frame] of the last inference; `None` before the first."""
        return self.last.points if self.last else None

    def check_instruction(self, instruction: str) -> None:
        """Raises InstructionError when the policy does not know a word, so that a node can refuse it on arrival."""
        self._tokenizer.encode(instruction)

    def warm_up(self, runs: int = 2) -> None:
        """Runs the whole of `infer` on a black view of home, so that the first real inference is as fast as the rest.

        `last` stays as it was.
        """
        images = {
            camera.name: Image(stamp_ns=0, pixels=np.zeros((camera.height, camera.width, 3), np.uint8))
            for camera in self._manifest.cameras
        }
        rest = np.zeros_like(self._home)
        observation = Observation(stamp_ns=0, joint_position=self._home, joint_velocity=rest, images=images)
        last = self.last
        for _ in range(runs):
            self.infer(observation)
        self.last = last

    def infer(self, observation: Observation, prefix: ActionChunk | None = None) -> ActionChunk:
        """Returns the next chunk: row k is due (k + 1) steps after the observation.

        The flow starts from the centre of its noise, so equal observations give equal chunks and successive
        chunks do not jitter. The chunk starts with the rows of `prefix`, unchanged. A row outside the workspace
        is moved to its border, one out of reach holds the last reachable row; `last` says which. A blank
        instruction is allowed (it is the control run of an evaluation): a node must not pass one on.

        Raises:
            InvalidDataError: the observation lacks a camera, an image or joint vector has another size,
                `prefix` is on another time grid or too long, or the model's answer is not finite.
            InstructionError: the policy does not know a word of the instruction.
        """
        begin_ns = time.perf_counter_ns()
        step_ns = self._manifest.action.step_ns
        start_ns = observation.stamp_ns + step_ns
        self._check_joints(observation)
        feeds = self._images(observation)
        feeds["tokens"] = self._tokenizer.encode(observation.instruction)[None]
        state = self._adapter.state(observation.joint_position, observation.joint_velocity)
        feeds["state"] = ((state - self._state_mean) / self._state_std).astype(np.float32)[None]
        origin = self._adapter.tool_position(observation.joint_position)

        given = self._prefix_rows(prefix, start_ns)
        known = len(given)
        rows = np.zeros((1, self._manifest.action.rows, len(self._action_mean)), np.float32)
        continued = self._adapter.to_components(given, origin)
        rows[0, :known] = (continued - self._action_mean) / self._action_std
        feeds["prefix"] = rows
        feeds["prefix_rows"] = np.array([known], np.int64)
        feeds["noise"] = np.zeros_like(rows)

        model_begin_ns = time.perf_counter_ns()
        answer = self._model.run(feeds)
        model_ns = time.perf_counter_ns() - model_begin_ns
        points = freeze("points (of the model's answer)", answer["points"][0], (2, 3))
        actions = freeze("actions (of the model's answer)", answer["actions"][0], rows.shape[1:])
        embedding = answer.get(EMBEDDING)

        wanted = actions[known:] * self._action_std + self._action_mean
        seed = given[-1] if known else observation.joint_position
        solve_begin_ns = time.perf_counter_ns()
        solved = self._adapter.to_joints(wanted, origin, seed)
        kinematics_ns = time.perf_counter_ns() - solve_begin_ns
        self.last = Inference(
            points=points,
            targets=np.concatenate([continued, wanted]) + np.append(origin, 0.0),
            given_rows=known,
            embedding=None if embedding is None else freeze("embedding (of the model)", embedding[0], (None,)),
            clamped_rows=tuple(k + known for k in solved.clamped),
            held_rows=tuple(k + known for k in solved.held),
            model_ns=model_ns,
            kinematics_ns=kinematics_ns,
            total_ns=time.perf_counter_ns() - begin_ns,
        )
        return ActionChunk(
            actions=np.concatenate([given, solved.actions]),
            start_ns=start_ns,
            step_ns=step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )

    def _check_joints(self, observation: Observation) -> None:
        count = len(self._manifest.joint_names)
        if len(observation.joint_position) != count:
            raise InvalidDataError(
                f"the observation has {len(observation.joint_position)} joints, expected {count}: "
                f"{', '.join(self._manifest.joint_names)}"
            )

    def _images(self, observation: Observation) -> dict[str, Tensor]:
        feeds: dict[str, Tensor] = {}
        for camera in self._manifest.cameras:
            image = observation.images.get(camera.name)
            if image is None:
                seen = ", ".join(observation.images) or "none"
                raise InvalidDataError(f"the observation lacks camera {camera.name} (it has: {seen})")
            if image.pixels.shape != (camera.height, camera.width, 3):
                height, width, _ = image.pixels.shape
                raise InvalidDataError(
                    f"camera {camera.name} gives {width}x{height} px, the policy sees {camera.width}x{camera.height}: "
                    "set the size at the camera"
                )
            feeds[f"image_{camera.name}"] = image.pixels[None]
        return feeds

    def _prefix_rows(self, prefix: ActionChunk | None, start_ns: int) -> Array:
        joints = len(self._manifest.joint_names)
        if prefix is None:
            return np.empty((0, joints))
        step_ns = self._manifest.action.step_ns
        if (prefix.start_ns, prefix.step_ns) != (start_ns, step_ns):
            raise InvalidDataError(
                f"prefix starts at {prefix.start_ns} ns in steps of {prefix.step_ns} ns, expected the chunk's grid: "
                f"{start_ns} ns in steps of {step_ns} ns"
            )
        if prefix.actions.shape[1] != joints or len(prefix.actions) > self._manifest.prefix_rows:
            raise InvalidDataError(
                f"prefix is {prefix.actions.shape[0]} rows of {prefix.actions.shape[1]} joints, "
                f"expected at most {self._manifest.prefix_rows} rows of {joints}"
            )
        return prefix.actions
