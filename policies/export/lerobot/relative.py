"""Relative actions of LeRobot (0.5.1 and newer): rows that the postprocessor adds the observed state to.

LeRobot adds number k of the state to number k of each row, both in the data set's units, where a mask says so. A bundle
says the same with `relative_to: observation`, and `absolute: true` for what the mask leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.export.lerobot.source import (
    ABSOLUTE,
    NORMALIZER,
    POSTPROCESSOR_FILE,
    PREPROCESSOR_FILE,
    RELATIVE,
    UNNORMALIZER,
    LeRobotSource,
    Step,
)
from tendon.policies.export.spaces_file import Spaces
from tendon.policies.spec.components import CONSTANT, JointComponent
from tendon.policies.spec.spaces import joint_components

_FIX = "save both processors again"


def relative_mask(source: LeRobotSource) -> tuple[bool, ...] | None:
    """Returns for each number of a row whether the state is added to it; `None` when rows are absolute.

    Raises:
        ConfigError: the steps of both processors do not agree, or one is where numbers are normalised; a name is
            no text; or a row has more numbers than the state.
    """
    before, after = source.preprocessor, source.postprocessor
    relative, absolute = _only(source, before, RELATIVE), _only(source, after, (ABSOLUTE,))
    on = [_enabled(source, step) for step in (relative, absolute)]
    if on[0] != on[1]:
        raise ConfigError(
            f"{source.folder}: relative actions are {_word(on[0])} in {PREPROCESSOR_FILE} and {_word(on[1])} in "
            f"{POSTPROCESSOR_FILE}, must be the same in both: {_FIX}"
        )
    if relative is None or absolute is None or not on[0]:
        return None
    names = [[step.name for step in steps] for steps in (before, after)]
    for file, here, first, last in (
        (PREPROCESSOR_FILE, names[0], relative.name, NORMALIZER),
        (POSTPROCESSOR_FILE, names[1], UNNORMALIZER, absolute.name),
    ):
        if first in here and last in here and here.index(first) > here.index(last):
            raise ConfigError(f"{source.folder / file}: step {first} comes after {last}, must come before: {_FIX}")
    if source.action_size > source.state_size:
        raise ConfigError(
            f"{source.folder}: relative actions of {source.action_size} numbers to a state of {source.state_size}: "
            "each needs the number of the state that it is relative to"
        )
    return _mask(source, relative)


def relative_spaces(spaces: Spaces, mask: Sequence[bool]) -> Spaces:
    """Returns what the numbers of a policy with relative actions are, from what those of its data set are.

    Args:
        spaces: of the data set: absolute positions of joints.
        mask: from `relative_mask`.

    Raises:
        MismatchError: the actions are no absolute positions of joints, or a number of the state is not of the joint
            or in the unit of the number of the action that it is added to.
    """
    action = spaces.action
    if action.get("space") != "joint_position" or action.get("relative_to") != "nothing":
        raise MismatchError(
            f"the policy adds the state to its actions, which is for space joint_position relative_to nothing, got "
            f"{action.get('space')} relative_to {action.get('relative_to')}: say what the data set holds, the policy's "
            "own files make it relative"
        )
    state: list[JointComponent | None] = []
    for item in spaces.state:
        state += item.joints or [None] * item.size
    found = []
    for k, (component, added) in enumerate(
        zip(joint_components("action joints", action.get("joints")), mask, strict=False)
    ):
        if added and component.unit != CONSTANT:
            of = state[k] if k < len(state) else None
            if of != component:
                raise MismatchError(
                    f"the policy adds number {k} of the state to number {k} of the action, but the state's is "
                    f"{_said(of)} and the action's {_said(component)}: say both in the data set's order and units"
                )
        found.append(replace(component, absolute=not added))
    return Spaces(state=spaces.state, action={**action, "relative_to": "observation", "joints": tuple(found)})


def _mask(source: LeRobotSource, step: Step) -> tuple[bool, ...]:
    """Returns LeRobot's own mask: a number is left out when its name has an excluded one in it, whatever the case."""
    excluded, names = step.config.get("exclude_joints") or [], step.config.get("action_names")
    for key, value in (("exclude_joints", excluded), ("action_names", names or [])):
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ConfigError(f"{source.folder / PREPROCESSOR_FILE}: {key} is {value!r}, must be a list of names")
    known = [name.lower() for name in names or []][: source.action_size]
    tokens = [name.lower() for name in excluded if name]
    mask = [not any(token in name for token in tokens) for name in known]
    return (*mask, *[True] * (source.action_size - len(mask)))


def _only(source: LeRobotSource, steps: Sequence[Step], names: Sequence[str]) -> Step | None:
    found = [step for step in steps if step.name in names]
    if len(found) > 1:
        raise ConfigError(
            f"{source.folder}: {len(found)} steps {' and '.join(s.name for s in found)}, at most one: {_FIX}"
        )
    return found[0] if found else None


def _enabled(source: LeRobotSource, step: Step | None) -> bool:
    value: Any = False if step is None else step.config.get("enabled", False)
    if not isinstance(value, bool):
        raise ConfigError(f"{source.folder}: enabled of a step of relative actions is {value!r}, must be true or false")
    return value


def _word(on: bool) -> str:
    return "on" if on else "off"


def _said(component: JointComponent | None) -> str:
    return "no joint" if component is None else f"{component.name} in {component.unit}"
