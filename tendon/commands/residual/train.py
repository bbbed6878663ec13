"""Train a residual on a frozen policy, from nothing but success; run it again to go on.

The policy stays as it is. A small network corrects it 2.5 times a second, through the executor and the safety filter,
and learns by reinforcement which corrections end in success. Two CPU cores are enough.

Examples:
  tendon residual train bundles/tabletop --out outputs/residual/seed0
  tendon residual train bundles/tabletop --out outputs/residual/seed1 --seed 1 --minutes 60
  tendon residual train bundles/tabletop --out outputs/residual/both --suite tabletop_hard --keep tabletop
  tendon residual train bundles/tabletop --out outputs/residual/small --tool-mm 10 --suite tabletop
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument, RobotOption, WorkersOption
from tendon.cli.outputs import require_folder
from tendon.cli.progress import CountingBar
from tendon.core.checks import check_number, closest
from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.core.files import lock_folder

MAX_SEED = 2**32 - 1


def command(
    bundle: BundleArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the run; a cut run goes on from there.")],
    suite: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Whose tasks are tried: tabletop_hard. Give it twice to try two."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Tried too, and where the policy does well: it learns to do nothing there."),
    ] = None,
    robot: RobotOption = "panda",
    simulator: Annotated[str, typer.Option(metavar="NAME", help="pybullet, mujoco, or auto.")] = "auto",
    reward: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="success, as the simulator tells it, or progress, as the policy estimates it (train-progress).",
        ),
    ] = "success",
    minutes: Annotated[float, typer.Option(help="Of all sessions of the run together; 0 is no limit.")] = 120.0,
    steps: Annotated[int, typer.Option(help="Actions, of 0.4 s each, that are tried at most.")] = 75_000,
    prefill: Annotated[int, typer.Option(help="Of these, before anything is learned.")] = 10_000,
    tool_mm: Annotated[
        float, typer.Option(help="How far an action of 1 leads the tool along each axis; held to twice that.")
    ] = 30.0,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="Of weights and batches; what is tried depends on the scene.")
    ] = 0,
    scenes: Annotated[int, typer.Option(help="First training scene; a run takes one after the other.")] = 0,
    workers: WorkersOption = 2,
) -> int:
    """Trains and saves."""
    from tendon.policies.bundle.places import find_bundle

    folder = find_bundle(bundle)
    try:
        from tendon.policies.training.residual.learner import Settings
    except ImportError as error:
        raise MissingDependencyError(f"training needs torch ({error}): {pip_install('train')}") from error
    from tendon.control.residual.space import ResidualSpace
    from tendon.control.residual.tools import Tools
    from tendon.evaluation.evaluate import FIRST_SEED
    from tendon.evaluation.residual_rollouts import PROGRESS, REWARDS, Task
    from tendon.evaluation.residual_training import Recipe, ResidualRun
    from tendon.evaluation.suites import load_suite
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.inference.policy import BundlePolicy
    from tendon.robots.profile import load_profile
    from tendon.sim.simulators import choose

    if not 0 <= scenes < FIRST_SEED:
        raise ConfigError(f"--scenes is {scenes}, must be 0 to {FIRST_SEED - 1}: others are to evaluate on")
    if reward not in REWARDS:
        raise ConfigError(f"--reward is {reward!r}{closest(reward, REWARDS)}")
    check_number("--minutes", minutes, least=0)
    if not 0 < prefill < steps:
        raise ConfigError(f"--prefill is {prefill}, must be at least 1 and less than --steps, which is {steps}")
    profile = load_profile(robot)
    improved, kept = (tuple(dict.fromkeys(each)) for each in (suite or ["tabletop_hard"], keep or []))
    for each in (*improved, *kept):
        load_suite(each)
    if both := set(improved) & set(kept):
        raise ConfigError(f"suite {both.pop()} is to be improved (--suite) and left as it is (--keep): name it once")
    policy = BundlePolicy(load_bundle(folder), profile)
    if reward == PROGRESS and not policy.estimates_progress:
        raise ConfigError(f"{folder} does not estimate its progress: `tendon policy train-progress` teaches it to")
    require_folder(out)
    embedding, points = policy.feature_sizes()
    tools = Tools(profile).count
    space = ResidualSpace(tool_m=1e-3 * tool_mm, tools=tools, embedding=embedding, points=points)
    task = Task(
        bundle=folder,
        robot=robot,
        suites=(*improved, *kept),
        kept=kept,
        space=space,
        simulator=choose(simulator),
        reward=reward,
    )
    recipe = Recipe(minutes=minutes, steps=steps, prefill_steps=prefill, seed=seed, first_scene=scenes)
    lock = lock_folder(out)
    try:
        run = ResidualRun(out, task, recipe, Settings(lowest=-1.0 if reward == PROGRESS else 0.0))
        with CountingBar("residual", steps) as bar:
            learned = run.train(workers, bar.reach)
    finally:
        os.close(lock)
    if not learned:
        more = "--steps" if run.steps >= steps else "--minutes"
        print(
            f"{out}: ended after {run.steps} steps, of which {prefill} are prefill, with nothing learned: there is no "
            f"residual yet; the same command with more {more} goes on"
        )
    return 0 if learned else 1
