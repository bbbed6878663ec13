"""Conditions of a policy that are set while it runs: graph inputs `steer_NAME`, one number each.

What such a number does is the graph's matter: a condition that the policy was trained with, or a direction that is
added to one of its activations (`tendon.policies.export.convert.steering`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError
from tendon.core.fields import Form, Text, check_fields

PREFIX = "steer_"
"""What an input of a graph is called, before the name."""

Name = Annotated[str, Form(pattern="[a-z][a-z0-9_]*", advice="must be lower-case letters, digits and _")]


@dataclass(frozen=True, kw_only=True)
class SteeringInput:
    """A number that a policy can be steered by.

    Attributes:
        name: of it; the graph's input is `steer_NAME`, the node's parameter `steer.NAME`.
        lower: least value.
        upper: largest value.
        default: value until somebody sets another.
        meaning: what it does, and its unit, in words.
    """

    name: Name
    lower: float
    upper: float
    default: float
    meaning: Text

    def __post_init__(self) -> None:
        check_fields(self, "steering")
        if not (self.lower < self.upper and self.lower <= self.default <= self.upper):
            raise ConfigError(
                f"steering {self.name} is {self.default} from {self.lower} to {self.upper}: "
                "lower must be below upper, and the default between them"
            )

    def check(self, value: Any) -> float:
        """Returns a value that fits.

        Raises:
            ConfigError: it is no number, or out of range.
        """
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not self.lower <= value <= self.upper:
            raise ConfigError(f"steering {self.name} is {value!r}, must be a number from {self.lower} to {self.upper}")
        return float(value)


class Steering:
    """The values of a policy's steering inputs. One thread may set what another reads.

    Args:
        inputs: of the manifest.
    """

    def __init__(self, inputs: Sequence[SteeringInput]) -> None:
        self._inputs = {each.name: each for each in inputs}
        self._values = {each.name: float(each.default) for each in inputs}
        self._lock = threading.Lock()

    @property
    def values(self) -> Mapping[str, float]:
        """Name to value, as of now: later changes are not seen in it."""
        return MappingProxyType(self._values)

    def check(self, name: str, value: Any) -> float:
        """Returns a value that fits.

        Raises:
            ConfigError: there is no such input, or the value does not fit it.
        """
        if name not in self._inputs:
            known = ", ".join(self._inputs) or "nothing"
            raise ConfigError(f"the policy cannot be steered by {name!r}, it has: {known}")
        return self._inputs[name].check(value)

    def set(self, name: str, value: float) -> None:
        """Sets a value, from the next inference on; see `check` for what it raises."""
        checked = self.check(name, value)
        with self._lock:
            self._values = {**self._values, name: checked}  # a new mapping: who reads the old one is not disturbed

    def feeds(self) -> dict[str, npt.NDArray[np.float32]]:
        """Returns the graph's inputs, (1,) each."""
        return {f"{PREFIX}{name}": np.array([value], np.float32) for name, value in self._values.items()}
