"""TD3 on a frozen base: twin-delayed updates of an ensemble of critics, and of an actor that begins as nothing.

After Fujimoto et al. 2018 (TD3), Chen et al. 2021 (REDQ: the least of two random critics), Ball et al. 2023 (RLPD:
layer norm, half of each batch from what is known to work) and Ankile et al. 2025 (ResFiT: a residual on action
chunks). The critics know what only the simulator knows, the actor does not (Pinto et al. 2018).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn import functional

from tendon.core.errors import ConfigError
from tendon.policies.training.residual.networks import Actor, Critics
from tendon.policies.training.residual.replay import Batch, Replay


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a residual is learned.

    Attributes:
        width: of the hidden layers.
        critics: how many.
        norm: whether critics have layer norm.
        batch: transitions an update.
        from_successes: part of a batch from episodes that succeeded.
        discount: of a step.
        steps: of a transition.
        rate, actor_rate: of learning, of critics and actor.
        decay: of the critics' weights: outcomes are few and noisy, and critics would learn them by heart.
        average: how slowly the critics that targets come from follow.
        smoothing: standard deviation of the noise on the action that a target is of.
        delay: critic updates for one of the actor.
        doubt: weight of the critics' disagreement, which keeps an actor where they know something.
        small: weight of the squared action, which keeps an actor that gains nothing at the base.
        keep: the same where the base is to be left as it is.
        lowest: value that there can be; the highest is 1.
    """

    width: int = 128
    critics: int = 5
    norm: bool = True
    batch: int = 256
    from_successes: float = 0.5
    discount: float = 0.97
    steps: int = 3
    rate: float = 3e-4
    actor_rate: float = 1e-4
    decay: float = 3.0
    average: float = 0.995
    smoothing: float = 0.1
    delay: int = 2
    doubt: float = 1.0
    small: float = 0.05
    keep: float = 3.0
    lowest: float = 0.0


class Learner:
    """Learns from a replay, on a GPU where there is one.

    Args:
        replay: of what was experienced.
        seen, facts, actions: Z, F and A.
        settings: see `Settings`.
        seed: of weights, batches and noise.
        threads: of torch, in all of this process: others may need the rest.
    """

    def __init__(
        self,
        replay: Replay,
        seen: int,
        facts: int,
        actions: int,
        settings: Settings,
        seed: int,
        threads: int = 1,
    ) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        self.settings, self._replay, self._rng = settings, replay, np.random.default_rng(seed)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.actor = Actor(seen, actions, settings.width).to(self._device)
        critics = Critics(seen + facts + actions, settings.width, settings.critics, settings.norm)
        self.critics = critics.to(self._device)
        self._actor_target, self._critics_target = copy.deepcopy(self.actor), copy.deepcopy(self.critics)
        self._actor_steps = torch.optim.Adam(self.actor.parameters(), lr=settings.actor_rate)
        self._critic_steps = torch.optim.AdamW(self.critics.parameters(), lr=settings.rate, weight_decay=settings.decay)
        self.updates = 0

    def update(self, actor: bool = True) -> dict[str, float]:
        """Learns from one batch; returns what came of it, for the log.

        Args:
            actor: whether the actor learns too; critics alone learn first.
        """
        settings = self.settings
        batch = self._replay.sample(settings.batch, self._rng, settings.from_successes).to(self._device)
        with torch.no_grad():
            after = self._actor_target(batch.seen_after)
            noise = (settings.smoothing * torch.randn_like(after)).clamp(
                -2 * settings.smoothing, 2 * settings.smoothing
            )
            after = (after + noise).clamp(-1, 1)
            values = self._critics_target(torch.cat([batch.seen_after, batch.facts_after, after], dim=-1))
            two = torch.randperm(len(values))[:2]
            target = (batch.reward + batch.discount * values[two].amin(dim=0)).clamp(settings.lowest, 1.0)
        found = self.critics(torch.cat([batch.seen, batch.facts, batch.action], dim=-1))
        loss = functional.mse_loss(found, target.expand_as(found)) * len(found)
        self._critic_steps.zero_grad()
        loss.backward()
        self._critic_steps.step()
        log = {"critic_loss": float(loss.detach()) / len(found), "value": float(found.detach().mean())}
        self.updates += 1
        if actor and self.updates % settings.delay == 0:
            log |= self._improve(batch)
            _follow(self._actor_target, self.actor, settings.average)
        _follow(self._critics_target, self.critics, settings.average)
        return log

    def save(self, path: Path) -> None:
        """Writes the networks; how far their optimisers were is forgotten."""
        tensors = {
            f"{name}/{key}": value for name, each in self._parts().items() for key, value in each.state_dict().items()
        }
        part = path.with_suffix(".part")
        save_file({**tensors, "updates": torch.tensor(self.updates)}, part)
        part.rename(path)

    def load(self, path: Path) -> None:
        """Goes on from what `save` wrote.

        Raises:
            ConfigError: it is damaged, or of other networks.
        """
        try:
            state = load_file(path)
            self.updates = int(state.pop("updates"))
            for name, each in self._parts().items():
                own = f"{name}/"
                each.load_state_dict({key[len(own) :]: value for key, value in state.items() if key.startswith(own)})
        except (SafetensorError, OSError, KeyError, RuntimeError) as error:
            raise ConfigError(f"{path} is damaged ({error!r}): copy it again, or name another folder") from error

    def _parts(self) -> dict[str, torch.nn.Module]:
        return {
            "actor": self.actor,
            "critics": self.critics,
            "actor_target": self._actor_target,
            "critics_target": self._critics_target,
        }

    def _improve(self, batch: Batch) -> dict[str, float]:
        action = self.actor(batch.seen)
        for parameter in self.critics.parameters():
            parameter.requires_grad_(False)
        values = self.critics(torch.cat([batch.seen, batch.facts, action], dim=-1))
        value, doubt = values.mean(), values.std(dim=0).mean()
        for parameter in self.critics.parameters():
            parameter.requires_grad_(True)
        size = (action * action).mean(dim=-1)
        weight = torch.where(batch.kept > 0, self.settings.keep, self.settings.small)
        loss = (weight * size).mean() + self.settings.doubt * doubt - value
        self._actor_steps.zero_grad()
        loss.backward()
        self._actor_steps.step()
        return {
            "actor_value": float(value.detach()),
            "doubt": float(doubt.detach()),
            "action_rms": float(size.detach().mean()) ** 0.5,
        }


@torch.no_grad()
def _follow(target: torch.nn.Module, source: torch.nn.Module, average: float) -> None:
    for slow, fast in zip(target.parameters(), source.parameters(), strict=True):
        slow.lerp_(fast, 1.0 - average)
