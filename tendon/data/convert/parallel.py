"""Recordings to a dataset on several processes: each episode is encoded by itself, and then copied in its turn."""

from __future__ import annotations

import contextlib
import multiprocessing
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from tendon.core.errors import TendonError
from tendon.core.orphans import end_with_parent
from tendon.core.staging import beside
from tendon.data.convert.from_mcap import Converted, Options, convert_into, source_of
from tendon.data.lerobot.edit import append_episode
from tendon.data.lerobot.layout import INFO, Shape
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.lerobot.writer import DatasetWriter
from tendon.data.reading.recording import McapRecording

Answer = Converted | TendonError
AHEAD = 2
"""Episodes of each process that wait for their turn."""


def convert_all(
    files: Sequence[Path], root: Path, options: Options, jobs: int, told: Callable[[float], None] = lambda share: None
) -> Iterator[tuple[Path, Answer]]:
    """Appends recordings to a dataset in their order; yields each with what became of it, or why it was refused.

    Args:
        files: recordings.
        root: of the dataset, which is made where it is not there.
        options: how.
        jobs: processes that encode; with one it is this one.
        told: gets the share of a recording that is done, with one.

    Raises:
        OSError: the dataset cannot be written, or is being written by another.
    """
    writer: DatasetWriter | None = None

    def writer_for(shape: Shape) -> DatasetWriter:
        """A new one reads all that is in the dataset, so one does for all files."""
        nonlocal writer
        if writer is None or writer.shape != shape:
            open_.close()
            writer = None
            writer = open_.enter_context(DatasetWriter(root, shape))
        return writer

    with contextlib.ExitStack() as open_:
        if jobs == 1:
            for file in files:
                yield file, _answer(partial(convert_into, file, writer_for, options, told))
        else:
            yield from _converted_by_others(files, root, options, jobs, writer_for)


def _converted_by_others(
    files: Sequence[Path], root: Path, options: Options, jobs: int, writer_for: Callable[[Shape], DatasetWriter]
) -> Iterator[tuple[Path, Answer]]:
    """Yields each recording, encoded in one of several processes and appended in this one."""
    known = {row.get("source") for row in LeRobotDataset(root).episodes} if (root / INFO).is_file() else set()
    context = multiprocessing.get_context("spawn")
    with (
        beside(root) as parts,
        ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_parent) as pool,
    ):
        encoding = deque[tuple[Path, Path, Future[Answer] | None]]()
        waiting = deque(files)
        while waiting or encoding:
            while waiting and len(encoding) < AHEAD * jobs:
                file = waiting.popleft()
                part = parts / f"{len(waiting)}"
                source = _source(file)
                future = None if {source, file.name} & known else pool.submit(_converted, file, part, options)
                known.add(source)
                encoding.append((file, part, future))
            file, part, future = encoding.popleft()
            answer = Converted(episode=None) if future is None else future.result()
            if isinstance(answer, Converted) and future is not None:
                try:
                    episode = LeRobotDataset(part)
                    answer = replace(answer, episode=append_episode(episode, 0, writer_for(episode.shape)))
                except TendonError as error:
                    answer = error
                shutil.rmtree(part, ignore_errors=True)
            yield file, answer


def _source(file: Path) -> str:
    """Returns what tells a recording from others; its name where it cannot be read, which its conversion will say."""
    try:
        return source_of(McapRecording(file))
    except TendonError:
        return str(file)


def _answer(convert: Callable[[], Converted]) -> Answer:
    try:
        return convert()
    except TendonError as error:
        return error


def _converted(file: Path, root: Path, options: Options) -> Answer:
    """Does the same in another process, to a dataset of its own."""
    return _answer(partial(convert_into, file, partial(DatasetWriter, root), options))
