"""A JUnit file says what CI servers read: the rules are those of Jenkins' schema (xunit-plugin, junit-10.xsd)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tendon.core.errors import ConfigError
from tendon.evaluation.episode import Episode
from tendon.evaluation.junit import Case, episode_cases, family_cases, junit_xml

ATTRIBUTES = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        {"name", "tests", "failures", "errors"},
    ),
    "properties": (set(), set()),
    "property": ({"name", "value"}, {"name", "value"}),
    "testcase": ({"name", "classname", "time"}, {"name"}),
    "failure": ({"message", "type"}, set()),
}
"""Of each element: the attributes that it may have, and those that it must."""
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure"},
}


def episode(
    seed: int, family: str = "pick", success: bool = True, stop: str = "", words: str = "pick it up"
) -> Episode:
    return Episode(
        seed=seed,
        family=family,
        instruction="pick it up",
        success=success,
        progress=float(success),
        duration_s=2.5 if success else 12.0,
        peak_acceleration=0.5,
        rms_jerk=1.0,
        peak_jump=0.0,
        stopped_share=0.0,
        stop=stop,
    )


def checked(text: str) -> ElementTree.Element:
    """Returns the root of a file in which every element is one that CI servers know, with counts that are right."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed, required = ATTRIBUTES[element.tag]
        assert required <= element.attrib.keys() <= allowed, element.tag
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        if "time" in element.attrib:
            assert re.fullmatch(r"\d+\.\d{3}", element.attrib["time"])
    for part in (root, *root.iter("testsuite")):
        assert int(part.attrib["tests"]) == len(list(part.iter("testcase")))
        assert int(part.attrib["failures"]) == len(list(part.iter("failure")))
    return root


def test_each_scene_is_a_case_and_a_failure_says_what_happened() -> None:
    episodes = [episode(100_002, success=False, stop="tracking: joint 2"), episode(100_001), episode(100_003, "push")]
    root = checked(junit_xml("eval", episode_cases("tabletop", episodes), {"bundle": "abc", "delay_ms": 0.0}))
    cases = list(root.iter("testcase"))
    assert [case.attrib["name"][:6] for case in cases] == ["100001", "100002", "100003"]
    assert [case.attrib["classname"] for case in cases] == ["tabletop.pick", "tabletop.pick", "tabletop.push"]
    assert [case.attrib["time"] for case in cases] == ["2.500", "12.000", "2.500"]
    (failure,) = root.iter("failure")
    assert failure.attrib["message"] == "stopped: tracking: joint 2"
    assert "pick/100002 'pick it up'" in (failure.text or "")
    assert {p.attrib["name"]: p.attrib["value"] for p in root.iter("property")} == {"bundle": "abc", "delay_ms": "0.0"}


def test_with_a_bound_each_family_is_a_case_and_all_must_show_it() -> None:
    """Four of four are too few to show 0.8, and no reason to fail a family."""
    good = [episode(100_000 + k) for k in range(4)]
    bad = [episode(100_010 + k, "push", success=False) for k in range(4)]
    names = {case.name: case.problem for case in family_cases("tabletop", [*good, *bad], 0.8)}
    assert list(names) == ["pick", "push", "all"]
    assert not names["pick"] and "less than 80 %" in names["push"] and names["all"]
    assert "too few" in family_cases("tabletop", good, 0.8)[-1].problem
    enough = [episode(100_000 + k) for k in range(20)]
    assert not any(case.problem for case in family_cases("tabletop", enough, 0.8))
    checked(junit_xml("eval", family_cases("tabletop", [*good, *bad], 0.8), {}))
    with pytest.raises(ConfigError, match="at_least is 2"):
        family_cases("tabletop", good, 2)


def test_words_with_quotes_brackets_and_what_xml_cannot_write_come_back() -> None:
    words = 'put "a" <b> & c\x00\x1b[1m\ud800 ü 机'
    root = checked(junit_xml(words, [Case(group=words, name=words, time_s=0.0, problem=words, details=words)], {}))
    (case,) = root.iter("testcase")
    assert case.attrib["name"] == 'put "a" <b> & c??[1m? ü 机'


def test_the_command_writes_it_and_its_exit_code_is_the_bounds(tmp_path: Path) -> None:
    """One episode of one scene cannot show 0.9."""
    command = [sys.executable, "-m", "tendon.cli", "eval", "run", "tabletop", "--seeds", "100004:100005"]
    files = ["--junit", str(tmp_path / "eval.xml"), "--out", str(tmp_path / "eval.json")]
    run = subprocess.run([*command, "--workers", "1", "--at-least", "0.9", *files], capture_output=True, text=True)
    assert run.returncode == 1 and "too few to tell whether that is at least 90 %" in run.stdout
    root = checked((tmp_path / "eval.xml").read_text(encoding="utf-8"))
    assert [case.attrib["name"] for case in root.iter("testcase")] == ["put_by", "all"]
    told = {p.attrib["name"]: p.attrib["value"] for p in root.iter("property")}
    assert told["bundle"] == json.loads((tmp_path / "eval.json").read_text())["bundle"]
    assert told["robot"] == "panda" and told["success"] == "100.0 % [20.7, 100.0] (1/1)"
