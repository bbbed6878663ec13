"""A GR00T server as a policy: its version and configuration are its own word, its answers are in the robot's words."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest
import yaml
import zmq

from tendon.core.errors import InvalidDataError, MismatchError, RemoteError, TendonError
from tendon.core.types import Image
from tendon.policies.remote.gr00t import format as gr00t_format
from tendon.policies.remote.gr00t.versions import read_configuration
from tendon.policies.remote.opening import open_policy
from tendon.policies.remote.policy import RemotePolicy
from tendon.robots.profile import RobotProfile
from tests import ROOT
from tests.policies.policy_conformance import Observe, PolicyConformance
from tests.policies.remote.contract_files import GR00T, ROWS, changed, write

EXAMPLES = ROOT / "docs" / "examples"
Open = Callable[..., RemotePolicy]
Message = Callable[[bytes], bytes]
RECORDED: dict[str, dict[str, bytes]] = {
    name: {what: base64.b64decode(text) for what, text in each.items()}
    for name, each in json.loads(Path(__file__).with_name("recorded.json").read_text()).items()
}
"""Messages as NVIDIA's own code writes them, see `record_gr00t.py`."""
STEP = np.linspace(0.0, 0.1, ROWS, dtype=np.float32)[:, None]
CONFIG: dict[str, Any] = {
    "video": {"delta_indices": [0], "modality_keys": ["front", "wrist"]},
    "state": {"delta_indices": [0], "modality_keys": ["arm", "gripper"]},
    "language": {"delta_indices": [0], "modality_keys": ["task"]},
    "action": {"delta_indices": list(range(ROWS)), "modality_keys": ["arm", "gripper"], "action_configs": None},
}


def drift(observation: dict[str, Any]) -> Any:
    """Moves every joint on by 0.1 rad and opens the gripper; insists on GR00T's shapes."""
    assert observation["video"]["front"].shape == (1, 1, 128, 128, 3)
    assert observation["video"]["wrist"].dtype == np.uint8
    assert observation["state"]["arm"].shape == (1, 1, 7)
    assert observation["state"]["arm"].dtype == np.float32
    assert isinstance(observation["language"]["task"][0][0], str)
    return [{"arm": observation["state"]["arm"] + STEP, "gripper": np.zeros((1, ROWS, 1), np.float32)}, {}]


class Gr00tServer:
    """NVIDIA's server loop, with any policy and configuration."""

    def __init__(self, act: Callable[[dict[str, Any]], Any] = drift, config: Any = CONFIG, token: str = "") -> None:
        self.act, self.config, self.token = act, config, token

    def __call__(self, message: bytes) -> bytes:
        request = gr00t_format.unpack(message)
        try:
            if self.token and request.get("api_token") != self.token:
                return gr00t_format.pack({"error": "Unauthorized: Invalid API token"})
            if request["endpoint"] == "get_modality_config":
                coded = {
                    name: {"__ModalityConfig_class__": True, "as_json": each} for name, each in self.config.items()
                }
                return gr00t_format.pack(coded)
            return gr00t_format.pack(self.act(request["data"]["observation"]))
        except (KeyError, AssertionError) as error:
            return gr00t_format.pack({"error": repr(error)})


@pytest.fixture
def open_file(profile: RobotProfile, tmp_path: Path) -> Iterator[Open]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    ended = threading.Event()
    threads: list[threading.Thread] = []
    opened: list[RemotePolicy] = []

    def start(server: Message) -> str:
        replier = context.socket(zmq.REP)
        replier.setsockopt(zmq.LINGER, 0)
        replier.setsockopt(zmq.RCVTIMEO, 50)
        replier.bind("tcp://127.0.0.1:*")

        def run() -> None:
            while not ended.is_set():
                try:
                    replier.send(server(replier.recv()))
                except zmq.Again:
                    continue
            replier.close()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return replier.getsockopt_string(zmq.LAST_ENDPOINT)

    def make(server: Message | None = None, content: dict[str, Any] = GR00T, **more: Any) -> RemotePolicy:
        values = {**content, "url": start(server or Gr00tServer()), "timeout_s": 20.0, "connect_s": 20.0, **more}
        opened.append(open_policy(write(tmp_path, values), profile))
        return opened[-1]

    yield make
    for policy in opened:
        policy.close()
    ended.set()
    for thread in threads:
        thread.join()
    context.term()


class TestGr00tPolicy(PolicyConformance):
    """The conformance class against a GR00T server, and what is particular to it."""

    @pytest.fixture
    def policy(self, open_file: Open) -> RemotePolicy:
        policy = open_file()
        policy.warm_up()
        return policy

    def test_the_answer_is_in_the_robots_words(
        self, policy: RemotePolicy, observe: Observe, profile: RobotProfile
    ) -> None:
        """Keys in the order of the file; a share of 0 is an open gripper."""
        actions = policy.infer(observe()).actions
        np.testing.assert_allclose(actions[:, :7], profile.vector("home")[:7] + STEP, atol=1e-6)
        np.testing.assert_allclose(actions[:, 7], profile.joints[7].upper, atol=1e-9)
        assert policy.last is not None
        assert policy.last.server_ns is None


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("video|modality_keys", ["front"], r"video keys are \['front', 'wrist'\], the server has \['front'\]"),
        ("state|modality_keys", ["arm", "hand"], "state keys"),
        ("language|modality_keys", ["annotation.human.task"], r"language keys are \['task'\]"),
        ("action|modality_keys", ["gripper"], "action keys"),
        ("action|delta_indices", list(range(16)), "action rows is 10, the server answers 16"),
        ("video|delta_indices", [0, 1], r"wants video of steps \[0, 1\]: must be 1 to 64 of them, from -300"),
        ("video|delta_indices", [-301, 0], "from -300"),
        ("state|delta_indices", [], r"wants state of steps \[\]"),
        ("state|delta_indices", [0] * 65, "must be 1 to 64"),
        (
            "action",
            None,
            "was answered with a map of video, state, language, expected a modality each for video, state",
        ),
        ("state|modality_keys", "arm", "modality_keys of a modality is 'arm', must be a list of names"),
        ("state|delta_indices", [True], "delta_indices of a modality"),
    ],
)
def test_a_configuration_that_differs_is_an_error_at_start(open_file: Open, path: str, value: Any, words: str) -> None:
    """Before any observation is sent."""
    with pytest.raises(TendonError, match=words):
        open_file(Gr00tServer(config=changed(CONFIG, path, value)))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda seen: [{"arm": drift(seen)[0]["arm"]}, {}], "lacks gripper, it has: arm"),
        (lambda seen: [{"arm": np.zeros((1, 4, 7)), "gripper": np.zeros((1, 4, 1))}, {}], "expected 10x7"),
        (lambda seen: [{"arm": np.zeros((2, 10, 7)), "gripper": np.zeros((2, 10, 1))}, {}], "expected 10x7"),
        (lambda seen: [{key: value * np.nan for key, value in drift(seen)[0].items()}, {}], "must be finite"),
        (lambda seen: {"arm": 1}, "must be a list of actions and information"),
        (lambda seen: [1, 2], "must be a list of actions and information"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error_at_start_and_later(
    open_file: Open, observe: Observe, act: Callable[[dict[str, Any]], Any], words: str
) -> None:
    """Another horizon, batch or form, no numbers."""
    policy = open_file(Gr00tServer(act))
    with pytest.raises(MismatchError, match=words):
        policy.warm_up()
    with pytest.raises(InvalidDataError, match=words):
        policy.infer(observe())


def test_a_token_is_sent_and_a_wrong_one_is_a_clear_error(open_file: Open, tmp_path: Path) -> None:
    """At start."""
    key = tmp_path / "a.key"
    key.write_text("token")
    key.chmod(0o600)
    open_file(Gr00tServer(token="token"), key_file="a.key")
    with pytest.raises(RemoteError, match="Unauthorized: Invalid API token"):
        open_file(Gr00tServer(token="another"), key_file="a.key")


def test_the_servers_own_error_comes_through(open_file: Open) -> None:
    """Such as a size that it insists on."""
    wider = changed(GR00T, "policy|cameras|0|width", 64)
    wider["policy"]["cameras"][0]["height"] = 64
    with pytest.raises(RemoteError, match="AssertionError"):
        open_file(content=wider).warm_up()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({}, "was answered with a map of nothing"),
        ([1, "a"], "was answered with a list of int, str"),
        ("running", "was answered with str 'running'"),
        ({"video": {"modality_keys": ["front"]}, "action": 3}, "was answered with a map of video, action"),
        (
            {name: {"__ModalityConfig__": True, "as_json": json.dumps(each)} for name, each in CONFIG.items()},
            "described? its policy by __ModalityConfig__, but not as N1.5, N1.6 and N1.7 do",
        ),
    ],
)
def test_another_server_is_told_from_gr00t(open_file: Open, reply: Any, words: str) -> None:
    """By what it says of itself: the error names what came and what is expected."""
    with pytest.raises(MismatchError, match=words.replace("described?", "describes")):
        open_file(lambda message: gr00t_format.pack(reply))


class Recorded:
    """A server that sends what NVIDIA's code sent, byte for byte, and keeps what it is asked."""

    def __init__(self, version: str) -> None:
        self.messages = RECORDED[version]
        self.requests: list[Any] = []

    def __call__(self, message: bytes) -> bytes:
        request = gr00t_format.unpack(message)
        self.requests.append(request)
        endpoint = request["endpoint"]
        return self.messages[{"get_modality_config": "config", "get_action": "answer"}.get(endpoint, "error")]


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("N1.5", "GR00T N1.5"),
        ("N1.6", "GR00T N1.6 or N1.7 of April 2026"),
        ("N1.7-April", "GR00T N1.6 or N1.7 of April 2026"),
        ("N1.7", "GR00T N1.7"),
    ],
)
def test_each_version_is_known_by_its_own_bytes_and_its_answer_is_read(
    open_file: Open, observe: Observe, version: str, name: str
) -> None:
    """One file does for all of them; which version it is stands beside the address."""
    server = Recorded(version)
    policy = open_file(server)
    policy.warm_up()
    assert policy.engine.endswith(f"({name})")
    actions = policy.infer(observe()).actions
    np.testing.assert_allclose(
        actions[:, :7], np.tile(0.1 * np.arange(7), (ROWS, 1)) * [1, 1, 1, 0, 1, 1, 1], atol=0.37
    )
    np.testing.assert_allclose(actions[:, 0], 0.0, atol=1e-6)
    np.testing.assert_allclose(actions[:, 2], 0.2, atol=1e-6)
    np.testing.assert_allclose(actions[:, 7], 0.02, atol=1e-6)


@pytest.mark.parametrize("version", list(RECORDED))
def test_what_we_send_is_what_the_versions_own_client_sends(version: str) -> None:
    """Byte for byte, for the same observation."""
    found, said = read_configuration(gr00t_format.unpack(RECORDED[version]["config"]))
    image = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)
    numbers = {7: np.array([[0.1 * k for k in range(7)]], np.float32), 1: np.array([[0.5]], np.float32)}
    request = found.request(
        dict.fromkeys(said["video"].keys, image),
        dict(zip(said["state"].keys, numbers.values(), strict=True)),
        dict.fromkeys(said["language"].keys, "put it there"),
    )
    ours = gr00t_format.pack({"endpoint": "get_action", "data": request}, found.coding)
    assert ours == RECORDED[version]["request"]


def test_the_instants_that_the_server_names_are_sent(open_file: Open, observe: Observe, profile: RobotProfile) -> None:
    """Each the nearest to its time; at first the oldest of this run stands in, not the black view of the warm-up."""
    seen: list[dict[str, Any]] = []

    def act(observation: dict[str, Any]) -> Any:
        seen.append(observation)
        arm = observation["state"]["arm"][:, -1:]
        return [{"arm": arm + STEP, "gripper": np.zeros((1, ROWS, 1), np.float32)}, {}]

    config = changed(CONFIG, "video|delta_indices", [-5, 0])
    policy = open_file(Gr00tServer(act, config=changed(config, "state|delta_indices", [-2, -1, 0])))
    policy.warm_up()
    home = profile.vector("home")

    def frame(k: int) -> Any:
        """Frame k of a camera of 30 Hz: its grey is k, and joint 1 is at k mrad."""
        images = {
            camera.name: Image(stamp_ns=1, pixels=np.full((camera.height, camera.width, 3), k, np.uint8))
            for camera in profile.cameras
        }
        stamp_ns = 10**18 + k * 100_000_000 // 3
        return observe(stamp_ns=stamp_ns, images=images, joint_position=home + np.eye(8)[0] * 1e-3 * k)

    sent = {}
    for k in range(1, 41):
        policy.observe(frame(k))
        if k in (1, 10, 40):
            policy.infer(frame(k))
            video, state = seen[-1]["video"]["front"], seen[-1]["state"]["arm"]
            assert video.shape == (1, 2, 128, 128, 3)
            assert state.shape == (1, 3, 7)
            sent[k] = video[0, :, 64, 64, 0].tolist(), (1e3 * state[0, :, 0]).round().astype(int).tolist()
    assert sent == {1: ([1, 1], [1, 1, 1]), 10: ([1, 10], [4, 7, 10]), 40: ([25, 40], [34, 37, 40])}


def test_every_key_of_the_language_is_filled(open_file: Open, observe: Observe) -> None:
    """DROID has three paraphrases: the first is read, some versions insist on all; the file names any."""
    seen: list[dict[str, Any]] = []

    def act(observation: dict[str, Any]) -> Any:
        seen.append(observation["language"])
        return [
            {"arm": np.zeros((1, ROWS, 7)), "gripper": np.zeros((1, ROWS, 1)), "eef_9d": np.zeros((1, ROWS, 9))},
            {},
        ]

    config = changed(CONFIG, "language|modality_keys", ["task", "task_2"])
    config = changed(config, "action|modality_keys", ["eef_9d", "arm", "gripper"])
    open_file(Gr00tServer(act, config=config)).infer(observe())
    assert seen == [{key: [[observe().instruction]] for key in ("task", "task_2")}]


def test_a_server_that_serves_something_else_after_a_failure_is_refused(open_file: Open, observe: Observe) -> None:
    """As one that was started anew with another checkpoint."""
    server = Gr00tServer()
    policy = open_file(server)
    policy.infer(observe())
    server.act = lambda seen: 1 / 0 if not seen else [1, 2]
    with pytest.raises(InvalidDataError, match="must be a list of actions and information"):
        policy.infer(observe())
    server.act, server.config = drift, changed(CONFIG, "action|delta_indices", list(range(2, ROWS + 2)))
    ended = time.monotonic() + 20.0
    while True:
        try:
            policy.infer(observe())
        except MismatchError as error:
            assert "serves another policy or version now" in str(error)
            break
        except RemoteError as error:
            assert "the next attempt is in" in str(error)
        assert time.monotonic() < ended
        time.sleep(0.02)


def test_the_droid_configuration_that_nvidia_ships_is_fed_from_the_panda(
    open_file: Open, observe: Observe, profile: RobotProfile
) -> None:
    """Flange pose in DROID's axes, by their formula; two instants; its third action key is left alone."""
    example = yaml.safe_load((EXAMPLES / "gr00t_droid_server.yaml").read_text())
    config = {
        "video": {"delta_indices": [-15, 0], "modality_keys": ["exterior_image_1_left", "wrist_image_left"]},
        "state": {"delta_indices": [0], "modality_keys": ["eef_9d", "gripper_position", "joint_position"]},
        "language": {"delta_indices": [0], "modality_keys": ["annotation.language.language_instruction"]},
        "action": {"delta_indices": list(range(40)), "modality_keys": ["eef_9d", "gripper_position", "joint_position"]},
    }
    seen: list[dict[str, Any]] = []

    def act(observation: dict[str, Any]) -> Any:
        seen.append(observation)
        joints = np.tile(observation["state"]["joint_position"], (1, 40, 1))
        return [{"eef_9d": np.zeros((1, 40, 9)), "gripper_position": np.ones((1, 40, 1)), "joint_position": joints}, {}]

    policy = open_file(Gr00tServer(act, config=config), example)
    actions = policy.infer(observe()).actions
    np.testing.assert_allclose(actions[:, :7], np.tile(profile.vector("home")[:7], (40, 1)), atol=1e-6)
    np.testing.assert_allclose(actions[:, 7], profile.joints[7].lower, atol=1e-9)
    assert seen[0]["video"]["wrist_image_left"].shape == (1, 2, 180, 320, 3)
    model = pinocchio.buildModelFromUrdf(str(profile.urdf))
    data, joints = model.createData(), pinocchio.neutral(model)
    joints[:7] = profile.vector("home")[:7]
    pinocchio.framesForwardKinematics(model, data, joints)
    flange = data.oMf[model.getFrameId("panda_link8")]
    turned = flange.rotation @ np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(
        seen[0]["state"]["eef_9d"][0, 0], [*flange.translation, *turned[0], *turned[1]], atol=1e-6
    )
