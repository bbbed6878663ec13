"""A policy on another machine: serve a bundle, and ask it as a robot does. Here both ends are in one program.

`tendon policy serve bundles/tabletop` is the server by itself. Run: python examples/policy_server.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import tendon
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.remote.served.server import PolicyServer
from tendon.policies.remote.served.service import Service

robot = tendon.load_robot("panda")
bundle = load_bundle(find_bundle("tabletop"))
policy = BundlePolicy(bundle, robot)
service = Service(policy, bundle.manifest, robot)
server = PolicyServer(service.metadata, service.answer, largest=service.largest, port=0)  # any free port
server.start()

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "server.yaml"  # what `tendon run policy:=server.yaml` takes, too
    file.write_text(f"kind: tendon\nurl: ws://127.0.0.1:{server.port}\ntimeout_s: 10\n")
    remote = tendon.load_policy(file, robot)
assert isinstance(remote, RemotePolicy)
black = {c.name: tendon.Image(stamp_ns=0, pixels=np.zeros((c.height, c.width, 3), np.uint8)) for c in remote.cameras}
home, rest = robot.vector("home"), np.zeros(len(robot.joints))
observation = tendon.Observation(
    stamp_ns=0, joint_position=home, joint_velocity=rest, images=black, instruction="pick up the red cube"
)
answer, local = remote.infer(observation), policy.infer(observation)
print(f"{remote.name} at {remote.engine}: {len(answer.actions)} rows")
print(f"the same as here, bit by bit: {np.array_equal(answer.actions, local.actions)}")
remote.close()
server.close()
