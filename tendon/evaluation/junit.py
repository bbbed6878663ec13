"""Episodes as JUnit XML, which CI servers show as test cases (the format of Jenkins, GitLab and pytest)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from tendon.evaluation.episode import Episode
from tendon.evaluation.statistics import doubt_of, wilson

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One test case.

    Attributes:
        group: of cases, such as "tabletop.pick".
        name: of the case in it.
        time_s: simulated, of its episodes.
        problem: why it failed, in a line; empty when it did not.
        details: more of it.
    """

    group: str
    name: str
    time_s: float
    problem: str = ""
    details: str = ""


def episode_cases(suite: str, episodes: Sequence[Episode]) -> list[Case]:
    """Returns a case for each episode, by scene; it fails when the task was not done."""
    return [
        Case(
            group=f"{suite}.{episode.family}",
            name=f"{episode.seed}: {episode.instruction}",
            time_s=episode.duration_s,
            problem="" if episode.success else episode.outcome,
            details="" if episode.success else _told(episode),
        )
        for episode in sorted(episodes, key=lambda episode: episode.seed)
    ]


def family_cases(suite: str, episodes: Sequence[Episode], at_least: float) -> list[Case]:
    """Returns a case for each family, and one for all episodes.

    All fail unless they show a success rate of at least so much (95 % Wilson); a family fails only when it shows less,
    as its episodes are few.

    Raises:
        ConfigError: `at_least` is not between 0 and 1.
    """
    families = sorted({episode.family for episode in episodes})
    groups = [(name, [each for each in episodes if each.family == name]) for name in families]
    return [
        *(_rate_case(suite, name, group, at_least, few=True) for name, group in groups),
        _rate_case(suite, "all", episodes, at_least, few=False),
    ]


def junit_xml(name: str, cases: Sequence[Case], properties: Mapping[str, object]) -> str:
    """Returns the file's text.

    Args:
        name: of the whole.
        cases: in it.
        properties: what else a reader may want to know, such as the policy's digest.
    """
    failures = sum(bool(case.problem) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    time = {"time": f"{sum(case.time_s for case in cases):.3f}"}
    root = ElementTree.Element("testsuites", {"name": _text(name), **counts, **time})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(name), **counts, "skipped": "0", **time})
    told = ElementTree.SubElement(suite, "properties")
    for key, value in properties.items():
        ElementTree.SubElement(told, "property", {"name": _text(key), "value": _text(str(value))})
    for case in cases:
        attributes = {"classname": _text(case.group), "name": _text(case.name), "time": f"{case.time_s:.3f}"}
        element = ElementTree.SubElement(suite, "testcase", attributes)
        if case.problem:
            failure = ElementTree.SubElement(element, "failure", {"message": _text(case.problem), "type": "failure"})
            failure.text = _text(case.details)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _rate_case(suite: str, name: str, episodes: Sequence[Episode], at_least: float, *, few: bool) -> Case:
    success = wilson(sum(episode.success for episode in episodes), len(episodes))
    doubt = doubt_of(success, at_least)
    return Case(
        group=suite,
        name=name,
        time_s=sum(episode.duration_s for episode in episodes),
        problem="" if few and success.upper >= at_least else doubt,
        details="\n".join(_lost(episodes)),
    )


def _lost(episodes: Sequence[Episode]) -> Iterator[str]:
    for episode in sorted(episodes, key=lambda episode: episode.seed):
        if not episode.success:
            yield _told(episode)


def _told(episode: Episode) -> str:
    return f"{episode.family}/{episode.seed} {episode.instruction!r}: {episode.outcome}"


def _text(text: str) -> str:
    return _NO_XML.sub("?", text)
