"""A bundle on another machine answers as it does here, bit by bit; everything that does not fit is found at start."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from tendon.core.clock import SteadyClock
from tendon.core.errors import ConfigError, InstructionError, InvalidDataError, MismatchError, RemoteError
from tendon.core.pace import Pace
from tendon.core.types import ActionChunk, Observation
from tendon.evaluation.timed_policy import TimedPolicy
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.export.convert.steering import steer_bundle
from tendon.policies.inference.asynchronous import AsyncInference
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.remote.openpi.format import unpack
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.remote.served import keys
from tendon.policies.remote.served.link import TendonLink
from tendon.policies.remote.served.server import PolicyServer
from tendon.policies.remote.served.service import Service
from tendon.policies.remote.transport.endpoint import Endpoint
from tendon.policies.spec.history import History
from tendon.policies.spec.manifest import Manifest
from tendon.policies.spec.steering import SteeringInput
from tendon.robots.profile import RobotProfile
from tests.policies.policy_conformance import Observe, PolicyConformance, Prefix
from tests.policies.remote.fake_servers import StartServer, packed

MakeBundle = Callable[..., Bundle]
Serve = Callable[..., str]
Open = Callable[..., RemotePolicy]
MOVE = (0.1, 0.05, -0.1, 0.1)
ASK_S = 20.0


@pytest.fixture
def serve(make_bundle: MakeBundle, profile: RobotProfile) -> Iterator[Serve]:
    """Serves a bundle; returns its URL. `change` gets the metadata, `answer` stands for the policy."""
    servers: list[PolicyServer] = []

    def start(
        change: Callable[[dict[str, Any]], object] = lambda metadata: None,
        answer: Callable[[Service, Mapping[Any, Any]], dict[Any, Any]] = Service.answer,
        port: int = 0,
        **changes: Any,
    ) -> str:
        bundle = changes.pop("bundle", None) or make_bundle(move=MOVE, **changes)
        policy = BundlePolicy(bundle, profile)
        service = Service(policy, bundle.manifest, profile)
        metadata = service.metadata
        change(metadata)
        server = PolicyServer(metadata, lambda request: answer(service, request), largest=service.largest, port=port)
        server.start()
        servers.append(server)
        return f"ws://127.0.0.1:{server.port}"

    start.servers = servers  # type: ignore[attr-defined]
    yield start
    for server in servers:
        server.close()


@pytest.fixture
def open_remote(profile: RobotProfile) -> Iterator[Open]:
    opened: list[RemotePolicy] = []

    def make(url: str, timeout_s: float = ASK_S, **options: Any) -> RemotePolicy:
        endpoint = Endpoint(url=url, connect_s=ASK_S, key=options.pop("key", ""))
        link = TendonLink(endpoint, options.pop("profile", profile), **options)
        opened.append(RemotePolicy(link, profile, timeout_s=timeout_s, start_s=ASK_S))
        return opened[-1]

    yield make
    for policy in opened:
        policy.close()


class TestRemoteBundle(PolicyConformance):
    """The conformance class over a socket, and what is particular to it."""

    @pytest.fixture
    def policy(self, serve: Serve, open_remote: Open) -> RemotePolicy:
        return open_remote(serve())

    @pytest.fixture
    def local(self, policy: RemotePolicy, make_bundle: MakeBundle, profile: RobotProfile) -> BundlePolicy:
        return BundlePolicy(make_bundle(move=MOVE), profile)

    @pytest.mark.parametrize("rows", [0, 1, 3])
    def test_it_answers_as_the_bundle_does_here(
        self, policy: RemotePolicy, local: BundlePolicy, observe: Observe, make_prefix: Prefix, rows: int
    ) -> None:
        """The same numbers, the same stamps, with and without a running plan."""
        policy.warm_up()
        prefix = make_prefix(rows) if rows else None
        here, there = local.infer(observe(), prefix), policy.infer(observe(), prefix)
        np.testing.assert_array_equal(there.actions, here.actions)
        assert (there.start_ns, there.step_ns) == (here.start_ns, here.step_ns)
        assert (policy.prefix_rows, policy.overlap_rows, policy.pace) == (
            local.prefix_rows,
            local.overlap_rows,
            local.pace,
        )
        assert policy.step_ns == local.manifest.action.step_ns
        assert policy.cameras == local.manifest.cameras

    def test_time_is_measured_on_this_clock_and_the_server_tells_its_part(
        self, policy: RemotePolicy, observe: Observe
    ) -> None:
        """No clock of two machines is compared."""
        assert policy.last is None
        policy.infer(observe(stamp_ns=-5))
        assert policy.last is not None
        assert policy.last.server_ns is not None
        assert 0 < policy.last.server_ns < policy.last.total_ns
        assert policy.last.network_ns == policy.last.total_ns - policy.last.server_ns

    def test_more_frozen_rows_than_it_continues_are_refused(
        self, policy: RemotePolicy, observe: Observe, make_prefix: Prefix
    ) -> None:
        """Before anything is sent."""
        with pytest.raises(InvalidDataError, match="has 4 frozen rows, the policy continues at most 3"):
            policy.infer(observe(), make_prefix(4))

    def test_an_instruction_is_refused_here_already(self, policy: RemotePolicy) -> None:
        """The server told its vocabulary."""
        policy.check_instruction("put the red cube in the blue bowl")
        with pytest.raises(InstructionError, match="does not know 'green'"):
            policy.check_instruction("put the green cube")
        with pytest.raises(InstructionError, match="characters"):
            policy.check_instruction("red " * 1000)

    def test_an_observation_that_does_not_fit_is_refused_here(
        self, policy: RemotePolicy, observe: Observe, profile: RobotProfile
    ) -> None:
        """Without a camera, or with another number of joints."""
        with pytest.raises(InvalidDataError, match="lacks camera"):
            policy.infer(observe(images={}))
        with pytest.raises(InvalidDataError, match="has 3 joints, expected 8"):
            policy.infer(observe(joint_position=np.zeros(3), joint_velocity=np.zeros(3)))


def test_a_jpeg_arrives_as_nearly_the_same_image(
    serve: Serve, open_remote: Open, observe: Observe, profile: RobotProfile
) -> None:
    """Only when asked for; the bytes are fewer."""
    seen: list[Mapping[Any, Any]] = []

    def answer(service: Service, request: Mapping[Any, Any]) -> dict[Any, Any]:
        seen.append(request)
        return service.answer(request)

    url = serve(answer=answer)
    plain, coded = open_remote(url), open_remote(url, jpeg_quality=90)
    np.testing.assert_array_equal(plain.infer(observe()).actions, coded.infer(observe()).actions)
    key = keys.IMAGE_PREFIX + profile.cameras[0].name
    assert isinstance(seen[0][key], np.ndarray)
    assert len(seen[1][key][keys.JPEG]) < seen[0][key].nbytes / 10


def test_it_is_steered_from_here(
    serve: Serve, open_remote: Open, observe: Observe, make_bundle: MakeBundle, profile: RobotProfile, tmp_path: Path
) -> None:
    """Two robots steer one server each their own way, as if the bundle were theirs."""
    speed = SteeringInput(name="speed", lower=-2.0, upper=2.0, default=0.0, meaning="faster above 0")
    bundle = steer_bundle(make_bundle(move=MOVE), tmp_path / "steered", speed, {"actions": np.array([0.1, 0, 0, 0])})
    url = serve(bundle=bundle)
    local, steered, other = BundlePolicy(bundle, profile), open_remote(url), open_remote(url)
    for value in (1.5, -0.5):
        local.steer("speed", value)
        steered.steer("speed", value)
        assert steered.steering == {"speed": value}
        np.testing.assert_array_equal(steered.infer(observe()).actions, local.infer(observe()).actions)
        local.steer("speed", 0.0)
        np.testing.assert_array_equal(other.infer(observe()).actions, local.infer(observe()).actions)
    with pytest.raises(ConfigError, match="from -2"):
        steered.steer("speed", 3.0)
    with pytest.raises(ConfigError, match="cannot be steered by 'caution'"):
        steered.steer("caution", 1.0)


def request_of(observation: Observation) -> dict[str, Any]:
    """What docs/how-to/remote.md tells users of openpi's client to send."""
    return {
        "observation/joint_position": observation.joint_position,
        "observation/joint_velocity": observation.joint_velocity,
        **{f"observation/images/{name}": image.pixels for name, image in observation.images.items()},
        "prompt": observation.instruction,
    }


def test_the_real_openpi_client_uses_a_bundle(
    openpi: ModuleType, serve: Serve, make_bundle: MakeBundle, profile: RobotProfile, observe: Observe
) -> None:
    """With openpi's keys alone; the metadata names joints and cameras."""
    url = serve()
    client = openpi.websocket_client_policy.WebsocketClientPolicy(url)
    manifest = client.get_server_metadata()["tendon/manifest"]
    assert manifest["joint_names"] == list(profile.joint_names)
    assert [camera["name"] for camera in manifest["cameras"]] == ["scene", "wrist"]
    here = BundlePolicy(make_bundle(move=MOVE), profile).infer(observe()).actions
    np.testing.assert_array_equal(client.infer(request_of(observe()))["actions"], here)


WRONG_REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"observation/joint_position": None}, "lacks observation/joint_position"),
    ({"observation/joint_velocity": None}, "lacks observation/joint_velocity"),
    ({"observation/images/scene": None}, "lacks observation/images/scene"),
    ({"prompt": None}, "lacks prompt"),
    ({"observation/image": np.zeros((4, 4, 3), np.uint8)}, "unknown key 'observation/image'"),
    ({"tendon/prefx": np.zeros((1, 8))}, "unknown key 'tendon/prefx'; known: tendon/prefix"),
    ({"observation/joint_position": np.zeros(7)}, "velocity has shape"),
    ({"observation/joint_position": np.zeros(7), "observation/joint_velocity": np.zeros(7)}, "has 7 joints, expec"),
    ({"observation/joint_position": np.full(8, np.nan)}, "every value must be finite"),
    ({"observation/joint_position": [0.0] * 8}, "must be an array of numbers"),
    ({"observation/images/scene": np.zeros((96, 128, 3), np.uint8)}, "gives 128x96 px, the policy sees 128x128"),
    ({"observation/images/scene": np.zeros((128, 128, 3), np.float32)}, "expected uint8"),
    ({"observation/images/scene": "a"}, "must be a uint8 array, or a map of tendon/jpeg"),
    ({"observation/images/scene": {"tendon/jpeg": b"no"}}, "is no JPEG"),
    ({"prompt": "put the green cube"}, "does not know 'green'"),
    ({"prompt": b"put"}, "must be text"),
    ({"prompt": "x" * 3000}, "at most 2000 characters"),
    ({"tendon/history": [{}]}, "unknown key 'tendon/history'"),
    ({"tendon/prefix": np.zeros((2, 8))}, "must be how many rows"),
    ({"tendon/prefix": np.zeros((2, 7)), "tendon/frozen": 1}, "prefix has rows of 7 joints"),
    ({"tendon/prefix": np.zeros((5, 8)), "tendon/frozen": 4}, "at most 3"),
    ({"tendon/prefix": np.zeros((0, 8)), "tendon/frozen": 0}, "no rows"),
    ({"tendon/steering": {"speed": 1.0}}, "ConfigError: the policy cannot be steered by 'speed'"),
    ({"tendon/steering": 1.0}, "must be a map"),
]


def test_a_request_that_does_not_fit_is_refused_with_its_reason(
    openpi: ModuleType, serve: Serve, observe: Observe
) -> None:
    """And the next one is served."""
    url = serve()
    for changes, words in WRONG_REQUESTS:
        client = openpi.websocket_client_policy.WebsocketClientPolicy(url)
        request = {key: value for key, value in (request_of(observe()) | changes).items() if value is not None}
        with pytest.raises(RuntimeError, match=words):
            client.infer(request)
    client = openpi.websocket_client_policy.WebsocketClientPolicy(url)
    assert client.infer(request_of(observe()))["actions"].shape == (6, 8)


def test_what_does_not_fit_this_robot_is_an_error_at_start(
    serve: Serve, open_remote: Open, profile: RobotProfile
) -> None:
    """Another robot, other limits, another camera size."""
    url = serve()
    camera = replace(profile.cameras[0], width=64)
    joint = replace(profile.joints[0], upper=profile.joints[0].upper / 2)
    for other, words in (
        (replace(profile, name="fr3"), "robot is panda, expected fr3"),
        (replace(profile, joints=(joint, *profile.joints[1:])), "has other limits than here"),
        (replace(profile, cameras=(camera, *profile.cameras[1:])), "camera scene size"),
    ):
        with pytest.raises(MismatchError, match=words):
            open_remote(url, profile=other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda said: said.clear(), "no `tendon policy serve`: take kind: openpi"),
        (lambda said: said.update({keys.META_VERSION: 2}), "speaks version 2"),
        (lambda said: said.update({keys.META_PREFIX_ROWS: -1}), "prefix and overlap rows"),
        (lambda said: said.update({keys.META_OVERLAP_ROWS: np.zeros(1)}), "prefix and overlap rows"),
        (lambda said: said.update({keys.META_MANIFEST: None}), "not understood"),
        (lambda said: said[keys.META_MANIFEST].update(surprise=1), "unknown key surprise"),
        (lambda said: said[keys.META_MANIFEST].update(format=99), "format is 99"),
        (lambda said: said.pop(keys.META_ROBOT), "has other joints than here"),
    ],
)
def test_a_server_that_says_something_else_is_an_error_at_start(
    serve: Serve, open_remote: Open, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    """Other software, another version, nonsense."""
    with pytest.raises(MismatchError, match=words):
        open_remote(serve(change))


def test_another_policy_on_the_same_address_is_refused(serve: Serve, open_remote: Open, observe: Observe) -> None:
    """The server was started anew with another bundle while the robot runs."""
    url = serve()
    policy = open_remote(url)
    policy.infer(observe())
    serve.servers[-1].close()  # type: ignore[attr-defined]
    serve(name="another", port=int(url.rpartition(":")[2]))
    with pytest.raises(MismatchError, match="serves another policy now: start anew"):
        policy.infer(observe())


def change_actions(function: Callable[[np.ndarray[Any, Any]], Any]) -> Callable[..., dict[Any, Any]]:
    def answer(service: Service, request: Mapping[Any, Any]) -> dict[Any, Any]:
        reply = service.answer(request)
        return {**reply, keys.ACTIONS: function(np.array(reply[keys.ACTIONS]))}

    return answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (change_actions(lambda rows: rows * np.nan), "every value must be finite"),
        (change_actions(lambda rows: rows[:-1]), r"has shape \(5, 8\), expected 6x8"),
        (change_actions(lambda rows: rows[:, :7]), "expected 6x8"),
        (change_actions(lambda rows: rows[None]), "expected 6x8"),
        (change_actions(lambda rows: None), "actions of the answer is NoneType, must be an array"),
        (change_actions(lambda rows: rows.tolist()), "actions of the answer is list, must be an array"),
        (lambda service, request: {}, "is for stamp None"),
        (lambda service, request: {**service.answer(request), keys.STAMP: 3}, "is for stamp 3"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_at_start_and_later(
    serve: Serve,
    open_remote: Open,
    observe: Observe,
    answer: Callable[..., dict[Any, Any]],
    words: str,
) -> None:
    """Not finite, another size, for another observation."""
    policy = open_remote(serve(answer=answer))
    with pytest.raises(MismatchError, match=words):
        policy.warm_up()
    with pytest.raises(InvalidDataError, match=words):
        policy.infer(observe())


def test_an_answer_that_changes_frozen_rows_is_refused(
    serve: Serve, open_remote: Open, observe: Observe, make_prefix: Prefix
) -> None:
    """They are being executed already."""
    policy = open_remote(serve(answer=change_actions(lambda rows: rows + 1e-9)))
    with pytest.raises(InvalidDataError, match="does not start with the 2 rows"):
        policy.infer(observe(), make_prefix(2))


class Remembering:
    """A policy that sees its last three observations, as a bundle does; its answer is where the arm was."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest, self._history = manifest, History(manifest.history - 1, manifest.action.step_ns)
        self.step_ns, self.prefix_rows, self.overlap_rows, self.pace = manifest.action.step_ns, 0, 0, manifest.pace

    def observe(self, observation: Observation) -> None:
        self._history.add(observation)

    def steer(self, name: str, value: float) -> None:
        raise AssertionError

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        self.observe(observation)
        seen = self._history.seen(observation, range(1 - self._manifest.history, 1))
        rows = [each.joint_position + each.images["scene"].pixels[0, 0, 0] for each in seen]
        return ActionChunk(
            actions=np.resize(rows, (self._manifest.action.rows, 8)),
            start_ns=observation.stamp_ns + self.step_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
        )


def test_a_policy_that_sees_its_past_is_told_it_by_each_robot_for_itself(
    make_bundle: MakeBundle, profile: RobotProfile, open_remote: Open, observe: Observe
) -> None:
    """Two robots with the same clock in turn; each gets what a policy of its own would answer."""
    manifest = replace(make_bundle(move=MOVE).manifest, history=3)
    service = Service(Remembering(manifest), manifest, profile)
    server = PolicyServer(service.metadata, service.answer, largest=service.largest, port=0)
    server.start()
    url = f"ws://127.0.0.1:{server.port}"
    robots = [(open_remote(url), Remembering(manifest)) for _ in range(2)]
    for k in range(12):
        for number, (there, here) in enumerate(robots):
            made = observe(stamp_ns=k * 50_000_000 + number, joint_position=np.full(8, 10.0 * number + k))
            there.observe(made)
            here.observe(made)
            if k % 3 == 2:
                np.testing.assert_array_equal(there.infer(made).actions, here.infer(made).actions)
    for robot, _ in robots:
        robot.close()
    for wrong in (None, [], [{}] * 2, [1, 2], {}):
        request = {**request_of(observe()), keys.HISTORY: wrong}
        with pytest.raises(InvalidDataError, match=r"history|lacks"):
            service.answer(request)
    server.close()


def test_a_server_that_is_always_too_slow_is_refused_at_start(serve: Serve, open_remote: Open) -> None:
    """It would be an error of every observation."""

    def answer(service: Service, request: Mapping[Any, Any]) -> dict[Any, Any]:
        time.sleep(0.1)
        return service.answer(request)

    policy = open_remote(serve(answer=answer), timeout_s=0.05)
    with pytest.raises(RemoteError, match=r"takes \d+\.\d s for an answer, timeout_s is 0\.05: raise it"):
        policy.warm_up()


def test_chunks_come_as_from_a_local_policy_and_an_outage_is_a_gap(
    serve: Serve, open_remote: Open, observe: Observe, openpi_server: StartServer
) -> None:
    """The delay that is planned for holds the server's time; after slow answers the newest observation is used."""
    slow = {"s": 0.05}

    def answer(service: Service, request: Mapping[Any, Any]) -> dict[Any, Any]:
        time.sleep(slow["s"])
        return service.answer(request)

    clock, chunks, errors = SteadyClock(), list[ActionChunk](), list[Exception]()
    policy = open_remote(serve(answer=answer), timeout_s=0.8)
    inference = AsyncInference(
        TimedPolicy(policy, continues=True, rows=None, delay_ns=0, pace=Pace(replan_rows=1)),
        clock,
        plan_window=lambda *_: None,
        tolerance=np.ones(8),
        rest_speed=np.ones(8),
        publish=lambda chunk, maker: chunks.append(chunk),
        on_error=errors.append,
    )
    inference.start()

    def until(done: Callable[[], bool]) -> None:
        end_s = time.monotonic() + ASK_S
        while not done():
            assert time.monotonic() < end_s, errors
            inference.offer(observe(stamp_ns=clock.now_ns()))
            time.sleep(0.005)

    until(lambda: len(chunks) >= 4)
    delay_ns = inference.status().delay_ns
    assert delay_ns is not None
    assert delay_ns >= 50_000_000
    before = len(errors)
    slow["s"] = 1.5
    until(lambda: len(errors) > before)
    assert all(isinstance(error, RemoteError) for error in errors)
    slow["s"] = 0.0
    known, resumed_ns = len(chunks), clock.now_ns()
    until(lambda: len(chunks) > known and chunks[-1].observation_stamp_ns > resumed_ns)
    assert [chunk.observation_stamp_ns for chunk in chunks] == sorted({chunk.observation_stamp_ns for chunk in chunks})
    assert inference.close(ASK_S)


def test_a_raw_server_that_breaks_off_is_an_error_of_one_observation(
    openpi_server: StartServer, serve: Serve, open_remote: Open, observe: Observe
) -> None:
    """Through the whole policy: half an answer, then nothing."""
    with_metadata: list[bytes] = []
    serve(lambda said: with_metadata.append(packed(said)))

    def half(connection: ServerConnection) -> None:
        connection.send(with_metadata[0])
        unpack(connection.recv())
        connection.socket.sendall(b"\x82\x7e\x10\x00half")
        connection.socket.close()

    policy = open_remote(openpi_server(half))
    with pytest.raises(RemoteError, match="went away"):
        policy.infer(observe())


def test_the_command_serves_and_ends_with_ctrl_c(
    make_bundle: MakeBundle, open_remote: Open, observe: Observe, tmp_path: Path
) -> None:
    """As a process of its own; a key is asked for when one is given."""
    folder = make_bundle(move=MOVE).folder
    key = tmp_path / "serve.key"
    key.write_text("0123456789abcdef0123\n")
    key.chmod(0o600)
    command = [
        sys.executable,
        "-m",
        "tendon.cli",
        "policy",
        "serve",
        str(folder),
        "--port",
        "0",
        "--api-key-file",
        str(key),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as run:
        try:
            assert run.stdout is not None
            said = run.stdout.readline()
            found = re.search(r"at (ws://127\.0\.0\.1:\d+), with a key", said)
            assert found, said
            with pytest.raises(RemoteError, match="refused the key"):
                open_remote(found[1])
            assert open_remote(found[1], key=key.read_text().strip()).infer(observe()).actions.shape == (6, 8)
            run.send_signal(signal.SIGINT)
            assert run.wait(60.0) == 0
        finally:
            run.kill()
