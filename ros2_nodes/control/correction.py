"""The residual of a control node: what it hears for it, in which episodes it acts, and what it did at each tick."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from sensor_msgs.msg import PointCloud
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from tendon.control.residual.gate import Record, ResidualGate
from tendon.control.tick import Tick
from tendon.core.checks import check_number
from tendon.core.config import build
from tendon.core.errors import ConfigError, TendonError
from tendon.core.files import replace_file
from tendon.core.modes import Mode
from tendon.core.node_status import NOT_KEPT
from tendon.core.types import ActionChunk, Features, SentTrajectory
from tendon.core.yaml_text import parse_yaml
from tendon.graph import topics
from tendon.graph.domain import domain_id
from tendon.graph.namespace import place_name
from tendon.graph.parameters import RESIDUAL_AUTHORITY
from tendon.policies.residual.bundle import load_residual
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.safety.latch import state_folder

REMEMBERED = 8
"""Observations whose features are kept: their chunks come within a tick or two."""
PARTLY = "the residual has not acted at its whole authority"
ROW_NS = 1
"""Between the points of a message about a tick, of which no two may be due at once."""


@dataclass(kw_only=True)
class Since:
    """What has happened in an episode.

    Attributes:
        moved: the policy has moved the robot.
        foreign: another policy has, or one whose features were lost.
        other: somebody else has since, a person or the way home.
        acted: the residual did, with some of its authority,
        whole: with all that a person left it.
        limited: a person changed that meanwhile.
    """

    moved: bool = False
    foreign: bool = False
    other: bool = False
    acted: bool = False
    whole: bool = False
    limited: bool = False

    def doubt(self, acts: bool, success: bool) -> str:
        """Returns why an outcome does not count; empty when it does.

        A failure counts even if a person then took over, or took the residual back, as who does that has seen it; and
        even if the residual acted in part, as what it does may be why it came no further.
        """
        if not self.moved:
            return "the policy has not moved the robot since the last outcome"
        if self.foreign:
            return "the robot was moved by another policy, or by one whose features were lost"
        if acts and not (self.whole if success else self.acted):
            return PARTLY
        if acts and self.limited and success:
            return "the limit of the residual was changed meanwhile"
        if self.other and success:
            return "somebody else moved the robot after the policy: tell an outcome before"
        return ""


class Correction:
    """Loads a residual, attaches features to the chunks it corrects, and keeps its gate.

    An episode lasts from arming, or from an outcome, to the next outcome; `Since.doubt` says which outcomes count.
    Whether the residual acts is drawn after an outcome that counts, and after one that does not count because the
    residual acted in part. It is not drawn when the robot is armed: else one could arm until it acts. Outcomes and
    parameters come in the thread of the executor, all else in that of the control loop.

    Args:
        node: the control node.
        place: folder of the residual.
        authority: at most, 0 to 1; less where a person limited it in an earlier session.

    Attributes:
        residual: for the controller.

    Raises:
        TendonError: the residual is damaged, or is for another robot; so is what was kept of it; the authority is out
            of range.
    """

    def __init__(self, node: NodeShell, place: Path, authority: float) -> None:
        check_number(RESIDUAL_AUTHORITY, authority, least=0.0, most=1.0)
        bundle = load_residual(place)
        self._node, self._joints = node, node.profile.joint_names
        self.residual = bundle.open(node.profile, bundle.manifest.base_digest)
        self._file = record_file(node, bundle.manifest.digest)
        self._gate = ResidualGate(read_record(self._file), bundle.manifest.evidence)
        if withdrawn := self._gate.record.withdrawn:
            node.get_logger().warning(f"the residual is withdrawn: {withdrawn}; delete {self._file} to try it again")
        self._features: OrderedDict[int, Features] = OrderedDict()
        self._acts, self._problem, self._deciding = self._gate.draw(), "", threading.Lock()
        self._wanted = min(authority, self._gate.record.limit)
        self._base, self._fits = bundle.manifest.base_digest, False
        if self._wanted < authority:
            node.set_parameters([Parameter(RESIDUAL_AUTHORITY, value=self._wanted)])
        node.add_on_set_parameters_callback(self._set)
        self._steps = node.create_publisher(JointTrajectory, topics.RESIDUAL, qos.EACH)
        self.begin()

    def listen(self) -> None:
        """Begins to hear features and outcomes; to be called after chunks are subscribed to.

        A chunk that has come then has its features before it, which are published first and taken last.
        """
        self._node.create_subscription(PointCloud, topics.FEATURES, self._told, qos.NEWEST, raw=True)
        self._node.create_service(SetBool, topics.OUTCOME, self._ended)

    def begin(self) -> None:
        """Begins an episode."""
        with self._deciding:
            self._begin()

    def _begin(self) -> None:
        self._since = Since()
        self._allow()

    def attach(self, chunk: ActionChunk) -> ActionChunk:
        """Returns a chunk with the features of its observation; without them no residual corrects it."""
        return replace(chunk, features=self._features.get(chunk.observation_stamp_ns))

    def follow(self, chunk: ActionChunk) -> None:
        """Takes which chunk of a policy the robot follows from now on."""
        self._fits = chunk.features is not None and chunk.features.policy == self._base

    def tell(self, now_ns: int, tick: Tick) -> None:
        """Publishes what a tick asked for without and with the residual, and what the filter made of it."""
        if tick.target is None or tick.committed is None:
            return
        since = self._since
        if tick.base is None:
            since.other |= tick.mode is Mode.RUNNING
            return
        since.moved, since.other = True, False
        since.foreign |= not self._fits
        since.acted |= self.residual.authority.now > 0.0
        since.whole |= self.residual.authority.now == self._wanted > 0.0 and not self.residual.problems
        rows = np.array([tick.base, tick.target, tick.committed])
        sent = SentTrajectory(
            stamp_ns=now_ns,
            joint_names=self._joints,
            times_ns=[ROW_NS * k for k in range(len(rows))],
            position=rows,
            velocity=np.empty((len(rows), 0)),
            frame="base target committed",
        )
        self._steps.publish(wire.write_trajectory(sent))

    @property
    def state(self) -> str:
        """What becomes of the residual, in words."""
        return "; ".join(filter(None, (self._becomes(), self._problem)))

    def _becomes(self) -> str:
        if self._gate.record.withdrawn:
            return f"withdrawn: {self._gate.record.withdrawn}"
        if self._wanted == 0.0:
            return "switched off"
        if not self._acts:
            return f"left out in this episode, as in {100 * (1 - self._gate.share):.0f} %"
        if self._since.moved and not self._fits:
            return "does not act: the running plan is of another policy, or its features were lost"
        return f"acts with {100 * self.residual.authority.now:.0f} %"

    def _allow(self) -> None:
        self.residual.authority.setting = self._wanted if self._acts else 0.0

    def _told(self, data: bytes) -> None:
        try:
            stamp_ns, features = wire.read_features(data)
        except TendonError as error:
            self._node.complain(topics.FEATURES, str(error))
            return
        self._features[stamp_ns] = features
        if len(self._features) > REMEMBERED:
            self._features.popitem(last=False)

    def _ended(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Takes what came of an episode; the answer says what becomes of the residual in the next one."""
        with self._deciding:
            doubt, before = self._since.doubt(self._acts, bool(request.data)), self._gate.record.withdrawn
            if not doubt:
                self._gate.take(self._acts, bool(request.data))
            if doubt in ("", PARTLY):
                self._acts = self._gate.draw()
            if self._since.moved:
                self._begin()
        if doubt:
            response.message = f"not counted: {doubt}"
            return response
        self._keep()  # without the lock, which the control loop takes when it arms: a disk may be slow
        if self._gate.record.withdrawn != before:
            self._node.get_logger().warning(f"the residual is withdrawn: {self._gate.record.withdrawn}")
        response.success, response.message = True, self.state
        return response

    def _keep(self) -> None:
        try:
            replace_file(self._file, json.dumps(asdict(self._gate.record), indent=1).encode())
            self._problem = ""
        except OSError as error:
            self._problem = f"what comes of it {NOT_KEPT} in {self._file}: {error.strerror or error}"

    def _set(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        for value in (each.value for each in parameters if each.name == RESIDUAL_AUTHORITY):
            if not isinstance(value, float) or not 0.0 <= value <= 1.0:
                reason = f"{RESIDUAL_AUTHORITY} is {value!r}, must be 0.0 (off) to 1.0"
                return SetParametersResult(successful=False, reason=reason)
            with self._deciding:
                self._since.limited |= value != self._wanted
                self._wanted = value
                self._gate.limit(value)
                self._allow()
            self._keep()
        return SetParametersResult(successful=True)


def nothing_to_limit(parameters: Sequence[Parameter]) -> SetParametersResult:
    """Refuses a limit of a residual that is not there."""
    wanted = any(each.name == RESIDUAL_AUTHORITY for each in parameters)
    return SetParametersResult(successful=not wanted, reason="this graph has no residual" if wanted else "")


def record_file(node: NodeShell, digest: str) -> Path:
    """Returns where outcomes of a residual, by its digest, are kept: a robot's are not those of its simulation."""
    place = place_name(node.profile.name, domain_id(), node.get_namespace())
    backend = node.get_parameter("backend").value
    return state_folder() / "residuals" / f"{place}-{backend}-{digest[:16]}.json"


def read_record(file: Path) -> Record:
    """Returns what was kept; nothing where there is no file.

    Raises:
        ConfigError: it is damaged, or cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not file.is_symlink():
            return Record()
        raise ConfigError(f"{file}: what came of the residual cannot be read: {error.strerror or error}") from error
    try:
        values = parse_yaml(content, f"what came of the residual, {file},")
    except ConfigError as error:
        raise ConfigError(f"{error}: delete it to begin without outcomes") from error
    if isinstance(values, dict) and (missing := [each.name for each in fields(Record) if each.name not in values]):
        raise ConfigError(f"{file} lacks {', '.join(missing)}: delete it to begin without outcomes")
    return build(Record, str(file), values)
