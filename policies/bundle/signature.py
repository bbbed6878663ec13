"""Who made a bundle: an Ed25519 signature (RFC 8032) over the exact bytes of `bundle.yaml`, which hold all hashes.

The bytes themselves are what is signed, not a form of them that would have to be parsed first. A key is trusted when
its public half lies in `~/.config/tendon/trusted/`, one PEM file a signer.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from tendon.core.errors import ConfigError, IntegrityError

DEMAND_VARIABLE = "TENDON_REQUIRE_SIGNATURE"
_PURPOSE = b"tendon bundle 1\0"
"""Comes before what is signed, so that a signature made for anything else is none for a bundle."""

_KIND = "ed25519"


@dataclass(frozen=True, kw_only=True)
class Signer:
    """Whose signature a bundle carries.

    Attributes:
        name: of the trusted key's file, without its suffix; empty for a key that is not trusted.
        fingerprint: SHA-256 of the public key, as `SHA256:` and base64.
    """

    name: str
    fingerprint: str

    @property
    def trusted(self) -> bool:
        """Whether the key is among the trusted ones."""
        return bool(self.name)


def signature_demanded() -> bool:
    """Returns whether the environment demands that every bundle is signed by a trusted key.

    Raises:
        ConfigError: the variable is set to something that is neither yes nor no.
    """
    value = os.environ.get(DEMAND_VARIABLE, "").strip().lower()
    if value not in ("", "0", "1", "true", "false"):
        raise ConfigError(f"{DEMAND_VARIABLE}={value} is not understood: set 1 to demand signatures, or 0")
    return value in ("1", "true")


def trusted_folder() -> Path:
    """Returns where public keys of trusted signers lie; it need not exist."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tendon" / "trusted"


def trusted_keys() -> dict[str, bytes]:
    """Returns the raw public keys in `trusted_folder` by file name without suffix.

    Raises:
        ConfigError: a `*.pub` file there is no Ed25519 public key.
    """
    return {path.stem: read_public_key(path) for path in sorted(trusted_folder().glob("*.pub"))}


def read_public_key(path: Path) -> bytes:
    """Returns the 32 bytes of a public key.

    Raises:
        ConfigError: the file is missing or no Ed25519 public key in PEM.
    """
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is no public key: {error}; `tendon policy keygen` makes one") from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise ConfigError(f"{path} is a {type(key).__name__}, must be Ed25519; `tendon policy keygen` makes one")
    return bytes(key.public_bytes_raw())


def generate_keys(path: Path) -> str:
    """Writes a private key (mode 0600) and `path` + ".pub", and returns the fingerprint.

    Raises:
        ConfigError: one of the files exists: a key that is replaced is lost.
    """
    public = path.with_name(f"{path.name}.pub")
    if path.exists() or public.exists():
        raise ConfigError(f"{path} or {public.name} exists already: choose another name, or move it away")
    key = ed25519.Ed25519PrivateKey.generate()
    private_text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(private_text)
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return fingerprint(key.public_key().public_bytes_raw())


def sign(manifest: bytes, path: Path) -> bytes:
    """Returns the content of a signature file for a manifest, made with a private key file.

    Raises:
        ConfigError: the key file is missing, no Ed25519 key, or readable by others.
    """
    key = _private_key(path)
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    made = base64.b64encode(key.sign(_PURPOSE + manifest)).decode()
    return f"{_KIND} {public} {made}\n".encode()


def verify(manifest: bytes, signature: bytes, trusted: Mapping[str, bytes], name: str = "bundle.yaml") -> Signer:
    """Returns who signed a manifest. Nothing of the manifest is parsed.

    Args:
        manifest: the bytes of `bundle.yaml`.
        signature: the bytes of `bundle.sig`.
        trusted: raw public keys by name.
        name: of the manifest, for errors.

    Raises:
        IntegrityError: it is no signature, or not of these bytes by the key it names.
    """
    try:
        kind, public_text, made_text = signature.decode("ascii").split()
        public, made = (base64.b64decode(text, validate=True) for text in (public_text, made_text))
        if kind != _KIND or len(public) != 32 or len(made) != 64:
            raise ValueError(f"kind {kind}, {len(public)} and {len(made)} bytes")
    except (ValueError, binascii.Error) as error:
        raise IntegrityError(f"the signature is malformed: {error}; sign it again, or fetch it again") from error
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(made, _PURPOSE + manifest)
    except (InvalidSignature, ValueError) as error:
        raise IntegrityError(
            f"the signature by {fingerprint(public)} is not of this {name}: one of the two was changed; "
            "fetch both again, or sign it again if you changed it"
        ) from error
    known = next((known for known, key in trusted.items() if key == public), "")
    return Signer(name=known, fingerprint=fingerprint(public))


def fingerprint(public: bytes) -> str:
    """Returns the fingerprint of a raw public key, the way SSH writes it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(public).digest()).decode().rstrip("=")


def public_of(path: Path) -> bytes:
    """Returns the raw public half of a private key file; see `sign` for what it raises."""
    return bytes(_private_key(path).public_key().public_bytes_raw())


def _private_key(path: Path) -> ed25519.Ed25519PrivateKey:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise ConfigError(f"{path} has mode {mode:04o}, others may read it: chmod 600 {path}")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} is no private key: {error}; `tendon policy keygen` makes one") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ConfigError(f"{path} is a {type(key).__name__}, must be Ed25519; `tendon policy keygen` makes one")
    return key
