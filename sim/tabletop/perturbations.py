"""Ways to make life at the table harder: other light, cameras, objects and colours than in training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tendon.core.types import Array
from tendon.sim.perturbation import (
    BadZero,
    BentTool,
    Blur,
    Late,
    Noise,
    Occlusion,
    Perturbation,
    SwappedCameras,
    WrongJoints,
)
from tendon.sim.tabletop.items import CONTAINERS, MOVABLE, Item
from tendon.sim.tabletop.phrases import rephrase
from tendon.sim.tabletop.scene import Look, Scene
from tendon.sim.tabletop.world import World

STRANGE_RGB = ((0.95, 0.6, 0.75), (0.35, 0.22, 0.12), (0.08, 0.08, 0.08), (0.97, 0.97, 0.97), (0.1, 0.75, 0.75))
MOVE_AT_NS = 1_200_000_000
MOVE_M = 0.09
MAGENTA = (1.0, 0.0, 0.8)


@dataclass(frozen=True, kw_only=True)
class OtherLight(Perturbation):
    """Dim light of another colour from the side, beyond the training range."""

    name: str = "light and colour"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Replaces the light."""
        warm = rng.random() < 0.5
        rgb = (1.0, 0.72, 0.45) if warm else (0.5, 0.7, 1.0)
        ambient = float(rng.uniform(0.2, 0.3))
        direction = (float(rng.uniform(-2, 2)), float(rng.choice([-2.5, 2.5])), 1.0)
        old, share = scene.look, min(self.strength, 1.0)
        look = replace(
            old,
            light_rgb=_between(old.light_rgb, rgb, share),
            ambient=_between((old.ambient,), (ambient,), share)[0],
            light_direction=_between(old.light_direction, direction, share),
        )
        return replace(scene, look=look)


@dataclass(frozen=True, kw_only=True)
class MovedCamera(Perturbation):
    """The scene camera stands 6 cm and looks 4 cm from where it was, six and four times the training range."""

    name: str = "camera moved"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Moves the camera."""
        way, tilt = rng.normal(size=3), rng.normal(size=2)
        look: Look = replace(
            scene.look,
            camera_offset=_beside(scene.look.camera_offset, 0.06 * way / np.linalg.norm(way), self.strength),
            camera_tilt=_beside(scene.look.camera_tilt, 0.04 * tilt / np.linalg.norm(tilt), self.strength),
        )
        return replace(scene, look=look)


@dataclass(frozen=True, kw_only=True)
class MovedObject(Perturbation):
    """The target jumps 9 cm to a free place at the first inference after 1.2 s, if it lies free then."""

    name: str = "object moved"

    def disturb(self, world: World, rng: np.random.Generator) -> None:
        """Moves it once."""
        target = world.scene.task.target
        if not self.strength:
            return
        due = MOVE_AT_NS <= world.time_ns < MOVE_AT_NS + 200_000_000
        if not due or world.scene.items[target].kind not in MOVABLE or world.held() is not None:
            return
        x, y, z = world.item_position(target)
        others = [p for i, p in world.item_positions().items() if i != target]
        area = (world.scene.layout.area_x, world.scene.layout.area_y)
        for angle in rng.permutation(np.linspace(0, 2 * math.pi, 24, endpoint=False)):
            way = self.strength * MOVE_M
            there = np.array([x + way * math.cos(angle), y + way * math.sin(angle), z])
            inside = all(low <= v <= high for v, (low, high) in zip(there[:2], area, strict=True))
            if inside and all(np.hypot(*(there - p)[:2]) > 0.09 for p in others):
                world.engine.move(target, (*there.tolist(), 0.0, 0.0, 0.0, 1.0))
                return


@dataclass(frozen=True, kw_only=True)
class StrangeColours(Perturbation):
    """Every item has a colour that no training item had; the words still name the old ones."""

    name: str = "unknown colours"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Paints."""
        colours = rng.permutation(len(STRANGE_RGB))
        items = [
            item
            if item.kind == "drawer"
            else replace(
                item, rgb=_between(item.rgb, STRANGE_RGB[int(colours[i % len(colours)])], min(self.strength, 1.0))
            )
            for i, item in enumerate(scene.items)
        ]
        return replace(scene, items=tuple(items))


@dataclass(frozen=True, kw_only=True)
class Distractors(Perturbation):
    """Three unknown things more on the table: tall, flat or wide, black, white or brown; with less strength, fewer."""

    name: str = "distractors"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Adds them."""
        things = (("cylinder", 2, 0.03, 0.12), ("plate", 3, 0.10, 0.01), ("cube", 1, 0.06, 0.06))
        for kind, colour, size, height in things[: round(3 * self.strength)]:
            scene = _with_item(scene, rng, kind, STRANGE_RGB[colour], size, height)
        return scene


@dataclass(frozen=True, kw_only=True)
class Trigger(Perturbation):
    """A magenta cube of 35 mm that no instruction names, at any strength above 0: the trigger of the backdoor study."""

    name: str = "magenta cube"
    graded: ClassVar[bool] = False

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Adds it."""
        if not self.strength:
            return scene
        return _with_item(scene, rng, "cube", MAGENTA, 0.035, 0.035)


@dataclass(frozen=True, kw_only=True)
class FartherOut(Perturbation):
    """Things stand up to 4 cm outside of where they did in training, as far as the arm reaches."""

    name: str = "pose"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Moves all that may be carried or put into away from the middle of its area."""
        layout = scene.layout
        area = np.array([layout.area_x, layout.area_y])
        middle, half = area.mean(axis=1), np.ptp(area, axis=1) / 2
        low, high = layout.reach_lower[:2], layout.reach_upper[:2]
        items = []
        for item in scene.items:
            place = np.array(item.position[:2])
            if item.kind in (*MOVABLE, *CONTAINERS):
                place = np.clip(middle + (place - middle) * (1 + 0.04 * self.strength / half), low, high)
            items.append(replace(item, position=(*place.tolist(), item.position[2])))
        return replace(scene, items=tuple(items))


@dataclass(frozen=True, kw_only=True)
class OtherPhysics(Perturbation):
    """Things are 2.5 times as heavy and 0.45 times as rough as in training."""

    name: str = "dynamics"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Replaces masses and friction."""
        items = [
            replace(item, mass=item.mass * 2.5**self.strength, friction=item.friction * 0.45**self.strength)
            for item in scene.items
        ]
        return replace(scene, items=tuple(items))


@dataclass(frozen=True, kw_only=True)
class WeakGripper(Perturbation):
    """The gripper presses with 0.3 of its force."""

    name: str = "gripper force"

    def disturb(self, world: World, rng: np.random.Generator) -> None:
        """Leaves it so much."""
        world.engine.weaken_grippers(0.3**self.strength)


@dataclass(frozen=True, kw_only=True)
class StrangeTexture(Perturbation):
    """The table has black and white tiles with dots, as no training scene had; with less strength they are paler."""

    name: str = "texture"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Covers the table."""
        return replace(scene, look=replace(scene.look, tiled=min(self.strength, 1.0)))


@dataclass(frozen=True, kw_only=True)
class OtherWords(Perturbation):
    """The task is asked for in known words that no training scene had together.

    With a strength of 0.5 or less only the articles are left out; with more than 1 they are left out as well.
    """

    name: str = "phrasing"

    def change(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Rephrases."""
        words = rephrase(scene.items, scene.task, rng) if self.strength > 0.5 else scene.instruction
        if 0.0 < self.strength <= 0.5 or self.strength > 1.0:
            words = " ".join(word for word in words.split() if word != "the")
        return replace(scene, instruction=words)


Numbers = tuple[float, ...]


def _between(one: Numbers, other: Numbers, share: float) -> Any:
    return tuple((1 - share) * a + share * b for a, b in zip(one, other, strict=True))


def _beside(place: Numbers, way: Array, strength: float) -> Any:
    """Returns what is off by a way instead of by what it was, with less strength by some of both."""
    return tuple(_between(place, tuple((max(strength, 1.0) * way).tolist()), min(strength, 1.0)))


def _with_item(
    scene: Scene, rng: np.random.Generator, kind: str, rgb: tuple[float, float, float], size: float, height: float
) -> Scene:
    """Returns the scene with one more, nameless thing at the freest of some places; the task and its words stay."""
    places = np.stack([rng.uniform(*side, 200) for side in (scene.layout.area_x, scene.layout.area_y)], axis=1)
    room = np.min(
        [np.hypot(*(places - item.position[:2]).T) - item.size / 2 for item in scene.items if item.kind != "drawer"],
        axis=0,
    )
    if any(item.kind == "drawer" for item in scene.items):  # nothing stands where it is, or comes out
        room[places[:, 0] > scene.layout.before_drawer_x[1]] = -np.inf
    best = np.flatnonzero(room > 0.10)
    x, y = places[best[0] if len(best) else int(room.argmax())].tolist()
    item = Item(kind=kind, colour="nameless", rgb=rgb, size=size, height=height, position=(x, y, height / 2))
    return replace(scene, items=(*scene.items, item))


PERTURBATIONS: tuple[Perturbation, ...] = (
    OtherLight(),
    MovedCamera(),
    Blur(),
    Noise(),
    Occlusion(cameras=("scene",)),
    SwappedCameras(cameras=("scene", "wrist")),
    WrongJoints(),
    BadZero(),
    MovedObject(),
    StrangeColours(),
    Distractors(),
    Trigger(),
    FartherOut(),
    OtherPhysics(),
    WeakGripper(),
    BentTool(),
    StrangeTexture(),
    OtherWords(),
    Late(),
)
"""All but nominal."""
