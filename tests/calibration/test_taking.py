"""Views along a plan, which goes on after a stop, and wherever a led robot rests."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from tendon.calibration.motion.coverage import wanted
from tendon.calibration.motion.page import shown
from tendon.calibration.motion.taking import REST_NS, Pictures, RestWatch, follow_plan
from tendon.calibration.rig.chain import Chain
from tendon.calibration.session import Session
from tendon.core.errors import ConfigError, StoppedError
from tendon.core.types import Array, Observation
from tests.calibration.rigs import HOME, PANDA, known_rig
from tests.calibration.test_commands import held, session

NAMES = PANDA.joint_names
STILL = np.zeros(len(HOME))


class Led:
    """A robot that is at once where it is led, and is stopped on the way to one pose."""

    def __init__(self, stops_at: int = 0) -> None:
        self._stops_at, self.went = stops_at, 0

    def go(self, goal: Array) -> Observation:
        self.went += 1
        if self.went == self._stops_at:
            raise StoppedError("somebody pressed stop")
        return Observation(stamp_ns=self.went, joint_position=goal, joint_velocity=STILL)

    def pictures(self) -> Pictures:
        return {"wrist": (self.went, np.zeros((8, 8, 3), np.uint8))}


def test_a_plan_goes_on_after_a_stop_with_the_pose_it_was_on_its_way_to(tmp_path: Path) -> None:
    opened, said = session(tmp_path), list[str]()
    poses = [HOME + 0.1 * k for k in range(4)]
    opened.keep_plan(poses, NAMES)
    with pytest.raises(StoppedError):
        follow_plan(Led(stops_at=3), opened, poses, NAMES, said.append)
    again = Session(tmp_path)
    np.testing.assert_allclose(again.plan(NAMES), poses)
    assert follow_plan(Led(), again, again.plan(NAMES), NAMES, said.append) == 2
    assert said == [f"view {k} of 4" for k in (1, 2, 3, 4)]
    for shot, pose in zip(again.shots(), poses, strict=True):
        np.testing.assert_allclose([shot.joints[name] for name in NAMES], pose)


def test_a_plan_of_another_robot_is_refused(tmp_path: Path) -> None:
    opened = session(tmp_path)
    opened.keep_plan([HOME], NAMES)
    with pytest.raises(ConfigError, match="line 1 is no pose"):
        opened.plan(("shoulder_pan",))


def test_the_page_shows_what_was_seen_and_what_is_wanted_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened, rng = session(tmp_path), np.random.default_rng(0)
    joints = dict(zip(NAMES, HOME.tolist(), strict=True))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with shown(opened, opened.rig(PANDA), port) as tell:
        address = f"http://127.0.0.1:{port}"
        assert "show it a board" in urlopen(address).read().decode()
        opened.add("wrist", np.stack([held(rng)] * 3, axis=2), joints, 0.0, 5)
        tell("view <1> of 2")
        page = urlopen(address).read().decode()
        assert "camera wrist: 1 views" in page and "turn the hand further" in page and "view &lt;1&gt; of 2" in page
        assert page.count("<circle") > 20 and "<script" not in page
        with pytest.raises(ConfigError, match=f"--page is {port}"), shown(opened, opened.rig(PANDA), port):
            pass
    assert address in capsys.readouterr().out


def test_what_is_wanted_goes_from_turns_to_places_to_numbers() -> None:
    known = known_rig(3, count=14)
    chain = Chain(PANDA)
    between = [chain.between(view.joints, "panda_hand", "panda_link0") for view in known.views]
    assert wanted([], []).startswith("show it a board")
    assert wanted(known.views[:2], [between[0], between[0]]).startswith("turn the hand further")
    said = wanted(known.views, between)
    assert "picture" in said or "views more" in said or "another axis" in said


def seen(watch: RestWatch, position: Array, begin_ns: int, speed: float = 0.0) -> list[bool]:
    return [
        watch.see(
            Observation(stamp_ns=begin_ns + k * REST_NS // 4, joint_position=position, joint_velocity=STILL + speed)
        )
        for k in range(8)
    ]


def test_a_led_robot_is_looked_at_once_where_it_rests_and_only_at_new_poses() -> None:
    watch = RestWatch([HOME])
    assert not any(seen(watch, HOME, 0)), "there is a view of this one"
    assert not any(seen(watch, HOME + 0.3, 10 * REST_NS, speed=0.1))
    assert seen(watch, HOME + 0.3, 20 * REST_NS).index(True) == 4
    assert not any(seen(watch, HOME + 0.3, 30 * REST_NS))
    watch.forget()
    assert not any(seen(watch, HOME + 0.3, 40 * REST_NS)), "it showed no board, and nothing has changed"
    seen(watch, HOME + 0.3, 50 * REST_NS, speed=0.1)
    assert seen(watch, HOME + 0.3, 60 * REST_NS).count(True) == 1
