"""Everything that can be known to be wrong is said in one line before any process starts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tendon.control.clearance.model import Clearance
from tendon.control.clearance.people import HumanZone
from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.core.loopback import loopback_problem
from tendon.data.packages import require_data
from tendon.evaluation.suites import load_suite, suite_for
from tendon.graph.arguments import ARGUMENTS, complete
from tendon.graph.description import Graph, describe, environment_of
from tendon.policies.adapter.matching import check_profile
from tendon.policies.bundle.bundle import parse, read_manifest
from tendon.policies.bundle.files import inside
from tendon.policies.bundle.places import EXPERT, find_policy
from tendon.policies.bundle.signer import read_signer
from tendon.policies.engines.engine import engine_named, require
from tendon.policies.inference.identity import policy_digest
from tendon.policies.residual.bundle import load_residual
from tendon.robots.environment import load_environment
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.servo_response import read_response
from tendon.robots.stop_input_type import message_type
from tendon.sim.simulators import choose

OF_SIMULATION = ("simulator", "suite", "scene", "family", "gui")
"""Arguments that mean nothing to another backend."""


def preflight(given: Mapping[str, str]) -> Graph:
    """Checks that the arguments fit one another and what is on this machine, and returns the graph for them.

    Nothing is started, no server is asked and no graph of a bundle is read: that the hashes are right is found out by
    the policy node. It takes well below a second.

    Args:
        given: arguments as `arguments.complete` takes them.

    Raises:
        TendonError: something does not fit; the message names it and what to change.
    """
    values = complete(given)
    if problem := loopback_problem():
        raise ConfigError(f"nodes cannot reach one another by the loopback network: {problem}")
    profile = load_profile(values["robot"])
    _check_backend(values, profile)
    graph = describe(values)
    _check_policies(values, profile)
    _check_residual(values, profile)
    _check_robot(values, profile)
    if values["record"] != "false":
        _check_recorder(values)
    return graph


def _check_backend(values: Mapping[str, str], profile: RobotProfile) -> None:
    backend = values["backend"]
    defaults = {argument.name: argument.default for argument in ARGUMENTS}
    changed = [name for name in OF_SIMULATION if values[name] != defaults[name]]
    if backend != "sim":
        for name in changed:
            raise ConfigError(f"{name}:={values[name]} needs backend:=sim, and backend is {backend}: leave it out")
        return
    suite = load_suite(suite_for(profile, values["suite"])).for_graph()
    if profile.response is not None:
        read_response(profile.response, profile.name, profile.joint_names)
    if choose(values["simulator"]) == "mujoco" and values["gui"] == "true":
        raise ConfigError("gui:=true opens PyBullet's window: take simulator:=pybullet, or look with `tendon view`")
    try:
        suite.scene(profile, int(values["scene"]), values["family"])
    except ValueError as error:
        said = " ".join(f"{name}:={values[name]}" for name in ("suite", "scene", "family") if name in changed)
        raise ConfigError(f"{said}: {error}" if said else str(error)) from error
    if values["gui"] == "true" and not os.environ.get("DISPLAY"):
        raise ConfigError("gui:=true needs a display, and DISPLAY is not set: leave gui out, or run where there is one")


def _check_robot(values: Mapping[str, str], profile: RobotProfile) -> None:
    """Builds what control node and monitor will build: collision model, environment, kinematics, stop inputs."""
    place = environment_of(values)
    clearance = Clearance(profile, load_environment(place) if place else None)
    if profile.human is not None:
        HumanZone(clearance, profile.human, profile.base_frame, lead_ns=0, settings=profile.safety)
    if profile.tool_speed is not None:
        Kinematics(profile)
    for spec in profile.stop_inputs:
        message_type(spec)
    if values["arm"] == "true" and profile.arming_obstacle:
        raise ConfigError(f"arm:=true cannot be: {profile.arming_obstacle}")


def _check_recorder(values: Mapping[str, str]) -> None:
    require_data()
    folder = Path(values["recordings"]).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as trial:
            trial.write(b"x")
    except OSError as error:
        raise ConfigError(f"recordings:={folder} cannot be written: {error.strerror}; choose another") from error


def _check_policies(values: Mapping[str, str], profile: RobotProfile) -> None:
    if values["policy"] == "none":
        for name in ("standby", "instruction"):
            if values[name] not in ("", "none"):
                raise ConfigError(f"{name}:={values[name]} needs a policy, and policy is none: leave it out")
        return
    engine = engine_named(values["engine"])
    if engine is not None:
        require(engine)
    named = [values[key] for key in ("policy", "standby") if values[key] != "none"]
    if EXPERT in named and values["backend"] != "sim":
        raise ConfigError(f"policy:={EXPERT} knows what only a simulator knows: it needs backend:=sim")
    names = [EXPERT if name == EXPERT else _check_policy(find_policy(name), profile) for name in named]
    if len(set(names)) < len(names):
        raise ConfigError(f"policy and standby are both called {names[0]}: give one another name in bundle.yaml")


def _check_residual(values: Mapping[str, str], profile: RobotProfile) -> None:
    """Opens the residual, for this robot and the policy's `bundle.yaml`."""
    if values["residual"] == "none":
        return
    place = Path(values["residual"]).expanduser()
    policy = values["policy"]
    folder = None if policy in ("none", EXPERT) else find_policy(policy)
    if folder is None or folder.is_file():
        raise ConfigError(f"residual:={place} corrects the policy of a bundle, and policy is {policy}: leave it out")
    load_residual(place).open(profile, policy_digest(parse(folder, read_manifest(folder))))


def _check_policy(policy: Path, profile: RobotProfile) -> str:
    """Checks a bundle, or the file that names a server, against the robot; returns what it is called."""
    if policy.is_file():
        return _check_server(policy, profile)
    raw = read_manifest(policy)
    read_signer(policy, raw)
    manifest = parse(policy, raw)
    try:
        check_profile(manifest, profile)
    except MismatchError as error:
        raise MismatchError(f"{error} (policy:=none runs without one)") from error
    for name in manifest.files:
        if not inside(policy, name).is_file():
            raise IntegrityError(f"bundle {policy} lacks {name}, which bundle.yaml names: fetch or export it again")
    return manifest.name


def _check_server(file: Path, profile: RobotProfile) -> str:
    from tendon.policies.remote import require_remote

    require_remote()
    from tendon.policies.remote.contract import Translator
    from tendon.policies.remote.settings import load_settings

    settings = load_settings(file)
    settings.endpoint()
    if settings.policy is None:
        return str(file)  # the server says what its policy is called when it is asked
    Translator(settings.policy, profile)
    return settings.policy.name
