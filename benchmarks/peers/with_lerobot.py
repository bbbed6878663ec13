"""LeRobot's asynchronous inference, of `end_to_end.py`: its policy server and robot client, only timed."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from networks.random_policies import CAMERAS, RATE_HZ, SIZE, bundle_of
from peers.common import FRAMES, THREADS, WARM_UP_S, Found, frames, running

from tendon.robots.profile import load_profile


def lerobot(seconds: float, folder: Path, engine: str) -> Found:
    """Runs LeRobot's policy server and robot client."""
    source, _, _ = bundle_of("act", folder)
    with running(serve_lerobot) as server:
        port = server.recv()
        with running(drive_lerobot, port, source, seconds) as client:
            whole, ticks = client.recv()
        server.send("done")
        network = server.recv()
    return Found(whole=whole, network=network[-len(whole) :], ticks=ticks, period_ms=1e3 / RATE_HZ)


def quiet_lerobot() -> None:
    """Lets LeRobot's log files go to a folder of their own, and its log nowhere."""
    os.chdir(tempfile.mkdtemp())
    logging.disable(logging.INFO)


def serve_lerobot(said: Connection) -> None:
    """Runs LeRobot's policy server; only its network is timed, beside."""
    quiet_lerobot()
    from concurrent import futures

    import grpc
    import torch

    from tendon.policies.export.lerobot.packages import lerobot_module

    torch.set_num_threads(THREADS)
    configs: Any = lerobot_module("async_inference.configs")
    servers: Any = lerobot_module("async_inference.policy_server")
    network: list[float] = []

    class Timed(servers.PolicyServer):
        def _get_action_chunk(self, observation: Any) -> Any:
            begin_ns = time.perf_counter_ns()
            chunk = super()._get_action_chunk(observation)
            network.append((time.perf_counter_ns() - begin_ns) / 1e6)
            return chunk

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    policy_server = Timed(configs.PolicyServerConfig(host="127.0.0.1", fps=round(RATE_HZ)))
    servers.services_pb2_grpc.add_AsyncInferenceServicer_to_server(policy_server, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    said.send(port)
    said.recv()
    said.send(network)
    time.sleep(60.0)


def drive_lerobot(said: Connection, port: int, source: Path, seconds: float) -> None:
    """Runs LeRobot's robot client with a robot that has made its images before."""
    quiet_lerobot()
    from tendon.policies.export.lerobot.packages import lerobot_module

    configs: Any = lerobot_module("async_inference.configs")
    clients: Any = lerobot_module("async_inference.robot_client")
    home, shown = load_profile("panda").vector("home"), frames()
    joints = [f"joint_{k}.pos" for k in range(len(home))]
    whole: list[float] = []
    arrivals: list[float] = []

    class Robot:
        """Its joints move by more than what LeRobot takes for the same observation."""

        def __init__(self) -> None:
            self.observation_features = {**dict.fromkeys(joints, float), **dict.fromkeys(CAMERAS, (SIZE, SIZE, 3))}
            self.action_features = dict.fromkeys(joints, float)
            self.seen = 0

        def connect(self) -> None:
            pass

        def disconnect(self) -> None:
            pass

        def get_observation(self) -> dict[str, Any]:
            self.seen += 1
            images = {key: shown[self.seen % FRAMES][camera] for key, camera in CAMERAS.items()}
            return {**{name: float(value + self.seen) for name, value in zip(joints, home, strict=True)}, **images}

        def send_action(self, action: dict[str, float]) -> dict[str, float]:
            arrivals.append(time.perf_counter_ns() / 1e6)
            return action

    class Timed(clients.RobotClient):
        def _aggregate_action_queues(self, incoming: list[Any], aggregate: Any = None) -> None:
            super()._aggregate_action_queues(incoming, aggregate)
            whole.append(1e3 * (time.time() - incoming[0].get_timestamp()))

    clients.make_robot_from_config = lambda _: Robot()
    config = configs.RobotClientConfig(
        policy_type="act",
        pretrained_name_or_path=str(source),
        robot=None,
        actions_per_chunk=100,
        server_address=f"127.0.0.1:{port}",
        chunk_size_threshold=1.0,
        fps=round(RATE_HZ),
        task="go",
    )
    client = Timed(config)
    if not client.start():
        raise SystemExit("LeRobot's client found no server")
    threading.Thread(target=client.receive_actions, daemon=True).start()
    threading.Thread(target=client.control_loop, args=("go",), daemon=True).start()
    time.sleep(WARM_UP_S)
    first, first_tick = len(whole), len(arrivals)
    time.sleep(seconds)
    said.send((whole[first:], np.diff(arrivals[first_tick:]).tolist()))
    time.sleep(10.0)
