"""Writes the pages of `docs/results` from rows and claims. The same rows give the same bytes."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.claims import CLAIMS, Page, Table, read_pages
from harness.pictures import draw
from harness.quotes import Rows, fill
from harness.rows import FOLDER, ROWS, Number, Row, RowError, Value, read_rows

HEAD = "<!-- Written by `make results` from docs/results/rows and docs/results/claims: edit those. -->\n"
MAX_LINES = 150
BUSY = "**busy**"
SIMULATED = "Times are simulated: other load on the machine cannot change them."
PICTURES = FOLDER.parent / "images" / "results"
SHOWN_STEAL = 0.01
"""A host that takes less than this share is not worth a word."""
MINUS_EXPONENTS = 1e-3
"""Smaller numbers are written with an exponent."""


def number_text(value: float) -> str:
    """Returns a number with three digits that count, and whole numbers whole."""
    size = abs(value)
    if isinstance(value, int) or size >= 100:
        return f"{value:.0f}"
    if size == 0:
        return "0"
    if size < MINUS_EXPONENTS:
        digits, _, exponent = f"{value:.1e}".partition("e")
        return f"{digits}e{int(exponent)}"
    return f"{value:.3g}" if size < 1 else f"{value:.2f}" if size < 10 else f"{value:.1f}"


def value_text(value: Value | None, unit: bool = True) -> str:
    """Returns what stands in a cell."""
    if value is None:
        return "-"
    if isinstance(value, Number):
        text = number_text(value.value)
        if value.lower is not None and value.upper is not None:
            text += f" [{number_text(value.lower)}, {number_text(value.upper)}]"
        return f"{text} {value.unit}" if unit and value.unit else text
    return str(value)


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _common_unit(rows: list[Row], name: str) -> str:
    units = {value.unit if isinstance(value, Number) else "" for row in rows if (value := row.values.get(name))}
    return units.pop() if len(units) == 1 else ""


def _table(header: list[str], body: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *body)]


def run_of(row: Row) -> str:
    """Returns what rows of one run share: command, day, code and machine."""
    machine = row.machine
    memory = f", {machine['memory_gib']:g} GiB" if "memory_gib" in machine else ""
    gpu = f", {machine['gpu']}" if machine.get("gpu") else ""
    python = machine.get("versions", {}).get("python")
    return (
        f"`{row.command}`, {row.date[:10]}, commit {row.commit}, "
        f"{machine['cores']} x {machine['processor']}{memory}{gpu}"
        f"{f', Python {python}' if python else ''}{', taken over from a page written by hand' if row.imported else ''}"
    )


def measured(run: str, rows: list[Row]) -> str:
    """Returns how the rows of a run were measured, with the most that others and the host took."""
    text = run
    if any(row.busy for row in rows):
        text += f", {BUSY} machine"
    known = [row.load for row in rows if row.load]
    if known:
        most = max(max(float(load["others_before"]), float(load["others_during"])) for load in known)
        text += f", others took up to {most:.2f} cores"
        if (steal := max(float(load["steal"]) for load in known)) >= SHOWN_STEAL:
            text += f", the host {100 * steal:.0f} %"
    return text


def table_lines(name: str, table: Table, every: Rows) -> list[str]:
    """Returns heading, text, table and how it was measured.

    Raises:
        RowError: rows of more runs than there are letters.
    """
    rows = every[name]
    lines = [f"## {table.title}", ""]
    text = fill(table.text.strip(), every, value_text)
    text += f"{' ' * bool(text)}{SIMULATED}" * table.simulated
    if text:
        lines += [text, ""]
    if not rows:
        return [*lines, "Not measured yet.", ""]
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(run_of(row), []).append(row)
    if len(runs) > len(string.ascii_lowercase):
        raise RowError(f"{name}: rows of {len(runs)} runs in one table; measure it anew in fewer")
    letters = dict(zip(runs, string.ascii_lowercase, strict=False))
    marks = len(runs) > 1 or any(row.busy for row in rows)
    notes = any(row.note for row in rows)
    cases, values = _names(row.case for row in rows), _names(row.values for row in rows)
    units = {value: _common_unit(rows, value) for value in values}
    header = [*cases, *(f"{value} [{units[value]}]" if units[value] else value for value in values)]
    header += ["run"] * marks + ["note"] * notes
    body = []
    for row in rows:
        cells = [row.case.get(case, "") for case in cases]
        cells += [value_text(row.values.get(value), unit=not units[value]) for value in values]
        cells += [f"{letters[run_of(row)]}{f', {BUSY}' * row.busy}"] * marks + [row.note] * notes
        body.append([cell.replace("|", "\\|") for cell in cells])
    said = [measured(run, group) for run, group in runs.items()]
    if marks:
        said = [f"- {letters[run]}: {text}" for run, text in zip(runs, said, strict=True)]
    return [*lines, *_table(header, body), "", *said, ""]


def page_text(name: str, page: Page, rows: Rows) -> str:
    """Returns a page.

    Args:
        name: of the page.
        page: its claim.
        rows: of every claim.

    Raises:
        RowError: it is too long to be read, or quotes a row that is not there.
    """
    lines = [HEAD, f"# {page.title}", "", fill(page.claim.strip(), rows, value_text), ""]
    if page.picture:
        lines += [f"![{page.title}](../images/results/{page.picture}.png)", ""]
    if page.text:
        lines += [fill(page.text.strip(), rows, value_text), ""]
    for key, table in page.tables.items():
        lines += table_lines(f"{name}/{key}", table, rows)
    text = "\n".join(lines).rstrip() + "\n"
    if (count := len(text.splitlines())) > MAX_LINES:
        raise RowError(
            f"page {name} has {count} lines, at most {MAX_LINES} are read: move a table to a page of its own"
        )
    return text


def index_text(pages: Mapping[str, Page], rows: Rows) -> str:
    """Returns the index: a line a page."""
    body = []
    for name, page in pages.items():
        all_rows = [row for key in page.tables for row in rows[f"{name}/{key}"]]
        timed = [row for key, table in page.tables.items() if not table.simulated for row in rows[f"{name}/{key}"]]
        dates = sorted(row.date[:10] for row in all_rows)
        when = "not measured" if not dates else dates[-1] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        busy = sum(row.busy for row in timed)
        claim = fill(page.claim.strip(), rows, value_text).replace("|", "\\|")
        body.append([f"[{page.title}]({name}.md)", claim, when, f"{busy} of {len(timed)}" if busy else ""])
    return "\n".join(
        [
            HEAD,
            "# Results",
            "",
            "Each number with the command that prints it, its date, its machine and how busy that was. Rates have 95 %",
            'Wilson intervals. "Busy" rows were measured while others took more than 0.3 of a core, so their times are',
            "longer than on an idle machine. Rows in simulated time are not counted: load cannot change those.",
            "",
            "`bundles/tabletop` was trained further on 2026-11-27: rows before that day are of the policy before it.",
            "",
            *_table(["page", "claim", "measured", "busy rows"], body),
            "",
            "A benchmark writes its rows itself; `make results` writes these pages. Who adds a number: a table in",
            "`docs/results/claims/PAGE.yaml`, rows by `benchmarks/harness` (its first lines say how).",
            "",
        ]
    )


def read_all(pages: Mapping[str, Page], folder: Path = ROWS) -> Rows:
    """Returns the rows of every table by claim.

    Raises:
        RowError: a file of rows is damaged, or belongs to no table.
    """
    rows = {f"{name}/{key}": read_rows(f"{name}/{key}", folder) for name, page in pages.items() for key in page.tables}
    for path in sorted(folder.rglob("*.jsonl")):
        if (claim := path.relative_to(folder).with_suffix("").as_posix()) not in rows:
            raise RowError(f"{path}: no table {claim} in docs/results/claims; name it there or delete the file")
    return rows


def write_pages(
    out: Path = FOLDER, claims: Path = CLAIMS, folder: Path = ROWS, pictures: Path | None = None
) -> list[Path]:
    """Writes every page, the index and, where a folder for them is given, the pictures; returns the pages' paths.

    Raises:
        ConfigError: a claim or a row is wrong, rows have no table, or a sentence quotes a row that is not there.
    """
    pages = read_pages(claims)
    rows = read_all(pages, folder)
    texts = {f"{name}.md": page_text(name, page, rows) for name, page in pages.items()}
    texts["index.md"] = index_text(pages, rows)
    if pictures is not None:
        for page in pages.values():
            if page.picture:
                draw(page.picture, rows, pictures / f"{page.picture}.png")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in texts]
