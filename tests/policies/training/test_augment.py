"""Augmentations change what is seen, by no more than they say, and keep what is to be done true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Generator, Tensor

from tendon.cli import main
from tendon.core.errors import ConfigError
from tendon.policies.training.augment.augment import KINDS, MOST, Augmenter, parse
from tendon.policies.training.augment.batch import Batch, Rig
from tendon.policies.training.augment.correction import ASIDE_M, FREE_M
from tendon.policies.training.augment.warp import EYE_M, SHIFT, TURN_RAD, ZOOM, follow, resample, seen_from
from tendon.policies.training.model import TABLE_POINT_Z
from tendon.policies.training.pointing import project
from tendon.robots.profile import load_profile
from tendon.sim.viewpoints import labelled_viewpoints

torch.set_num_threads(1)
VIEWS = labelled_viewpoints(load_profile("panda"))
ABOUT = {
    "cameras": VIEWS,
    "state": [{"name": "tool_position"}, {"name": "tool_velocity"}, {"name": "finger_position"}],
    "action": {"space": "tool_position"},
}
RIG = Rig(cameras=tuple(VIEWS), about=ABOUT, masked=True)
B, L, T, SIZE = 12, 3, 16, 64


def random(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


@pytest.fixture
def batch() -> Batch:
    """Frames over the table; the first holds something, of the second nobody knows, and the third is low."""
    rng = random(7)
    state = torch.rand(B, 7, generator=rng) * 0.1 + torch.tensor([0.45, -0.05, 0.2, 0, 0, 0, 0])
    state[2, 2] = FREE_M / 2
    flags = torch.zeros(B, L, 2)
    flags[0], flags[1] = 1.0, float("nan")
    pictures = {f"image_{n}": torch.randint(0, 256, (B, SIZE, SIZE, 3), generator=rng).byte() for n in VIEWS}
    pictures |= {f"mask_{n}": torch.rand(B, SIZE, SIZE, generator=rng) < 0.5 for n in VIEWS}
    points = torch.rand(B, L, 2, 3, generator=rng) * 0.1 + torch.tensor([0.45, -0.05, 0.0])
    return {
        **pictures,
        "state": state,
        "actions": torch.randn(B, L, T, 4, generator=rng),
        "flags": flags,
        "points": points,
    }


def changed(before: Batch, after: Batch) -> set[str]:
    return {key for key, value in before.items() if not torch.equal(value.nan_to_num(), after[key].nan_to_num())}


@pytest.mark.parametrize("name", KINDS)
def test_strength_zero_changes_nothing(name: str, batch: Batch) -> None:
    found = KINDS[name](batch, 0.0, random(), RIG)
    assert not {key for key in changed(batch, found) if not key.startswith("image")}
    for camera in VIEWS:
        picture = batch[f"image_{camera}"].float()
        warp = found.get(f"warp_{camera}", torch.eye(3).expand(B, 3, 3))
        torch.testing.assert_close(warp, torch.eye(3).expand(B, 3, 3), atol=1e-5, rtol=0)
        torch.testing.assert_close(found[f"image_{camera}"].float(), picture)
        torch.testing.assert_close(resample(picture, warp), picture, atol=0.1, rtol=0)
    assert not changed(batch, Augmenter(f"{name}=0", RIG, 0)(batch, 1))


@pytest.mark.parametrize("text", ["colour", "shift", "view", "noise=0.5", "background", "colour,shift=0.3,view,noise"])
def test_a_seed_and_a_step_decide(text: str, batch: Batch) -> None:
    given = {key: value.clone() for key, value in batch.items()}
    cases = ((3, 5), (3, 5), (3, 6), (4, 5))
    one, same, later, other = (Augmenter(text, RIG, seed)(batch, step) for seed, step in cases)
    assert not changed(given, batch), "the batch itself was changed"
    assert one.keys() == same.keys() and not changed(one, same)
    assert changed(one, later) and changed(one, other)


@pytest.mark.parametrize("name", KINDS)
def test_pictures_keep_shape_and_range(name: str, batch: Batch) -> None:
    found = Augmenter(f"{name}={MOST:g}", RIG, 0)(batch, 0)
    for camera in VIEWS:
        picture = found[f"image_{camera}"]
        assert picture.shape == (B, SIZE, SIZE, 3)
        assert picture.dtype == (torch.uint8 if name == "noise" and VIEWS[camera]["on_tool"] is None else torch.float32)
        assert picture.min() >= 0 and picture.max() <= 255 and bool(picture.isfinite().all())


@pytest.mark.parametrize("name", ["colour", "shift", "view", "background"])
def test_only_noise_changes_what_is_done(name: str, batch: Batch) -> None:
    assert all(key.startswith("image") for key in changed(batch, Augmenter(name, RIG, 0)(batch, 0)))


def test_only_the_background_is_another(batch: Batch) -> None:
    found = KINDS["background"](batch, 1.0, random(), RIG)
    for camera in VIEWS:
        same = (found[f"image_{camera}"] == batch[f"image_{camera}"].float()).all(-1)
        assert bool(same[~batch[f"mask_{camera}"]].all()), "robot and things stay as they are"
        assert float(same[batch[f"mask_{camera}"]].float().mean()) < 0.05
    with pytest.raises(ConfigError, match="which pixels are background"):
        Augmenter("background", replace(RIG, masked=False), 0)


def test_a_shift_is_within_its_bounds(batch: Batch) -> None:
    warp = KINDS["shift"](batch, 0.5, random(), RIG)["warp_scene"]
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0]]).expand(B, 3, 2)
    assert float((follow(warp, corners) - corners).abs().max()) <= 0.5 * (SHIFT + ZOOM) + 1e-6


@pytest.mark.parametrize("camera", VIEWS)
def test_another_view_is_what_that_camera_would_see_of_the_table(camera: str, batch: Batch) -> None:
    """The homography agrees with the projection that labels points, at the height of things."""
    points = batch["points"].clone()
    points[..., 2] = TABLE_POINT_Z
    away = torch.tensor([EYE_M, -EYE_M, EYE_M]).expand(B, 3)
    warp = seen_from(VIEWS[camera], batch["state"], away, torch.zeros(B, 3))
    elsewhere = {**VIEWS[camera], "eye": (torch.tensor(VIEWS[camera]["eye"]) + away[0]).tolist()}
    high = batch["state"][:, 2] > FREE_M
    seen = follow(warp, project(VIEWS[camera], points, batch["state"]))
    wanted = project(elsewhere, points, batch["state"])
    torch.testing.assert_close(seen[high], wanted[high], atol=2e-4, rtol=0)
    turned = seen_from(VIEWS[camera], batch["state"], 0 * away, torch.tensor([0.0, 0.0, TURN_RAD]).expand(B, 3))
    middle = follow(turned[high], torch.zeros(int(high.sum()), 1, 2))
    torch.testing.assert_close(middle, torch.zeros_like(middle), atol=1e-5, rtol=0)


def test_a_picture_moves_to_where_its_points_are_said_to_be() -> None:
    picture = torch.zeros(1, SIZE, SIZE, 3)
    picture[0, 20:23, 30:33] = 255.0
    before = (torch.tensor([[[31.0, 21.0]]]) * 2 + 1) / SIZE - 1
    warp = torch.tensor([[[1.05, 0.02, 0.1], [0.0, 0.95, -0.06], [0.01, 0.0, 1.0]]])
    drawn = resample(picture, warp)[0, ..., 0]
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    middle = torch.stack([(x * drawn).sum(), (y * drawn).sum()]) / drawn.sum()
    torch.testing.assert_close((middle * 2 + 1) / SIZE - 1, follow(warp, before)[0, 0], atol=0.01, rtol=0)


def test_noise_leads_back_to_the_same_places(batch: Batch) -> None:
    found = KINDS["noise"](batch, 2.0, random(), RIG)
    aside = found["state"][:, :3] - batch["state"][:, :3]
    assert float(aside.abs().max()) <= 2 * ASIDE_M + 1e-6
    assert not aside[:3].any(), "held, unknown, or near the table: left alone"
    assert bool((aside[3:].abs().sum(-1) > 0).all())

    def reached(frames: Batch) -> Tensor:
        return frames["actions"][..., :3] + frames["state"][:, None, None, :3]

    torch.testing.assert_close(reached(found), reached(batch), atol=1e-5, rtol=0)
    assert torch.equal(found["actions"][..., 3:], batch["actions"][..., 3:])
    assert torch.equal(found["state"][:, 3:], batch["state"][:, 3:])
    assert torch.equal(found["exposed"], batch["state"]) and "warp_scene" not in found


def test_after_noise_the_hand_camera_sees_what_it_would_there(batch: Batch) -> None:
    found = KINDS["noise"](batch, 1.0, random(), RIG)
    points = batch["points"].clone()
    points[..., 2] = TABLE_POINT_Z
    then = follow(found["warp_wrist"], project(VIEWS["wrist"], points, found["exposed"]))
    now = project(VIEWS["wrist"], points, found["state"])
    torch.testing.assert_close(then[3:], now[3:], atol=2e-4, rtol=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("color", "unknown"),
        ("colour,colour=0.5", "twice"),
        ("view=-1", "from 0 to"),
        ("view=nan", "from 0 to"),
        ("view=much", "from 0 to"),
        ("view=", "from 0 to"),
        ("shift=4", "from 0 to"),
    ],
)
def test_a_wrong_text_is_one_error(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse(text)
    assert main(["policy", "train", "--data", "nowhere", "--out", "nowhere", "--augment", text]) == 2
    assert not Path("nowhere").exists()


def test_noise_needs_actions_that_can_be_put_right() -> None:
    joints = replace(RIG, about={**ABOUT, "action": {"space": "joint_position"}})
    with pytest.raises(ConfigError, match="joint_position"):
        Augmenter("noise", joints, 0)
    assert parse("") == {} and parse(" colour , view=0.5") == {"colour": 1.0, "view": 0.5}
