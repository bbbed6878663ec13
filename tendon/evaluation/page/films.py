"""Videos of episodes that failed. They are run again: the same seed has the same outcome."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tendon.evaluation.episode import Episode
from tendon.evaluation.pool import Job, OpenTools, Tools
from tendon.sim.cameras import Pixels
from tendon.sim.engine_world import EngineWorld

RATE_HZ, SIDE = 10, 288
"""Of frames, and their height and width [px]."""
SPEED = 2
"""How many times as fast they are shown."""


def worth_seeing(runs: Sequence[tuple[Job, Episode]], most: int) -> list[tuple[Job, Episode]]:
    """Returns at most so many failed runs, of as many families as there are, by seed."""
    failed = sorted(((job, episode) for job, episode in runs if not episode.success), key=lambda run: run[0].seed)
    seen: dict[str, int] = {}
    ranked = []
    for job, episode in failed:
        seen[episode.family] = seen.get(episode.family, 0) + 1
        ranked.append((seen[episode.family], job.seed, (job, episode)))
    return [run for *_, run in sorted(ranked, key=lambda each: each[:2])[:most]]


def films(runs: Sequence[tuple[Job, Episode]], done: Callable[[], None] = lambda: None) -> Iterator[tuple[bytes, str]]:
    """Yields an MP4 and a caption for each run; none for a world that cannot be drawn after it has moved on.

    Args:
        runs: as `worth_seeing` returns them.
        done: called after each.
    """
    with OpenTools() as opened:
        for job, episode in runs:
            film = _film(job, opened.of(job))
            done()
            if film:
                yield film, f"{episode.family}/{job.seed}: {episode.instruction}. {episode.outcome}"


def _film(job: Job, tools: Tools) -> bytes:
    world = tools.world
    if not isinstance(world, EngineWorld) or not world.profile.cameras:
        return b""
    states, rollout = [], tools.begin(job.seed, job.setting)
    due_ns = 0
    while not rollout.over:
        rollout.tick()
        if world.time_ns >= due_ns:
            states.append(world.state())
            due_ns += 1_000_000_000 // RATE_HZ
    camera = world.profile.cameras[0].name

    def frames() -> Iterator[Pixels]:
        for state in states:  # drawn when all is over: no picture more was taken while it ran
            world.set_state(state)
            yield world.render(camera, SIDE, SIDE)

    return _encoded(frames())


def _encoded(frames: Iterator[Pixels]) -> bytes:
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(SPEED * RATE_HZ), options={"crf": "28"})
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "yuv420p"
        for pixels in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    return file.getvalue()
