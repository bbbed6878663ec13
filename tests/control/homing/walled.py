"""Surroundings that a way home has to lead around, and starts among them."""

from __future__ import annotations

import functools

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.core.types import Array
from tendon.robots.environment import Environment
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.shapes import parse_bodies

BODIES = {
    "none": {},
    "cell": {
        "table": [{"normal": [0, 0, 1], "offset": 0.0}],
        "left": [{"normal": [0, -1, 0], "offset": -0.6}],
        "right": [{"normal": [0, 1, 0], "offset": -0.6}],
        "post": [{"a": [0.55, 0.3, 0.0], "b": [0.55, 0.3, 0.5], "radius": 0.03}],
    },
    "around home": {"box": [{"centre": [0.43, 0.0, 0.32], "size": [0.2, 0.2, 0.2]}]},
}


@functools.lru_cache
def profile_of(robot: str) -> RobotProfile:
    return load_profile(robot)


@functools.lru_cache
def clearance_of(robot: str, surroundings: str) -> Clearance:
    bodies = parse_bodies("test body", BODIES[surroundings]) if BODIES[surroundings] else {}
    return Clearance(profile_of(robot), Environment(name="test", bodies=bodies))


def room(robot: str, surroundings: str, q: Array) -> Array:
    """Returns (m,) how far each clearance is beyond its margin."""
    clearance = clearance_of(robot, surroundings)
    return clearance.distances(q) - clearance.margin


def free_starts(robot: str, surroundings: str, count: int, seed: int, face_m: float = np.inf) -> list[Array]:
    """Returns random joint vectors inside limits and clearances whose tool is `face_m` from a face of its workspace."""
    profile, clearance = profile_of(robot), clearance_of(robot, surroundings)
    rng, starts = np.random.default_rng(seed), list[Array]()
    while len(starts) < count:
        q = rng.uniform(profile.vector("lower"), profile.vector("upper"))
        distances = clearance.distances(q)
        if (distances >= clearance.margin).all() and distances[-6:].min() <= face_m:
            starts.append(q)
    return starts


def outside_start(seed: int) -> Array:
    """Returns a joint vector of the Panda whose tool is up to 4 cm outside its workspace; nothing else is near."""
    profile, clearance = profile_of("panda"), clearance_of("panda", "none")
    rng = np.random.default_rng(seed)
    while True:
        q = rng.uniform(profile.vector("lower"), profile.vector("upper"))
        beyond = clearance.distances(q) - clearance.margin
        if beyond[:-6].min() >= 0.01 and -0.04 <= beyond[-6:].min() < 0.0:
            return np.asarray(q)
