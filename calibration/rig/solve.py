"""From views of boards to where cameras and boards are and what the joints' zeros are, each with its covariance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tendon.calibration.cameras.locate import locate
from tendon.calibration.fitting import Fit, fit, invert
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.closed_form import check_turns, guess, turns_enough
from tendon.calibration.rig.known import keep_zeros
from tendon.calibration.rig.parts import Rig, View, check_said
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import Pose
from tendon.core.errors import CalibrationError
from tendon.core.types import Array

MAX_ZERO_RAD = np.radians(0.3)
"""A zero that the views tell no better than this, a standard deviation, is left as it is."""

SAME = 2e-4
"""m or rad: between links of two views that are one."""
SHARP_PX = 0.3
"""Of a corner in a picture that is good enough."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RigCalibration:
    """What the views tell.

    Attributes:
        fit: where everything is, and what is left of each corner.
        held: joints whose zero the views do not tell: why, in words.
        told: zeros that were kept: how sure each would be if the views changed it, a standard deviation.
        contradicted: sentences on zeros that were kept and that the views do not fit, each with the fix.
    """

    fit: Fit[RigState]
    held: Mapping[str, str]
    told: Mapping[str, float] = field(default_factory=dict)
    contradicted: tuple[str, ...] = ()

    @property
    def state(self) -> RigState:
        """Where everything is."""
        return self.fit.state

    def covariance(self, kind: str, name: str) -> Array:
        """Returns the covariance of a camera's or board's (6,) change, a joint's zero or a model's values."""
        place = self.state.places()[kind, name]
        return self.fit.covariance[place, place]

    def zero(self, joint: str) -> tuple[float, float]:
        """Returns a joint's zero and its standard deviation, rad or m; infinite where the views do not tell."""
        index = self.state.rig.profile.joint_names.index(joint)
        if joint not in self.state.rig.joints:
            return float(self.state.zeros[index]), float("inf")
        return float(self.state.zeros[index]), float(np.sqrt(self.covariance("joint", joint)[0, 0]))


def solve(
    rig: Rig,
    views: Sequence[View],
    start: Mapping[str, Pose] | None = None,
    shares_joints: bool = True,
    tell: Callable[[str], None] | None = None,
) -> RigCalibration:
    """Returns the calibration of a rig.

    Args:
        rig: cameras, boards, and the joints whose zeros are asked for, or kept.
        views: from different poses of the robot, at rest.
        start: of cameras on their links, where something is known; others are found by a closed form.
        shares_joints: whether to ask how far off the robot is where it says that it is, view by view, see `fitting`.
        tell: gets a line about each round.

    Raises:
        CalibrationError: the robot moved, views turn too little, or do not fit together; with the fix.
        ConfigError: a view names a camera or board that is not there.
    """
    chain = Chain(rig.profile)
    views = views_that_tell(rig, views, chain)
    zeros = rig.known.vector(rig.profile.joint_names)
    true = [replace(view, joints=view.joints - zeros) for view in views]
    cameras, boards = first_guess(rig, true, chain, dict(start or {}))
    state = RigState(
        rig=rig,
        views=tuple(views),
        chain=chain,
        cameras=cameras,
        boards=boards,
        zeros=zeros,
        models={camera.name: camera.model for camera in rig.cameras},
        shares_joints=shares_joints,
    )
    # With few unknowns first: zeros and lenses would take up what a start that is far off leaves.
    bare = replace(rig, joints=(), cameras=tuple(replace(camera, refine=False) for camera in rig.cameras))
    found: Fit[RigState] = fit(replace(state, rig=bare, shares_joints=False))
    state = replace(state, cameras=found.state.cameras, boards=found.state.boards)
    # Not by this fit's noise, which is zeros that are off: what a sharp picture tells.
    state, held = _without_unseen(state, SHARP_PX)
    found = fit(state, tell)
    state, more = _without_unseen(found.state, found.sigma_px)
    if more:
        found = fit(state, tell)
        held |= more
    told: dict[str, float] = {}
    contradicted: list[str] = []
    if rig.known.kept:
        found, told, contradicted = keep_zeros(found, rig.known)
    return RigCalibration(fit=found, held=held, told=told, contradicted=tuple(contradicted))


def views_that_tell(rig: Rig, views: Sequence[View], chain: Chain) -> list[View]:
    """Returns the views without those of a board that is before a camera as it was in one before.

    What a detector is off by is the same in each of them: they are one view, not many.

    Raises:
        CalibrationError: the robot moved in one.
        ConfigError: a view names a camera or board that is not there.
    """
    check_said(rig.profile, views)
    seen, kept = dict[tuple[str, str], list[Pose]](), []
    for view in views:
        place = chain.between(view.joints, rig.camera(view.camera).link, rig.board(view.board).link)
        before = seen.setdefault((view.camera, view.board), [])
        if all(np.abs(other.change_to(place)).max() > SAME for other in before):
            kept.append(view)
            before.append(place)
    return kept


def first_guess(
    rig: Rig, views: Sequence[View], chain: Chain, known: dict[str, Pose]
) -> tuple[dict[str, Pose], dict[str, Pose]]:
    """Returns a guess of cameras and boards: pair by pair, those with most views first."""
    pairs: dict[tuple[str, str], list[tuple[Pose, Pose]]] = {}
    for view in views:
        camera, board = rig.camera(view.camera), rig.board(view.board)
        spot = locate(board.board, view.found, camera.model, f"view {view.name}")
        pairs.setdefault((view.camera, view.board), []).append(
            (chain.between(view.joints, camera.link, board.link), spot)
        )
    cameras, boards = dict(known), {board.name: board.known for board in rig.boards if board.known is not None}
    order = sorted(pairs, key=lambda pair: -len(pairs[pair]))
    turning = [pair for pair in order if not chain.rigid(rig.camera(pair[0]).link, rig.board(pair[1]).link)]
    left = [*turning, *(pair for pair in order if pair not in turning)]
    while left:
        # A pair one side of which is known needs no closed form; one on the same link, which has none, waits for that.
        # So does one whose views turn too little for it.
        near = (each for each in left if each[0] in cameras or each[1] in boards)
        told = (each for each in left if each in turning and turns_enough([one for one, _ in pairs[each]]))
        pair = next(near, None) or next(told, left[0])
        left.remove(pair)
        name, other = pair
        between = [one for one, _ in pairs[pair]]
        seen = [two for _, two in pairs[pair]]
        if name in cameras and other in boards:
            continue
        if name in cameras:
            boards[other] = _middle([b.inverse @ cameras[name] @ s for b, s in zip(between, seen, strict=True)])
        elif other in boards:
            cameras[name] = _middle([b @ boards[other] @ s.inverse for b, s in zip(between, seen, strict=True)])
        elif pair in turning:
            check_turns(between, f"camera {name} and board {other}")
            cameras[name], boards[other] = guess(between, seen)
    lacking = [f"camera {each.name}" for each in rig.cameras if each.name not in cameras]
    lacking += [f"board {each.name}" for each in rig.boards if each.name not in boards]
    for eye, seen_board in pairs:
        if eye not in cameras and (eye, seen_board) not in turning:
            raise CalibrationError(
                f"camera {eye} is on {rig.camera(eye).link} and board {seen_board} on {rig.board(seen_board).link}, "
                "which no joint moves against each other: look at `link` of both, or have one of them move"
            )
    if lacking:
        raise CalibrationError(
            f"{lacking[0]} is in no view that tells where it is: take some, or leave it out of the rig"
        )
    return cameras, boards


def _middle(poses: list[Pose]) -> Pose:
    """Returns the one of the poses that is nearest to all others: up to half of them may be wrong."""
    away = [
        sum(
            float(np.abs(one.change_to(other)) @ np.repeat([1.0, 0.3], 3))
            for other in poses[:: max(1, len(poses) // 20)]
        )
        for one in poses
    ]
    return poses[int(np.argmin(away))]


def _without_unseen(state: RigState, sigma: float) -> tuple[RigState, dict[str, str]]:
    """Returns the state without the zeros that neither views nor anything else tells, worst first, and why not."""
    held = dict[str, str]()
    while asked := [joint for joint in state.rig.joints if joint not in state.rig.known.joints]:
        _, jacobian = state.linearise()
        design = jacobian.reshape(-1, state.size) / sigma
        _, known = state.prior()
        information = design.T @ design + known.T @ known
        deviations = np.sqrt(np.maximum(np.diag(invert(information)), 0.0))
        places = state.places()
        spread = {joint: float(deviations[places["joint", joint]][0]) for joint in asked}
        worst = max(spread, key=lambda joint: spread[joint])
        if spread[worst] < MAX_ZERO_RAD:
            break
        held[worst] = _twin(state, design, known, places[("joint", worst)].start)
        rest = tuple(joint for joint in state.rig.joints if joint != worst)
        state = replace(state, rig=replace(state.rig, joints=rest))
    return state, held


def _twin(state: RigState, design: Array, known: Array, column: int) -> str:
    """Returns what looks the same in the views as a joint's zero, in words."""
    rows = np.concatenate([design, known])
    if not rows[:, column].any():
        return "it moves neither a camera nor a board of these views"
    others = [k for k in range(rows.shape[1]) if k != column]
    norms = np.maximum(np.linalg.norm(rows, axis=0), 1e-12)
    weights = np.linalg.lstsq(rows[:, others] / norms[others], rows[:, column] / norms[column], rcond=1e-10)[0]
    strength = dict.fromkeys(state.places(), 0.0)
    for (kind, name), place in state.places().items():
        chosen = [k for k, other in enumerate(others) if place.start <= other < place.stop]
        strength[kind, name] = float(np.linalg.norm(weights[chosen])) if chosen else 0.0
    names = {
        "camera": "where camera {} is",
        "board": "where board {} is",
        "joint": "the zero of {}",
        "model": "the lens of {}",
    }
    kind, name = max(strength, key=lambda key: strength[key])
    return f"in these views it looks the same as {names[kind].format(name)}"
