"""The failure detector: what its scores mean, what its thresholds promise, how alarms become a response."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given as given_values
from hypothesis import strategies as st

from tendon.core.errors import ConfigError, IntegrityError, InvalidDataError, MismatchError
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.detector.conformal import (
    Trace,
    assess,
    calibrate,
    conformal_quantile,
    lasting_score,
    stop_thresholds,
)
from tendon.policies.detector.detector import Assessment, Calibration, Detector, Escalation, Plan, chunk_distance
from tendon.policies.detector.file import DETECTOR_FILE, NUMBERS_FILE, detector_files, load_detector
from tendon.safety.response import Response
from tests.laws import law_settings

ROWS, EMBEDDING, STEP_NS, REPLAN_NS = 16, 12, 10**8, 2 * 10**8


def motion(start_ns: int, jump: float = 0.0) -> np.ndarray:
    """A chunk of one straight motion, whenever it was planned, moved aside by `jump`."""
    times = start_ns + STEP_NS * np.arange(ROWS)
    return np.stack([times * 1e-9 * 0.2, np.full(ROWS, jump), np.zeros(ROWS), np.full(ROWS, 0.04)], axis=1)


def episode(rng: np.random.Generator, inferences: int = 20, shift: float = 0.0, shake: float = 0.002) -> Trace:
    starts = STEP_NS + REPLAN_NS * np.arange(inferences)
    return Trace(
        start_ns=starts,
        step_ns=STEP_NS,
        targets=np.stack([motion(int(s), float(rng.normal(0, shake))) for s in starts]),
        given=np.ones(inferences, np.int64),
        embeddings=rng.normal(shift, 1.0, (inferences, EMBEDDING)),
        instructions=("put the red cube in the blue bowl",) * inferences,
    )


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    rng = np.random.default_rng(0)
    return calibrate([episode(rng) for _ in range(200)], 0.1, components=6)[0]


@pytest.fixture
def feed(calibration: Calibration) -> Callable[..., list[Assessment]]:
    """Feeds a detector inferences that differ by `jump` from one to the next."""

    def run(jumps: list[float], novel: float = 0.0, slowed: bool = False) -> list[Assessment]:
        detector = Detector(calibration)
        out = []
        for k, jump in enumerate(jumps):
            start_ns = STEP_NS + k * REPLAN_NS
            out.append(
                detector.update(
                    start_ns=start_ns,
                    step_ns=STEP_NS,
                    targets=motion(0 if slowed else start_ns, jump),
                    given=0,
                    embedding=calibration.centre + novel,
                    instruction="go",
                    slowed=slowed,
                )
            )
        return out

    return run


def test_equal_plans_of_one_motion_do_not_differ_and_a_jump_counts_by_what_is_usual() -> None:
    last, new = Plan(start_ns=0, step_ns=STEP_NS, targets=motion(0)), motion(REPLAN_NS)
    scale = np.full((ROWS, 4), 0.01)
    same = chunk_distance(last, Plan(start_ns=REPLAN_NS, step_ns=STEP_NS, targets=new), 0, scale)
    moved = new + 0.02
    aside = chunk_distance(last, Plan(start_ns=REPLAN_NS, step_ns=STEP_NS, targets=moved), 0, scale)
    assert same == pytest.approx(0.0, abs=1e-9)
    assert aside == pytest.approx(2.0)


def test_given_rows_and_rows_beyond_the_last_plan_are_not_compared() -> None:
    last = Plan(start_ns=0, step_ns=STEP_NS, targets=motion(0))
    targets = motion(REPLAN_NS)
    targets[:3] += 1.0
    targets[-2:] += 1.0
    new = Plan(start_ns=REPLAN_NS, step_ns=STEP_NS, targets=targets)
    assert chunk_distance(last, new, 3, np.full((ROWS, 4), 0.01)) == pytest.approx(0.0, abs=1e-9)
    assert chunk_distance(last, replace(new, start_ns=10**10), 0, np.ones((ROWS, 4))) is None


def test_a_plan_that_is_late_because_the_robot_was_held_is_no_contradiction(
    feed: Callable[..., list[Assessment]],
) -> None:
    assert feed([0.0] * 12, slowed=True)[-1].scores["consistency"] == pytest.approx(0.0, abs=1e-9)


@given_values(st.integers(20, 400), st.floats(0.05, 0.5), st.integers(0, 10**6))
@law_settings(max_examples=50)
def test_the_conformal_quantile_is_the_promised_rank(count: int, alpha: float, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=count)
    threshold = conformal_quantile(values, alpha)
    assert (values <= threshold).sum() >= (count + 1) * (1 - alpha) - 1e-6
    assert (values < threshold).sum() < (count + 1) * (1 - alpha)


def test_new_successful_episodes_alarm_at_most_as_often_as_promised() -> None:
    rng = np.random.default_rng(1)
    alarms = total = 0
    for _ in range(8):
        found, _ = calibrate([episode(rng) for _ in range(120)], 0.2, components=6)
        fresh = [assess(episode(rng), found) for _ in range(60)]
        alarms += sum(any(a.alarms for a in one) for one in fresh)
        total += len(fresh)
    assert alarms / total < 0.2 + 3 * np.sqrt(0.2 * 0.8 / total)


def test_strange_embeddings_and_contradicting_plans_alarm_each_by_name(feed: Callable[..., list[Assessment]]) -> None:
    strange = feed([0.0] * 6, novel=5.0)
    assert strange[-1].alarms == ("novelty",)
    assert "sees something new" in strange[-1].reason
    wild = feed([0.05 * (-1) ** k for k in range(12)])
    assert wild[-1].alarms == ("consistency",)
    assert "contradict" in wild[-1].reason


def test_alarms_slow_then_hold_then_slow_again_but_never_stop(feed: Callable[..., list[Assessment]]) -> None:
    """A held robot sees the same again and again: a marginal score must not keep it for ever, nor latch."""
    levels = [a.response for a in feed([0.0] * 60, novel=5.0)]
    first, known = levels.index(Response.SLOW), Escalation()
    assert levels.index(Response.HOLD) - first == known.hold_after - 1
    assert levels.count(Response.HOLD) == known.hold_for
    assert set(levels[levels.index(Response.HOLD) + known.hold_for :]) == {Response.SLOW}
    assert all(a.response is Response.FULL and not a.reason for a in feed([0.0] * 30))


def test_what_stays_above_its_stop_threshold_stops_and_what_dips_below_does_not(calibration: Calibration) -> None:
    known = replace(calibration, stop_thresholds={"novelty": calibration.thresholds["novelty"] * 2})
    values = {"step_ns": STEP_NS, "given": 0, "instruction": "go", "targets": motion(0)}

    def responses(far: list[bool]) -> list[Response]:
        detector = Detector(known)
        return [
            detector.update(start_ns=k * REPLAN_NS, embedding=calibration.centre + 50.0 * away, **values).response
            for k, away in enumerate(far)
        ]

    assert Response.STOP in responses([True] * 30)
    window, after = known.windows["novelty"], known.escalation.stop_after
    dips = ([True] * (after - window) + [False] * window) * 5
    assert Response.STOP not in responses(dips)


@given_values(st.lists(st.floats(0, 10), min_size=0, max_size=60), st.floats(0.1, 9.9), st.integers(1, 12))
def test_the_lasting_score_is_what_a_stop_threshold_must_be_above(
    values: list[float], threshold: float, inferences: int
) -> None:
    run = longest = 0
    for value in values:
        run = run + 1 if value > threshold else 0
        longest = max(longest, run)
    assert (lasting_score(np.array(values), inferences) > threshold) == (longest >= inferences)


def test_a_stop_is_never_easier_than_an_alarm(calibration: Calibration) -> None:
    with pytest.raises(ConfigError, match="stop threshold of novelty"):
        replace(calibration, stop_thresholds={"novelty": 0.5 * calibration.thresholds["novelty"]})
    lasting = {name: np.linspace(0.0, 0.1, 3000) for name in calibration.thresholds}
    assert stop_thresholds(lasting, calibration.thresholds, 0.001) == calibration.thresholds


def test_a_new_instruction_is_a_new_plan(calibration: Calibration) -> None:
    detector = Detector(calibration)
    for k, words in enumerate(("go", "stop")):
        said = detector.update(
            start_ns=k * REPLAN_NS,
            step_ns=STEP_NS,
            targets=motion(0, 0.3 * k),
            given=0,
            embedding=calibration.centre,
            instruction=words,
        )
    assert said.scores["consistency"] == 0.0


def test_what_the_plans_of_one_task_contradicted_is_not_held_against_the_next(calibration: Calibration) -> None:
    detector = Detector(calibration)
    said = []
    for k in range(24):
        start_ns = STEP_NS + k * REPLAN_NS
        said.append(
            detector.update(
                start_ns=start_ns,
                step_ns=STEP_NS,
                targets=motion(start_ns, 0.05 * (k % 2) if k < 12 else 0.0),
                given=0,
                embedding=calibration.centre,
                instruction="go" if k < 12 else "come",
            )
        )
    assert said[11].alarms == ("consistency",)
    assert max(each.scores["consistency"] for each in said[12:]) < 0.01


def test_what_is_usual_is_learned_within_tasks_and_not_from_one_to_the_next() -> None:
    def calm(seed: int) -> Trace:
        return episode(np.random.default_rng(seed))

    def told(seed: int) -> Trace:
        one = calm(seed)
        targets = one.targets + np.where(np.arange(len(one.targets)) >= 10, 0.3, 0.0)[:, None, None]
        return replace(one, targets=targets, instructions=("go there",) * 10 + ("come here",) * 10)

    usual, second = (calibrate([made(k) for k in range(80)], 0.1, components=6)[0] for made in (calm, told))
    assert second.row_scale == pytest.approx(usual.row_scale, rel=0.1)
    assert second.thresholds["consistency"] < 1.1 * usual.thresholds["consistency"]


def test_reset_forgets_alarms(calibration: Calibration) -> None:
    detector, fresh = Detector(calibration), Detector(calibration)
    values = {"step_ns": STEP_NS, "given": 0, "instruction": "go"}
    for k in range(30):
        detector.update(start_ns=k * REPLAN_NS, targets=motion(0, 0.1 * k), embedding=calibration.centre + 5, **values)
    detector.reset()
    again = {"start_ns": 0, "targets": motion(0), "embedding": calibration.centre, **values}
    assert detector.update(**again) == fresh.update(**again)


def test_what_was_not_calibrated_for_is_refused(calibration: Calibration) -> None:
    with pytest.raises(InvalidDataError, match="calibrate-detector"):
        Detector(calibration).update(
            start_ns=0,
            step_ns=STEP_NS,
            targets=np.zeros((ROWS - 1, 4)),
            given=0,
            embedding=calibration.centre,
            instruction="go",
        )


def test_too_few_episodes_for_a_promise_say_how_many_are_needed() -> None:
    with pytest.raises(ConfigError, match="at least 39 are needed"):
        conformal_quantile(np.arange(30.0), 0.025)


@pytest.fixture
def with_detector(make_bundle: Callable[..., Bundle], calibration: Calibration) -> Bundle:
    bundle = make_bundle()
    files = detector_files(calibration, bundle, 0.1, 100, "made up")
    return write_bundle(bundle.folder, bundle.manifest, {**bundle.content, **files})


def test_a_detector_in_a_bundle_comes_back_as_it_was(with_detector: Bundle, calibration: Calibration) -> None:
    found = load_detector(with_detector)
    assert found is not None
    assert (found.windows, found.escalation) == (calibration.windows, calibration.escalation)
    assert found.thresholds == pytest.approx(calibration.thresholds, abs=1e-6)
    for name in ("row_scale", "centre", "basis", "variance"):
        np.testing.assert_allclose(getattr(found, name), getattr(calibration, name), rtol=1e-6)


def test_a_bundle_without_a_detector_has_none(make_bundle: Callable[..., Bundle]) -> None:
    assert load_detector(make_bundle()) is None


def test_a_detector_of_another_model_is_refused(with_detector: Bundle, model: Callable[..., bytes]) -> None:
    files = {**with_detector.content, "policy.onnx": model((0.1, 0.0, 0.0, 0.0))}
    other = write_bundle(with_detector.folder, with_detector.manifest, files)
    with pytest.raises(MismatchError, match="model_sha256"):
        load_detector(other)


@pytest.mark.parametrize(
    ("file", "data", "error"),
    [
        (NUMBERS_FILE, None, IntegrityError),
        (DETECTOR_FILE, b"format: 1\nspeed: 3\n", ConfigError),
        (DETECTOR_FILE, b"[1, 2]", ConfigError),
    ],
)
def test_a_damaged_detector_is_one_clear_error(
    with_detector: Bundle, file: str, data: bytes | None, error: type[Exception]
) -> None:
    content = {name: old for name, old in with_detector.content.items() if name != file}
    if data is not None:
        content[file] = data
    with pytest.raises(error, match=r"detector\."):
        load_detector(replace(with_detector, content=content))
