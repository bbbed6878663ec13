"""A small vision-language-action model: language points into two images, a flow makes the action chunk.

- A trunk a camera turns pixels into a grid of features; it knows no language, so that one pass serves several
  instructions in training and an instruction can change without touching it.
- The instruction becomes a few queries. Each attends over each grid and returns what is there and where: the
  expected pixel coordinate under the attention (spatial softmax, Levine et al. 2016), differentiable and sub-pixel.
  The camera's nominal viewpoint turns that into a place on the table, relative to the tools.
- Rectified flow (Liu et al. 2022; pi0, Black et al. 2024) turns noise into the chunk in `FLOW_STEPS` Euler steps, its
  leading rows given as a clean prefix (training-time real-time chunking, Black et al. 2025).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

FLOW_STEPS = 4
SLOTS = 4
GRID_WIDTH = 64
TEXT_WIDTH = 96
LABELLED_SLOTS = 2
TOOL_SLOT = LABELLED_SLOTS
"""Looks at the first tool, whose place the state tells: how far it is seen from there is how far the camera is off."""
TABLE_POINT_Z = 0.02
FINE_M, COARSE_M = 0.02, 0.2


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes that data decide: cameras (name to height and width), tools, state, chunk rows and components, text."""

    cameras: dict[str, tuple[int, int]]
    tools: int
    state: int
    rows: int
    components: int
    tokens: int
    vocabulary: int


class Pointing(NamedTuple):
    """What L instructions point at in B observations.

    Attributes:
        found: camera name to (B, L, SLOTS, C + 2): features there, and where in [-1, 1].
        attention: camera name to (B, L, 3, h * w) logits of where target, goal and first tool are seen.
        summary: (B, L, TEXT_WIDTH) of the instruction.
        close: (B, W * C) what the cameras on tools see as a whole.
    """

    found: dict[str, Tensor]
    attention: dict[str, Tensor]
    summary: Tensor
    close: Tensor


class Understanding(NamedTuple):
    """What the network makes of B observations under L instructions each.

    Attributes:
        context: (B, L, K) what the flow is conditioned on.
        points: (B, L, 2, 3) centre of the target item and of the goal [m, base frame].
        flags: (B, L, 2) logits: target is held, task is done.
    """

    context: Tensor
    points: Tensor
    flags: Tensor


class Residual(nn.Module):
    """Two 3x3 convolutions beside an identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> the same."""
        return functional.relu(x + self.body(x))


def trunk() -> nn.Sequential:
    """Returns pixels (B, 3, H, W) -> features (B, GRID_WIDTH, H/8, W/8)."""
    layers: list[nn.Module] = []
    for before, after, kernel in ((3, 24, 5), (24, 48, 3), (48, GRID_WIDTH, 3)):
        layers += [
            nn.Conv2d(before, after, kernel, stride=2, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers, Residual(GRID_WIDTH), Residual(GRID_WIDTH))


class TablePoint(nn.Module):
    """Where the ray through a pixel meets the table, for a camera at its nominal viewpoint.

    Args:
        viewpoint: rotation, eye, on_tool and focal, as demonstrations say them.
    """

    def __init__(self, viewpoint: Mapping[str, Any]) -> None:
        super().__init__()
        self.on_tool, self.focal = viewpoint["on_tool"], float(viewpoint["focal"])
        self.register_buffer("rotation", torch.tensor(viewpoint["rotation"]), persistent=False)
        self.register_buffer("eye", torch.tensor(viewpoint["eye"]), persistent=False)

    def forward(self, where: Tensor, tools: Tensor) -> Tensor:
        """(B, L, S, 2) in [-1, 1] and (B, 1, 1, T, 3) [m] -> (B, L, S, 2) from the first tool along x and y [m]."""
        flat = where / self.focal
        ray = torch.cat([flat[..., :1], -flat[..., 1:], -torch.ones_like(flat[..., :1])], dim=-1) @ self.rotation
        eye = self.eye if self.on_tool is None else self.eye + tools[..., self.on_tool, :]
        reach = (TABLE_POINT_Z - eye[..., 2:]) / ray[..., 2:].clamp_max(-0.2)
        return (eye + ray * reach - tools[..., 0, :])[..., :2]


class Pointer(nn.Module):
    """Queries attend over a feature grid: what is there, and where."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(height * width, GRID_WIDTH) * 0.02)
        self.query = nn.Linear(TEXT_WIDTH, GRID_WIDTH)
        self.key = nn.Linear(GRID_WIDTH, GRID_WIDTH)
        self.value = nn.Linear(GRID_WIDTH, GRID_WIDTH)
        y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
        self.register_buffer("place", torch.stack([x.flatten(), y.flatten()], dim=1))

    def forward(self, grid: Tensor, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Looks once.

        Args:
            grid: (B, C, h, w) features.
            queries: (B, L, S, TEXT_WIDTH), L instructions of S queries for each image.

        Returns:
            (B, L, S, C + 2) features and coordinates in [-1, 1], and attention logits (B, L, S, h * w).
        """
        cells = grid.flatten(2).transpose(1, 2) + self.position
        batch, labels, slots, _ = queries.shape
        asked = self.query(queries).reshape(batch, labels * slots, GRID_WIDTH)
        logits = asked @ self.key(cells).transpose(1, 2) * GRID_WIDTH**-0.5
        weights = logits.float().softmax(-1)
        seen = weights.to(cells.dtype) @ self.value(cells)
        where = weights @ self.place.float()
        found = torch.cat([seen.float(), where], dim=-1)
        return found.reshape(batch, labels, slots, -1), logits.reshape(batch, labels, slots, -1)


class Language(nn.Module):
    """Tokens -> `SLOTS` queries and a summary."""

    def __init__(self, vocabulary: int, tokens: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, TEXT_WIDTH)
        self.position = nn.Parameter(torch.randn(tokens, TEXT_WIDTH) * 0.02)
        self.layers = nn.ModuleList([Attention(TEXT_WIDTH), Attention(TEXT_WIDTH)])
        self.slots = nn.Parameter(torch.randn(SLOTS + 1, TEXT_WIDTH) * 0.5)
        self.read = Attention(TEXT_WIDTH)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """(B, tokens) -> (B, SLOTS, TEXT_WIDTH) queries, (B, TEXT_WIDTH) summary."""
        x = self.embed(tokens) + self.position
        for layer in self.layers:
            x = layer(x, x)
        slots = self.read(self.slots.expand(len(tokens), -1, -1), x)
        return slots[:, :SLOTS], slots[:, SLOTS]


class Attention(nn.Module):
    """A pre-norm transformer block, one tensor attending to another; four heads."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.norm_source = nn.LayerNorm(width)
        self.query, self.memory = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        """(B, N, W) attends to (B, M, W) -> (B, N, W)."""
        batch, count, width = x.shape
        memory = self.norm_source(source)
        query = self.query(self.norm(x)).reshape(batch, count, self.heads, -1).transpose(1, 2)
        key, value = self.memory(memory).reshape(batch, -1, 2, self.heads, width // self.heads).unbind(2)
        weights = (query @ key.permute(0, 2, 3, 1) * (width // self.heads) ** -0.5).softmax(-1)
        mixed = (weights @ value.transpose(1, 2)).transpose(1, 2).reshape(batch, count, width)
        x = x + self.out(mixed)
        return x + self.mlp(x)


class Flow(nn.Module):
    """The velocity field over chunks: a residual MLP."""

    def __init__(self, rows: int, components: int, context: int, width: int = 448, depth: int = 4) -> None:
        super().__init__()
        self.noisy = nn.Linear(rows * components + rows, width)
        self.context = nn.Linear(context + 16, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(depth)
        )
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, rows * components))
        self.register_buffer("frequency", torch.exp(torch.linspace(0, 4, 8)))

    def forward(self, chunk: Tensor, given: Tensor, time: Tensor, context: Tensor) -> Tensor:
        """Returns the velocity (N, T, C).

        Args:
            chunk: (N, T, C) on the way from noise (time 0) to actions (time 1); given rows are clean.
            given: (N, T) 1 where a row is a given prefix.
            time: (N, 1).
            context: (N, K).
        """
        phase = time * self.frequency
        timing = torch.cat([phase.sin(), phase.cos()], dim=-1)
        x = self.noisy(torch.cat([chunk.flatten(1), given], dim=-1)) + self.context(torch.cat([context, timing], -1))
        for block in self.blocks:
            x = x + block(x)
        return self.out(x).reshape(chunk.shape)


class SmallVla(nn.Module):
    """The policy network. Positions in metres, base frame; state normalised; chunk normalised row by row.

    Args:
        shape: sizes.
        viewpoints: of each camera, as demonstrations say them.
        statistics: mean and std of the state, the tools' positions first.
        context: width of what the flow is conditioned on.
    """

    def __init__(
        self,
        shape: Shape,
        viewpoints: Mapping[str, Mapping[str, Any]],
        statistics: Mapping[str, list[Any]],
        context: int = 384,
    ) -> None:
        super().__init__()
        self.shape = shape
        self.trunks = nn.ModuleDict({name: trunk() for name in shape.cameras})
        self.pointers = nn.ModuleDict(
            {name: Pointer(height // 8, width // 8) for name, (height, width) in shape.cameras.items()}
        )
        self.on_table = nn.ModuleDict({name: TablePoint(viewpoints[name]) for name in shape.cameras})
        self.language = Language(shape.vocabulary, shape.tokens)
        self.moving = tuple(name for name in shape.cameras if viewpoints[name]["on_tool"] is not None)
        seen = len(shape.cameras) * (GRID_WIDTH + 4)
        self.locate = nn.Sequential(nn.Linear(2 * seen + shape.state, 192), nn.GELU(), nn.Linear(192, 3))
        self.locate_directly = nn.Linear(4 * len(shape.cameras), 3)
        everything = SLOTS * seen + LABELLED_SLOTS * 6 * shape.tools + TEXT_WIDTH + shape.state
        everything += len(self.moving) * GRID_WIDTH
        self.context = nn.Sequential(
            nn.Linear(everything, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, context), nn.GELU()
        )
        self.flags = nn.Linear(context, 2)
        self.flow = Flow(shape.rows, shape.components, context)
        self.register_buffer("tool_mean", torch.tensor(statistics["state_mean"][: 3 * shape.tools]))
        self.register_buffer("tool_std", torch.tensor(statistics["state_std"][: 3 * shape.tools]))

    def look(self, images: dict[str, Tensor]) -> dict[str, Tensor]:
        """Camera name to (B, H, W, 3) uint8 -> camera name to feature grid."""
        grids = {}
        for name, pixels in images.items():
            x = pixels.permute(0, 3, 1, 2).float() * (1 / 64) - 2.0
            grids[name] = self.trunks[name](x)
        return grids

    def point(self, grids: dict[str, Tensor], tokens: Tensor) -> Pointing:
        """Lets L instructions (B, L, tokens) point into B observations' grids."""
        batch, labels, _ = tokens.shape
        queries, summary = self.language(tokens.flatten(0, 1))
        queries = queries.reshape(batch, labels, SLOTS, TEXT_WIDTH)
        looks = {name: self.pointers[name](grid, queries) for name, grid in grids.items()}
        return Pointing(
            found={name: found.float() for name, (found, _) in looks.items()},
            attention={name: logits[:, :, : TOOL_SLOT + 1].float() for name, (_, logits) in looks.items()},
            summary=summary.reshape(batch, labels, -1).float(),
            close=torch.cat([grids[name].float().mean((2, 3)) for name in self.moving], dim=-1),
        )

    def understand(self, pointing: Pointing, state: Tensor) -> Understanding:
        """Grounds the pointing in space, from the state (B, S). Wants full precision: millimetres count."""
        labels = pointing.summary.shape[1]
        tools = state[:, : 3 * self.shape.tools] * self.tool_std + self.tool_mean
        tools = tools.reshape(-1, 1, 1, self.shape.tools, 3)
        places = {name: self.on_table[name](x[..., -2:], tools) / COARSE_M for name, x in pointing.found.items()}
        placed = torch.cat(list(places.values()), dim=-1)
        seen = torch.cat([*pointing.found.values(), placed], dim=-1)
        body = state[:, None].expand(-1, labels, -1)
        bodies = body[:, :, None].expand(-1, -1, LABELLED_SLOTS, -1)
        named = torch.cat([seen[:, :, :LABELLED_SLOTS], bodies, _beside_tool(seen)], dim=-1)
        directly = torch.cat([placed[:, :, :LABELLED_SLOTS], _beside_tool(placed)], dim=-1)
        away = (self.locate(named) + self.locate_directly(directly)) * COARSE_M
        points = away + tools[..., 0, :]
        aways = (points[..., None, :] - tools).flatten(2)
        context = self.context(
            torch.cat(
                [
                    seen.flatten(2),
                    aways / COARSE_M,
                    (aways / FINE_M).tanh(),
                    pointing.summary,
                    body,
                    pointing.close[:, None].expand(-1, labels, -1),
                ],
                dim=-1,
            )
        )
        return Understanding(context, points, self.flags(context))

    def sample(self, context: Tensor, prefix: Tensor, given: Tensor, noise: Tensor) -> Tensor:
        """Integrates the flow from noise; given rows are kept at the prefix throughout. All (N, T, C)."""
        keep = given[..., None]
        chunk = noise
        for step in range(FLOW_STEPS):
            chunk = keep * prefix + (1 - keep) * chunk
            time = torch.full((len(chunk), 1), step / FLOW_STEPS)
            chunk = chunk + self.flow(chunk, given, time, context).float() / FLOW_STEPS
        return keep * prefix + (1 - keep) * chunk


def _beside_tool(slots: Tensor) -> Tensor:
    """Returns what the tool's slot has (B, L, SLOTS, C), for each labelled slot (B, L, LABELLED_SLOTS, C)."""
    return slots[:, :, TOOL_SLOT : TOOL_SLOT + 1].expand(-1, -1, LABELLED_SLOTS, -1)
