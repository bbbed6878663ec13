"""An openpi server for the Panda that does what the prompt says: moves joint 1, or breaks in one of the known ways.

`python moody_server.py PORT` prints the port that it listens on; 0 takes any.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tendon.policies.remote.openpi.format import Packer, unpack

ROWS, STEP_S, SPEED = 10, 0.1, 0.1
LATE_S, SLOW_S = 0.4, 3.0


def act(request: dict[Any, Any]) -> dict[str, Any]:
    """Returns a chunk of 7 joints and the gripper, open; wrong in the way that the prompt names."""
    prompt = request["prompt"]
    time.sleep({"late": LATE_S, "slow": SLOW_S}.get(prompt, 0.0))
    actions = np.tile(np.append(request["observation/joint_position"], 0.0), (ROWS, 1))
    side = {"left": 1.0, "late": 1.0, "right": -1.0}.get(prompt, 0.0)
    actions[:, 0] += side * SPEED * STEP_S * np.arange(1, ROWS + 1)
    if prompt == "keys":
        return {"action": actions}
    return {"actions": actions[:, :7] if prompt == "narrow" else actions}


def talk(connection: ServerConnection) -> None:
    """Serves one client as openpi does: metadata, then answers; the traceback of an error, then the end."""
    packer = Packer()
    connection.send(bytes(packer.pack({})))
    with contextlib.suppress(ConnectionClosed):
        for message in connection:
            request, begin_s = unpack(message), time.monotonic()
            try:
                answer = act(request)
            except KeyError:
                connection.send(traceback.format_exc())
                return
            taken_ms = 1e3 * (time.monotonic() - begin_s)
            match request["prompt"]:
                case "huge":
                    connection.send(bytes(64 << 20))
                case "half":
                    connection.socket.sendall(b"\x82\x7e\x10\x00half an answer")
                    os._exit(1)
                case _:
                    connection.send(bytes(packer.pack(answer | {"server_timing": {"infer_ms": taken_ms}})))


if __name__ == "__main__":
    with serve(talk, "127.0.0.1", int(sys.argv[1]), compression=None, max_size=None) as server:
        print(server.socket.getsockname()[1], flush=True)
        server.serve_forever()
