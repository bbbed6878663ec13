"""An openpi server as a policy: keys, units and sizes are the file's, and what does not fit is found at start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from websockets.sync.server import ServerConnection

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError, RemoteError
from tendon.policies.remote.contract import Translator, fit
from tendon.policies.remote.opening import open_policy
from tendon.policies.remote.openpi.format import unpack
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.remote.settings import load_settings
from tendon.robots.profile import RobotProfile
from tests import ROOT
from tests.policies.policy_conformance import Observe, PolicyConformance, Prefix
from tests.policies.remote.contract_files import DROID, ROWS, changed, write
from tests.policies.remote.fake_servers import StartServer, packed

EXAMPLES = ROOT / "docs" / "examples"
STEP = np.linspace(0.0, 0.1, ROWS)[:, None]
Open = Callable[..., RemotePolicy]
Answer = Callable[[dict[str, Any]], Any]


def drift(request: dict[str, Any]) -> Any:
    """A policy in DROID's words: it moves every joint on by 0.1 rad, and closes the gripper."""
    state = request["observation/joint_position"].astype(np.float64)
    return {"actions": np.concatenate([state + STEP, np.ones((ROWS, 1))], axis=1), "server_timing": {"infer_ms": 0.25}}


class DroidServer:
    """A server that insists on DROID's keys and sizes, as openpi's transforms do."""

    def __init__(self, answer: Answer = drift) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []

    def __call__(self, connection: ServerConnection) -> None:
        connection.send(packed({"reset_pose": [0.0] * 7}))
        for message in connection:
            request = unpack(message)
            self.requests.append(request)
            try:
                if request["observation/exterior_image_1_left"].shape != (224, 224, 3):
                    raise ValueError("wrong image")
                reply = packed(self.answer(request))
            except (KeyError, ValueError) as error:
                connection.send(f"Traceback (most recent call last):\n{type(error).__name__}: {error}")
                return
            connection.send(reply)


@pytest.fixture
def open_file(openpi_server: StartServer, profile: RobotProfile, tmp_path: Path) -> Iterator[Open]:
    opened: list[RemotePolicy] = []

    def make(server: DroidServer | None = None, content: dict[str, Any] = DROID) -> RemotePolicy:
        url = openpi_server(server or DroidServer())
        opened.append(open_policy(write(tmp_path, {**content, "url": url, "timeout_s": 20.0}), profile))
        return opened[-1]

    yield make
    for policy in opened:
        policy.close()


class TestOpenpiPolicy(PolicyConformance):
    """The conformance class against an openpi server, and what is particular to it."""

    @pytest.fixture
    def policy(self, open_file: Open) -> RemotePolicy:
        policy = open_file()
        policy.warm_up()
        return policy

    def test_the_answer_is_in_the_robots_words(
        self, policy: RemotePolicy, observe: Observe, profile: RobotProfile
    ) -> None:
        """Arm joints in rad, the gripper's share of closing as the finger's position in m."""
        actions = policy.infer(observe()).actions
        np.testing.assert_allclose(actions[:, :7], profile.vector("home")[:7] + STEP, atol=1e-6)
        np.testing.assert_allclose(actions[:, 7], profile.joints[7].lower, atol=1e-9)
        assert policy.last is not None
        assert policy.last.server_ns == 250_000

    def test_the_running_plan_fades_into_the_answer(
        self, policy: RemotePolicy, observe: Observe, make_prefix: Prefix
    ) -> None:
        """The server does not know it: frozen rows stay, the rest goes over, the end is the answer."""
        alone, prefix = policy.infer(observe()).actions, make_prefix(8)
        assert policy.prefix_rows == ROWS - 1
        led = policy.infer(observe(), prefix, 3).actions
        np.testing.assert_array_equal(led[:3], prefix.actions[:3])
        np.testing.assert_array_equal(led[8:], alone[8:])
        between = np.sort(np.stack([prefix.actions[3:], alone[3:8]]), axis=0)
        assert (led[3:8] >= between[0] - 1e-12).all()
        assert (led[3:8] <= between[1] + 1e-12).all()


def test_the_server_gets_what_it_knows(open_file: Open, observe: Observe, profile: RobotProfile) -> None:
    """Its keys and no others; images in the size of the file; the gripper open is 0."""
    server = DroidServer()
    open_file(server).infer(observe())
    (request,) = server.requests
    assert sorted(request) == [
        "observation/exterior_image_1_left",
        "observation/gripper_position",
        "observation/joint_position",
        "observation/wrist_image_left",
        "prompt",
    ]
    assert request["observation/wrist_image_left"].shape == (96, 96, 3)
    assert request["observation/wrist_image_left"].dtype == np.uint8
    assert request["observation/joint_position"].dtype == np.float32
    finger = profile.joints[7]
    share = 1.0 - (finger.home - finger.lower) / (finger.upper - finger.lower)
    np.testing.assert_allclose(request["observation/gripper_position"], [share], atol=1e-6)
    assert request["prompt"] == observe().instruction


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("policy|robot", "fr3", "is for robot fr3, the profile is panda"),
        ("policy|cameras|0|camera", "scne", "did you mean scene"),
        ("policy|action|joints|0|joint", "panda_joint9", "panda_joint9"),
        ("policy|action|joints|0|unit", "m", "panda_joint1"),
        ("policy|state|observation/joint_position|0|joints|0|unit", "m", "panda_joint1"),
    ],
)
def test_a_file_for_another_robot_is_an_error_at_start(open_file: Open, path: str, value: str, words: str) -> None:
    """Names, cameras, joints and units are checked before anything is sent."""
    server = DroidServer()
    with pytest.raises(MismatchError, match=words):
        open_file(server, changed(DROID, path, value))
    assert not server.requests


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("policy|state|observation/joint_position", None, "KeyError: 'observation/joint_position'"),
        ("policy|cameras|0|width", 64, "ValueError: wrong image"),
    ],
)
def test_wrong_keys_and_sizes_are_the_servers_own_error_at_start(
    open_file: Open, path: str, value: Any, words: str
) -> None:
    """The metadata does not tell them, so the first request finds out."""
    policy = open_file(content=changed(DROID, path, value))
    with pytest.raises(RemoteError, match=words):
        policy.warm_up()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda request: {"actions": drift(request)["actions"][:, :7]}, r"shape \(10, 7\), expected 10x8"),
        (lambda request: {"actions": drift(request)["actions"][:5]}, r"shape \(5, 8\), expected 10x8"),
        (lambda request: {"actions": drift(request)["actions"] * np.nan}, "must be finite"),
        (lambda request: {"action": drift(request)["actions"]}, "lacks actions, it has: action"),
        (lambda request: {"actions": drift(request)["actions"].tolist()}, "is list, must be an array"),
        (lambda request: {"actions": np.degrees(drift(request)["actions"])}, "are unit, sign and zero"),
        (lambda request: {}, "lacks actions, it has: nothing"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error_at_start_and_later(
    open_file: Open, observe: Observe, answer: Answer, words: str
) -> None:
    """Another dimension or horizon, no numbers, degrees where the file says radians."""
    policy = open_file(DroidServer(answer))
    with pytest.raises(MismatchError, match=words):
        policy.warm_up()
    with pytest.raises(InvalidDataError, match=words):
        policy.infer(observe())


def test_timing_that_is_nonsense_is_left_out(open_file: Open, observe: Observe) -> None:
    """It is for display; the delay is measured here."""
    for nonsense in ({"infer_ms": float("nan")}, {"infer_ms": -1.0}, {"infer_ms": "soon"}, [1.0], None):
        policy = open_file(
            DroidServer(lambda request, nonsense=nonsense: {**drift(request), "server_timing": nonsense})
        )
        policy.infer(observe())
        assert policy.last is not None
        assert policy.last.server_ns is None
        assert policy.last.network_ns is None


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("kind", "opnpi", "kind is 'opnpi', known: tendon, openpi, gr00t"),
        ("kind", "tendon", "kind tendon needs none"),
        ("policy", None, "policy: is missing"),
        ("url", "http://a:1", "must be ws://HOST:PORT or wss://HOST:PORT"),
        ("url", "ws://a", "must be"),
        ("url", "ws://me:secret@a:1", "the key goes into key_file"),
        ("url", "tcp://a:1", "must be"),
        ("url", 7, "must be"),
        ("timeout_s", 0, "timeout_s is 0, must be a finite number above 0 and at most 600"),
        ("timeout_s", 1e9, "must be a finite number above 0 and at most 600"),
        ("timeout", 1, "unknown key timeout; did you mean timeout_s"),
        ("ca_file", "ca.pem", "ca_file is for wss://"),
        ("key_file", "missing.key", "no key at"),
        ("jpeg_quality", 90, "jpeg_quality is 90: only kind tendon takes JPEG"),
        ("largest_reply", 0, "at least 1"),
        ("policy|cameras|0|key", None, "key"),
        ("policy|cameras|0|height", None, "width and height belong together"),
        ("policy|cameras|1|key", "observation/exterior_image_1_left", "repeats"),
        ("policy|cameras", 3, "must be a list"),
        ("policy|state", [], "which parts"),
        ("policy|state|observation/joint_position", [], "is empty"),
        ("policy|answer", None, "how many numbers each key holds"),
        ("policy|answer|actions", 0, "at least 1"),
        ("policy|answer|actions", 7, "must be 8 finite numbers|must be 8 numbers"),
        ("policy|action", None, "action is missing"),
        ("policy|action|mean", [0.0] * 8, "not normalised"),
        ("policy|action|rows", 0, "action rows"),
        ("policy|extra", 1, "unknown key extra"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_field(
    profile: RobotProfile, tmp_path: Path, path: str, value: Any, words: str
) -> None:
    """And the file; not a bundle, which is read with the same words."""
    file = write(tmp_path, changed({**DROID, "url": "ws://127.0.0.1:1"}, path, value))
    with pytest.raises(ConfigError, match=words) as failure:
        open_policy(file, profile)
    assert "bundle.yaml" not in str(failure.value)
    assert "remote.yaml" in str(failure.value) or "missing.key" in str(failure.value)


@pytest.mark.parametrize("name", ["openpi_server.yaml", "gr00t_server.yaml"])
def test_the_example_fits_the_panda(profile: RobotProfile, name: str) -> None:
    """Every word of it: keys, cameras, joints, units."""
    policy = load_settings(EXAMPLES / name).policy
    assert policy is not None
    assert Translator(policy, profile).cameras


@pytest.mark.parametrize("text", ["", "[]", "a: [", "7", "\x00"])
def test_a_file_that_is_no_mapping_is_an_error(profile: RobotProfile, tmp_path: Path, text: str) -> None:
    """Empty, a list, cut off, no text."""
    file = tmp_path / "remote.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="remote"):
        open_policy(file, profile)
    with pytest.raises(ConfigError, match="cannot be read"):
        open_policy(tmp_path / "missing.yaml", profile)


def test_files_are_looked_for_beside_the_file_and_keys_are_private(
    openpi_server: StartServer, profile: RobotProfile, tmp_path: Path
) -> None:
    """A key that others may read is refused."""
    file = write(tmp_path, {**DROID, "url": openpi_server(DroidServer(), key="secret-word"), "key_file": "a.key"})
    key = tmp_path / "a.key"
    key.write_text("secret-word\n")
    key.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read it: chmod 600"):
        open_policy(file, profile)
    key.chmod(0o600)
    open_policy(file, profile).close()
    for wrong in ("two words", "", "a\x00b", "x" * 5000):
        key.write_text(wrong)
        with pytest.raises(ConfigError, match="holds no key"):
            open_policy(file, profile)


@pytest.mark.parametrize(("height", "width"), [(480, 640), (640, 480), (224, 224), (100, 300), (96, 96)])
def test_images_are_fitted_as_openpi_fits_them(openpi: ModuleType, height: int, width: int) -> None:
    """The same borders; pixels differ a little, for they are averaged another way."""
    tools = pytest.importorskip("openpi_client.image_tools")
    rows, columns = np.arange(height)[:, None], np.arange(width)[None]
    image = np.stack(np.broadcast_arrays(rows % 256, columns % 256, (rows + columns) % 200), 2).astype(np.uint8)
    here, there = fit(image, 224, 224), tools.resize_with_pad(image, 224, 224)
    assert here.shape == there.shape == (224, 224, 3)
    np.testing.assert_array_equal(here.any(axis=(1, 2)), there.any(axis=(1, 2)))
    np.testing.assert_array_equal(here.any(axis=(0, 2)), there.any(axis=(0, 2)))
    assert np.abs(here.astype(int) - there).mean() < 3.0
    assert fit(image, 0, 0) is image
