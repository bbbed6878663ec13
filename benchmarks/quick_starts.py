"""Types the quick starts of README.md as they are written, in a clean clone, and says how long each line took.

The policy that a user would bring is an ACT of LeRobot's own size with random weights, saved by LeRobot. A graph that a
line starts stays until the next one, and then is ended by Ctrl-C. Every line must succeed. The third quick start needs
ROS 2 Jazzy and is not typed here: tests/packaging/test_colcon.py builds it.

Examples:
  python benchmarks/quick_starts.py
  python benchmarks/quick_starts.py --busy --rows /tmp/rows --folder /tmp/clone
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import harness
from harness import Number

from tendon.graph.domain import claim_domain

ROOT = Path(__file__).resolve().parents[1]
STARTS = {"Quick start: UR5e and an ACT of LeRobot": ("ur5e", "rad"), "Quick start: SO-101": ("so101", "deg")}
"""Section of README.md, its robot, and the unit in which its policy speaks of joints."""
READY = "READY"
PATIENCE_S, WATCHED_S = 600.0, 10.0


def typed_lines(readme: str, section: str) -> list[str]:
    """Returns the command lines of a section, without their comments."""
    text = readme.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [" ".join(line.split(" #", 1)[0].split()) for line in lines if line.strip()]


class Terminal:
    """Types lines in a folder. At most one graph runs, in the background.

    Args:
        folder: the clone.
        domain: ROS domain of its graphs.
    """

    def __init__(self, folder: Path, domain: int) -> None:
        self._folder = folder
        path = f"{folder / '.venv/bin'}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "ROS_DOMAIN_ID": str(domain)}
        self._graph: subprocess.Popen[bytes] | None = None
        self._log = folder / "graph.log"

    def type(self, line: str) -> float:
        """Returns how long a line took [s]; of a graph, until it is ready.

        Raises:
            SystemExit: it failed.
        """
        begin_s = time.monotonic()
        if line.startswith("tendon run"):
            self.end_graph()
            with self._log.open("wb") as log:
                self._graph = self._start(line, log)
            while READY not in self._log.read_text(errors="replace"):
                if self._graph.poll() is not None or time.monotonic() - begin_s > PATIENCE_S:
                    raise SystemExit(f"{line}: not ready\n{self._log.read_text(errors='replace')}")
                time.sleep(0.1)
        elif line == "tendon view live":
            shown = self._start(line + ("" if "DISPLAY" in os.environ else " --save live.rrd"), None)
            time.sleep(WATCHED_S)
            os.killpg(shown.pid, signal.SIGINT)
            self._check(line, shown.wait(PATIENCE_S))
        else:
            self._check(line, self._start(line, None).wait(PATIENCE_S))
        return time.monotonic() - begin_s

    def end_graph(self) -> None:
        """Presses Ctrl-C in the terminal of the graph, if there is one."""
        if self._graph is not None:
            os.killpg(self._graph.pid, signal.SIGINT)
            self._check("Ctrl-C", self._graph.wait(PATIENCE_S))
            self._graph = None

    def _start(self, line: str, output: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # type: ignore[call-overload]
            ["bash", "-c", f"exec {line}"],
            cwd=self._folder,
            env=self._environment,
            stdout=output,
            stderr=output and subprocess.STDOUT,
            start_new_session=True,
        )

    @staticmethod
    def _check(line: str, code: int) -> None:
        if code:
            raise SystemExit(f"{line}: exit code {code}")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of the clone; by default a new one, which is deleted")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "quick-starts/lines")
    with tempfile.TemporaryDirectory() as temporary:
        clone = args.folder or Path(temporary) / "tendon"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        domain, claim = claim_domain()
        with claim:
            for section, (robot, unit) in STARTS.items():
                terminal = Terminal(clone, domain)
                try:
                    _type_all(bench, terminal, clone, section, robot, unit)
                finally:
                    terminal.end_graph()


def _type_all(bench: harness.Bench, terminal: Terminal, clone: Path, section: str, robot: str, unit: str) -> None:
    for line in typed_lines((clone / "README.md").read_text(), section):
        if line.startswith("tendon policy import"):
            for folder in ("pretrained_model", "bundles/mine"):
                subprocess.run(["rm", "-rf", folder], cwd=clone, check=True)
            python = str(clone / ".venv/bin/python")
            writer = ROOT / "benchmarks" / "networks" / "random_act.py"
            subprocess.run([python, str(writer), robot, "pretrained_model", "--unit", unit], cwd=clone, check=True)
        took_s = terminal.type(line)
        bench.add({"quick start": robot, "typed": line}, {"took": Number(round(took_s, 1), "s")})
        print(f"{took_s:7.1f} s  {line}", flush=True)


if __name__ == "__main__":
    main()
