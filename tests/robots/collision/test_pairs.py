"""Which pairs of links can meet: what uniform samples miss, the search from the nearest of them finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tendon.robots.collision.fit import load_meshes
from tendon.robots.collision.pairs import PairSampler
from tests.robots.small_robots import HAND, MASS, SMALL, joint, link, robot, write

BOX = '<collision><origin xyz="0 0 0.1"/><geometry><box size="0.05 0.05 0.2"/></geometry></collision>'
RANGE = '<limit lower="-2" upper="2" velocity="2" effort="30"/>'
MARGIN = 0.01


def chain() -> str:
    """Six joints, about z and y by turns: the last link meets the first where all bend to their limits."""
    joints = [joint(f"j{i}", f"l{i - 1}", f"l{i}", more=RANGE, xyz="0 0 0.2") for i in range(1, 7)]
    joints[::2] = [each.replace('xyz="0 1 0"', 'xyz="0 0 1"') for each in joints[::2]]
    return robot(*(link(f"l{i}", BOX + MASS) for i in range(7)), *joints)


def sampler(folder: Path, urdf: str, names: tuple[str, ...], lower: float = -2.0, upper: float = 2.0) -> PairSampler:
    file = write(folder, urdf)
    return PairSampler(file, load_meshes(file, None), dict.fromkeys(names, lower), dict.fromkeys(names, upper))


def test_a_pair_that_ten_thousand_samples_have_apart_is_found_to_meet(tmp_path: Path) -> None:
    looked = sampler(tmp_path, chain(), tuple(f"j{i}" for i in range(1, 7)))
    ends, near = frozenset(("l0", "l6")), frozenset(("l1", "l6"))
    for _ in looked.sample(10_000):
        pass
    assert looked.allowed(MARGIN, set())[ends] == "never"
    for _ in looked.search():
        pass
    allowed = looked.allowed(MARGIN, set())
    assert ends not in allowed and looked.smallest[looked.pairs.index(ends)] <= 0
    assert allowed[near] == "never" and allowed[frozenset(("l0", "l1"))] == "adjacent"


def test_a_search_goes_down_the_true_gradient_of_a_distance_with_fingers_that_follow(tmp_path: Path) -> None:
    names = ("joint1", "joint2", "joint3", "left_finger_joint")
    assert "mimic" in HAND
    looked = sampler(tmp_path, SMALL, names, lower=0.0, upper=0.03)
    values, step = np.array([0.3, 0.4, 0.5, 0.01]), 1e-3
    for k, pair in enumerate(looked.pairs):
        distance, slope = looked._slope(k, values)
        numbers = [
            (looked._slope(k, values + way)[0] - looked._slope(k, values - way)[0]) / (2 * step)
            for way in step * np.eye(4)
        ]
        if distance > 0:
            np.testing.assert_allclose(slope, numbers, atol=2e-2, err_msg=str(sorted(pair)))
