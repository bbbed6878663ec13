"""Show a recording, or an episode of a dataset, in 3D with Rerun: robot, cameras, plans, filter margin and mode.

Examples:
  tendon view file outputs/recordings/episode-000003.mcap
  tendon view file outputs/datasets/mine --episode 4 --save four.rrd
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.cli.options import EnvironmentOption
from tendon.core.errors import ConfigError, InvalidDataError, MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tendon.data.recording.writer import Sample
    from tendon.pictures.live_scene import LiveScene


def command(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="MCAP file, or dataset.")],
    episode: Annotated[int, typer.Option(help="Of a dataset.")] = 0,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a .rrd and open nothing.")] = None,
    environment: EnvironmentOption = None,
) -> int:
    """Shows it.

    Raises:
        ConfigError: there is no such episode, or no display.
        InvalidDataError: the source cannot be read.
        MismatchError: the robot of that name has other joints now.
        MissingDependencyError: the extra `data` or `view` is not installed.
    """
    from tendon.data.packages import require_data
    from tendon.pictures.live_scene import APPLICATION, LiveScene, require_rerun

    require_data()
    require_rerun()
    if save is not None and (save.suffix != ".rrd" or not save.parent.is_dir()):
        raise ConfigError(f"--save is {save}, must be a file in a folder that exists, with the suffix .rrd")
    if save is None and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ConfigError("a window needs a display, and DISPLAY is not set: take --save FILE.rrd")
    import rerun

    from tendon.data.lerobot.reader import LeRobotDataset
    from tendon.data.reading.observations import require_begin
    from tendon.data.reading.recording import McapRecording
    from tendon.data.shown import show_episode, show_recording
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile

    given = LeRobotDataset(source) if source.is_dir() else McapRecording(source)
    if isinstance(given, LeRobotDataset):
        if not 0 <= episode < len(given):
            raise ConfigError(f"there is no episode {episode}: {source} has {len(given)}")
        robot, joints = given.shape.robot, given.shape.joints
    else:
        begin = require_begin(given)
        robot, joints = begin.robot, begin.roles.joint_names
    profile = load_profile(robot)
    if profile.joint_names != joints:
        raise MismatchError(f"{source} has joints {', '.join(joints)}; {robot} has {', '.join(profile.joint_names)}")
    stream = rerun.RecordingStream(APPLICATION)
    if save is None:
        stream.spawn()
    else:
        stream.save(save)
    scene = LiveScene(stream, profile, load_environment(environment) if environment else None)
    if isinstance(given, LeRobotDataset):
        count = show_episode(given, episode, scene)
    else:
        count = show_recording(given, scene, _states(scene))
    stream.flush()
    where = "shown in Rerun's window" if save is None else f"written to {save}, to be opened with `rerun {save}`"
    print(f"{source}: {count} messages or frames {where}")
    return 0


def _states(scene: LiveScene) -> Callable[[Sample], None] | None:
    """Returns what draws mode and margin; `None` without ROS, whose messages they are."""
    try:
        from tendon.ros2_nodes import wire
    except ImportError:
        return None
    from tendon.safety.reports import ControlState

    def take(sample: Sample) -> None:
        try:
            state = wire.STATE.decode_bytes(sample.data)
        except InvalidDataError:
            return
        if isinstance(state, ControlState):
            scene.state(wire.read_stamp_ns(sample.data), state)

    return take
