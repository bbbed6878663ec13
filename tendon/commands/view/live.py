"""Show a running graph in 3D with Rerun: robot, cameras, plan, filter margin and mode.

The robot is the graph's own. It is drawn with its collision model, or with the meshes of a manufacturer's URDF.

Examples:
  tendon view live
  tendon view live --web
  tendon view live --save run.rrd
  tendon view live --urdf g1_description/urdf/g1_29dof_rev_1_0.urdf
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from tendon.cli.operator import ask
from tendon.cli.options import EnvironmentOption, PackageDirOption
from tendon.core.errors import ConfigError, StoppedError
from tendon.graph.running.ending import on_end_request

if TYPE_CHECKING:
    import rerun

    from tendon.ros2_nodes.clients.operator import Operator

PATIENCE_S = 10.0
WEB_PORT, DATA_PORT = 9090, 9876
"""Rerun's own defaults: of the page, and of what it shows."""


def command(
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a .rrd and open nothing.")] = None,
    web: Annotated[bool, typer.Option("--web", help="Serve it to a browser instead of opening a window.")] = False,
    environment: EnvironmentOption = None,
    urdf: Annotated[
        Path | None, typer.Option(metavar="FILE", help="URDF with meshes; by default the collision model is drawn.")
    ] = None,
    package_dir: PackageDirOption = None,
) -> int:
    """Shows the graph until Ctrl-C.

    Raises:
        ConfigError: an option is wrong, or there is no display.
        MissingDependencyError: ROS or Rerun is not installed.
        StoppedError: there is no graph.
    """
    from tendon.pictures.live_scene import require_rerun

    if save is not None and web:
        raise ConfigError("--save and --web exclude one another: run the command twice")
    if save is not None and (save.suffix != ".rrd" or not save.absolute().parent.is_dir()):
        raise ConfigError(f"--save is {save}, must be a file in a folder that exists, with the suffix .rrd")
    if save is None and not web and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ConfigError("a window needs a display, and DISPLAY is not set: take --web or --save FILE.rrd")
    require_rerun()
    ask("tendon_view", lambda operator: _show(operator, save, web, environment, urdf, package_dir))
    return 0


def _show(
    operator: Operator,
    save: Path | None,
    web: bool,
    environment: str | None,
    urdf: Path | None,
    package_dir: Path | None,
) -> None:
    import rerun

    from tendon.core.node_status import ControlStatus
    from tendon.pictures.live_scene import APPLICATION, LiveScene
    from tendon.robots.collision.fit import load_meshes
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile
    from tendon.ros2_nodes.clients.live_feed import LiveFeed
    from tendon.safety.reports import ControlState

    operator.wait(lambda: operator.reports.newest(ControlStatus) is not None, PATIENCE_S)
    status = operator.reports.newest(ControlStatus)
    if status is None:
        raise StoppedError(f"{ControlState.node} does not say which robot it runs: look at `tendon status`")
    profile = load_profile(status.robot)
    around = load_environment(environment) if environment else None
    meshes = load_meshes(urdf, package_dir) if urdf is not None else []
    requests: list[int] = []
    on_end_request(lambda number, _: requests.append(number))
    stream = rerun.RecordingStream(APPLICATION)
    where = _open(stream, save, web)
    feed = LiveFeed(operator, profile, LiveScene(stream, profile, around, meshes))
    print(f"{profile.name}: {where}; Ctrl-C ends it", flush=True)
    while not requests:
        time.sleep(0.2)
        if feed.problem:
            print(feed.problem, flush=True)
            feed.problem = ""
    stream.flush()
    print(", ".join(f"{count} of {name}" for name, count in sorted(feed.heard.items())) or "nothing was heard")


def _open(stream: rerun.RecordingStream, save: Path | None, web: bool) -> str:
    """Connects the stream to where it is looked at; returns what to tell the user."""
    import rerun

    if save is not None:
        stream.save(save)
        return f"recording to {save}, to be opened with `rerun {save}`"
    if web:
        for port in (WEB_PORT, DATA_PORT):
            _require_free(port)
        source = stream.serve_grpc(grpc_port=DATA_PORT)
        rerun.serve_web_viewer(web_port=WEB_PORT, open_browser=False, connect_to=source)
        return f"open http://localhost:{WEB_PORT}/?url={quote(source, safe='')} in a browser"
    stream.spawn()
    return "shown in Rerun's window"


def _require_free(port: int) -> None:
    """Raises ConfigError when somebody listens on a port already: Rerun would serve nothing, or a traceback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise ConfigError(
                f"--web needs port {port}, which is in use ({error.strerror}): end the other view, or take --save"
            ) from error
