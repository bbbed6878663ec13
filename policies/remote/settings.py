"""The file that `policy:=` names for a policy on another machine, as one frozen, checked value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Count, OneOf, Range, check_fields
from tendon.core.yaml_text import parse_yaml
from tendon.policies.remote.contract import Contract, parse_contract
from tendon.policies.remote.transport.endpoint import LARGEST_REPLY, Endpoint
from tendon.policies.remote.transport.keyfile import read_key

SCHEMES = {"tendon": ("ws", "wss"), "openpi": ("ws", "wss"), "gr00t": ("tcp",)}
"""Kinds of servers: `tendon policy serve`, openpi's own, NVIDIA's GR00T; and how their addresses begin."""
MAX_WAIT_S = 600.0

Wait = Annotated[float, Range(above=0, most=MAX_WAIT_S)]


@dataclass(frozen=True, kw_only=True)
class RemoteSettings:
    """All of the file.

    Attributes:
        kind: of server, one of `SCHEMES`.
        url: of the server.
        key_file: holds the key it asks for; a relative path is from the file's own folder.
        ca_file: PEM certificates to trust instead of the system's.
        timeout_s: longest time of an inference, the way there and back included.
        connect_s: longest time to connect.
        start_s: longest time of an inference at start, where some servers compile.
        largest_reply: bytes.
        jpeg_quality: 1 to 100 to send images as JPEG, to `tendon policy serve` only.
        policy: what the policy sees and answers; `tendon policy serve` says so itself.

    Raises:
        ConfigError: a value is wrong, or does not belong to the kind.
    """

    kind: Annotated[str, OneOf(tuple(SCHEMES))]
    url: str
    key_file: Path | None = None
    ca_file: Path | None = None
    timeout_s: Wait = 1.0
    connect_s: Wait = 5.0
    start_s: Wait = 120.0
    largest_reply: Count = LARGEST_REPLY
    jpeg_quality: Annotated[int, Range(least=1, most=100)] | None = None
    policy: Contract | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        _check_url(self.url, SCHEMES[self.kind])
        if self.ca_file is not None and not self.url.startswith("wss:"):
            raise ConfigError(f"ca_file is for wss:// addresses, the url is {self.url}")
        if self.jpeg_quality is not None and self.kind != "tendon":
            raise ConfigError(f"jpeg_quality is {self.jpeg_quality}: only kind tendon takes JPEG, leave it out")
        if self.policy is not None and self.kind == "gr00t":
            _check_gr00t(self.policy)
        if (self.policy is None) != (self.kind == "tendon"):
            raise ConfigError(
                "policy: says what the policy sees and answers; kind tendon needs none, for the server says it"
                if self.policy is not None
                else f"policy: is missing: with kind {self.kind} it has to say what the policy sees and answers"
            )

    def endpoint(self) -> Endpoint:
        """Returns where the server is and how to reach it.

        Raises:
            ConfigError: the key file is missing, or others may read it; there is no `ca_file`.
        """
        if self.ca_file is not None and not self.ca_file.is_file():
            raise ConfigError(f"ca_file {self.ca_file} does not exist")
        return Endpoint(
            url=self.url,
            key="" if self.key_file is None else read_key(self.key_file),
            ca_file=self.ca_file,
            connect_s=self.connect_s,
            largest=self.largest_reply,
        )


def load_settings(path: Path) -> RemoteSettings:
    """Reads the file.

    Raises:
        ConfigError: it is missing or no YAML mapping, or holds an unknown key (the closest known one is named) or a
            wrong value.
    """
    try:
        raw = parse_yaml(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    try:
        if isinstance(raw, Mapping) and raw.get("policy") is not None:
            raw = {**raw, "policy": parse_contract(raw["policy"])}
        settings = build(RemoteSettings, "remote policy", raw)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return replace(settings, key_file=_beside(path, settings.key_file), ca_file=_beside(path, settings.ca_file))


def _beside(path: Path, file: Path | str | None) -> Path | None:
    """Returns where a file is that another one names."""
    return None if file is None else path.parent / Path(str(file)).expanduser()


def _check_gr00t(policy: Contract) -> None:
    if policy.nested_keys:
        raise ConfigError("policy nested_keys is for kind openpi: GR00T's keys are what they are")
    if other := [image.camera for image in policy.cameras if image.layout != "hwc"]:
        raise ConfigError(f"policy cameras {other[0]} layout is for kind openpi: GR00T takes hwc")


def _check_url(url: Any, schemes: tuple[str, ...]) -> None:
    wanted = f"must be {' or '.join(f'{scheme}://HOST:PORT' for scheme in schemes)}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"url is {url!r}, {wanted}: {error}") from error
    if parts.scheme not in schemes or not host or port is None:
        raise ConfigError(f"url is {url!r}, {wanted}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"url holds more than an address, {wanted}; the key goes into key_file")
