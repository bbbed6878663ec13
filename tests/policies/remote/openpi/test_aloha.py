"""openpi's ALOHA, the default of its `serve_policy.py`: maps in maps, images with channels first, two grippers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from websockets.sync.server import ServerConnection

from tendon.core.errors import ConfigError, MismatchError, RemoteError
from tendon.core.types import Image, Observation
from tendon.policies.remote.opening import open_policy
from tendon.policies.remote.openpi.format import unpack
from tendon.policies.remote.openpi.nested_keys import flat, nested
from tendon.policies.remote.policy import RemotePolicy
from tendon.robots.profile import RobotProfile
from tests import ROOT
from tests.policies.remote.contract_files import DROID, GR00T, changed, write
from tests.policies.remote.fake_servers import StartServer, packed
from tests.policies.remote.openpi.aloha_robot import CAMERAS, CLOSED, HOME, OPEN, write_robot

EXAMPLE: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "examples" / "openpi_aloha_server.yaml").read_text())
ROWS = 50
Open = Callable[..., RemotePolicy]


def stay(request: dict[str, Any]) -> dict[str, Any]:
    """Answers as `AlohaOutputs` does: 14 numbers a row, the joints as they are, left gripper open, right one closed."""
    actions = np.tile(request["state"].astype(np.float64), (ROWS, 1))
    actions[:, 6], actions[:, 13] = 1.0, 0.0
    return {"state": request["state"], "actions": actions, "server_timing": {"infer_ms": 1.0}}


class AlohaServer:
    """A server that insists on what openpi's `AlohaInputs` does; read by openpi's own package where it is given."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any] = stay, read: Callable[[Any], Any] = unpack) -> None:
        self.answer, self.read = answer, read
        self.requests: list[dict[str, Any]] = []

    def __call__(self, connection: ServerConnection) -> None:
        connection.send(packed({"reset_pose": [0, -1.5, 1.5, 0, 0, 0]}))
        for message in connection:
            request = self.read(message)
            self.requests.append(request)
            try:
                if extra := set(request["images"]) - {"cam_high", "cam_low", "cam_left_wrist", "cam_right_wrist"}:
                    raise ValueError(f"Expected images to contain no {extra}")
                for image in request["images"].values():
                    if image.shape != (3, 224, 224):
                        raise ValueError(f"c h w expected, got {image.shape}")
                if request["state"].shape != (14,):
                    raise ValueError("14 numbers expected")
            except (KeyError, ValueError) as error:
                connection.send(f"Traceback (most recent call last):\n{type(error).__name__}: {error}")
                return
            connection.send(packed(self.answer(request)))


@pytest.fixture(scope="module")
def aloha(tmp_path_factory: pytest.TempPathFactory) -> RobotProfile:
    return write_robot(tmp_path_factory.mktemp("aloha"))


@pytest.fixture
def open_file(openpi_server: StartServer, aloha: RobotProfile, tmp_path: Path) -> Iterator[Open]:
    opened: list[RemotePolicy] = []

    def make(server: AlohaServer | None = None, content: dict[str, Any] = EXAMPLE) -> RemotePolicy:
        url = openpi_server(server or AlohaServer())
        opened.append(open_policy(write(tmp_path, {**content, "url": url, "timeout_s": 20.0}), aloha))
        return opened[-1]

    yield make
    for policy in opened:
        policy.close()


def seen(profile: RobotProfile) -> Observation:
    """Every camera has a picture of its own, red at the left edge; the grippers are half open."""
    images = {}
    for k, camera in enumerate(profile.cameras):
        pixels = np.full((camera.height, camera.width, 3), 50 * (k + 1), np.uint8)
        pixels[:, 0] = (255, 0, 0)
        images[camera.name] = Image(stamp_ns=10**9, pixels=pixels)
    arm = [*HOME, (CLOSED + OPEN) / 2]
    return Observation(
        stamp_ns=10**9,
        joint_position=np.array([*arm, *arm]) + 1e-3 * np.arange(14) * (np.arange(14) % 7 != 6),
        joint_velocity=np.zeros(14),
        images=images,
        instruction="take the toast out of the toaster",
    )


def test_the_server_gets_aloha_as_it_knows_it(open_file: Open, aloha: RobotProfile, openpi: ModuleType) -> None:
    """Read with openpi's own package: one map of images, channels first, the state in its order, grippers 0 to 1."""
    server = AlohaServer(read=openpi.msgpack_numpy.unpackb)
    policy, observation = open_file(server), seen(aloha)
    policy.warm_up()
    policy.infer(observation)
    request = server.requests[-1]
    assert sorted(request) == ["images", "prompt", "state"]
    assert sorted(request["images"]) == sorted(CAMERAS)
    for k, name in enumerate(CAMERAS):
        image = request["images"][name]
        assert (image.shape, image.dtype) == ((3, 224, 224), np.uint8)
        assert (image[:, 112, 112] == 50 * (k + 1)).all()
        assert image[0, 112, 0] > image[1, 112, 0]
        assert image[:, 10, 112].tolist() == [0, 0, 0]
    wanted = observation.joint_position.copy()
    wanted[[6, 13]] = 0.5
    np.testing.assert_allclose(request["state"], wanted, atol=1e-6)
    assert request["prompt"] == observation.instruction


def test_the_answer_is_in_the_robots_words(open_file: Open, aloha: RobotProfile) -> None:
    """Grippers from 0, closed, to 1, open, in m."""
    actions = open_file().infer(seen(aloha)).actions
    assert actions.shape == (ROWS, 14)
    np.testing.assert_allclose(actions[:, :6], np.tile(seen(aloha).joint_position[:6], (ROWS, 1)), atol=1e-6)
    np.testing.assert_allclose(actions[:, 6], OPEN, atol=1e-9)
    np.testing.assert_allclose(actions[:, 13], CLOSED, atol=1e-9)


def test_one_camera_is_enough_for_the_simulated_aloha(open_file: Open, aloha: RobotProfile) -> None:
    """`serve_policy.py` without an argument: cam_high alone."""
    server = AlohaServer()
    open_file(server, changed(EXAMPLE, "policy|cameras", EXAMPLE["policy"]["cameras"][:1])).infer(seen(aloha))
    assert list(server.requests[0]["images"]) == ["cam_high"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("policy|cameras|0|layout", "hwc", r"c h w expected, got \(224, 224, 3\)"),
        ("policy|nested_keys", None, "KeyError: 'images'"),
        ("policy|cameras|0|key", "images/top", "Expected images to contain no {'top'}"),
    ],
)
def test_a_file_that_says_otherwise_is_the_servers_own_error(
    open_file: Open, path: str, value: Any, words: str
) -> None:
    """At start: openpi's metadata does not tell keys and layouts."""
    with pytest.raises(RemoteError, match=words):
        open_file(content=changed(EXAMPLE, path, value)).warm_up()


def test_a_nested_answer_is_read_and_a_missing_one_named(open_file: Open, aloha: RobotProfile) -> None:
    """Its outermost keys are in the error."""
    content = changed(EXAMPLE, "policy|answer", {"arms/joints": 14})
    server = AlohaServer(lambda request: {"arms": {"joints": stay(request)["actions"]}})
    assert open_file(server, content).infer(seen(aloha)).actions.shape == (ROWS, 14)
    for wrong in ({"arms": {}}, {"arms": 3}, {"arms": None}):
        with pytest.raises(MismatchError, match="the answer lacks arms/joints, it has: arms"):
            open_file(AlohaServer(lambda request, wrong=wrong: wrong), content).warm_up()


@pytest.mark.parametrize(
    ("base", "path", "value", "words"),
    [
        (EXAMPLE, "policy|cameras|0|layout", "nchw", "cameras cam_high layout is 'nchw', known: hwc, chw"),
        (EXAMPLE, "policy|nested_keys", "yes please", "nested_keys is 'yes please', known: True, False"),
        (EXAMPLE, "policy|cameras|0|key", "state/image", "'state' cannot hold a value and lead to 'state/image' too"),
        (EXAMPLE, "policy|cameras|0|key", "images//cam_high", "'images//cam_high' has an empty part"),
        (EXAMPLE, "policy|instruction", "/prompt", "has an empty part"),
        (DROID, "policy|cameras|0|layout", True, "layout is True"),
        (GR00T, "policy|nested_keys", True, "nested_keys is for kind openpi"),
        (GR00T, "policy|cameras|1|layout", "chw", "cameras wrist layout is for kind openpi"),
    ],
)
def test_a_wrong_word_is_named(
    profile: RobotProfile, tmp_path: Path, base: dict[str, Any], path: str, value: Any, words: str
) -> None:
    """Before anything is connected to."""
    scheme = "tcp" if base is GR00T else "ws"
    content = changed({**base, "url": f"{scheme}://127.0.0.1:1"}, "policy|nested_keys", base is EXAMPLE or False)
    with pytest.raises(ConfigError, match=words):
        open_policy(write(tmp_path, changed(content, path, value)), profile)


def test_nested_and_back() -> None:
    """Each value at its place; keys without a / as they are."""
    deep = nested({"a": 1, "b/c": 2, "b/d/e": 3})
    assert deep == {"a": 1, "b": {"c": 2, "d": {"e": 3}}}
    assert flat(deep, ("a", "b/c", "b/d/e", "b/x", "a/y")) == {**deep, "b/c": 2, "b/d/e": 3}
