"""A bundle: a folder with `bundle.yaml`, an ONNX graph and its hashes. Nothing is parsed before it is verified.

The order: signature over the bytes of `bundle.yaml`, then `bundle.yaml`, then each file's hash, then its type.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.core.files import replace_file
from tendon.core.yaml_text import parse_yaml
from tendon.policies.bundle import signature
from tendon.policies.bundle.files import (
    MANIFEST_FILE,
    SIGNATURE_FILE,
    check_content,
    inside,
    read_text_file,
    read_verified,
)
from tendon.policies.bundle.signature import Signer
from tendon.policies.bundle.signer import read_signer
from tendon.policies.spec.manifest import Manifest, manifest_mapping, parse_manifest

CHANGED = f"was changed: SHA-256 is {{found}}, {MANIFEST_FILE} says {{expected}}; fetch or export the bundle again"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A verified bundle, wholly in memory: what was hashed is what is used, even if the files change later.

    Attributes:
        folder: where it was read.
        manifest: `bundle.yaml`.
        content: file name to bytes, all of `manifest.files`.
        digest: SHA-256 of `bundle.yaml`, which holds the other hashes: the identity of the policy.
        unlisted: files found in the folder that the manifest does not name. They are never opened.
        signer: whose signature it carries; `None` without one.
    """

    folder: Path
    manifest: Manifest
    content: Mapping[str, bytes]
    digest: str
    unlisted: tuple[str, ...]
    signer: Signer | None

    @property
    def model_sha256(self) -> str:
        """Of the graph that answers."""
        return self.manifest.files[self.manifest.model]

    def check_model(self, file: str, model_sha256: str, maker: str) -> None:
        """Raises MismatchError where a file of the bundle says that it is of another model.

        Args:
            file: name of the file.
            model_sha256: of the model that it was made with.
            maker: command that makes it.
        """
        if model_sha256 != self.model_sha256:
            raise MismatchError(
                f"{file}: model_sha256 is {model_sha256}, expected that of {self.manifest.model}, "
                f"{self.model_sha256}: run `{maker}` again"
            )


def load_bundle(
    folder: str | Path, *, require_signature: bool | None = None, trusted: Mapping[str, bytes] | None = None
) -> Bundle:
    """Reads and verifies a bundle.

    Args:
        folder: where it is.
        require_signature: refuse one without a trusted signature; by default what `TENDON_REQUIRE_SIGNATURE` says.
            A signature that does not match is refused in any case.
        trusted: raw public keys by name; by default those in `signature.trusted_folder`.

    Raises:
        ConfigError: no bundle is there, or `bundle.yaml` is malformed, holds an unknown key or a wrong value.
        IntegrityError: the signature is wrong, or missing and required; a file is missing, is a symbolic link, has
            another hash or a forbidden type, or its name leaves the folder.
    """
    folder = Path(folder)
    raw = read_manifest(folder)
    signer = read_signer(folder, raw, require_signature, trusted)
    manifest = parse(folder, raw)
    for name in manifest.files:
        inside(folder, name)
    content = {name: read_verified(folder, name, digest, CHANGED) for name, digest in manifest.files.items()}
    present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
    unlisted = tuple(sorted(present - {MANIFEST_FILE, SIGNATURE_FILE, *manifest.files}))
    if unlisted:
        _log.warning("bundle %s holds files that %s does not name: %s", folder, MANIFEST_FILE, ", ".join(unlisted))
    return Bundle(
        folder=folder,
        manifest=manifest,
        content=content,
        digest=hashlib.sha256(raw).hexdigest(),
        unlisted=unlisted,
        signer=signer,
    )


def read_manifest(folder: Path) -> bytes:
    """Returns the bytes of `bundle.yaml`; see `load_bundle` for what it raises."""
    if not (folder / MANIFEST_FILE).exists() and not (folder / MANIFEST_FILE).is_symlink():
        raise ConfigError(f"no bundle at {folder}: it has no {MANIFEST_FILE}; `tendon policy export` makes one")
    return read_text_file(folder, MANIFEST_FILE)


def parse(folder: Path, raw: bytes) -> Manifest:
    """Returns the manifest in the bytes of `bundle.yaml`; see `load_bundle` for what it raises."""
    path = folder / MANIFEST_FILE
    values = parse_yaml(raw, str(path))
    try:
        manifest = parse_manifest(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    if manifest.model not in manifest.files:
        raise IntegrityError(f"{path}: files has no hash of the model {manifest.model}; export the bundle again")
    return manifest


def sign_bundle(folder: str | Path, key: Path) -> Bundle:
    """Signs a bundle with a private key file, once its files are verified, and reads it back.

    Raises:
        ConfigError: see `load_bundle` and `signature.sign`.
        IntegrityError: a file is not what `bundle.yaml` says.
    """
    folder = Path(folder)
    raw = read_manifest(folder)
    for name, digest in parse(folder, raw).files.items():
        read_verified(folder, name, digest, CHANGED)
    replace_file(folder / SIGNATURE_FILE, signature.sign(raw, key))
    return load_bundle(folder, require_signature=True, trusted={key.stem: signature.public_of(key)})


def write_bundle(folder: str | Path, manifest: Manifest, files: Mapping[str, bytes]) -> Bundle:
    """Writes a bundle, hashes filled in, and reads it back through the same checks.

    The manifest is put in place last: a write that was cut short does not load. A signature of what was there before
    is removed, for it does not hold any more.

    Args:
        folder: made when missing; files of the same names are replaced.
        manifest: its `files` are ignored.
        files: name to content; must have `manifest.model`.

    Raises:
        ConfigError: `files` lacks the model, or `training` holds what YAML cannot say.
        IntegrityError: a name leaves the folder, or a file has a forbidden type.
    """
    folder = Path(folder)
    if manifest.model not in files:
        raise ConfigError(f"files has no {manifest.model}, which the manifest names as the model")
    manifest = replace(manifest, files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()})
    try:
        text = yaml.safe_dump(manifest_mapping(manifest), sort_keys=False, default_flow_style=None)
    except yaml.YAMLError as error:
        raise ConfigError(f"training must hold plain values only (text, numbers, lists, mappings): {error}") from error
    paths = {name: inside(folder, name) for name in files}
    for name, path in paths.items():
        check_content(path, files[name])
    for name, path in paths.items():
        replace_file(path, files[name])
    (folder / SIGNATURE_FILE).unlink(missing_ok=True)
    replace_file(folder / MANIFEST_FILE, text.encode("utf-8"))
    return load_bundle(folder, require_signature=False)
