"""What a policy's numbers mean, as who imports it says: a file in the words of `bundle.yaml`, or one unit for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.yaml_text import parse_yaml
from tendon.policies.adapter.conventions import gripper_joints, joint_types
from tendon.policies.spec.components import JointComponent
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import RobotProfile

_OWN = ("rows", "step_s", "mean", "std")


@dataclass(frozen=True, kw_only=True)
class Spaces:
    """The state's items, and the fields of `ActionSpace` that a policy's own files do not tell."""

    state: tuple[StateItem, ...]
    action: Mapping[str, Any]

    @property
    def state_size(self) -> int:
        """How many numbers the state has."""
        return sum(item.size for item in self.state)

    def action_space(self, step_s: float, mean: tuple[float, ...], std: tuple[float, ...], rows: int) -> ActionSpace:
        """Returns the action space with what the policy's files tell.

        Raises:
            ConfigError: a field is wrong, or there are more or fewer statistics than components.
        """
        return ActionSpace(**self.action, step_s=step_s, mean=mean, std=std, rows=rows)


def joint_spaces(profile: RobotProfile, unit: str | None = None, gripper: tuple[str, float] | None = None) -> Spaces:
    """Returns the spaces of a policy whose state and action are the robot's joints, absolute and in its order.

    Args:
        profile: the robot.
        unit: of the joints; `None` for rad and m.
        gripper: unit of the grippers and the number that means open; `None` for that of the other joints.
    """
    types, grippers = joint_types(profile), gripper_joints(profile)

    def component(joint: str) -> JointComponent:
        plain = "m" if types[joint] == "prismatic" else "rad"
        if gripper is not None and joint in grippers:
            return JointComponent(joint=joint, unit=gripper[0], open=gripper[1])
        return JointComponent(joint=joint, unit=unit or plain)

    joints = tuple(component(joint) for joint in profile.joint_names)
    action = {"space": "joint_position", "relative_to": "nothing", "joints": joints}
    return Spaces(state=(StateItem(name="joints", joints=joints),), action=action)


def read_spaces(path: Path) -> Spaces:
    """Reads a YAML file of two keys, `state` and `action`, written as in `bundle.yaml` (docs/reference/spaces.md).

    `action` lacks rows, step_s, mean and std: those are the policy's own.

    Raises:
        ConfigError: there is no such file, or something in it is wrong.
    """
    try:
        raw = parse_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"no file of spaces at {path}: {error.strerror}") from error
    if not isinstance(raw, Mapping) or set(raw) != {"state", "action"}:
        raise ConfigError(f"{path} must hold two keys, state and action, as bundle.yaml does")
    state, action = raw["state"], raw["action"]
    if not isinstance(state, list) or not isinstance(action, Mapping):
        raise ConfigError(f"{path}: state must be a list and action a mapping")
    own = sorted(set(action) & set(_OWN))
    if own:
        raise ConfigError(f"{path}: action has {', '.join(own)}, which the policy itself tells: leave it out")
    items = tuple(build(StateItem, f"{path} state[{k}]", item) for k, item in enumerate(state))
    return Spaces(state=items, action=dict(action))
