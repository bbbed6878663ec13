"""Writes a drafted profile as a person would: what it came from, a line a joint, and how to find what is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from tendon.robots.drafting.draft import Draft
from tendon.robots.profile import Joint
from tendon.robots.unknowns import ADVICE

WIDTH = 1 << 20
"""Nothing is wrapped."""


def profile_text(draft: Draft, urdf: str, sources: str, schema: str) -> str:
    """Returns the text of a profile.yaml.

    Args:
        draft: the profile.
        urdf: name of its URDF's file, beside it.
        sources: what it was made from.
        schema: path or URL of the profiles' JSON schema, for editors.
    """
    return "\n".join(_lines(draft, urdf, sources, schema)) + "\n"


def _lines(draft: Draft, urdf: str, sources: str, schema: str) -> Iterator[str]:
    profile = draft.profile
    yield f"# yaml-language-server: $schema={schema}"
    yield f"# Made by `tendon robot new` from {sources}: names, position limits and velocities are from there."
    yield from (f"# {remark[:1].upper()}{remark[1:]}." for remark in draft.remarks)
    yield "# What is listed under `unknown` is a guess: find it out, write it, and take its line away."
    yield "# The robot cannot be armed until the list is empty."
    yield f"name: {_flow(profile.name)}"
    yield f"urdf: {_flow(urdf)}"
    yield f"base_frame: {_flow(profile.base_frame)}"
    yield f"tool_frame: {_flow(profile.tool_frame)}"
    yield f"control_hz: {profile.control_hz}"
    yield "unknown:"
    yield from (f"  - {unknown}  # {ADVICE[unknown]}" for unknown in profile.unknown)
    yield "joints:"
    yield from (f"  - {_flow(_values(joint))}" for joint in profile.joints)
    yield "groups:"
    yield from (f"  {_flow(name)}: {_flow(list(joints))}" for name, joints in profile.groups.items())
    yield "controllers:"
    for controller in profile.controllers:
        values = {"name": controller.name, "type": controller.type, "joints": list(controller.joints)}
        yield f"  - {_flow(values)}"
    yield "cameras: []"
    yield f"workspace: {_flow({'lower': list(profile.workspace.lower), 'upper': list(profile.workspace.upper)})}"
    if profile.grippers:
        yield "grippers:"
    for gripper in profile.grippers:
        keys = ("joint", "fingers", "open", "closed", "width", "frame", "effort")
        values = {key: getattr(gripper, key) for key in keys}
        yield f"  - {_flow(values | {'fingers': list(gripper.fingers)})}"


def _values(joint: Joint) -> Mapping[str, object]:
    return {key: value for key, value in vars(joint).items() if value is not None}


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=WIDTH, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")
