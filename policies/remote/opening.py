"""From the file that `policy:=` names to a policy that answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tendon.policies.remote.contract import Contract
from tendon.policies.remote.gr00t.link import Gr00tLink
from tendon.policies.remote.link import Link
from tendon.policies.remote.openpi.link import OpenpiLink
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.remote.served.link import TendonLink
from tendon.policies.remote.settings import load_settings
from tendon.policies.remote.transport.endpoint import Endpoint
from tendon.robots.profile import RobotProfile

_DESCRIBED: dict[str, Callable[[Endpoint, Contract, RobotProfile], Link]] = {"openpi": OpenpiLink, "gr00t": Gr00tLink}


def open_policy(path: Path, profile: RobotProfile) -> RemotePolicy:
    """Reads the file, connects, and checks that server, file and robot fit one another, as far as that can be known.

    The rest is found out by `warm_up`.

    Raises:
        ConfigError: the file is wrong.
        RemoteError: the server is out of reach.
        MismatchError: something does not fit.
    """
    settings = load_settings(path)
    link: Link
    if settings.policy is None:
        link = TendonLink(settings.endpoint(), profile, settings.jpeg_quality)
    else:
        link = _DESCRIBED[settings.kind](settings.endpoint(), settings.policy, profile)
    return RemotePolicy(link, profile, timeout_s=settings.timeout_s, start_s=settings.start_s)
