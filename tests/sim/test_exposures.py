"""When simulated cameras expose: as often as they should, each at its own phase, whatever gets lost in between."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tendon.robots.profile import Camera, load_profile
from tendon.sim.engine import PERIOD_NS
from tendon.sim.exposures import exposes
from tests.laws import law_settings

CAMERA = load_profile("panda").cameras[0]


def camera(rate_hz: float, phase: float) -> Camera:
    assert CAMERA.mount is not None
    return replace(CAMERA, rate_hz=rate_hz, mount=replace(CAMERA.mount, phase=phase))


def exposures(one: Camera, begin_ns: int, steps: int) -> list[int]:
    times = [begin_ns + k * PERIOD_NS for k in range(steps + 1)]
    return [now for before, now in itertools.pairwise(times) if exposes(one, before, now)]


@law_settings(max_examples=100)
@given(st.sampled_from((5.0, 15.0, 20.0, 30.0, 60.0)), st.floats(0.0, 0.99), st.integers(0, 2 * 10**18))
def test_it_exposes_at_its_rate_and_phase(rate_hz: float, phase: float, begin_ns: int) -> None:
    found = exposures(camera(rate_hz, phase), begin_ns, 900)
    assert abs(len(found) - 3.0 * rate_hz) <= 1
    for time_ns in found:
        late = (time_ns % (10**9 * 10) * 1e-9 * rate_hz - phase + 0.5) % 1.0 - 0.5
        assert -0.02 <= late <= PERIOD_NS * 1e-9 * rate_hz + 0.02


@law_settings(max_examples=50)
@given(st.lists(st.integers(1, 40), min_size=20, max_size=60), st.floats(0.0, 0.99))
def test_a_world_that_was_not_seen_delays_a_picture_and_loses_no_more(gaps: list[int], phase: float) -> None:
    one, drawn_ns, now_ns = camera(20.0, phase), 0, 10**18
    for gap in gaps:
        now_ns += gap * PERIOD_NS
        if exposes(one, drawn_ns, now_ns):
            drawn_ns = now_ns
        assert now_ns - drawn_ns <= 50_000_000, "a whole period without a picture"


def test_a_clock_that_went_back_is_no_camera_that_stops() -> None:
    one = camera(20.0, 0.3)
    assert exposes(one, 10**18, 10**9)
