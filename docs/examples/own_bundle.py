"""A bundle of one's own: any torch network with the inputs and outputs of the contract. This one reaches for a place.

Example:
  python docs/examples/own_bundle.py outputs/bundles/reach
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from tendon.policies.bundle.bundle import write_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import load_profile

ROWS, STEP_S, TOKENS, SPEED_M_S = 16, 0.1, 4, 0.1
PLACES = {"left": (0.45, 0.2, 0.25), "right": (0.45, -0.2, 0.25)}
VOCABULARY = ("<pad>", "<unk>", *PLACES)


class Reach(nn.Module):
    """Moves the tool toward the place that the first word names, in a straight line, fingers open."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.tensor([[0.45, 0.0, 0.25]] * 2 + list(PLACES.values())))
        self.register_buffer("ramp", torch.arange(1.0, ROWS + 1) * STEP_S * SPEED_M_S)

    def forward(
        self,
        image_scene: Tensor,
        image_wrist: Tensor,
        state: Tensor,
        tokens: Tensor,
        prefix: Tensor,
        prefix_rows: Tensor,
        noise: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Answers (1, ROWS, 4) of (dx, dy, dz, finger), and (1, 2, 3) of points for display; here all mean 0, std 1."""
        goal = self.places[tokens[:, 0]]
        away = goal - state[:, :3]
        distance = away.norm(dim=1, keepdim=True).clamp_min(1e-6)
        moves = away[:, None] * (self.ramp / distance).clamp_max(1.0)[..., None]
        fingers = torch.full_like(moves[..., :1], 0.04)
        answer = torch.cat([moves, fingers], dim=2)
        given = (torch.arange(ROWS) < prefix_rows[:, None])[..., None]
        return torch.where(given, prefix, answer), torch.stack([goal, goal], dim=1)


def main() -> None:
    """Exports, writes the bundle and checks it against the robot."""
    profile = load_profile("panda")
    cameras = tuple(CameraInput(name=c.name, width=c.width, height=c.height) for c in profile.cameras)
    example = {f"image_{c.name}": torch.zeros((1, c.height, c.width, 3), dtype=torch.uint8) for c in cameras} | {
        "state": torch.zeros(1, 7),
        "tokens": torch.zeros((1, TOKENS), dtype=torch.int64),
        "prefix": torch.zeros(1, ROWS, 4),
        "prefix_rows": torch.zeros(1, dtype=torch.int64),
        "noise": torch.zeros(1, ROWS, 4),
    }
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "policy.onnx"
        names = {"input_names": list(example), "output_names": ["actions", "points"]}
        torch.onnx.export(Reach(), tuple(example.values()), str(path), dynamo=True, external_data=False, **names)
        graph = path.read_bytes()
    manifest = Manifest(
        name="reach",
        robot=profile.name,
        tool_frame=profile.tool_frame,
        joint_names=profile.joint_names,
        cameras=cameras,
        state=(
            StateItem(name="tool_position", size=3, unit="m"),
            StateItem(name="tool_velocity", size=3, unit="m/s"),
            StateItem(name="finger_position", size=1, unit="m"),
        ),
        state_mean=(0.0,) * 7,
        state_std=(1.0,) * 7,
        action=ActionSpace(rows=ROWS, step_s=STEP_S, mean=(0.0,) * 4, std=(1.0,) * 4),
        prefix_rows=5,
        instruction=InstructionInput(tokens=TOKENS, vocabulary=VOCABULARY),
        training={"recipe": "none, written by hand"},
    )
    bundle = write_bundle(sys.argv[1], manifest, {"policy.onnx": graph})
    BundlePolicy(bundle, profile).warm_up()
    print(f"{bundle.folder}: digest {bundle.digest[:12]}, fits {profile.name}")


if __name__ == "__main__":
    main()
