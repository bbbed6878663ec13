"""Hands, holds and chunks: what is sent for what a person does, with devices that are played by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.control.deadman import RELEASED, Deadman, hold_silence_ns
from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.profile import load_profile
from tendon.teleop.axis_map import read_map
from tendon.teleop.device import DeviceLostError, Reading
from tendon.teleop.hand import LEASH, LOOK_NS, Hand
from tendon.teleop.hold import FIRST, STUCK_NS, Hold
from tendon.teleop.maps import MAPS
from tendon.teleop.motion import ArmMotion, ToolMotion
from tendon.teleop.opening import parse_device, parse_devices
from tendon.teleop.session import CYCLE_NS, PAST, RELEASES, Session, Wish
from tests.laws import law_settings

PANDA, PAIR = load_profile("panda"), load_profile("panda_pair")
SILENCE_NS = hold_silence_ns(PANDA)
HOME = PANDA.vector("home")
BEGIN_NS = 10**18


class PlayedDevice:
    """Says what a test puts in `reading`; `None` is an unplugged one."""

    name = "played"

    def __init__(self) -> None:
        self.reading: Reading | None = Reading()
        self.opened = 0

    def open(self) -> None:
        if self.reading is None:
            raise DeviceLostError("played is not there")
        self.opened += 1

    def read(self) -> Reading:
        if self.reading is None:
            raise DeviceLostError("played is unplugged")
        return self.reading

    def close(self) -> None:
        pass


TOGGLE = "g"


def keys(*names: str) -> Reading:
    return Reading(pressed=frozenset(names))


class Person:
    """A session of one hand at a keyboard, or of two, in time."""

    def __init__(self, groups: tuple[str, ...] = ("arm",), profile: object = PANDA) -> None:
        self.devices = [PlayedDevice() for _ in groups]
        keyboard = read_map(MAPS["keyboard"], "keyboard")
        self.hands = [
            Hand(group, device, keyboard, ToolMotion(profile, group))  # type: ignore[arg-type]
            for group, device in zip(groups, self.devices, strict=True)
        ]
        self.session = Session(self.hands, SILENCE_NS)
        self.now_ns = BEGIN_NS
        self.rest: Array = np.array(profile.vector("home"))  # type: ignore[attr-defined]
        self.does(*[keys()] * len(groups))

    def does(self, *readings: Reading | None, after_ns: int = CYCLE_NS, follows: bool = True) -> Wish | None:
        for device, reading in zip(self.devices, readings, strict=True):
            device.reading = reading
        self.now_ns += after_ns
        wish = self.session.step(self.now_ns, self.rest)
        if wish is not None and wish.hold_ns and follows:
            self.rest = wish.chunk.actions[-1].copy()
        return wish


def test_a_press_is_one_hold_and_its_release_is_said() -> None:
    person = Person()
    assert person.does(keys()) is None
    wishes = [person.does(keys("w")) for _ in range(10)]
    assert {wish.hold_ns for wish in wishes if wish} == {BEGIN_NS + 3 * CYCLE_NS}
    released = [person.does(keys()) for _ in range(RELEASES + 2)]
    assert [wish and wish.hold_ns for wish in released] == [RELEASED] * RELEASES + [None, None]
    again = person.does(keys("w"))
    assert again is not None and again.hold_ns == person.now_ns


def test_rows_lead_on_from_where_the_robot_rests_and_end_at_rest() -> None:
    person = Person()
    person.rest = HOME + 0.1
    wish = person.does(keys("w"))
    assert wish is not None
    assert (wish.chunk.actions[: PAST - 1] == HOME + 0.1).all(), "whatever it measures, it begins where it rests"
    assert (wish.chunk.actions[PAST:] == wish.chunk.actions[PAST - 1]).all()
    assert wish.chunk.end_ns - person.now_ns > 600_000_000, "a stop never outlasts it"


def test_chunks_agree_on_the_rows_that_they_share() -> None:
    person = Person()
    wishes = [person.does(keys("w")) for _ in range(20)]
    for one, other in itertools.pairwise(wish.chunk for wish in wishes if wish):
        shared = (other.actions[: PAST - 1], one.actions[1:PAST])
        assert (shared[0] == shared[1]).all() and other.start_ns - one.start_ns == CYCLE_NS


def test_another_key_or_a_lost_device_lets_go_and_a_device_that_comes_back_needs_a_new_press() -> None:
    person = Person()
    person.does(keys("w"))
    lost = person.does(None)
    assert lost is not None and lost.hold_ns == RELEASED
    assert "unplugged" in person.hands[0].state().waits
    for _ in range(LOOK_NS // CYCLE_NS + 2):
        wish = person.does(keys("w"))
        assert wish is None or wish.hold_ns == RELEASED, "back again, and still held"
    assert person.devices[0].opened == 2
    person.does(keys())
    wish = person.does(keys("w"))
    assert wish is not None and wish.hold_ns == person.now_ns


def test_a_node_that_stood_still_has_let_go() -> None:
    person = Person()
    person.does(keys("w"))
    wish = person.does(keys("w"), after_ns=SILENCE_NS + 1)
    assert wish is not None and wish.hold_ns == RELEASED
    wish = person.does(keys("w"))
    assert wish is None or wish.hold_ns == RELEASED
    assert "stood still for 80 ms: release, then press again" in person.hands[0].state().waits


def test_speed_goes_by_steps_and_the_gripper_by_strokes() -> None:
    person = Person()
    speeds = []
    for _ in range(6):
        person.does(keys("+"))
        person.does(keys())
        speeds.append(person.hands[0].speed)
    assert speeds == [0.75, 1.0, 1.0, 1.0, 1.0, 1.0]
    for _ in range(60):
        wish = person.does(keys("c"))
    assert wish is not None and wish.chunk.actions[-1][7] == 0.0
    for _ in range(60):
        wish = person.does(keys("v"))
    assert wish is not None and wish.chunk.actions[-1][7] == 0.04


def test_what_is_gripped_stays_gripped_at_the_next_press() -> None:
    """Told to close, measured half open: a press begins at what it was told."""
    person = Person()
    for _ in range(80):
        person.does(keys("c"))
    person.does(keys())
    wish = person.does(keys("r"))
    assert wish is not None and (wish.chunk.actions[:, 7] == 0.0).all()


def test_a_toggle_is_forgotten_at_the_release_and_goes_the_other_way_first() -> None:
    """Toggled once and let go, the hand opened by itself at the next press: what the policy had grasped fell."""
    person = Person()
    toggles, moves = keys("w", TOGGLE), keys("w")
    person.hands[0].axis_map = replace(person.hands[0].axis_map, gripper_toggle=(TOGGLE,), gripper_speed=1.0)
    person.does(moves)
    for _ in range(40):
        wish = person.does(toggles)
    assert wish is not None and wish.chunk.actions[-1][7] < 0.01, "it was open: the first toggle closes"
    person.does(keys())
    person.does(keys(TOGGLE))  # not held: nobody moves the robot
    person.does(keys())
    for _ in range(40):
        later = person.does(moves)
    assert later is not None and later.chunk.actions[-1][7] == pytest.approx(wish.chunk.actions[-1][7], abs=1e-3)


def test_two_hands_hold_on_their_own() -> None:
    person = Person(("left_arm", "right_arm"), PAIR)
    left = [PAIR.joint_names.index(name) for name in PAIR.groups["left_arm"]]
    right = [PAIR.joint_names.index(name) for name in PAIR.groups["right_arm"]]
    person.does(keys(), keys())
    person.does(keys("w"), keys())
    for _ in range(20):
        wish = person.does(keys("w"), keys())
    assert wish is not None and wish.chunk.actions[-1][left].tolist() != PAIR.vector("home")[left].tolist()
    assert (wish.chunk.actions[-1][right] == PAIR.vector("home")[right]).all()
    first_ns = wish.hold_ns
    both = person.does(keys("w"), keys("r"))
    assert both is not None and both.hold_ns == first_ns, "one hold of both, from the first press"
    for _ in range(10):
        wish = person.does(keys("w"), keys("r"))
    assert wish is not None
    here = wish.chunk.actions[-1][left]
    one = person.does(None, keys("r"))
    assert one is not None and one.hold_ns == first_ns, "the other hand goes on"
    assert (one.chunk.actions[-1][left] == here).all(), "and this arm comes to rest"


def step_of(wish: Wish) -> Array:
    return np.abs(np.diff(wish.chunk.actions, axis=0)).max(axis=0)


@given(
    acts=st.lists(
        st.tuples(
            st.sampled_from([("w",), ("w", "a"), ("r", "c"), ("s",), (), ("space",), ("x",), None]),
            st.integers(1, 60),
            st.booleans(),
        ),
        max_size=25,
    )
)
@law_settings(50)
def test_rows_never_step_faster_than_the_joints_may_go_whatever_a_person_does(
    acts: list[tuple[tuple[str, ...] | None, int, bool]],
) -> None:
    """Presses, releases, losses, stalls, and a robot that follows or does not: no chunk begins away from the robot."""
    person = Person()
    fastest = PANDA.vector("velocity")
    held_before = False
    for names, cycle_ms, follows in acts:
        before = person.rest.copy()
        wish = person.does(None if names is None else keys(*names), after_ns=cycle_ms * 1_000_000, follows=follows)
        held = wish is not None and wish.hold_ns != RELEASED
        if wish is not None and held:
            assert (step_of(wish) <= fastest * max(cycle_ms, 60) * 1e-3 + 1e-9).all()
            if not held_before:
                assert (wish.chunk.actions[0] == before).all()
        held_before = held


def test_a_hold_begins_released_counts_presses_and_gives_up_a_key_that_never_changes() -> None:
    hold = Hold()
    hold.update(True, True, 1)
    assert not hold.held and hold.lost == FIRST, "held from the start"
    hold.update(False, True, 2)
    hold.update(True, True, 3)
    assert hold.held and hold.press_ns == 3
    for k in range(5):
        hold.update(True, True, 3 + k * (STUCK_NS - 1))
        assert hold.press_ns == 3, "what changes is a hand"
    last_ns = 3 + 4 * (STUCK_NS - 1)
    hold.update(True, False, last_ns + STUCK_NS - 1)
    assert hold.held
    hold.update(True, False, last_ns + STUCK_NS)
    assert not hold.held and "held without a change for 10 s" in hold.lost
    hold.update(True, True, last_ns + STUCK_NS + 1)
    assert not hold.held, "it has to be released"
    hold.update(False, True, last_ns + STUCK_NS + 2)
    hold.update(True, True, last_ns + STUCK_NS + 3)
    assert hold.held


@pytest.mark.parametrize("rests_at", [0.5, 0.505, -0.995])
def test_a_stick_that_rattles_is_no_hand_and_one_that_is_moved_is(rests_at: float) -> None:
    """Wherever it rests: a gamepad with a brick on it says another number all the time."""
    device = PlayedDevice()
    pad = Hand("arm", device, read_map(MAPS["gamepad"], "gamepad"), ToolMotion(PANDA, "arm"))
    pad.look(BEGIN_NS)

    def held_after(cycles: int, begin: int, sway: float) -> bool:
        for k in range(begin, begin + cycles):
            device.reading = Reading(axes={"ABS_Y": rests_at + sway * (-1) ** k}, pressed=frozenset({"BTN_TL"}))
            pad.look(BEGIN_NS + (k + 1) * CYCLE_NS)
        return pad.state().held

    cycles = STUCK_NS // CYCLE_NS
    assert held_after(cycles, 0, 0.005)
    assert held_after(cycles, cycles, 0.05), "a hand"
    assert not held_after(cycles + 2, 2 * cycles, 0.005)
    assert "held without a change" in pad.state().waits


def test_an_arm_that_is_followed_runs_no_further_ahead_of_a_robot_that_stands_than_a_tool() -> None:
    """The leader goes on while the robot is held back: the target waits, and comes back with it."""
    so101, device = load_profile("so101"), PlayedDevice()
    names, home = so101.joint_names[:5], so101.vector("home")
    hand = Hand("arm", device, read_map(MAPS["leader"], "leader"), ArmMotion(so101, "arm", {}))
    target = home.copy()

    def lead(cycle: int, pan: float) -> None:
        device.reading = Reading(joints={**dict.fromkeys(names, 0.0), names[0]: pan}, pressed=frozenset({"space"}))
        hand.look(BEGIN_NS + (cycle + 1) * CYCLE_NS)
        hand.move(target, CYCLE_NS * 1e-9, home)

    hand.look(BEGIN_NS)
    for cycle in range(100):
        lead(cycle, 0.015 * cycle)
    assert 0.15 < target[0] - home[0] <= LEASH
    assert "does not follow" in hand.state().note
    lead(100, 0.0)
    assert target[0] - home[0] < LEASH - 0.01 and not hand.state().note.startswith("the robot")


def test_what_does_not_follow_is_not_run_away_from() -> None:
    """A robot that is held back, by the filter or because it is not armed, rests where it rests."""
    person = Person()
    for _ in range(400):
        wish = person.does(keys("a"), follows=False)
    assert wish is not None and np.abs(wish.chunk.actions[-1] - HOME).max() <= LEASH
    assert "does not follow" in person.hands[0].state().note


def test_a_press_of_one_hand_does_not_take_up_what_the_robot_has_ended_for_the_other() -> None:
    """Both have to let go after a stop; then each may begin, alone or with the other."""
    person, robot = Person(("left_arm", "right_arm"), PAIR), Deadman(PAIR)

    def follows(*readings: Reading) -> bool:
        wish = person.does(*readings)
        return wish is not None and robot.take(wish.hold_ns, wish.chunk.observation_stamp_ns, person.now_ns)

    person.does(keys(), keys())
    assert follows(keys("w"), keys())
    robot.end(person.now_ns)  # the safety monitor held it, or it was armed
    assert not follows(keys("w"), keys()), "a press from before counts no more"
    assert not follows(keys("w"), keys("r")), "the other hand presses, and this one holds on"
    assert not follows(keys(), keys("r")), "the left arm is on its way to where nobody led it"
    assert not follows(keys(), keys())
    assert follows(keys(), keys("r"))
    assert follows(keys("w"), keys("r")) and follows(keys("w"), keys())


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "no device is named"),
        (["keybord"], "did you mean keyboard?"),
        (["lft_arm=keyboard"], "did you mean left_arm?"),
        (["left_arm=gamepad", "right_arm=gamepad"], "gamepad is named for two hands"),
        (["left_arm=gamepad", "left_arm=spacemouse"], "share joint left_panda_joint1"),
        (["arm=gamepad", "right_arm=spacemouse"], "share joint right_panda_joint1"),
        (["leader:so101@/leader"], "has no deadman"),
        (["leader:so101+keyboard"], "does not say which arm: leader:PROFILE@NAMESPACE"),
        (["lerobot+keyboard"], "does not say which arm: lerobot:FILE.yaml"),
        (["gamepad+keyboard"], "only an arm"),
        (["leader:so101@/l+leader:so101@/m+keyboard"], "has none"),
    ],
)
def test_a_device_that_cannot_be_is_one_clear_error(texts: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("?", r"\?").replace("+", r"\+")):
        parse_devices(texts, PAIR)


def test_devices_are_read_as_they_are_typed() -> None:
    name = parse_device("left_arm=leader:so101@/leader+gamepad:/dev/input/event3")
    assert (name.group, name.kind, name.place) == ("left_arm", "leader", "so101@/leader")
    assert name.holder is not None and (name.holder.kind, name.holder.place) == ("gamepad", "/dev/input/event3")
    assert len(parse_devices(["left_arm=gamepad:/dev/input/event3", "right_arm=gamepad:/dev/input/event4"], PAIR)) == 2
