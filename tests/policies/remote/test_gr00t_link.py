"""A GR00T server as a policy: its own configuration is compared with the file, its answers are in the robot's words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq
from contract_files import GR00T, ROWS, changed, write
from policy_conformance import Observe, PolicyConformance

from tendon.core.errors import InvalidDataError, MismatchError, RemoteError
from tendon.core.profile import RobotProfile
from tendon.policies.remote import gr00t_format
from tendon.policies.remote.opening import open_policy
from tendon.policies.remote.policy import RemotePolicy

Open = Callable[..., RemotePolicy]
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

    def start(server: Gr00tServer) -> str:
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

    def make(server: Gr00tServer | None = None, content: dict[str, Any] = GR00T, **more: Any) -> RemotePolicy:
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
        ("video|delta_indices", [-1, 0], "wants 2 instants of video"),
        ("action", None, "says nothing of modality action"),
        ("state|modality_keys", "arm", "says nothing of modality state"),
    ],
)
def test_a_configuration_that_differs_is_an_error_at_start(open_file: Open, path: str, value: Any, words: str) -> None:
    """Before any observation is sent."""
    with pytest.raises(MismatchError, match=words):
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
