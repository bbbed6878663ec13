"""What the tests of this folder share: an openpi server as the protocol's description has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from websockets.sync.server import ServerConnection

from tendon.policies.remote.openpi.format import Packer, unpack

METADATA = {"reset_pose": [0.0, 1.0], "name": "a policy"}
Handler = Callable[[ServerConnection], None]
StartServer = Callable[..., str]


def packed(message: dict[Any, Any]) -> bytes:
    """A message of its own bytes."""
    return bytes(Packer().pack(message))


def echo_actions(connection: ServerConnection) -> None:
    """What openpi's server does: metadata, then an answer to each request; here the state, ten times."""
    connection.send(packed(METADATA))
    for message in connection:
        state = unpack(message)["observation/state"]
        connection.send(packed({"actions": np.tile(state, (10, 1)), "server_timing": {"infer_ms": 1.5}}))
