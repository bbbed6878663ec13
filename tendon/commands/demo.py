"""Show it all: the simulated robot does what it is told through the real graph; leaves a video, plot and summary.

Examples:
  tendon demo
  tendon demo --gui
  tendon demo --seed 101414 --bundle bundles/tabletop --out outputs/another
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tendon.control.latch_file import STATE_VARIABLE
from tendon.core.errors import ConfigError
from tendon.core.profile import load_profile
from tendon.graph.description import describe, find_bundle
from tendon.graph.domain import domain_id, free_domain, in_use
from tendon.ros2_nodes.runtime import clean_shared_memory, prepare_process, require_ros

if TYPE_CHECKING:
    from tendon.evaluation.recording import Recording
    from tendon.policies.bundle import Bundle
    from tendon.sim.scene import Scene

ROBOT = "panda"
BUNDLE = "bundles/tabletop"
SEED = 100779
FIRST_SEED, END_SEED = 100_000, 200_000
OUT = Path("outputs/demo")
LIMIT_S = 15.0
LOG_LINES = 15
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    seeds = f"{FIRST_SEED}-{END_SEED - 1}"
    parser.add_argument("--bundle", default=BUNDLE, help="folder of the policy (%(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"the scene, {seeds} (%(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for what it leaves behind (%(default)s)")
    parser.add_argument("--gui", action="store_true", help="open PyBullet's window")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="longest time for one task (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Runs the demo.

    Returns:
        0 when every instruction went as it should, 1 when one did not, 130 after Ctrl-C.

    Raises:
        ConfigError: an option is wrong, there is no such bundle, or the ROS domain is in use.
        MissingDependencyError: ROS is not installed.
    """
    require_ros()
    if not FIRST_SEED <= args.seed < END_SEED:
        raise ConfigError(f"--seed is {args.seed}: the demo is shown in validation scenes, {FIRST_SEED}-{END_SEED - 1}")
    if args.gui and not os.environ.get("DISPLAY"):
        raise ConfigError("--gui needs a display, and DISPLAY is not set: leave --gui out, or run where there is one")
    from tendon.evaluation.live import Display
    from tendon.evaluation.story import FAMILY, tell_story
    from tendon.policies.bundle import load_bundle
    from tendon.ros2_nodes.demo_performance import perform
    from tendon.sim.scene import sample_scene

    bundle = load_bundle(find_bundle(args.bundle))
    scene = sample_scene(args.seed, FAMILY)
    story = tell_story(scene)
    given = {"robot": ROBOT, "policy": str(bundle.folder), "scene": str(args.seed), "family": FAMILY}
    graph = describe({**given, "gui": str(args.gui).lower()})
    _choose_domain()
    os.environ.update(graph.environment)
    prepare_process()
    clean_shared_memory()
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(args.out / "state", ignore_errors=True)  # a demo begins anew, whatever stopped the last one
    os.environ[STATE_VARIABLE] = str((args.out / "state").resolve())
    log_file = args.out / "graph.log"
    console = Console()
    title = f"Tendon demo · {ROBOT} · scene {args.seed} · policy {bundle.manifest.name}"
    with log_file.open("w", encoding="utf-8") as log, Display(title, console) as display:
        performance = perform(graph, load_profile(ROBOT), story, args.limit_s, log, display.show)
    if performance.problem or performance.recording is None:
        tail = log_file.read_text(encoding="utf-8").splitlines()[-LOG_LINES:]
        console.print("\n".join(tail), markup=False, highlight=False, style="dim", soft_wrap=True)
        console.print(f"DEMO FAILED: {performance.problem} (all that the nodes said: {log_file})", style="bold red")
        return INTERRUPTED if performance.interrupted else 1
    return _leave_behind(performance.recording, scene, bundle, args.out, console)


def _choose_domain() -> None:
    """Takes a ROS domain of its own, unless the user has set one, which must be free."""
    if "ROS_DOMAIN_ID" not in os.environ:
        os.environ["ROS_DOMAIN_ID"] = str(free_domain())
    elif in_use(domain_id()):
        raise ConfigError(
            f"ROS domain {domain_id()} is busy: unset ROS_DOMAIN_ID and the demo takes a free one, "
            f"or set ROS_DOMAIN_ID={free_domain()}"
        )


def _leave_behind(recording: Recording, scene: Scene, bundle: Bundle, out: Path, console: Console) -> int:
    """Writes summary, timeline and video, and says how it went."""
    from tendon.evaluation.live import closing
    from tendon.evaluation.summary import summarise_run
    from tendon.evaluation.timeline import draw_timeline
    from tendon.evaluation.video import write_video

    summary = summarise_run(recording, scene, bundle)
    (out / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    title = f"Tendon demo · {ROBOT} · scene {scene.seed} · policy {bundle.manifest.name} {bundle.digest[:12]}"
    draw_timeline(recording, out / "timeline.png", title)
    columns = (TextColumn("drawing the video"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("video")
        write_video(
            recording,
            scene,
            load_profile(ROBOT),
            out / "demo.mp4",
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    console.print(closing(recording, summary, out))
    return 0 if summary["done"] else 1
