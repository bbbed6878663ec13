"""A message of a megabyte of names is worth a line of words: nothing that the monitor keeps or says grows with it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from tendon.core.causes import Cause, Reason
from tendon.core.modes import PermissionState
from tendon.core.phrases import TEXT
from tendon.core.types import SentTrajectory
from tendon.robots.profile import load_profile
from tendon.safety import event_log
from tendon.safety.event_log import EventLog
from tendon.safety.latch import KEPT, LatchFile, LatchRecord
from tendon.safety.laws import CommandLaws, Delivery
from tendon.safety.monitor import position_slack
from tendon.safety.response import NODES, OTHERS, Finding, Requests, Response

PROFILE = load_profile("panda")
LONG = "\x01" * 1_000_000


def test_a_command_for_a_megabyte_of_names_is_refused_in_a_few_words() -> None:
    """Its reason of 4 MB was looked through at every check: no permission came for a second, 17 s long."""
    names = tuple(f"{k:03d}{LONG[:4000]}" for k in range(256))
    row = np.zeros((1, len(names)))
    command = SentTrajectory(stamp_ns=1, joint_names=names, times_ns=[0], position=row, velocity=row)
    breach = CommandLaws(PROFILE, PROFILE.controllers[0], position_slack(PROFILE)).check(command, Delivery())
    assert breach is not None and breach.law == "form" and len(breach.reason) <= TEXT
    assert "it is for 000\x01" in breach.reason


def test_a_finding_is_cut_when_it_is_made() -> None:
    found = Finding(source=LONG, response=Response.STOP, cause=Cause.NODE_REQUEST, reason=LONG)
    assert len(found.source) == len(found.reason) == TEXT


def test_requests_of_many_names_are_few_findings_and_none_of_them_is_lost() -> None:
    """Fifty nodes a second, each with a name of 120 kB, made a reason of megabytes."""
    requests = Requests(PROFILE.safety)
    for k in range(1000):
        response = Response.STOP if k == 500 else Response.SLOW
        requests.ask(f"{k}{LONG[:120_000]}", response, LONG, k)
    found = list(requests.findings(1000))
    assert len(found) == NODES + 1 and all(len(each.source) <= TEXT and len(each.reason) <= TEXT for each in found)
    assert [each.source for each in found if each.response is Response.STOP] == [OTHERS]


@pytest.mark.parametrize("text", ["a cause", LONG], ids=["short", "long"])
def test_a_latch_file_says_no_more_each_time_it_is_inherited(text: str, tmp_path: Path) -> None:
    """The file of an older monitor may hold 5 MB: one that started from it had gaps of half a second for good."""
    path = tmp_path / "latch.json"
    path.write_text(json.dumps({"state": "latched", "cause": "law", "reason": text}))
    said = []
    for _ in range(3):
        file = LatchFile(path)
        reason = file.inherited()
        assert reason is not None and reason.text.endswith(KEPT) and len(reason.text) <= TEXT
        said.append(reason)
        file.save(LatchRecord(state=PermissionState.LATCHED, reason=reason))
        file.close(5.0)
    assert said[0] == said[1] == said[2] and path.stat().st_size < 8 * TEXT
    assert said[0] == Reason(Cause.LAW, f"a cause{KEPT}") or text == LONG


def test_what_waits_for_a_disk_that_hangs_is_bounded_in_bytes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty lines took 242 MiB, of 4096 that may wait."""
    monkeypatch.setattr(event_log, "QUEUE_BYTES", 1 << 20)
    monkeypatch.setattr(EventLog, "_write_all", lambda self: time.sleep(0.01))
    log = EventLog(tmp_path, "panda-0", {})
    for _ in range(100):
        log.put("breach", reason="x" * 100_000, points=[[0.0] * 100, {"more": "y" * 50_000}])
    waiting = log._put_bytes - log._taken_bytes
    assert 0.8 * (1 << 20) < waiting <= 1 << 20 and log.lost == 100 - len(log._queue)
    log._queue.clear()
    log.close(5.0)
