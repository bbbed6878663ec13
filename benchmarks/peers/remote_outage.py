"""What a policy server costs when it hangs, dies and comes back: ours, and openpi's own client with the same server.

The server is that of `tendon policy serve` with a policy that costs nothing, in a process of its own on this machine;
two cameras of 224 px. It is killed (-9), and another one listens on its port after the outage; an observation is
offered every 0.2 s meanwhile, as `policy_node` does. Or it is stopped (SIGSTOP), and the error is waited for.

Examples:
  python benchmarks/peers/remote_outage.py
  python benchmarks/peers/remote_outage.py --repeats 5 --outages 1
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number
from peers.remote import Nothing, openpi_client, robot

from tendon.core.errors import RemoteError
from tendon.core.types import Image, Observation
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.remote.served.link import TendonLink
from tendon.policies.remote.served.server import PolicyServer
from tendon.policies.remote.served.service import Service
from tendon.policies.remote.transport.endpoint import Endpoint

SIZE, PERIOD_S, TIMEOUT_S, OPENPI_S = 224, 0.2, 0.5, 60.0


def serve(pipe: Connection) -> None:
    """Waits for a port, listens on it, and says when it did and on which."""
    manifest, profile = robot(SIZE, SIZE)
    service = Service(Nothing(), manifest, profile)
    pipe.send(None)
    server = PolicyServer(service.metadata, service.answer, largest=service.largest, port=pipe.recv())
    server.start()
    pipe.send((time.monotonic(), server.port))
    time.sleep(1e6)


class Server:
    """A server process that is loaded, and listens when it is told to."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()

    def listen(self, port: int) -> tuple[float, int]:
        """Returns when it did [s, monotonic] and its port; 0 takes any."""
        if self._pipe.recv() is not None:
            raise AssertionError
        self._pipe.send(port)
        said: tuple[float, int] = self._pipe.recv()
        return said

    def signal(self, number: signal.Signals) -> None:
        """Signals the process."""
        os.kill(self.process.pid or 0, number)


def seen() -> Observation:
    """Returns an observation of grey images."""
    _, profile = robot(SIZE, SIZE)
    grey = np.full((SIZE, SIZE, 3), 128, np.uint8)
    return Observation(
        stamp_ns=0,
        joint_position=profile.vector("home"),
        joint_velocity=np.zeros(8),
        images={name: Image(stamp_ns=0, pixels=grey) for name in ("scene", "wrist")},
        instruction="put the red cube in the blue bowl",
    )


def connect(port: int) -> Callable[[], float | None]:
    """Returns a function that asks once: how long it took [s] when it failed, `None` when it did not."""
    _, profile = robot(SIZE, SIZE)
    link = TendonLink(Endpoint(url=f"ws://127.0.0.1:{port}"), profile)
    policy, observation = RemotePolicy(link, profile, timeout_s=TIMEOUT_S, start_s=5.0), seen()

    def ask() -> float | None:
        begin_s = time.monotonic()
        try:
            policy.infer(observation)
        except RemoteError:
            return time.monotonic() - begin_s
        return None

    return ask


def outage(lasts_s: float) -> tuple[float, float]:
    """Returns the time from the new server's listening to the first answer, and that of the longest failed call [s]."""
    first, second = Server(), Server()
    ask = connect(port := first.listen(0)[1])
    ask()
    first.process.kill()
    first.process.join()
    begin_s, listening_s, longest_s = time.monotonic(), 0.0, 0.0
    for k in range(1, 10**6):
        failed_s = ask()
        if failed_s is None:
            break
        longest_s = max(longest_s, failed_s)
        time.sleep(max(begin_s + k * PERIOD_S - time.monotonic(), 0.0))
        if not listening_s and time.monotonic() - begin_s >= lasts_s:
            listening_s = second.listen(port)[0]
    answered_s = time.monotonic()
    second.process.kill()
    return answered_s - listening_s, longest_s


def hangs(repeats: int) -> list[float]:
    """Returns how long calls to a server that is stopped take until they fail [s]."""
    server = Server()
    ask, times_s = connect(server.listen(0)[1]), []
    for _ in range(repeats):
        while ask() is not None:
            time.sleep(PERIOD_S)
        server.signal(signal.SIGSTOP)
        times_s.append(ask() or float("nan"))
        server.signal(signal.SIGCONT)
    server.process.kill()
    return times_s


def request() -> dict[str, Any]:
    """Returns the observation as openpi's client sends it."""
    observation = seen()
    return {
        "observation/joint_position": observation.joint_position,
        "observation/joint_velocity": observation.joint_velocity,
        **{f"observation/images/{name}": image.pixels for name, image in observation.images.items()},
        "prompt": observation.instruction,
    }


def openpi_hangs(say: Callable[[str], None]) -> None:
    """Says how long openpi's client waits for a server that is stopped; runs beside the rest."""
    server = Server()
    client = openpi_client()[0]("127.0.0.1", server.listen(0)[1])
    client.infer(request())
    server.signal(signal.SIGSTOP)

    def wait() -> None:
        begin_s = time.monotonic()
        try:
            client.infer(request())
        except Exception as error:  # whatever it is
            say(f"{time.monotonic() - begin_s:.1f} s ({type(error).__name__})")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(OPENPI_S)
    if thread.is_alive():
        say(f"no error in {OPENPI_S:.0f} s")
    server.process.kill()


def openpi_outage() -> str:
    """Returns what openpi's client answers once the server is back."""
    first, second = Server(), Server()
    client = openpi_client()[0]("127.0.0.1", port := first.listen(0)[1])
    client.infer(request())
    first.process.kill()
    first.process.join()
    second.listen(port)
    said = []
    for _ in range(10):
        try:
            client.infer(request())
            said.append("answer")
        except Exception as error:  # whatever it is
            said.append(type(error).__name__)
        time.sleep(PERIOD_S)
    second.process.kill()
    return f"10 calls after it is back: {', '.join(sorted(set(said)))}"


def row(bench: harness.Bench, what: str, times_s: list[float]) -> None:
    """Prints and adds a row of the table."""
    p50, most = 1e3 * float(np.median(times_s)), 1e3 * max(times_s)
    print(f"| {what} | {len(times_s)} | {p50:.0f} ms | {most:.0f} ms |", flush=True)
    spent = {"p50": Number(p50, "ms"), "max": Number(most, "ms")}
    bench.add({"who": "ours", "what": what}, {"n": Number(len(times_s)), **spent})


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="of each (%(default)s)")
    parser.add_argument("--outages", type=float, nargs="+", default=[1.0, 5.0], help="seconds (%(default)s)")
    harness.add_arguments(parser)
    # What openpi's client makes of an outage is a result here; its library also logs it with a traceback.
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    args = parser.parse_args()
    bench = harness.begin(args, "remote/outage")
    print(f"timeout_s {TIMEOUT_S}")
    waited: list[str] = []
    beside = threading.Thread(target=openpi_hangs, args=(waited.append,), daemon=True)
    beside.start()
    print("| what | n | p50 | max |\n|---|---|---|---|")
    row(bench, "stopped: until the error", hangs(args.repeats))
    for lasts_s in args.outages:
        measured = [outage(lasts_s) for _ in range(args.repeats)]
        row(bench, f"killed, back after {lasts_s:g} s: listening to first answer", [found for found, _ in measured])
        row(bench, f"killed, back after {lasts_s:g} s: longest failed call", [longest for _, longest in measured])
    killed = openpi_outage()
    print(f"openpi's client, killed: {killed}", flush=True)
    beside.join()
    print(f"openpi's client, stopped: {', '.join(waited)}", flush=True)
    for what, said in (("killed, back at once", killed), ("stopped: until the error", ", ".join(waited))):
        bench.add({"who": "openpi's client", "what": what}, {"said": said or "nothing"})


if __name__ == "__main__":
    main()
