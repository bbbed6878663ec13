"""Whose signature a folder carries: of a bundle or of a residual, over the exact bytes of its manifest."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tendon.core.errors import IntegrityError
from tendon.policies.bundle import signature
from tendon.policies.bundle.files import read_text_file
from tendon.policies.bundle.signature import Signer

_log = logging.getLogger(__name__)
_COMMANDS = {"bundle": "tendon policy sign", "residual": "tendon residual sign"}


def read_signer(
    folder: Path,
    raw: bytes,
    required: bool | None = None,
    trusted: Mapping[str, bytes] | None = None,
    what: Literal["bundle", "residual"] = "bundle",
) -> Signer | None:
    """Returns whose signature a folder has; `None` without one.

    Args:
        folder: which has it in `bundle.sig` or `residual.sig`.
        raw: bytes of `bundle.yaml` or `residual.yaml`.
        required: refuse it without a trusted signature; by default what `TENDON_REQUIRE_SIGNATURE` says.
        trusted: raw public keys by name; by default those in `signature.trusted_folder`.
        what: is in the folder.

    Raises:
        IntegrityError: the signature is wrong, or missing or not trusted and required.
    """
    required = signature.signature_demanded() if required is None else required
    keys = signature.trusted_keys() if trusted is None else trusted
    path = folder / f"{what}.sig"
    advice = f"`{_COMMANDS[what]}` signs one" if keys else f"put public keys into {signature.trusted_folder()}"
    signer = None
    if path.exists() or path.is_symlink():
        try:
            signer = signature.verify(raw, read_text_file(folder, path.name), keys, f"{what}.yaml")
        except IntegrityError as error:
            raise IntegrityError(f"{what} {folder}: {error}") from error
        if not signer.trusted:
            _log.warning("%s %s is signed by %s, which is not trusted here", what, folder, signer.fingerprint)
    if required and not (signer and signer.trusted):
        found = f"its signer {signer.fingerprint} is not trusted here" if signer else "it is not signed"
        raise IntegrityError(f"{what} {folder} is refused, for {found} and a trusted signature is required: {advice}")
    return signer
