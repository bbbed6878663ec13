"""A rig of a robot as it is, drawn from a seed: lenses, cameras and zeros off from what the profile says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tendon.calibration.cameras.model import CameraModel, plain_model
from tendon.calibration.rig.chain import Chain
from tendon.calibration.rig.parts import Rig, RigBoard, RigCamera
from tendon.calibration.rig.state import RigState
from tendon.calibration.transforms import Pose, exp
from tendon.core.types import Array
from tendon.demo.calibration.described import HAND, TABLE, rig_file
from tendon.demo.calibration.scenery import TrueBoard, TrueCamera
from tendon.robots.camera_view import camera_axes, focal_length
from tendon.robots.profile import RobotProfile
from tendon.sim.cameras import mount_of

WIDTH, HEIGHT = 640, 480
"""Of the demo's pictures."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrueRig:
    """A rig as it is, and as one believes that it is.

    Attributes:
        cameras: as they are.
        boards: likewise.
        zeros: (n,) how much larger each joint is said to be than it is, rad or m.
        nominal: what the profile says, with a guess of where the board is.
    """

    cameras: Mapping[str, TrueCamera]
    boards: tuple[TrueBoard, ...]
    zeros: Array
    nominal: RigState

    def state(self, models: Mapping[str, CameraModel]) -> RigState:
        """Returns it as it is, seen through lenses by camera, which are those of its rig too."""
        rig = self.nominal.rig
        return replace(
            self.nominal,
            rig=replace(rig, cameras=tuple(replace(each, model=models[each.name]) for each in rig.cameras)),
            cameras={name: camera.place for name, camera in self.cameras.items()},
            boards={each.board.name: each.place for each in self.boards},
            zeros=self.zeros,
            models=models,
        )


def draw_rig(
    profile: RobotProfile,
    rng: np.random.Generator,
    zero_deg: tuple[float, float] = (1.0, 3.0),
    camera_m: tuple[float, float] = (0.02, 0.05),
    camera_deg: float = 5.0,
    size: tuple[int, int] | None = (WIDTH, HEIGHT),
) -> TrueRig:
    """Returns a rig with every camera of a profile, and boards as `suites/calibration.yaml` has them.

    Args:
        profile: the robot.
        rng: draws it.
        zero_deg: how far zeros are off, of joints that move a camera, but the first and the last: what those are off by
            turns the base, or the hand, and no camera tells.
        camera_m: how far cameras are from where the profile mounts them.
        camera_deg: how far they are turned.
        size: width and height of pictures [px]; `None` has those of the profile.
    """
    file = rig_file()
    places = file.places(profile.name)
    chain, names = Chain(profile), profile.joint_names
    arm = [names[k] for k in profile.group_indices("arm")]
    joints = tuple(arm[1:-1])
    zeros = np.zeros(len(names))
    for joint in joints:
        zeros[names.index(joint)] = np.radians(rng.uniform(*zero_deg) * rng.choice([-1, 1]))
    board = file.board(TABLE, profile.name)
    believed, models, cameras, links = {}, {}, {}, {}
    for camera in profile.cameras:
        mount = mount_of(profile, camera)
        eye, at, up = (np.array(each) for each in (mount.position, mount.looks_at, mount.up))
        right, above, back = camera_axes(eye, at, up)
        believed[camera.name] = Pose(rotation=np.stack([right, -above, -back], axis=1), translation=eye)
        width, height = size or (camera.width, camera.height)
        models[camera.name] = plain_model(width, height, focal_length(mount, height))
        links[camera.name] = mount.link
        way, turn = rng.normal(size=3), rng.normal(size=3)
        way *= 1.0 if way[:2] @ eye[:2] > 0 else -1.0  # out of what carries it, not into it
        way[2] = abs(way[2])
        off = rng.uniform(*camera_m) * way / np.linalg.norm(way)
        about = np.radians(camera_deg) * turn / np.linalg.norm(turn)
        cameras[camera.name] = TrueCamera(
            link=mount.link,
            place=believed[camera.name].moved(np.concatenate([off, about])),
            model=_true_lens(models[camera.name], rng),
        )
    home = profile.vector("home")
    moving = next((name for name, link in links.items() if chain.movers((link,))), None)
    middle = np.array([0.5, 0.0, 0.0])
    if moving is not None:
        (hand, _), *_ = chain.poses(home, (links[moving],))
        middle = (hand @ believed[moving]).apply(np.array([0.0, 0.0, places.ahead]))
    middle[2] = 0.005
    wide, high = board.size_m
    flat = exp(np.array([np.pi, 0.0, 0.0]))  # x of the base to its right, seen from above
    guess = Pose(rotation=flat, translation=middle - flat @ np.array([wide / 2, high / 2, 0.0]))
    off = np.array([*rng.uniform(-0.03, 0.03, 2), 0.0, 0.0, 0.0, rng.uniform(-0.3, 0.3)])
    place = guess.moved(off)
    held = []
    if any(not chain.movers((link,)) for link in links.values()):
        hand_link = profile.tool_frame if moving is None else links[moving]
        held.append((file.board(HAND, profile.name), hand_link, places.held))
    rig = Rig(
        profile=profile,
        cameras=tuple(RigCamera(name=name, link=links[name], model=models[name]) for name in cameras),
        boards=(RigBoard(board=board, link=profile.base_frame), *(RigBoard(board=b, link=link) for b, link, _ in held)),
        joints=joints,
    )
    nominal = RigState(
        rig=rig,
        views=(),
        chain=chain,
        cameras=believed,
        boards={board.name: guess, **{b.name: pose for b, _, pose in held}},
        zeros=np.zeros(len(names)),
        models=models,
    )
    return TrueRig(
        cameras=cameras,
        boards=(
            TrueBoard(board=board, link=profile.base_frame, place=place),
            *(TrueBoard(board=b, link=link, place=pose.moved(0.01 * rng.normal(size=6))) for b, link, pose in held),
        ),
        zeros=zeros,
        nominal=nominal,
    )


def _true_lens(model: CameraModel, rng: np.random.Generator) -> CameraModel:
    """Returns a lens with the distortion, centre and focal length that a cheap one has."""
    focal = model.focal[0] * rng.uniform(0.95, 1.05)
    # By how much it bends in the corners, whatever its angle: beyond a third it would fold the picture over.
    bent = rng.uniform(-0.15, 0.05), rng.uniform(-0.03, 0.06)
    corner = float(np.hypot(model.width, model.height)) / 2 / focal
    return CameraModel(
        width=model.width,
        height=model.height,
        focal=focal * np.array([1.0, rng.uniform(0.995, 1.005)]),
        centre=model.centre + rng.uniform(-8, 8, 2),
        distortion=np.array([bent[0] / corner**2, bent[1] / corner**4, *rng.uniform(-1e-3, 1e-3, 2), 0.0]),
    )
