"""Round trip of a policy on another machine, with a policy that costs nothing: ours and openpi's, taking turns.

Server and client are processes on this machine, so this is the cost of coding and sockets, without a network. From
observation to chunk: ours is `RemotePolicy.infer` and the server of `tendon policy serve`, with all their checks;
openpi's is its own client against a server of its protocol. Images are smooth with some noise, as camera images are;
JPEG has quality 90.

Examples:
  python benchmarks/peers/remote.py
  python benchmarks/peers/remote.py --runs 1000 --size 224x224
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import cv2
import harness
import numpy as np
import websockets.asyncio.server
from harness import Number

from tendon.core.pace import USUAL
from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.remote.served.link import TendonLink
from tendon.policies.remote.served.server import PolicyServer
from tendon.policies.remote.served.service import Service
from tendon.policies.remote.transport.endpoint import Endpoint
from tendon.policies.spec.manifest import CameraInput, Manifest
from tendon.robots.profile import RobotProfile, load_profile

BUNDLE = Path(__file__).resolve().parents[2] / "bundles" / "tabletop"
ROWS, QUALITY, WARM_UP = 16, 90, 20
CAMERAS = ("scene", "wrist")


class Nothing:
    """A policy that costs nothing."""

    step_ns, prefix_rows, overlap_rows, pace = 1, 0, 0, USUAL

    def observe(self, observation: Observation) -> None:
        """Forgets it."""

    def steer(self, name: str, value: float) -> None:
        """Stays as it is."""

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Returns a chunk of zeros."""
        return ActionChunk(
            actions=np.zeros((ROWS, len(observation.joint_position))),
            start_ns=observation.stamp_ns + 1,
            step_ns=1,
            observation_stamp_ns=observation.stamp_ns,
        )


def robot(width: int, height: int) -> tuple[Manifest, RobotProfile]:
    """Returns the Panda and the tabletop policy's manifest, as if its cameras had another size."""
    profile, manifest = load_profile("panda"), load_bundle(BUNDLE).manifest
    cameras = tuple(replace(profile.camera(name), width=width, height=height) for name in CAMERAS)
    seen = tuple(CameraInput(name=name, width=width, height=height) for name in CAMERAS)
    return replace(manifest, cameras=seen, made_for={}), replace(profile, cameras=cameras)


def serve_ours(said: Connection, width: int, height: int) -> None:
    """Runs the server of `tendon policy serve`."""
    keep_large_blocks()
    manifest, profile = robot(width, height)
    service = Service(Nothing(), manifest, profile)
    server = PolicyServer(service.metadata, service.answer, largest=service.largest, port=0)
    server.start()
    said.send(server.port)
    time.sleep(1e6)


def serve_openpi(said: Connection, width: int, height: int) -> None:
    """Runs a server of openpi's protocol, made as openpi makes it."""
    msgpack_numpy = openpi_client()[1]
    actions = np.zeros((ROWS, 8))

    async def handle(connection: Any) -> None:
        packer = msgpack_numpy.Packer()
        await connection.send(packer.pack({}))
        async for message in connection:
            begin_s = time.monotonic()
            msgpack_numpy.unpackb(message)
            answer = {"actions": actions, "server_timing": {"infer_ms": 1e3 * (time.monotonic() - begin_s)}}
            await connection.send(packer.pack(answer))

    async def run() -> None:
        async with websockets.asyncio.server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
            said.send(next(iter(server.sockets)).getsockname()[1])
            await server.serve_forever()

    asyncio.run(run())


def openpi_client() -> tuple[Any, Any]:
    """Returns the client class and msgpack_numpy of openpi's own package, which `make setup-dev` installs."""
    sys.path.append(str(Path(sys.prefix) / "openpi"))
    from openpi_client import msgpack_numpy
    from openpi_client.websocket_client_policy import WebsocketClientPolicy

    return WebsocketClientPolicy, msgpack_numpy


def keep_large_blocks() -> None:
    """Lets malloc keep large blocks, as every node of Tendon does (see benchmarks/studies/transport.py)."""
    spare = bytearray(31 << 20)
    del spare


def picture(width: int, height: int, seed: int) -> np.ndarray[Any, Any]:
    """Returns something like a camera image."""
    rng = np.random.default_rng(seed)
    coarse = cv2.resize(rng.integers(0, 256, (12, 16, 3)).astype(np.float32), (width, height))
    noisy = np.clip(coarse + rng.normal(0.0, 3.0, coarse.shape), 0, 255).astype(np.uint8)
    noisy.setflags(write=False)
    return noisy


def measure(bench: harness.Bench, width: int, height: int, runs: int) -> None:
    """Prints and adds the rows of one size."""
    context = multiprocessing.get_context("spawn")
    ports, processes = [], []
    for work in (serve_ours, serve_openpi):
        receiving, sending = context.Pipe(duplex=False)
        processes.append(context.Process(target=work, args=(sending, width, height), daemon=True))
        processes[-1].start()
        ports.append(receiving.recv())
    ours, theirs = ports
    _, profile = robot(width, height)
    images = {name: picture(width, height, k) for k, name in enumerate(CAMERAS)}
    observation = Observation(
        stamp_ns=0,
        joint_position=profile.vector("home"),
        joint_velocity=np.zeros(8),
        images={name: Image(stamp_ns=0, pixels=pixels) for name, pixels in images.items()},
        instruction="put the red cube in the blue bowl",
    )
    request = {
        "observation/joint_position": observation.joint_position,
        "observation/joint_velocity": observation.joint_velocity,
        **{f"observation/images/{name}": pixels for name, pixels in images.items()},
        "prompt": observation.instruction,
    }
    endpoint = Endpoint(url=f"ws://127.0.0.1:{ours}")
    raw, coded = (
        RemotePolicy(TendonLink(endpoint, profile, quality), profile, timeout_s=10.0, start_s=10.0)
        for quality in (None, QUALITY)
    )
    client_class, _ = openpi_client()
    with_openpi, with_ours = (client_class("127.0.0.1", port) for port in (theirs, ours))
    calls: dict[str, Callable[[], Any]] = {
        "openpi client, openpi server": lambda: with_openpi.infer(request),
        "ours": lambda: raw.infer(observation),
        "ours, JPEG": lambda: coded.infer(observation),
        "openpi client, our server": lambda: with_ours.infer(request),
    }
    times_ms: dict[str, list[float]] = {name: [] for name in calls}
    gc.freeze()
    for run in range(WARM_UP + runs):
        for name in sorted(calls, key=lambda name: hash((name, run))):  # no one always after the same
            begin_ns = time.perf_counter_ns()
            calls[name]()
            if run >= WARM_UP:
                times_ms[name].append((time.perf_counter_ns() - begin_ns) / 1e6)
    for process in processes:
        process.terminate()
    base = float(np.median(times_ms["openpi client, openpi server"]))
    for name, taken in times_ms.items():
        spread, size = harness.spread_of(taken, "ms"), f"2 x {width}x{height}"
        ratio = spread["p50"].value / base
        numbers = " | ".join(f"{number.value:.2f}" for number in spread.values())
        print(f"| {size} | {name} | {numbers} | {ratio:.2f} |", flush=True)
        bench.add({"images": size, "client and server": name}, {**spread, "p50 / openpi's": Number(ratio)})


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500, help="of each (%(default)s)")
    parser.add_argument("--size", action="append", help="WIDTHxHEIGHT of both cameras; by default 224x224 and 640x480")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "remote/round-trip")
    keep_large_blocks()
    print(f"{args.runs} runs")
    print("| images | who | p50 ms | p99 ms | max ms | p50 / openpi's |")
    print("|---|---|---|---|---|---|")
    for size in args.size or ("224x224", "640x480"):
        width, height = (int(number) for number in size.split("x"))
        measure(bench, width, height, args.runs)


if __name__ == "__main__":
    main()
