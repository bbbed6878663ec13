"""The instruction that a person at the terminal is offered: the simulated scene's, for policies that know its words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tendon.core.errors import InstructionError
from tendon.evaluation.suites import load_suite, suite_for
from tendon.policies.bundle.bundle import parse, read_manifest
from tendon.policies.bundle.places import EXPERT, find_policy
from tendon.policies.spec.manifest import InstructionInput
from tendon.policies.spec.tokens import Tokenizer
from tendon.robots.profile import load_profile


def scene_instruction(values: Mapping[str, str]) -> str:
    """Returns the scene's instruction; empty without a scene, or where a policy of the graph may not know the words.

    Only a vocabulary says which words a policy knows. One that reads any text, one without language and one on a
    server may take them for something else.

    Args:
        values: arguments that `preflight` has taken, with their defaults.
    """
    named = [values[key] for key in ("policy", "standby") if values[key] != "none"]
    policies = [find_policy(name) for name in named if name != EXPERT]
    if values["backend"] != "sim" or not named:
        return ""
    profile = load_profile(values["robot"])
    suite = load_suite(suite_for(profile, values["suite"])).for_graph()
    instruction = suite.scene(profile, int(values["scene"]), values["family"]).instruction
    return instruction if all(_knows(policy, instruction) for policy in policies) else ""


def _knows(policy: Path, instruction: str) -> bool:
    reads = None if policy.is_file() else parse(policy, read_manifest(policy)).instruction
    if not isinstance(reads, InstructionInput):
        return False
    try:
        Tokenizer(reads.vocabulary, reads.tokens).encode(instruction)
    except InstructionError:
        return False
    return True
