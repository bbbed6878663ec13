"""A calibration as a page: what was found, how sure, whether it is good and what to do if not. Needs no network."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tendon.calibration.results.drawing import bars, coverage, scatter, with_corners
from tendon.calibration.rig.diagnosis import diagnose, zeros_too_far
from tendon.calibration.rig.solve import RigCalibration
from tendon.calibration.words import GOOD_DEG, GOOD_MM, describe_place, within
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file, set_aside
from tendon.core.types import Array

PICTURES = 6
TOLD_SHARE = 0.5
"""Of how surely a kept zero is known: views that would know it better than that tell it."""
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#22313f;
max-width:1100px;margin:2rem auto;padding:0 1rem;background:#fafbfc}
h1{font-size:1.6rem;margin-bottom:.2rem} h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid #c9d1d9}
.verdict{padding:.8rem 1rem;border-radius:8px;color:white;font-weight:600}
.good{background:#0f766e} .bad{background:#c2410c}
table{border-collapse:collapse} td,th{padding:.25rem .8rem;border-bottom:1px solid #dde3e9;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}
figure{display:inline-block;margin:.5rem 1rem .5rem 0;vertical-align:top} figcaption{font-size:.8rem;color:#57677a}
img{width:340px;border:1px solid #c9d1d9;margin:.2rem}
"""


def sentences(found: RigCalibration) -> list[str]:
    """Returns what was found and how sure, in words."""
    state = found.state
    said = [
        describe_place(f"camera {camera.name}", camera.link, found.covariance("camera", camera.name))
        for camera in state.rig.cameras
    ]
    for joint in state.rig.joints:
        zero, spread = found.zero(joint)
        kept = "; it was known before and is kept" if joint in state.rig.known.kept else ""
        said.append(
            f"joint {joint} is said to be {math.degrees(zero):+.3f} deg larger than it is, within "
            f"{1.96 * math.degrees(spread):.3f} deg (95 %){kept}"
        )
    said += [f"the zero of {joint} was left as it is: {why}" for joint, why in found.held.items()]
    counted, groups = found.fit.kept, state.groups
    alone = [view.name for k, view in enumerate(state.views) if not counted[groups == k].any()]
    if alone:
        said.append(
            f"no corner of {', '.join(alone)} fits the others, so it does not count: look at picture and joints"
        )
    said.append(
        f"{int(counted.sum())} of {len(counted)} corners count; a corner's column or row is off by "
        f"{found.fit.sigma_px:.3f} px, and the "
        f"robot's joints by {math.degrees(found.fit.shared_rad):.4f} deg from view to view (standard deviations)"
    )
    return said


def faults(found: RigCalibration) -> list[str]:
    """Returns what is wrong with a calibration, each with the fix; nothing where it is good."""
    wrong = [*zeros_too_far(found), *found.contradicted, *diagnose(found)]
    for camera in found.state.rig.cameras:
        covariance = found.covariance("camera", camera.name)
        if _good(covariance):
            continue
        of_views, worst = _share_of_zeros(found, camera.name)
        if worst is None or not _good(of_views):
            wrong.append(f"{_known(camera.name, covariance)}: take more views, nearer to the board, turned further")
        elif found.told[worst] < TOLD_SHARE * found.zero(worst)[1]:
            wrong.append(
                f"{_known(camera.name, covariance)}: most of that is the zero of {worst}, which is kept and known "
                f"within {1.96 * found.zero(worst)[1]:.5f} (rad or m): put {worst} under `joints` of the session"
            )
    return wrong


def reservations(found: RigCalibration) -> list[str]:
    """Returns what a good calibration is in doubt of, because of a zero that was kept and that no view tells.

    No other view would mend that, and where a camera sees things is as exact as the views: camera and zero are off
    together.
    """
    said = []
    for camera in found.state.rig.cameras:
        covariance = found.covariance("camera", camera.name)
        of_views, worst = (covariance, None) if _good(covariance) else _share_of_zeros(found, camera.name)
        if worst is not None and _good(of_views) and found.told[worst] >= TOLD_SHARE * found.zero(worst)[1]:
            said.append(
                f"{_known(camera.name, covariance)}: most of that is the zero of {worst}, which is kept, known within "
                f"{1.96 * found.zero(worst)[1]:.5f} (rad or m), and told by no view; nothing is wrong with the views: "
                f"to know it better, measure that zero more exactly (`tendon calibrate joint`) and solve again"
            )
    return said


def _good(covariance: Array) -> bool:
    mm, deg = within(covariance)
    return mm <= 2 * GOOD_MM and deg <= 2 * GOOD_DEG


def _known(camera: str, covariance: Array) -> str:
    mm, deg = within(covariance)
    good = f"good is {GOOD_MM:g} and {GOOD_DEG:g}"
    return f"camera {camera} is known within {mm:.1f} mm and {deg:.2f} deg only (95 %), {good}"


def _share_of_zeros(found: RigCalibration, camera: str) -> tuple[Array, str | None]:
    """Returns the covariance of a camera's place by views alone, and which kept zero, if any, is most of its doubt."""
    state, covariance, kept = found.state, found.fit.covariance, found.state.rig.known.kept
    places = state.places()
    spot, columns = places["camera", camera], [places["joint", joint].start for joint in kept]
    if not kept:
        return covariance[spot, spot], None
    sensitivity = covariance[spot][:, columns] @ np.linalg.inv(covariance[np.ix_(columns, columns)])
    of_views = covariance[spot, spot] - sensitivity @ covariance[columns][:, spot]
    spread = np.sqrt(np.diag(covariance)[columns])
    for block in (slice(0, 3), slice(3, 6)):
        if np.trace(of_views[block, block]) < 0.5 * np.trace(covariance[spot, spot][block, block]):
            return of_views, kept[int(np.argmax(np.linalg.norm(sensitivity[block], axis=0) * spread))]
    return of_views, None


def write_report(
    found: RigCalibration,
    wrong: Sequence[str],
    file: Path,
    pixels_of: Callable[[str], npt.NDArray[np.uint8]] | None = None,
    notes: Sequence[str] = (),
) -> Path | None:
    """Writes the page. A file that was there is kept beside it; returns where, `None` without one.

    Args:
        found: the calibration.
        wrong: with it, see `faults`.
        file: to write.
        pixels_of: returns the picture of a view by its name; a few are shown, the worst first.
        notes: further sentences, such as of latencies.

    Raises:
        ConfigError: it cannot be written.
    """
    state, fit = found.state, found.fit
    parts = [f"<h1>Calibration of {html.escape(state.rig.profile.name)}</h1>"]
    said = "Not to be used: " + "; ".join(wrong) + "." if wrong else "Good: use it."
    parts.append(f'<p class="verdict {"bad" if wrong else "good"}">{html.escape(said)}</p>')
    parts.append("<h2>What was found, and how sure</h2><ul>")
    parts += [f"<li>{html.escape(text)}.</li>" for text in (*sentences(found), *notes)]
    parts.append(
        "</ul><table><tr><th></th><th>link</th><th>x, y, z [mm]</th><th>rotation x, y, z, w</th><th>95 % "
        "[mm]</th><th>95 % [deg]</th></tr>"
    )
    for kind, items, places in (
        ("camera", state.rig.cameras, state.cameras),
        ("board", state.rig.boards, state.boards),
    ):
        for item in items:
            place, (mm, deg) = places[item.name], within(found.covariance(kind, item.name))
            where = ", ".join(f"{1000 * value:.2f}" for value in place.translation)
            turn = ", ".join(f"{value:.4f}" for value in place.quaternion)
            parts.append(
                f"<tr><td>{kind} {html.escape(item.name)}</td><td>{html.escape(item.link)}</td><td class=n>{where}</td>"
                f"<td class=n>{turn}</td><td class=n>{mm:.2f}</td><td class=n>{deg:.3f}</td></tr>"
            )
    parts.append("</table><h2>Residuals</h2>")
    groups, owners = state.groups, np.array([view.camera for view in state.views])
    rms = np.array(fit.view_rms_px())
    for camera in state.rig.cameras:
        mine = owners[groups] == camera.name
        views = [view for view in state.views if view.camera == camera.name]
        if not views:
            continue
        parts.append(f"<h3>camera {html.escape(camera.name)}</h3>")
        parts.append(scatter(fit.residuals[mine], fit.kept[mine], max(fit.sigma_px, 0.05)))
        parts.append(bars(rms[owners == camera.name].tolist(), [view.name for view in views], "px"))
        parts.append(coverage([view.found for view in views]))
    if pixels_of is not None:
        parts.append("<h2>Views, the worst first</h2><div>")
        for k in np.argsort(-np.nan_to_num(rms))[:PICTURES].tolist():
            view = state.views[k]
            shown = with_corners(pixels_of(view.name), view.found, fit.kept[groups == k])
            text = f"{view.name}: camera {view.camera}, board {view.board}, {rms[k]:.2f} px"
            parts.append(f"<figure>{shown}<figcaption>{html.escape(text)}</figcaption></figure>")
        parts.append("</div>")
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Calibration</title><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )
    try:
        kept = set_aside(file)
        replace_file(file, page.encode())
    except OSError as error:
        raise ConfigError(f"report {file} cannot be written: {error.strerror}; choose another place") from error
    return kept
