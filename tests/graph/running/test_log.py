"""What the nodes print is kept in a file and at hand; a disk that cannot take it stops nobody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tendon.graph.running.log import FILES, SUFFIX, GraphLog, parse


def test_lines_are_kept_in_the_file_and_at_hand(tmp_path: Path) -> None:
    log = GraphLog(tmp_path / "log", "panda-0")
    for k in range(3):
        log.write(f"  sim_node | line {k}\n")
        log.flush()
    log.close()
    assert log.path.read_text() == "".join(f"  sim_node | line {k}\n" for k in range(3))
    assert [(line.process, line.text) for line in log.last(2)] == [("sim_node", "line 1"), ("sim_node", "line 2")]
    assert log.last(0) == [] and log.problem == ""


@pytest.mark.parametrize(
    ("line", "process", "level", "text"),
    [
        (" policy_node | [WARN] [179.1] [policy_node]: waits", "policy_node", "warning", "waits"),
        ("control_node | [INFO] [179.1] [control_node]: armed", "control_node", "", "armed"),
        ("sim_node | [ERROR] [179.1] [ns.sim_node]: a | b", "sim_node", "error", "a | b"),
        ("sim_node | refused: no", "sim_node", "", "refused: no"),
        ("going home", "", "", "going home"),
    ],
)
def test_the_prefix_of_ros_is_taken_off(line: str, process: str, level: str, text: str) -> None:
    found = parse(line)
    assert (found.process, found.level, found.text) == (process, level, text)


def test_a_folder_that_cannot_be_made_costs_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    log = GraphLog(tmp_path / "state" / "log", "panda-0")
    log.write("sim_node | hello\n")
    log.flush()
    log.close()
    assert log.last(1)[0].text == "hello"
    assert "no log of what the nodes say" in log.problem and "Not a directory" in log.problem


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_named_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / f"panda-0{SUFFIX}").symlink_to("/dev/full")
    log = GraphLog(tmp_path, "panda-0")
    log.write("sim_node | hello\n")
    log.flush()
    assert "No space left on device" in log.problem
    log.write("sim_node | again\n")
    log.close()
    assert log.last(1)[0].text == "again"


def test_old_logs_are_removed(tmp_path: Path) -> None:
    for k in range(FILES + 5):
        old = tmp_path / f"run-{k:02d}{SUFFIX}"
        old.write_text("")
        os.utime(old, (k, k))
    (tmp_path / "event.jsonl").write_text("")
    GraphLog(tmp_path, "new").close()
    left = sorted(path.name for path in tmp_path.glob(f"*{SUFFIX}"))
    assert len(left) == FILES
    assert f"new{SUFFIX}" in left and f"run-20{SUFFIX}" in left and f"run-05{SUFFIX}" not in left
    assert (tmp_path / "event.jsonl").exists()
