"""The video of a recorded run, drawn when it is over from the states the simulation published."""

from __future__ import annotations

import multiprocessing
import os
import signal
from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av

from tendon.core.errors import InvalidDataError
from tendon.demo.caption import SIZE, VIEW, Caption, Frame, Pixels, caption_at
from tendon.demo.recording import Recording
from tendon.robots.profile import RobotProfile
from tendon.sim.simulators import AUTO
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.spectator.spectator import open_spectator
from tendon.sim.tabletop.world import World
from tendon.sim.world_state import WorldState

FRAME_HZ = 20
"""The rate of the published states: each frame is one of them."""

LAST_FRAME_S = 1.5
QUALITY = {"crf": "21", "preset": "veryfast"}

Moment = tuple[WorldState, Caption]


def moments(recording: Recording) -> list[Moment]:
    """Returns what each frame shows.

    Raises:
        InvalidDataError: the recording has no state of the world.
    """
    if not recording.worlds:
        raise InvalidDataError("the recording has no state of the world: there is nothing to draw")
    times = [state.time_ns for state in recording.worlds]
    frames = []
    for at_ns in range(times[0], recording.end_ns, 1_000_000_000 // FRAME_HZ):
        state = recording.worlds[bisect_right(times, at_ns) - 1]
        frames.append((state, caption_at(recording, at_ns)))
    return frames


class Painter:
    """Draws frames: the spectator's view, and the policy's pictures as its camera process draws them."""

    def __init__(self, scene: Scene, profile: RobotProfile, simulator: str) -> None:
        self._spectator = open_spectator(scene, profile, *VIEW, simulator)
        self._world = World(scene, profile, simulator)
        self._cameras = [camera.name for camera in profile.cameras]
        self._frame = Frame()

    def paint(self, moment: Moment) -> Pixels:
        """Returns one frame, (height, width, 3) uint8 RGB."""
        state, caption = moment
        self._world.set_state(state)
        insets = {name: self._world.render(name) for name in self._cameras}
        return self._frame.compose(self._spectator.draw(state), insets, caption)

    def close(self) -> None:
        """Frees its worlds."""
        self._spectator.close()
        self._world.close()


_painter: Painter


def _start(scene: Scene, profile: RobotProfile, simulator: str) -> None:
    global _painter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the parent ends these
    _painter = Painter(scene, profile, simulator)


def _paint(moment: Moment) -> Pixels:
    return _painter.paint(moment)


def write_video(
    recording: Recording,
    scene: Scene,
    profile: RobotProfile,
    path: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    workers: int | None = None,
    simulator: str = AUTO,
) -> None:
    """Writes an H.264 file, drawn by as many processes as there are cores.

    Args:
        recording: the run.
        scene: where it was.
        profile: of the robot.
        path: of the .mp4 file.
        progress: called with the number of frames that are drawn, and of all.
        workers: processes; by default one a core.
        simulator: that drew what the policy saw.

    Raises:
        InvalidDataError: the recording has no state of the world.
    """
    frames = moments(recording)
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers or os.cpu_count(), initializer=_start, initargs=(scene, profile, simulator)) as pool:
        encode(pool.imap(_paint, frames, chunksize=4), path, lambda done: progress(done, len(frames)))
        pool.close()
        pool.join()  # by itself each removes its files


def encode(pictures: Iterator[Pixels], path: Path, progress: Callable[[int], None] = lambda done: None) -> None:
    """Writes pictures of `caption.SIZE` as an H.264 file that plays while it is loaded; the last one stays a while."""
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=Fraction(FRAME_HZ), options=QUALITY)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        frame = None
        for number, pixels in enumerate(pictures, start=1):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            container.mux(stream.encode(frame))
            progress(number)
        if frame is not None:
            for _ in range(round(LAST_FRAME_S * FRAME_HZ)):
                frame.pts = None  # after the one before
                container.mux(stream.encode(frame))
        container.mux(stream.encode())
