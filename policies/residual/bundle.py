"""A residual's folder: `residual.yaml`, `residual.onnx`, their hashes, and perhaps a signature `residual.sig`.

What a residual does is its graph under its bounds: both are in its digest, by which evaluations and outcomes know it.
A failure detector that was calibrated with it may lie beside them: it watches the policy in graphs with this residual.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import yaml

from tendon.control.residual.bounded import BoundedResidual
from tendon.control.residual.gate import Evidence
from tendon.control.residual.learned import learned_residual
from tendon.control.residual.space import ResidualSpace
from tendon.core.config import build
from tendon.core.errors import ConfigError, IntegrityError, MismatchError, TendonError
from tendon.core.fields import Range, check_fields
from tendon.core.files import replace_file
from tendon.core.yaml_text import parse_yaml
from tendon.policies.bundle import signature
from tendon.policies.bundle.files import read_text_file, read_verified
from tendon.policies.bundle.signer import read_signer
from tendon.policies.detector.file import DETECTOR_FILE, NUMBERS_FILE
from tendon.policies.residual.graph import GRAPH_FILE, ResidualGraph
from tendon.robots.profile import RobotProfile

RESIDUAL_FILE, SIGNATURE_FILE = "residual.yaml", "residual.sig"
DETECTOR_FILES = (DETECTOR_FILE, NUMBERS_FILE)
FORMAT = 1
CHANGED = f"has SHA-256 {{found}}, {RESIDUAL_FILE} says {{expected}}: copy all of the folder again"
NO_EVIDENCE = Evidence()
BESIDE = ("digest", "files", "evidence", "training")
"""What is no part of what a residual does."""


@dataclass(frozen=True, kw_only=True)
class ResidualManifest:
    """`residual.yaml`.

    Attributes:
        format: of this file.
        base: name of the policy that is corrected.
        base_digest: which one, see `tendon.policies.inference.identity`.
        robot: profile that it was trained with.
        joints: of that robot, in its order.
        space: what it sees and does, and its bounds.
        graph: SHA-256 of `residual.onnx`.
        digest: SHA-256 of all of these.
        files: SHA-256 of what else is in the folder, by name.
        evidence: what an evaluation on scenes that it was not trained on told.
        training: how it was made, for people.

    Raises:
        IntegrityError: the digest is another: a value was changed by hand, such as a bound.
    """

    format: Annotated[int, Range(least=FORMAT, most=FORMAT)] = FORMAT
    base: str
    base_digest: str
    robot: str
    joints: tuple[str, ...]
    space: ResidualSpace
    graph: str
    digest: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self, RESIDUAL_FILE)
        hashed = {name: value for name, value in asdict(self).items() if name not in BESIDE}
        found = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()
        if self.digest not in ("", found):
            raise IntegrityError(
                f"{RESIDUAL_FILE} was changed: its digest says {self.digest[:12]}, its values give {found[:12]}; "
                "what was trained and shown holds for its own bounds: fetch it again, or train one with others"
            )
        object.__setattr__(self, "digest", found)


@dataclass(frozen=True, kw_only=True)
class ResidualBundle:
    """A verified residual, in memory.

    Attributes:
        folder: where it was read.
        manifest: `residual.yaml`.
        graph: `residual.onnx`.
        content: what else is in the folder, by name.
    """

    folder: Path
    manifest: ResidualManifest
    graph: bytes
    content: Mapping[str, bytes] = field(default_factory=dict)

    def open(self, profile: RobotProfile, base_digest: str) -> BoundedResidual:
        """Returns the residual, ready for a robot and a policy.

        Raises:
            MismatchError: it was trained for another robot or another policy, or its graph does not fit its space.
        """
        manifest = self.manifest
        if base_digest != manifest.base_digest:
            raise MismatchError(
                f"residual {self.folder} corrects policy {manifest.base} ({manifest.base_digest[:12]}), this one is "
                f"{base_digest[:12]}: train one for it"
            )
        if manifest.joints != profile.joint_names:
            raise MismatchError(
                f"residual {self.folder} is for robot {manifest.robot} with joints {', '.join(manifest.joints)}, "
                f"robot {profile.name} has {', '.join(profile.joint_names)}"
            )
        graph = ResidualGraph(self.graph)
        graph.check(manifest.space, 1.0 / profile.control_hz)
        return learned_residual(profile, manifest.space, graph, base_digest)


def load_residual(folder: Path, *, require_signature: bool | None = None) -> ResidualBundle:
    """Reads and verifies a residual.

    Args:
        folder: of it.
        require_signature: refuse one without a trusted signature; by default what `TENDON_REQUIRE_SIGNATURE` says.

    Raises:
        ConfigError: there is none, or `residual.yaml` is malformed.
        IntegrityError: a file is missing, a link, or not what its hash says; the signature is wrong, or missing and
            demanded, see `read_signer`.
    """
    raw = _read_manifest(folder)
    read_signer(folder, raw, require_signature, what="residual")
    manifest = build(ResidualManifest, RESIDUAL_FILE, values := parse_yaml(raw, RESIDUAL_FILE))
    if not (isinstance(values, dict) and values.get("digest")):
        raise IntegrityError(f"{folder / RESIDUAL_FILE} has no digest: fetch it again, or train it again")
    graph = read_verified(folder, GRAPH_FILE, manifest.graph, CHANGED)
    if unknown := [name for name in manifest.files if name not in DETECTOR_FILES]:
        raise IntegrityError(
            f"{folder / RESIDUAL_FILE} names {unknown[0]}: only {', '.join(DETECTOR_FILES)} may be there"
        )
    content = {name: read_verified(folder, name, said, CHANGED) for name, said in manifest.files.items()}
    return ResidualBundle(folder=folder, manifest=manifest, graph=graph, content=content)


def write_residual(
    folder: Path,
    graph: bytes,
    *,
    profile: RobotProfile,
    space: ResidualSpace,
    base: str,
    base_digest: str,
    training: Mapping[str, Any],
    evidence: Evidence = NO_EVIDENCE,
) -> None:
    """Writes a residual's two files, the graph first.

    A folder that holds the same one with evidence, a detector or a signature stays as it is: all are of its digest.
    """
    manifest = ResidualManifest(
        base=base,
        base_digest=base_digest,
        robot=profile.name,
        joints=profile.joint_names,
        space=space,
        graph=hashlib.sha256(graph).hexdigest(),
        evidence=evidence,
        training=training,
    )
    if evidence == NO_EVIDENCE and _is_shown(folder, manifest.digest):
        return
    _unsign(folder)
    replace_file(folder / GRAPH_FILE, graph)
    replace_file(folder / RESIDUAL_FILE, _text(manifest))


def write_evidence(bundle: ResidualBundle, evidence: Evidence) -> bool:
    """Writes what an evaluation told of a residual into its folder.

    Returns:
        Whether a signature, which is of less, was removed.
    """
    signed = _unsign(bundle.folder)
    replace_file(bundle.folder / RESIDUAL_FILE, _text(replace(bundle.manifest, evidence=evidence)))
    return signed


def write_detector(bundle: ResidualBundle, files: Mapping[str, bytes]) -> bool:
    """Writes the files of a detector that was calibrated with a residual into its folder.

    Returns:
        Whether a signature, which is of less, was removed.
    """
    signed = _unsign(bundle.folder)
    for name, data in files.items():
        replace_file(bundle.folder / name, data)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    replace_file(bundle.folder / RESIDUAL_FILE, _text(replace(bundle.manifest, files=hashes)))
    return signed


def _unsign(folder: Path) -> bool:
    """Removes a signature, which is of what the folder held before; returns whether there was one."""
    signed = (folder / SIGNATURE_FILE).is_file()
    (folder / SIGNATURE_FILE).unlink(missing_ok=True)
    return signed


def sign_residual(folder: Path, key: Path) -> None:
    """Signs a verified residual with a private key file.

    Raises:
        ConfigError: there is none, it is malformed, or see `signature.sign`.
        IntegrityError: see `load_residual`.
    """
    load_residual(folder, require_signature=False)
    replace_file(folder / SIGNATURE_FILE, signature.sign(_read_manifest(folder), key))


def _is_shown(folder: Path, digest: str) -> bool:
    """Returns whether a folder holds this residual whole, with evidence or a signature."""
    try:
        held = load_residual(folder, require_signature=False).manifest
    except TendonError:
        return False
    shown = held.evidence != NO_EVIDENCE or bool(held.files) or (folder / SIGNATURE_FILE).is_file()
    return held.digest == digest and shown


def _read_manifest(folder: Path) -> bytes:
    if not (folder / RESIDUAL_FILE).is_file():
        raise ConfigError(f"no residual at {folder}: name a folder that `tendon residual train` made")
    return read_text_file(folder, RESIDUAL_FILE)


def _text(manifest: ResidualManifest) -> bytes:
    return yaml.safe_dump(asdict(manifest), sort_keys=False, width=110).encode()
