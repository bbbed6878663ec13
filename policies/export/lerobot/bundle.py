"""From a LeRobot pretrained directory to a bundle that was tried: exported, compared, written, read back and run."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tendon.core.errors import ConfigError, MismatchError
from tendon.core.staging import staged
from tendon.policies.adapter.matching import check_profile
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.export.checked_bundle import STAGES, write_checked_bundle
from tendon.policies.export.exported import CONTEXT_GRAPH, DENOISE_GRAPH, POLICY_GRAPH, Report
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.pixels import camera_inputs
from tendon.policies.export.lerobot.policy import left_out
from tendon.policies.export.lerobot.recorded import recorded_cases
from tendon.policies.export.lerobot.relative import relative_mask, relative_spaces
from tendon.policies.export.lerobot.source import CONFIG_FILE, STATE, LeRobotSource, read_source
from tendon.policies.export.lerobot.versions import TRAIN_CONFIG_FILE, is_of_doubtful_age
from tendon.policies.export.networks.act import export_act
from tendon.policies.export.networks.diffusion import export_diffusion
from tendon.policies.export.networks.pi import export_pi
from tendon.policies.export.networks.smolvla import export_smolvla
from tendon.policies.export.source_graph import IN_TORCH
from tendon.policies.export.spaces_file import Spaces
from tendon.policies.export.weights import tensor_shapes
from tendon.policies.parity.bundle import Repetition
from tendon.policies.parity.graph import Case
from tendon.policies.spec.components import CONSTANT, JointComponent
from tendon.policies.spec.manifest import CameraInput, Manifest, PromptInput
from tendon.policies.spec.sampling import Denoiser, Flow
from tendon.policies.spec.spaces import StateItem
from tendon.robots.profile import RobotProfile

Exporter = Callable[..., ExportedPolicy]
EXPORTERS: Mapping[str, Exporter] = {
    "act": export_act,
    "diffusion": export_diffusion,
    "pi0": export_pi,
    "pi05": export_pi,
    "smolvla": export_smolvla,
}
"""LeRobot's policy types: called with the source, the cameras, recorded cases, and a `Report`."""

BYTES_A_PARAMETER = 14
"""What an import takes at its peak, about: float32 weights in torch, in the graphs' files, and in what runs them."""

_UNSEEN = StateItem(name="joints", joints=(JointComponent(unit=CONSTANT),))
"""The state of a policy that sees none: a bundle's graphs have the input."""

_FIX = "say what each number is in a file, --spaces FILE (docs/reference/spaces.md)"


@dataclass(frozen=True, kw_only=True)
class Importing:
    """What a policy's own files do not tell.

    Attributes:
        name: of the policy.
        cameras: LeRobot's image key to the robot's camera name.
        spaces: what its numbers mean.
        rate_hz: rows a second.
        recorded: folder of a LeRobot data set, whose observations parity is measured over too; or `None`.
    """

    name: str
    cameras: Mapping[str, str]
    spaces: Spaces
    rate_hz: float
    recorded: Path | None


def import_policy(
    folder: Path,
    bundle: Path,
    profile: RobotProfile,
    how: Importing,
    report: Report = lambda _: None,
    note: Report = lambda _: None,
) -> tuple[Bundle, Repetition]:
    """Writes the bundle of a policy, and returns it with its parity as it was read back and repeated.

    Nothing is left behind unless its graphs answer what LeRobot answers and it runs on the robot's profile.

    Args:
        folder: the pretrained directory.
        bundle: folder to write; must be missing or empty.
        profile: the robot that it is for.
        how: the rest.
        report: told of each stage before it begins, with its number and how many there are.
        note: told what of the folder is not simply taken as it is, and of memory.

    Raises:
        ConfigError: something is malformed or unknown, or the bundle cannot be written.
        IntegrityError: a file is truncated, altered or missing.
        MismatchError: policy and robot do not fit, or a graph is not its source.
        MissingDependencyError: LeRobot is not installed.
    """
    with staged(bundle) as staging:
        report(f"reading {folder}")
        source = read_source(folder)
        _tell_of_differences(source, note)
        _tell_of_memory(source, note)
        report = _numbered(report, _stages(source, how))
        views = camera_inputs(source, how.cameras, may_lack=source.count("empty_cameras", 0))
        _check_cameras(views, profile)
        draft = draft_manifest(source, tuple(views.values()), profile, how)
        check_profile(draft, profile)
        recorded: tuple[Case, ...] = ()
        if how.recorded is not None:
            report(f"reading observations of {how.recorded}")
            recorded = recorded_cases(source, views, how.recorded, source.count("n_obs_steps", 1))
        report(f"building LeRobot's {source.type}")
        exported = EXPORTERS[source.type](source, how.cameras, recorded, report)
        manifest = final_manifest(draft, exported)
        compared = f"LeRobot's {source.type}, {IN_TORCH}"
        written, repetition = write_checked_bundle(staging, manifest, exported.made, compared, profile, report)
    return replace(written, folder=bundle), repetition


def _stages(source: LeRobotSource, how: Importing) -> int:
    """Returns how many stages an import reports: reading and recorded ones, building, its graphs, and three at the end.

    A graph has three; of two, whole chunks are compared as well.
    """
    graphs = 3 if source.type == "act" else 7
    return 1 + (how.recorded is not None) + 1 + graphs + STAGES


def _numbered(report: Report, count: int) -> Report:
    """Returns a report that says which stage it is; the first, reading, was reported before the number was known."""
    numbers = itertools.count(2)
    return lambda stage: report(f"[{next(numbers)}/{count}] {stage}")


def _tell_of_differences(source: LeRobotSource, note: Report) -> None:
    """Says what of the folder is not simply taken as it is."""
    if inert := left_out(source):
        note(f"left out of {CONFIG_FILE}, where they change no answer: {', '.join(inert)}")
    if mask := relative_mask(source):
        rest = f", but not to numbers {[k for k, added in enumerate(mask) if not added]}" if not all(mask) else ""
        note(f"relative actions: the observed state is added to each row{rest}")
    if is_of_doubtful_age(source):
        note(
            f"taken as saved by LeRobot 0.4, for {TRAIN_CONFIG_FILE} is missing: if 0.5 saved it, put that file beside "
            f"{CONFIG_FILE}; both embed images differently"
        )
    if not source.sees_state:
        note("the policy does not see the robot's state")


def _tell_of_memory(source: LeRobotSource, note: Report) -> None:
    """Says so when there is probably too little: the kernel ends a process that takes too much without a word."""
    parameters = sum(math.prod(shape) for shape in tensor_shapes(source.weights).values())
    needed = BYTES_A_PARAMETER * parameters / 2**30
    try:
        found = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return
    if found and needed > (free := int(found[1]) / 2**20):
        sizes = f"this takes about {needed:.0f} GiB of memory, {free:.0f} GiB are free"
        note(f"{sizes}: if it is killed, take a larger machine")


def _check_cameras(views: Mapping[str, CameraInput], profile: RobotProfile) -> None:
    known = [camera.name for camera in profile.cameras]
    for key, view in views.items():
        if view.name not in known:
            raise MismatchError(
                f"--camera {key}={view.name}: robot {profile.name} has no camera {view.name}, "
                f"it has: {', '.join(known) or 'none'}; name one of these, or add it to the profile"
            )


def draft_manifest(
    source: LeRobotSource, cameras: tuple[CameraInput, ...], profile: RobotProfile, how: Importing
) -> Manifest:
    """Returns what is known before the graphs are: all that has to fit the robot.

    Raises:
        ConfigError: a statistic is missing or wrong.
        MismatchError: the spaces given for the policy have other sizes than its own.
    """
    state, action = source.normalisation(STATE), source.action_normalisation()
    spaces, mask = how.spaces, relative_mask(source)
    if not source.sees_state:
        spaces = replace(spaces, state=(_UNSEEN,))
    elif spaces.state_size != source.state_size:
        raise MismatchError(
            f"the policy's state has {source.state_size} numbers, its spaces say {spaces.state_size}: {_FIX}"
        )
    if mask is not None:
        spaces = relative_spaces(spaces, mask)
    try:
        space = spaces.action_space(1.0 / how.rate_hz, action.mean, action.std, rows=1)
    except ConfigError as error:
        raise MismatchError(f"the policy's action of {source.action_size} numbers: {error}; {_FIX}") from error
    return Manifest(
        name=how.name,
        robot=profile.name,
        tool_frame=profile.tool_frame,
        joint_names=profile.joint_names,
        cameras=cameras,
        state=spaces.state,
        state_mean=state.mean,
        state_std=state.std,
        action=space,
        instruction=None,
    )


def final_manifest(draft: Manifest, exported: ExportedPolicy) -> Manifest:
    """Returns the manifest of exported graphs."""
    denoiser = None
    if exported.schedule is not None:
        denoiser = Denoiser(
            graph=DENOISE_GRAPH,
            components=exported.model_components,
            noise="gaussian",
            kind="flow" if isinstance(exported.schedule, Flow) else "diffusion",
            schedule=exported.schedule,
            past_rows=exported.first_row,
        )
    reads = None
    if (tokens := exported.tokens) is not None:
        reads = PromptInput(kind=tokens.kind, tokenizer=tokens.tokenizer, tokens=tokens.length)
    images = {view.name: key for key, view in exported.views.items()}
    source = {**exported.source.record(), "images": images, "executed_rows": exported.execute_rows}
    return replace(
        draft,
        action=replace(draft.action, rows=exported.rows - exported.first_row),
        instruction=reads,
        history=exported.observation_steps,
        model=POLICY_GRAPH if denoiser is None else CONTEXT_GRAPH,
        denoiser=denoiser,
        training={"source": source},
    )
