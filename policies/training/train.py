"""Trains the small VLA. Resumable; needs no GPU, uses one when it is there."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor
from torch.nn import functional

from tendon.core.checks import check_count, check_number
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.files import replace_file
from tendon.policies.training.augment.augment import USUAL, Augmenter
from tendon.policies.training.augment.batch import Rig
from tendon.policies.training.augment.warp import follow
from tendon.policies.training.log import TrainingLog
from tendon.policies.training.mixture import Mixture, Part
from tendon.policies.training.model import SmallVla
from tendon.policies.training.pointing import pointing_loss, project
from tendon.policies.training.run_files import RUN_FILE, STATE_FILE, WEIGHTS_FILE, read_record
from tendon.policies.training.spaces import ABOUT, state_noise
from tendon.policies.training.tensor_files import all_finite, read_tensors, write_tensors
from tendon.policies.training.widen import widened

FLOW_SAMPLES = 2
SAVE_EVERY, SAVE_AFTER_S = 500, 120.0
"""Steps and time after which a run is saved, whichever comes first."""
EMA = 0.999
MOST_SEED = (1 << 64) - 1
"""That torch takes."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What makes a training run, beside its data.

    Attributes:
        steps: optimiser steps.
        batch: frames a step; each has several labels.
        learning_rate: peak; warms up over 200 steps, then falls as a cosine.
        seed: of weights, noise and order.
        augment: names and strengths of what changes frames, see `augment.augment.parse`.
        freeze_norm: leave batch normalisation as it is: for a run that `recover_run` made, and for those after it.
    """

    steps: int = 12_000
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    seed: int = 0
    augment: str = USUAL
    freeze_norm: bool = False

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_count("batch", self.batch)
        check_number("learning_rate", self.learning_rate, above=0, most=1)
        check_number("weight_decay", self.weight_decay, least=0)
        check_count("seed", self.seed, least=0, most=MOST_SEED)


class _Diverged(InvalidDataError):
    """The weights are worth nothing any more, and must not replace those that were saved."""


class Run:
    """A training run in a folder: averaged `weights`, the `state` to resume from, `run.json` and its log.

    Args:
        folder: of this run; one that holds a state goes on from there.
        data: what to learn from.
        recipe: see `Recipe`.
        initial: folder of an earlier run whose weights, vocabulary and statistics to start from.

    Attributes:
        step: the last one that was begun.
        saved_step: the one that a run would go on from; 0 where nothing is saved.

    Raises:
        ConfigError: the folder has a run that was begun with something else.
    """

    def __init__(self, folder: Path, data: Sequence[Part], recipe: Recipe, initial: Path | None = None) -> None:
        self.folder, self.recipe = folder, recipe
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(recipe.seed)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        begun = (folder / STATE_FILE).is_file()
        parent = folder if begun else initial
        known = read_record(parent) if parent else {}
        if known.get("recipe", {}).get("freeze_norm"):
            self.recipe = replace(recipe, freeze_norm=True)
        self.data = Mixture(data, known)
        self._began_with = {
            "data": [
                {"frames": frames, "weight": part.weight} for part, frames in zip(data, self.data.frames, strict=True)
            ],
            "from": None if initial is None else hashlib.sha256((initial / WEIGHTS_FILE).read_bytes()).hexdigest(),
        }
        if begun:
            self._same(known)
        self.statistics, self.shape = self.data.statistics, self.data.shape
        rig = Rig(cameras=tuple(self.shape.cameras), about=self.data.about, masked=self.data.masked)
        self._augment = Augmenter(recipe.augment, rig, recipe.seed)
        self.model = SmallVla(self.shape, self.data.about["cameras"], self.statistics).to(
            self._device, memory_format=torch.channels_last
        )
        if parent is not None and not begun:
            self.model.load_state_dict(widened(read_tensors(parent / WEIGHTS_FILE), self.model.state_dict()))
        self.average = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        decayed = [p for p in self.model.parameters() if p.ndim > 1]
        plain = [p for p in self.model.parameters() if p.ndim <= 1]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": plain, "weight_decay": 0.0}],
            lr=recipe.learning_rate,
            betas=(0.9, 0.98),
        )
        self.step = 0
        if begun:
            self._resume()
        self.saved_step = self.step
        self._state_noise = torch.tensor(state_noise(self.data.about["state"]), device=self._device)
        self._constants = {k: torch.tensor(v, device=self._device) for k, v in self.statistics.items()}

    def _same(self, before: Mapping[str, Any]) -> None:
        """Raises ConfigError where the run of this folder was begun with something else; runs of before do not say."""
        now = {**self._began_with, **asdict(self.recipe)}
        begun = {**{name: before[name] for name in self._began_with if name in before}, **before["recipe"]}
        for name, value in now.items():
            if name != "steps" and name in begun and begun[name] != value:
                raise ConfigError(
                    f"{self.folder} was begun with {_in_words(name, begun[name])}, and is to go on with "
                    f"{_in_words(name, value)}: name another folder for another run, which may start --from this one"
                )

    def _resume(self) -> None:
        state = read_tensors(self.folder / STATE_FILE)
        self.step = int(state.pop("step"))
        model = {k[6:]: v for k, v in state.items() if k.startswith("model/")}
        if any(value.shape != model[name].shape for name, value in self.model.state_dict().items()):
            raise ConfigError(
                f"{self.folder} was begun with another version of the network: start --from it in another folder"
            )
        self.model.load_state_dict(model)
        self.average = {k: v.to(self._device) for k, v in read_tensors(self.folder / WEIGHTS_FILE).items()}
        moments: dict[int, dict[str, Tensor]] = {}
        for key, value in state.items():
            if key.startswith("optimiser/"):
                _, index, name = key.split("/")
                moments.setdefault(int(index), {})[name] = value
        whole = self.optimiser.state_dict()
        self.optimiser.load_state_dict({**whole, "state": moments})

    def save(self) -> None:
        """Writes weights and everything needed to go on.

        Raises:
            InvalidDataError: a weight is no number any more; what was saved last stays.
            OSError: the disk is full; what was saved last stays, or goes on from there.
        """
        if not all_finite(self.model.state_dict()):
            raise self._diverged("a weight is no number")
        moments = {
            f"optimiser/{index}/{name}": value
            for index, values in self.optimiser.state_dict()["state"].items()
            for name, value in values.items()
        }
        model = {f"model/{k}": v for k, v in self.model.state_dict().items()}
        everything = {**model, **moments, "step": torch.tensor(self.step)}
        about = {
            "recipe": asdict(self.recipe),
            "shape": asdict(self.shape),
            "vocabulary": self.data.vocabulary,
            "statistics": self.statistics,
            **{key: self.data.about[key] for key in ABOUT},
            **self._began_with,
            "frames": len(self.data),
            "step": self.step,
        }
        write_tensors(self.folder / WEIGHTS_FILE, self.average)
        replace_file(self.folder / RUN_FILE, json.dumps(about, indent=1).encode())
        write_tensors(self.folder / STATE_FILE, everything)  # last: with it the run can go on
        self.saved_step = self.step

    def train(self, progress: Progress | None = None) -> None:
        """Trains to the recipe's last step; saves as `SAVE_EVERY` says, and when interrupted after a step.

        Raises:
            ConfigError: there are fewer frames than one batch needs.
            InvalidDataError: the loss is no number any more; what was saved last stays.
        """
        if len(self.data) < self.recipe.batch:
            raise ConfigError(f"{len(self.data)} frames are fewer than one batch of {self.recipe.batch}: collect more")
        batches = self.data.batches(self.recipe.batch, np.random.default_rng([self.recipe.seed, self.step]))
        bar = progress or _progress()
        task = bar.add_task("train", total=self.recipe.steps, completed=self.step, note="")
        begin, done, note = time.monotonic(), self.step, ""
        saved_s = begin
        with bar, TrainingLog(self.folder, "step", self.step) as log:
            try:
                while self.step < self.recipe.steps:
                    losses = self._update(next(batches))
                    done = self.step
                    if self.step % 50 == 0:
                        log.add({"step": self.step, "s": round(time.monotonic() - begin, 1), **losses})
                        note = " ".join(f"{key} {value:.3f}" for key, value in losses.items())
                    bar.update(task, completed=self.step, note=note)
                    if self.step % SAVE_EVERY == 0 or time.monotonic() - saved_s > SAVE_AFTER_S:
                        self.save()
                        saved_s = time.monotonic()
            except _Diverged:
                raise
            except BaseException:
                if done:
                    self.save()
                raise
            self.save()

    def _update(self, batch: dict[str, Tensor]) -> dict[str, float]:
        self.step += 1
        warm = min(1.0, self.step / 200)
        fall = 0.5 * (1 + math.cos(math.pi * min(1.0, self.step / self.recipe.steps)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * warm * max(fall, 0.01)
        self.model.train()
        if self.recipe.freeze_norm:
            for module in self.model.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.eval()
        batch = {k: v.to(self._device, non_blocking=True) for k, v in batch.items()}
        batch = self._augment(batch, self.step)
        losses = self.losses(batch)
        total = losses["flow"] + 0.5 * losses["point"] + 0.2 * losses["flag"] + 0.3 * losses["look"]
        if not torch.isfinite(total):
            raise self._diverged(f"the loss is {float(total.detach())}")
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        rate = min(EMA, self.step / (self.step + 20))
        with torch.no_grad():
            for key, value in self.model.state_dict().items():
                if value.is_floating_point():
                    self.average[key].lerp_(value, 1 - rate)
                else:
                    self.average[key].copy_(value)
        return {k: float(v.detach()) for k, v in losses.items()}

    def _diverged(self, what: str) -> _Diverged:
        return _Diverged(
            f"{what} in step {self.step}: take a lower learning rate than {self.recipe.learning_rate:g}, in another "
            "folder; what was saved last stays"
        )

    def losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Returns the losses of a batch (flow, position, flags, attention), and the mean position error in mm.

        Where nobody knows positions or flags, they are NaN in the batch and cost nothing.
        """
        constants = self._constants
        state = (batch["state"] - constants["state_mean"]) / constants["state_std"]
        actions = ((batch["actions"] - constants["action_mean"]) / constants["action_std"]).flatten(0, 1)
        images = {name: batch[f"image_{name}"] for name in self.shape.cameras}
        if self.model.training:
            state = state + torch.randn_like(state) * self._state_noise
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            grids = self.model.look(images)
            pointing = self.model.point(grids, batch["tokens"])
        understood = self.model.understand(pointing, state)
        points = understood.points
        context = understood.context.flatten(0, 1).repeat(FLOW_SAMPLES, 1)
        actions = actions.repeat(FLOW_SAMPLES, 1, 1)
        rows = torch.arange(actions.shape[1], device=actions.device)
        given = (rows < batch["prefix_rows"].flatten().repeat(FLOW_SAMPLES)[:, None]).float()
        noise = torch.randn_like(actions)
        when = torch.rand(len(actions), 1, device=actions.device)
        moment = torch.maximum(when, given)[..., None]
        chunk = moment * actions + (1 - moment) * noise
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            velocity = self.model.flow(chunk, given, when, context)
        wrong = functional.huber_loss(velocity.float(), actions - noise, reduction="none", delta=1.0)
        free = 1 - given[..., None]
        flags = functional.binary_cross_entropy_with_logits(
            understood.flags, batch["flags"].nan_to_num(), reduction="none"
        )
        placed = batch["placed"]
        error = torch.where(placed, points - batch["points"], 0.0)
        away = functional.huber_loss(error / 0.01, torch.zeros_like(error), delta=1.0, reduction="none")
        return {
            "flow": 2 * (wrong * free).sum() / (free.sum() * actions.shape[2]),
            "point": _mean(away, placed),
            "flag": _mean(flags, ~batch["flags"].isnan()),
            "look": sum(pointing_loss(logits, self._seen(name, batch)) for name, logits in pointing.attention.items()),
            "mm": _mean(error.detach().norm(dim=-1), placed.any(-1)) * 1000,
        }

    def _seen(self, camera: str, batch: dict[str, Tensor]) -> Tensor:
        """Returns where in a camera's picture the labelled points and the first tool are, (B, L, 3, 2)."""
        state = batch.get("exposed", batch["state"])
        points = batch["points"]
        tool = state[:, None, None, :3].expand(-1, points.shape[1], 1, -1)
        where = project(self.data.about["cameras"][camera], torch.cat([points, tool], dim=2), state)
        warp = batch.get(f"warp_{camera}")
        return where if warp is None else follow(warp, where)


def _in_words(name: str, value: Any) -> str:
    """Returns what a run was begun with, as a person says it."""
    if name == "data":
        return "data of " + " and ".join(f"{each['frames']} frames (weight {each['weight']:g})" for each in value)
    if name == "from":
        return "no earlier weights" if value is None else f"weights {value[:12]}"
    return f"{name} {value}"


def _mean(values: Tensor, known: Tensor) -> Tensor:
    """Returns the mean of what is known; 0 where nothing is."""
    return (values * known).sum() / known.sum().clamp_min(1)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
