"""What is evaluated: a policy by its name or folder, perhaps with a residual that corrects it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from tendon.core.errors import ConfigError

SEPARATOR = "+"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A policy that is evaluated.

    Attributes:
        bundle: its folder, or `EXPERT`.
        digest: of what it is.
        residual: folder of what corrects it.
    """

    bundle: Path | str
    digest: str
    residual: Path | None = None


def find_contender(name: str, robot: str) -> Contender:
    """Returns what `BUNDLE`, `BUNDLE+RESIDUAL` or `EXPERT` is; a bundle whose path has a plus comes first.

    Raises:
        ConfigError: there is no such bundle or residual, or something in it is wrong.
        MismatchError: the bundle is of another robot, the residual is of another bundle or robot.
    """
    from tendon.policies.adapter.matching import check_profile
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import EXPERT, find_bundle
    from tendon.policies.inference.identity import policy_digest
    from tendon.policies.residual.bundle import load_residual
    from tendon.robots.profile import load_profile

    bundle, residual = _parts(name)
    if residual == "":
        raise ConfigError(f"{name} names no residual: write its folder behind the {SEPARATOR}, or leave that out")
    if bundle == EXPERT:
        if residual:
            raise ConfigError(f"{name}: a residual corrects a policy, not the expert")
        return Contender(bundle=EXPERT, digest=EXPERT)
    folder, profile = find_bundle(bundle), load_profile(robot)
    manifest = load_bundle(folder).manifest
    check_profile(manifest, profile)
    digest = policy_digest(manifest)
    if not residual:
        return Contender(bundle=folder, digest=digest)
    corrects = load_residual(Path(residual).expanduser().resolve())
    corrects.open(profile, digest)
    return Contender(bundle=folder, digest=f"{digest}{SEPARATOR}{corrects.manifest.digest}", residual=corrects.folder)


def _parts(name: str) -> tuple[str, str | None]:
    """Returns a bundle and what corrects it, if anything: the longest beginning that is a bundle, else the shortest."""
    from tendon.policies.bundle.places import find_bundle

    plus = [k for k, letter in enumerate(name) if letter == SEPARATOR]
    end = plus[0] if plus else len(name)
    for longer in [len(name), *reversed(plus[1:])]:
        with contextlib.suppress(ConfigError):
            find_bundle(name[:longer])
            end = longer
            break
    return name[:end], name[end + 1 :] if end < len(name) else None
