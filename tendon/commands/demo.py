"""Show it all: the simulated robot does what it is told through the real graph; leaves a video, plot and summary.

Examples:
  tendon demo
  tendon demo --gui
  tendon demo --robot so101 --simulator mujoco
  tendon demo --seed 101414 --bundle bundles/tabletop --out outputs/another
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tendon.cli.outputs import own_folder, writing
from tendon.cli.terminal import lasting_output
from tendon.core.errors import ConfigError, MismatchError
from tendon.graph.domain import claim_domain, domain_id, free_domain, in_use
from tendon.policies.bundle.places import EXPERT, find_bundle
from tendon.robots.profile import RobotProfile, load_profile
from tendon.ros2_nodes.base.runtime import clean_shared_memory, prepare_process, require_ros
from tendon.safety.latch import STATE_VARIABLE

if TYPE_CHECKING:
    from tendon.demo.recording import Recording
    from tendon.sim.tabletop.scene import Scene

ROBOT = "panda"
BUNDLE = "bundles/tabletop"
"""Of that robot; others are led by the expert."""
SEED = 100780
FIRST_SEED, END_SEED = 100_000, 200_000
OUT = Path("outputs/demo")
LOG = "graph.log"
NAMES = ("state", LOG, "summary.json", "timeline.png", "demo.mp4")
"""What it leaves there."""
LIMIT_S = 15.0
LOG_LINES = 15
INTERRUPTED = 130


@lasting_output()
def command(
    robot: Annotated[str, typer.Option(metavar="NAME", help="Profile of a robot with a gripper.")] = ROBOT,
    bundle: Annotated[
        str, typer.Option(metavar="BUNDLE", help=f"Folder or name of the policy; {BUNDLE} for a {ROBOT}, else expert.")
    ] = "",
    seed: Annotated[
        int | None, typer.Option(help=f"The scene, {FIRST_SEED}-{END_SEED - 1}; by default the first from {SEED} on.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for what it leaves behind.")] = OUT,
    simulator: Annotated[str, typer.Option(metavar="NAME", help="pybullet, mujoco, or auto.")] = "auto",
    gui: Annotated[bool, typer.Option("--gui", help="Open PyBullet's window.")] = False,
    limit_s: Annotated[float, typer.Option(help="Longest time for one task.")] = LIMIT_S,
) -> int:
    """Runs the demo.

    Returns:
        0 when every instruction went as it should, 1 when one did not, 130 after Ctrl-C, SIGTERM
        or SIGHUP.

    Raises:
        ConfigError: an option is wrong, there is no such bundle, or the ROS domain is in use.
        MissingDependencyError: ROS is not installed.
    """
    with own_folder(out, "tendon demo", NAMES, LOG):
        return _show(robot, bundle, seed, out, simulator, gui, limit_s)


def _show(robot: str, bundle: str, seed: int | None, out: Path, simulator: str, gui: bool, limit_s: float) -> int:
    require_ros()
    if seed is not None and not FIRST_SEED <= seed < END_SEED:
        raise ConfigError(f"--seed is {seed}: the demo is shown in validation scenes, {FIRST_SEED}-{END_SEED - 1}")
    if gui and not os.environ.get("DISPLAY"):
        raise ConfigError("--gui needs a display, and DISPLAY is not set: leave --gui out, or run where there is one")
    from tendon.demo.live import Display
    from tendon.demo.story import FAMILY, find_story, tell_story
    from tendon.graph.preflight import preflight
    from tendon.ros2_nodes.demo.performance import perform
    from tendon.sim.tabletop.layout import layout_of
    from tendon.sim.tabletop.scene import sample_scene

    profile = load_profile(robot)
    policy = _policy(bundle or (BUNDLE if robot == ROBOT else EXPERT))
    try:
        layout = layout_of(profile)
    except MismatchError as error:
        shown = f"the demo has the tabletop only: see this robot by `tendon run robot:={robot} policy:={EXPERT}`"
        raise MismatchError(f"{error} ({shown})") from error
    scene = find_story(SEED, layout) if seed is None else sample_scene(seed, FAMILY, layout)
    story = tell_story(scene)
    given = {"robot": robot, "policy": policy["folder"], "suite": "tabletop", "scene": str(scene.seed)}
    graph = preflight({**given, "family": FAMILY, "simulator": simulator, "gui": str(gui).lower()})
    os.environ.update(graph.environment)
    prepare_process()
    clean_shared_memory()
    for name in NAMES:  # a demo begins anew, whatever stopped the last one
        _remove(out / name)
    os.environ[STATE_VARIABLE] = str((out / "state").resolve())
    log_file = out / LOG
    console = Console()
    title = f"Tendon demo · {robot} · scene {scene.seed} · policy {policy['name']}"
    with _own_domain(), log_file.open("w", encoding="utf-8") as log, Display(title, console) as display:
        performance = perform(graph, profile, story, limit_s, log, display.show)
    if performance.problem or performance.recording is None:
        said = log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = [] if performance.interrupted else said[-LOG_LINES:]
        if tail:
            console.print("\n".join(tail), markup=False, highlight=False, style="dim", soft_wrap=True)
        console.print(f"DEMO FAILED: {performance.problem} (all that the nodes said: {log_file})", style="bold red")
        return INTERRUPTED if performance.interrupted else 1
    with writing(out):
        return _leave_behind(performance.recording, scene, profile, policy, simulator, out, console)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _policy(name: str) -> dict[str, str]:
    """Returns what the policy is called, where it is and its digest."""
    from tendon.policies.bundle.bundle import load_bundle

    if name == EXPERT:
        return {"name": EXPERT, "folder": EXPERT, "digest": ""}
    loaded = load_bundle(find_bundle(name))
    return {"name": loaded.manifest.name, "folder": str(loaded.folder), "digest": loaded.digest}


@contextmanager
def _own_domain() -> Iterator[None]:
    """Gives this process a ROS domain of its own, unless the user has set one, which must be free."""
    if "ROS_DOMAIN_ID" not in os.environ:
        domain, claim = claim_domain()
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        with claim:
            yield
    elif in_use(domain_id()):
        raise ConfigError(
            f"ROS domain {domain_id()} is busy: unset ROS_DOMAIN_ID and the demo takes a free one, "
            f"or set ROS_DOMAIN_ID={free_domain()}"
        )
    else:
        yield


def _leave_behind(
    recording: Recording,
    scene: Scene,
    profile: RobotProfile,
    policy: Mapping[str, str],
    simulator: str,
    out: Path,
    console: Console,
) -> int:
    """Writes summary, timeline and video, and says how it went."""
    from tendon.demo.live import closing
    from tendon.demo.summary import summarise_run
    from tendon.demo.timeline import draw_timeline
    from tendon.demo.video import write_video

    summary = summarise_run(recording, scene, policy)
    (out / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    named = f"{policy['name']} {policy['digest'][:12]}".rstrip()
    title = f"Tendon demo · {profile.name} · scene {scene.seed} · policy {named}"
    draw_timeline(recording, out / "timeline.png", title)
    columns = (TextColumn("drawing the video"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("video")
        write_video(
            recording,
            scene,
            profile,
            out / "demo.mp4",
            lambda done, total: bar.update(task, completed=done, total=total),
            simulator=simulator,
        )
    console.print(closing(recording, summary, out))
    return 0 if summary["done"] else 1
