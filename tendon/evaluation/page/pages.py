"""The pages of evaluations, from what their JSON files hold: one run, two compared, axes one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tendon.evaluation.page import charts
from tendon.evaluation.page.document import Document
from tendon.evaluation.paired import ALPHA, compare_families
from tendon.evaluation.statistics import Proportion

Found = Mapping[str, Any]
Films = Sequence[tuple[bytes, str]]
LISTED = 60
"""Failures that a page lists; the JSON file has all."""


def run_page(found: Found, films: Films = ()) -> str:
    """Returns the page of `tendon eval run`."""
    episodes, success = found["episodes"], found["summary"]["success"]
    document = Document(f"Evaluation of {found['policy']}", f"{_rate(success)} succeeded. {_where(found)}")
    _warn(document, found)
    groups = {**found["summary"]["families"], "all": success}
    document.heading("Success")
    document.plot(charts.rates(list(groups), {"success": [_proportion(each) for each in groups.values()]}), "by family")
    document.table(("family", "success, 95 % Wilson"), [(name, _rate(each)) for name, each in groups.items()])
    summary = found["summary"]
    document.table(
        ("median time to success [s]", "commanded acceleration / limit", "rms jerk [rad/s^3]", "without target"),
        [
            (
                summary["median_duration_s"] if summary["median_duration_s"] is not None else "",
                summary["peak_acceleration"],
                summary["mean_rms_jerk"],
                f"{100 * summary['mean_stopped_share']:.1f} % of ticks",
            )
        ],
    )
    _failures(document, [(f"{each['seed']}", each) for each in episodes if not each["success"]], films)
    _origin(document, found)
    return str(document)


def compare_page(found: Found, films: Films = ()) -> str:
    """Returns the page of `tendon eval compare` and `tendon eval live`."""
    pairs, names = found["episodes"], found["policies"]
    document = Document(f"{names['A']} against {names['B']}", " ".join(found["verdict"][:1]))
    _warn(document, found)
    document.say(f"A is {names['A']}, B is {names['B']}. {_where(found)}")
    groups = compare_families((pair["a"]["family"], pair["a"]["success"], pair["b"]["success"]) for pair in pairs)
    bars = {"A": [each.first for each in groups.values()], "B": [each.second for each in groups.values()]}
    document.heading("Success")
    document.plot(charts.rates(list(groups), bars), "by family, A beside B")
    document.table(
        ("family", "A", "B", "B - A", "p (McNemar)"),
        [(name, str(each.first), str(each.second), str(each.change), each.p_value) for name, each in groups.items()],
    )
    document.say(
        "Intervals and McNemar's exact p are for a number of scenes that was fixed beforehand, and do not hold where "
        "one looked and ended early (--until-shown). The p at any time holds whenever one looks: bets against the two "
        "being equal (Ville 1939; Ramdas et al. 2023).",
        "note",
    )
    document.plot(charts.evidence(found["p_values"], ALPHA), "p at any time, scene by scene")
    lost = [(f"{pair['a']['seed']} {side.upper()}", pair[side]) for pair in pairs for side in ("a", "b")]
    _failures(document, [(name, episode) for name, episode in lost if not episode["success"]], films)
    _origin(document, found)
    return str(document)


def axes_page(found: Found) -> str:
    """Returns the page of `tendon eval axes`."""
    nominal = _proportion(found["nominal"])
    document = Document(
        f"{found['policy']} along {len(found['axes'])} axes", f"{nominal} without any perturbation. {_where(found)}"
    )
    _warn(document, found)
    document.say("Each axis alone, on the same scenes; the band is success without any, with its interval.")
    axes = {
        name: {float(strength): _proportion(cell["success"]) for strength, cell in cells.items()}
        for name, cells in found["axes"].items()
    }
    document.plot(charts.by_strength(axes, nominal), "success along the strength of each axis")
    rows = [
        (name, float(strength), _rate(cell["success"]), cell["difference"], cell["p"])
        for name, cells in found["axes"].items()
        for strength, cell in cells.items()
    ]
    document.table(("axis", "strength", "success, 95 % Wilson", "difference, paired", "p (McNemar)"), rows)
    _origin(document, found)
    return str(document)


def _failures(document: Document, failed: Sequence[tuple[str, Found]], films: Films) -> None:
    document.heading(f"Failures: {len(failed)}")
    if not failed:
        document.say("None.")
        return
    document.plot(charts.progress([each["progress"] for _, each in failed]), "progress of failed episodes")
    if films:
        document.say("Seen by the robot's first camera, at twice the speed.", "note")
        document.films(films)
    rows = [
        (name, each["family"], each["instruction"], f"{100 * each['progress']:.0f} %", _outcome(each))
        for name, each in failed[:LISTED]
    ]
    document.table(("scene", "family", "instruction", "done", "ended"), rows)
    if len(failed) > LISTED:
        document.say(f"and {len(failed) - LISTED} more, see the JSON file", "note")


def _outcome(episode: Found) -> str:
    return f"stopped: {episode['stop']}" if episode["stop"] else f"not done within {episode['duration_s']:.1f} s"


def _warn(document: Document, found: Found) -> None:
    if found["ended_early"]:
        document.say(f"Not all episodes were run, {found['ended_early']}", "warning")


def _where(found: Found) -> str:
    return f"{found['described']}."


def _origin(document: Document, found: Found) -> None:
    made = found["origin"]
    document.heading("Where this comes from")
    machine = made["machine"]
    document.facts(
        {
            "command": made["command"],
            "date": made["date"],
            "machine": f"{machine['cores']} x {machine['processor']}, {machine['memory_gib']} GiB",
            "system": machine["platform"],
            "versions": ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
            **{f"SHA-256 of {name}": digest for name, digest in made["sha256"].items()},
        }
    )
    document.say("The JSON file beside this page holds every episode.", "note")


def _proportion(plain: Found) -> Proportion:
    return Proportion(**plain)


def _rate(plain: Found) -> str:
    return str(_proportion(plain))
