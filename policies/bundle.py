"""A bundle: a folder with `bundle.yaml`, an ONNX graph and its hashes. Nothing is parsed before it is verified."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import yaml

from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.manifest import Manifest, manifest_mapping, parse_manifest

MANIFEST_FILE = "bundle.yaml"

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
    """

    folder: Path
    manifest: Manifest
    content: Mapping[str, bytes]
    digest: str
    unlisted: tuple[str, ...]


def load_bundle(folder: str | Path) -> Bundle:
    """Reads and verifies a bundle.

    Raises:
        ConfigError: no bundle is there, or `bundle.yaml` is malformed, holds an unknown key or a wrong value.
        IntegrityError: a file is missing, is a symbolic link, has another hash, or its name leaves the folder.
    """
    folder = Path(folder)
    path = folder / MANIFEST_FILE
    if not path.exists():
        raise ConfigError(f"no bundle at {folder}: it has no {MANIFEST_FILE}; `tendon export` makes one")
    raw = _read(folder, MANIFEST_FILE)
    try:
        manifest = parse_manifest(yaml.safe_load(raw))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if manifest.model not in manifest.files:
        raise IntegrityError(f"{path}: files has no hash of the model {manifest.model}; export the bundle again")
    content = {name: _read(folder, name) for name in manifest.files}
    for name, expected in manifest.files.items():
        found = hashlib.sha256(content[name]).hexdigest()
        if found != expected:
            raise IntegrityError(
                f"{folder / name} was changed: SHA-256 is {found}, {MANIFEST_FILE} says {expected}; "
                "fetch or export the bundle again"
            )
    present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
    unlisted = tuple(sorted(present - {MANIFEST_FILE, *manifest.files}))
    if unlisted:
        _log.warning("bundle %s holds files that %s does not name: %s", folder, MANIFEST_FILE, ", ".join(unlisted))
    return Bundle(
        folder=folder,
        manifest=manifest,
        content=content,
        digest=hashlib.sha256(raw).hexdigest(),
        unlisted=unlisted,
    )


def write_bundle(folder: str | Path, manifest: Manifest, files: Mapping[str, bytes]) -> Bundle:
    """Writes a bundle, hashes filled in, and reads it back through the same checks.

    The manifest is put in place last: a write that was cut short does not load.

    Args:
        folder: made when missing; files of the same names are replaced.
        manifest: its `files` are ignored.
        files: name to content; must have `manifest.model`.

    Raises:
        ConfigError: `files` lacks the model, or `training` holds what YAML cannot say.
        IntegrityError: a name leaves the folder.
    """
    folder = Path(folder)
    if manifest.model not in files:
        raise ConfigError(f"files has no {manifest.model}, which the manifest names as the model")
    manifest = replace(manifest, files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()})
    try:
        text = yaml.safe_dump(manifest_mapping(manifest), sort_keys=False, default_flow_style=None)
    except yaml.YAMLError as error:
        raise ConfigError(f"training must hold plain values only (text, numbers, lists, mappings): {error}") from error
    for name, data in files.items():
        path = _inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    _replace(folder / MANIFEST_FILE, text.encode("utf-8"))
    return load_bundle(folder)


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_bytes(data)
    partial.replace(path)


def _inside(folder: Path, name: str) -> Path:
    pure = PurePosixPath(name)
    plain = bool(pure.parts) and pure.as_posix() == name and not pure.is_absolute()
    if not plain or ".." in pure.parts or "\\" in name or "\0" in name or name == MANIFEST_FILE:
        raise IntegrityError(f"bundle {folder} names file {name!r}: a file must be a plain path inside the bundle")
    return folder / pure


def _read(folder: Path, name: str) -> bytes:
    path = folder / name if name == MANIFEST_FILE else _inside(folder, name)
    for part in (path, *path.parents):
        if part == folder:
            break
        if part.is_symlink():
            raise IntegrityError(f"{part} is a symbolic link: a bundle holds its files itself, copy the target here")
    if not path.is_file():
        raise IntegrityError(f"bundle {folder} names file {name}, but {path} is no file")
    return path.read_bytes()
