"""Give a residual what an evaluation has shown of it, so that it acts in more than every tenth episode at first.

The comparison is of its policy without it and with it, in this order, on scenes that it was not trained on. Its counts
go into `residual.yaml`; on a robot they count as 20 episodes at most.

Examples:
  tendon eval compare tabletop tabletop+outputs/residual/seed0 --suite tabletop_hard --out shown.json
  tendon residual trust outputs/residual/seed0 shown.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tendon.cli.eval_options import shortened
from tendon.core.errors import ConfigError, MismatchError
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED


def command(
    residual: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of the residual.")],
    shown: Annotated[Path, typer.Argument(metavar="FILE", help="JSON of `tendon eval compare --out`.")],
) -> int:
    """Writes the counts into `residual.yaml`.

    Raises:
        ConfigError: the file is missing, is none of a comparison, or of one that was ended when somebody wished.
        MismatchError: it compares something else, or on another robot.
    """
    from tendon.control.residual.gate import Evidence, Tally
    from tendon.policies.residual.bundle import load_residual, write_evidence
    from tendon.robots.profile import load_profile

    bundle = load_residual(residual.expanduser())
    found = _read(shown)
    wanted = bundle.manifest.base_digest, f"{bundle.manifest.base_digest}+{bundle.manifest.digest}"
    if (found["a"], found["b"]) != wanted:
        raise MismatchError(
            f"{shown} compares {shortened(found['a'])} with {shortened(found['b'])}, not policy "
            f"{bundle.manifest.base} without and with {residual}: run "
            f"`tendon eval compare POLICY POLICY+{residual} --out {shown}`"
        )
    if (robot := load_profile(found["robot"]).name) != bundle.manifest.robot:
        raise MismatchError(f"{shown} is of robot {robot}, {residual} is for {bundle.manifest.robot}: compare on that")
    tallies = [
        Tally(successes=sum(each[side]["success"] for each in found["episodes"]), total=len(found["episodes"]))
        for side in ("a", "b")
    ]
    signed = write_evidence(bundle, Evidence(base=tallies[0], residual=tallies[1]))
    without, together = (f"{each.successes} of {each.total}" for each in tallies)
    print(f"{residual}: {together} episodes succeeded with it, {without} without it")
    if signed:
        print("its signature was removed: sign it again with `tendon residual sign`")
    return 0


def _read(shown: Path) -> dict[str, Any]:
    try:
        found = json.loads(shown.expanduser().read_text(encoding="utf-8"))
        chosen, cut = bool(found.get("until_shown", False)), str(found.get("ended_early") or "")
        episodes = list(found["episodes"])
        result = {name: str(found[name]) for name in ("a", "b", "robot")} | {"episodes": episodes}
        problem = _problem(episodes)
    except OSError as error:
        raise ConfigError(f"{shown} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{shown} is no result of `tendon eval compare --out`: {error}") from error
    if cut:
        raise ConfigError(f"{shown} was ended early ({cut}): run the same comparison again, to its end")
    if chosen:
        raise ConfigError(
            f"{shown} ended with --until-shown, when B happened to look better: compare again without, for fair counts"
        )
    if problem:
        raise ConfigError(f"{shown} {problem}: run the comparison again")
    return result


def _problem(episodes: list[Any]) -> str:
    """Returns why pairs of episodes are no evidence; empty when they are."""
    if not episodes:
        return "has no episodes"
    seen = set()
    for pair in episodes:
        scenes = [pair[side]["seed"] for side in ("a", "b")]
        if scenes[0] != scenes[1]:
            return f"pairs scene {scenes[0]} with scene {scenes[1]}"
        if not isinstance(scenes[0], int) or not FIRST_SEED <= scenes[0] < END_SEED:
            return f"is of scene {scenes[0]!r}, and residuals are trained on those before {FIRST_SEED}"
        if scenes[0] in seen:
            return f"counts scene {scenes[0]} twice"
        seen.add(scenes[0])
        for side in ("a", "b"):
            if not isinstance(success := pair[side]["success"], bool):
                return f"says success {success!r} of scene {scenes[0]}, which must be true or false"
    return ""
