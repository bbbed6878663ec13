"""The quality of a dataset as one HTML file: pictures inside, no network, no scripts."""

from __future__ import annotations

import base64
import html
import io
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from PIL import Image as Picture

from tendon.data.quality.curation import Verdict
from tendon.data.quality.measures import EpisodeQuality

MEASURES = {
    "seconds": ("length", "s", "{:.1f}"),
    "gaps": ("gaps", "", "{:d}"),
    "sync": ("off nominal time", "ms", "{:.1f}"),
    "repeated": ("repeated pictures", "share", "{:.2f}"),
    "frozen": ("frozen", "s", "{:.1f}"),
    "dark": ("dark", "share", "{:.2f}"),
    "jerk": ("jerk", "rad/s³", "{:.1f}"),
    "idle": ("idle", "share", "{:.2f}"),
    "path": ("path", "rad", "{:.1f}"),
    "divergence": ("action divergence", "s.d.", "{:.2f}"),
    "diversity": ("transition diversity", "s.d.", "{:.2f}"),
    "disagreement": ("policy's disagreement", "s.d.", "{:.2f}"),
    "otherwise": ("other instructions that fit better", "share", "{:.2f}"),
}
GENERATOR = "<meta name='generator' content='tendon data quality'>"
SHOWN_PX = 72
NOTE = (
    "Action divergence: how far what was done is from what was done in the nearest states of other episodes with the "
    "same instruction. Transition diversity: how differently the state goes on there. Policy's disagreement: how far "
    "what was done is from what the given policy would do. Red numbers: four robust standard deviations above the "
    "median."
)
LEFT_OUT = " Red rows are left out by the curation."
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#22272e;margin:2em auto;max-width:1300px;padding:0 1em}
h1{font-size:1.5em;margin-bottom:0}h2{font-size:1.1em;margin:1.6em 0 .4em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px}
th,td{padding:3px 9px;text-align:right;border-bottom:1px solid #e3e7eb}
th{font-weight:600;color:#57606a;vertical-align:bottom}
td.text,th.text{text-align:left}tr.left td{background:#fbeeee}
img{display:block}td img{display:inline-block;margin-right:2px}td.shots{white-space:nowrap}
.bad{color:#b3261e;font-weight:600}p.note{color:#57606a;max-width:60em}
"""


def write_report(
    title: str, episodes: Sequence[EpisodeQuality], verdicts: Sequence[Verdict], joints: Sequence[str]
) -> str:
    """Returns the page.

    Args:
        title: what it is of.
        episodes: what was measured.
        verdicts: on each of them, or none.
        joints: names of the state's columns.
    """
    frames, seconds = sum(each.frames for each in episodes), sum(each.seconds for each in episodes)
    tasks, outcomes = Counter(each.task for each in episodes), Counter(each.outcome or "?" for each in episodes)
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{len(episodes)} episodes, {frames} frames, {seconds:.0f} s; "
        f"{', '.join(f'{count} {html.escape(name)}' for name, count in outcomes.most_common())}</p>",
        "<h2>Instructions</h2>",
        _table(
            ("episodes", "instruction"), [(str(n), html.escape(task) or "(none)") for task, n in tasks.most_common()]
        ),
        "<h2>Episodes</h2>",
        f"<p class=note>{NOTE}{LEFT_OUT if verdicts else ''}</p>",
        _episodes(episodes, {each.number: each for each in verdicts}),
        "<h2>Distributions</h2>",
        _image(_distributions(episodes)),
        "<h2>Where episodes start</h2>",
        _image(_starts(episodes, joints)),
    ]
    head = f"<meta charset='utf-8'>{GENERATOR}<title>{html.escape(title)}</title><style>{STYLE}</style>"
    return "\n".join([f"<!doctype html><html lang='en'>{head}", *parts, "</html>", ""])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table whose last column is text."""
    lines = [_row("th", heads), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(kind: str, cells: Sequence[str]) -> str:
    *numbers, text = cells
    return f"<tr>{''.join(f'<{kind}>{each}</{kind}>' for each in numbers)}<{kind} class=text>{text}</{kind}></tr>"


def _episodes(episodes: Sequence[EpisodeQuality], verdicts: dict[int, Verdict]) -> str:
    measures = _measured(episodes)
    heads = [
        "",
        "pictures",
        *(f"{name}<br>[{unit}]" if unit else name for name, unit, _ in measures.values()),
        "outcome",
    ]
    heads += ["score", "left out because"] if verdicts else []
    rows = []
    bounds = {name: _bound([getattr(each, name) for each in episodes]) for name in measures}
    for each in episodes:
        pictures = "".join(_thumbnail(picture) for picture in each.shown)
        cells = [f"<td>{each.number}</td>", f"<td class=shots>{pictures}</td>"]
        for name, (_, _, form) in measures.items():
            value = getattr(each, name)
            bad = value > bounds[name] and name != "diversity"
            text = form.format(value) if value == value else "-"
            cells.append(f"<td{' class=bad' if bad else ''}>{text}</td>")
        cells.append(f"<td class=text>{html.escape(each.outcome)}</td>")
        verdict = verdicts.get(each.number)
        if verdict is not None:
            cells += [f"<td>{verdict.score:.2f}</td>", f"<td class=text>{html.escape(verdict.why)}</td>"]
        rows.append(f"<tr{' class=left' if verdict is not None and not verdict.kept else ''}>{''.join(cells)}</tr>")
    head = "".join(f"<th>{each}</th>" for each in heads)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _measured(episodes: Sequence[EpisodeQuality]) -> dict[str, tuple[str, str, str]]:
    """Returns the measures that some episode has."""
    return {
        name: each
        for name, each in MEASURES.items()
        if any(getattr(one, name) == getattr(one, name) for one in episodes)
    }


def _bound(values: Sequence[float]) -> float:
    array = np.array([value for value in values if value == value], dtype=np.float64)
    if not len(array):
        return float("inf")
    middle = float(np.median(array))
    return middle + 4 * max(1.4826 * float(np.median(np.abs(array - middle))), 0.1 * abs(middle), 0.02)


def _thumbnail(pixels: npt.NDArray[np.uint8]) -> str:
    picture = Picture.fromarray(pixels)
    picture.thumbnail((SHOWN_PX, SHOWN_PX))
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=80)
    return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}">'


def _image(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'


def _distributions(episodes: Sequence[EpisodeQuality]) -> Figure:
    names = [name for name in _measured(episodes) if name not in ("gaps", "sync", "repeated", "frozen", "dark")]
    figure = Figure(figsize=(12.5, 2.4), facecolor="white", layout="constrained")
    for axis, name in zip(figure.subplots(1, len(names)), names, strict=True):
        values = [getattr(each, name) for each in episodes if getattr(each, name) == getattr(each, name)]
        axis.hist(values, bins=min(20, max(5, len(episodes) // 2)), color="#1f77b4")
        title, unit, _ = MEASURES[name]
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(unit, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _starts(episodes: Sequence[EpisodeQuality], joints: Sequence[str]) -> Figure:
    figure = Figure(figsize=(12.5, 2.8), facecolor="white", layout="constrained")
    axis = figure.subplots()
    starts = np.array([each.start for each in episodes])
    for k in range(starts.shape[1]):
        spread = np.linspace(-0.25, 0.25, len(starts)) if len(starts) > 1 else np.zeros(1)
        axis.plot(k + spread, starts[:, k], ".", color="#1f77b4", markersize=4)
    axis.set_xticks(range(len(joints)), joints, fontsize=8, rotation=15)
    axis.set_ylabel("first state [rad or m]", fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#e3e7eb")
    return figure
