"""openpi's client, of `end_to_end.py`: against LeRobot's ACT in torch, and against `tendon policy serve`."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from networks.random_policies import CAMERAS, RATE_HZ, bundle_of
from peers.common import FRAMES, THREADS, WARM_UP_S, Found, frames, running
from peers.remote import keep_large_blocks, openpi_client

from tendon.robots.profile import load_profile

REQUEST_S = 0.1
BROKER_ROWS = 10


def openpi(seconds: float, folder: Path, engine: str) -> Found:
    """Runs openpi's client against LeRobot's ACT in torch."""
    source, _, _ = bundle_of("act", folder)
    with running(serve_openpi, source) as server:
        return with_openpi_client(server.recv(), seconds, {f"images/{key}": camera for key, camera in CAMERAS.items()})


def openpi_tendon(seconds: float, folder: Path, engine: str) -> Found:
    """Runs openpi's client against `tendon policy serve`."""
    _, bundle, profile = bundle_of("act", folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--robot", str(profile), "--engine", engine, "--port", str(port)]
    server = subprocess.Popen(
        [sys.executable, "-m", "tendon.cli", "policy", "serve", str(bundle), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        while "Ctrl-C ends it" not in (line := server.stdout.readline()):
            if not line:
                raise SystemExit("tendon policy serve did not start")
        return with_openpi_client(port, seconds, {f"observation/images/{c}": c for c in CAMERAS.values()})
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30.0)


def serve_openpi(said: Connection, source: Path) -> None:
    """Runs a server of openpi's protocol, made as openpi makes it, around LeRobot's ACT."""
    import websockets.asyncio.server

    msgpack_numpy = openpi_client()[1]
    infer = lerobot_act(source)

    async def handle(connection: Any) -> None:
        packer = msgpack_numpy.Packer()
        await connection.send(packer.pack({}))
        async for message in connection:
            actions, network_ms = infer(msgpack_numpy.unpackb(message))
            await connection.send(packer.pack({"actions": actions, "server_timing": {"network_ms": network_ms}}))

    async def run() -> None:
        async with websockets.asyncio.server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
            said.send(next(iter(server.sockets)).getsockname()[1])
            await server.serve_forever()

    asyncio.run(run())


def lerobot_act(folder: Path) -> Callable[[dict[str, Any]], tuple[np.ndarray[Any, Any], float]]:
    """Returns LeRobot's way from an observation to a chunk, and how long its network takes of it [ms]."""
    import torch

    from tendon.policies.export.lerobot.packages import lerobot_module

    torch.set_num_threads(THREADS)
    policy: Any = lerobot_module("policies.act.modeling_act").ACTPolicy.from_pretrained(folder)
    before, after = lerobot_module("policies.factory").make_pre_post_processors(policy.config, str(folder))
    prepare: Any = lerobot_module("policies.utils").prepare_observation_for_inference

    def infer(request: dict[str, Any]) -> tuple[np.ndarray[Any, Any], float]:
        seen = {f"observation.images.{key}": np.array(request[f"images/{key}"]) for key in CAMERAS}
        seen["observation.state"] = np.array(request["observation/joint_position"], np.float32)
        with torch.inference_mode():
            batch = before(prepare(seen, torch.device("cpu")))
            begin_ns = time.perf_counter_ns()
            chunk = policy.predict_action_chunk(batch)
            network_ms = (time.perf_counter_ns() - begin_ns) / 1e6
            return after(chunk)[0].numpy(), network_ms

    return infer


def with_openpi_client(port: int, seconds: float, keys: dict[str, str]) -> Found:
    """Measures in a process of its own, as a robot's side has it; `keys` are the server's words for the cameras."""
    with running(ask_openpi, port, seconds, keys) as client:
        found: Found = client.recv()
    return found


def ask_openpi(said: Connection, port: int, seconds: float, keys: dict[str, str]) -> None:
    """Asks at a fixed rate, then runs openpi's loop for as long."""
    keep_large_blocks()
    client_class, _ = openpi_client()
    client, shown, home = client_class("127.0.0.1", port), frames(), load_profile("panda").vector("home")

    def observe(count: int) -> dict[str, Any]:
        images = {key: shown[count % FRAMES][camera] for key, camera in keys.items()}
        return {
            "observation/joint_position": home,
            "observation/joint_velocity": np.zeros_like(home),
            "prompt": "go",
            **images,
        }

    whole, network = [], []
    begin_s = time.monotonic()
    for count in range(round((WARM_UP_S + seconds) / REQUEST_S)):
        time.sleep(max(0.0, begin_s + count * REQUEST_S - time.monotonic()))
        begin_ns = time.perf_counter_ns()
        answer = client.infer(observe(count))
        if count * REQUEST_S >= WARM_UP_S:
            whole.append((time.perf_counter_ns() - begin_ns) / 1e6)
            timing = answer["server_timing"]
            network.append(float(timing.get("network_ms", timing.get("infer_ms"))))
        if time.monotonic() - begin_s > WARM_UP_S + seconds:
            break
    ticks = openpi_loop(client, observe, seconds)
    said.send(Found(whole=whole, network=network, ticks=ticks, period_ms=1e3 / RATE_HZ))


def openpi_loop(client: Any, observe: Callable[[int], dict[str, Any]], seconds: float) -> list[float]:
    """Runs openpi's own loop and returns the times between its actions; none when its packages are not all there."""
    try:
        from openpi_client.action_chunk_broker import ActionChunkBroker
        from openpi_client.runtime.agents.policy_agent import PolicyAgent
        from openpi_client.runtime.runtime import Runtime
    except ImportError as error:
        print(f"openpi's loop is left out: {error}", file=sys.stderr)
        return []
    arrivals: list[float] = []

    class Robot:
        def reset(self) -> None:
            pass

        def is_episode_complete(self) -> bool:
            return False

        def get_observation(self) -> dict[str, Any]:
            return observe(len(arrivals))

        def apply_action(self, action: dict[str, Any]) -> None:
            arrivals.append(time.perf_counter_ns() / 1e6)

    agent = PolicyAgent(ActionChunkBroker(client, BROKER_ROWS))
    Runtime(Robot(), agent, [], max_hz=RATE_HZ, max_episode_steps=round(seconds * RATE_HZ)).run()
    return np.diff(arrivals).tolist()
