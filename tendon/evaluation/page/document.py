"""One HTML file that holds all it shows."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Mapping, Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure

GENERATOR = '<meta name="generator" content="tendon eval">'
"""By which such a page is known."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22272e; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.lead { font-size: 1.15rem; margin: .2rem 0 1rem } p { max-width: 48rem }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .28rem .8rem; text-align: left; border-bottom: 1px solid #e3e7eb; vertical-align: top }
th { font-weight: 600; background: #f5f7f9 } td.number, th.number { text-align: right }
.films { display: flex; flex-wrap: wrap; gap: 1rem } figure { margin: 0; width: 18.5rem }
figcaption { font-size: .85rem; color: #59636e } video { width: 100%; border-radius: 4px; background: #000 }
svg { max-width: 100%; height: auto } code, .mono { font: 13px ui-monospace, monospace; overflow-wrap: anywhere }
.note { color: #59636e; font-size: .9rem } .warning { background: #fff3d6; padding: .5rem .8rem; border-radius: 4px }
"""


class Document:
    """Takes its parts in the order in which they are shown; all text is escaped.

    Args:
        title: of the page.
        lead: what it says in a sentence.
    """

    def __init__(self, title: str, lead: str) -> None:
        self._title = title
        self._parts = [f"<h1>{_text(title)}</h1>", f'<p class="lead">{_text(lead)}</p>']

    def heading(self, words: str) -> None:
        """Begins a section."""
        self._parts.append(f"<h2>{_text(words)}</h2>")

    def say(self, words: str, kind: str = "") -> None:
        """Adds a paragraph: a "note", a "warning", or a plain one."""
        self._parts.append(f'<p class="{kind}">{_text(words)}</p>' if kind else f"<p>{_text(words)}</p>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Adds a table; columns of numbers are set to the right."""
        right = [all(isinstance(row[k], int | float) for row in rows) and bool(rows) for k in range(len(header))]
        marks = [' class="number"' if each else "" for each in right]
        head = "".join(f"<th{mark}>{_text(name)}</th>" for name, mark in zip(header, marks, strict=True))
        body = "".join(
            "<tr>"
            + "".join(f"<td{mark}>{_shown(value)}</td>" for value, mark in zip(row, marks, strict=True))
            + "</tr>"
            for row in rows
        )
        self._parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def facts(self, facts: Mapping[str, object]) -> None:
        """Adds names with their values."""
        rows = "".join(
            f'<tr><th>{_text(name)}</th><td class="mono">{_shown(value)}</td></tr>' for name, value in facts.items()
        )
        self._parts.append(f"<table><tbody>{rows}</tbody></table>")

    def plot(self, figure: Figure, described: str) -> None:
        """Adds a plot, drawn where it is looked at; `described` is what it shows, for who cannot see it."""
        file = io.StringIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tendon", "font.family": "sans-serif"}):
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        picture = file.getvalue()
        drawn = picture[picture.index("<svg") :]
        number = len(self._parts)
        drawn = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>p{number}-", drawn)  # two plots in a page have the same ids
        label = f'<svg role="img" aria-label="{_text(described)}"'
        self._parts.append(drawn.replace("<svg", label, 1))

    def films(self, films: Sequence[tuple[bytes, str]]) -> None:
        """Adds videos (MP4) with a caption each."""
        shown = "".join(
            f'<figure><video controls muted loop playsinline preload="metadata" '
            f'src="data:video/mp4;base64,{base64.b64encode(film).decode()}"></video>'
            f"<figcaption>{_text(caption)}</figcaption></figure>"
            for film, caption in films
        )
        self._parts.append(f'<div class="films">{shown}</div>')

    def __str__(self) -> str:
        """Returns the file's text."""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(self._title)}</title>'
            f'{GENERATOR}<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body>\n'
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )


def _text(words: str) -> str:
    return html.escape(words)


def _shown(value: object) -> str:
    return _text(f"{value:.3g}" if isinstance(value, float) else str(value))
