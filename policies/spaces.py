"""What the numbers of a policy mean: the parts of its state vector and of its action rows."""

from __future__ import annotations

from dataclasses import dataclass

from tendon.core.errors import ConfigError
from tendon.policies.fields import Numbers, check_choice, check_count, numbers, positive

STATE_ITEMS = {"tool_position": (3, "m"), "tool_velocity": (3, "m/s"), "finger_position": (1, "m")}
ACTION_COMPONENTS = ("dx", "dy", "dz", "finger")


@dataclass(frozen=True, kw_only=True)
class StateItem:
    """One part of the state vector: its name, how many numbers, and their unit. Known ones: `STATE_ITEMS`."""

    name: str
    size: int
    unit: str

    def __post_init__(self) -> None:
        check_choice("state name", self.name, tuple(STATE_ITEMS))
        size, unit = STATE_ITEMS[self.name]
        check_choice(f"state {self.name} size", self.size, (size,))
        check_choice(f"state {self.name} unit", self.unit, (unit,))


@dataclass(frozen=True, kw_only=True)
class ActionSpace:
    """What the numbers of an answer mean.

    Row k is due `(k + 1) * step_s` after the observation. Its components are the tool's target minus the
    tool's position at the observation (dx, dy, dz, base frame, m) and the finger position (m); the tool
    points straight down. `mean` and `std` are theirs: normalised = (value - mean) / std.
    """

    rows: int
    step_s: float
    mean: Numbers
    std: Numbers
    components: tuple[str, ...] = ACTION_COMPONENTS
    space: str = "tool_position"
    relative_to: str = "observation"
    orientation: str = "tool_down"

    def __post_init__(self) -> None:
        check_choice("action space", self.space, ("tool_position",))
        check_choice("action relative_to", self.relative_to, ("observation",))
        check_choice("action orientation", self.orientation, ("tool_down",))
        check_choice("action components", self.components, (ACTION_COMPONENTS,))
        check_count("action rows", self.rows, 1)
        if not isinstance(self.step_s, float | int) or not 0.001 <= self.step_s <= 10.0:
            raise ConfigError(f"action step_s is {self.step_s!r}, must be a number from 0.001 to 10 s")
        object.__setattr__(self, "step_s", float(self.step_s))
        object.__setattr__(self, "mean", numbers("action mean", self.mean, len(self.components)))
        object.__setattr__(self, "std", positive("action std", self.std, len(self.components)))

    @property
    def step_ns(self) -> int:
        """Time between rows."""
        return round(self.step_s * 1e9)
