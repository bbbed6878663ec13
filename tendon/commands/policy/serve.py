r"""Serve a bundle to robots and to openpi's own client: openpi's websocket protocol, with a key and TLS.

Examples:
  tendon policy serve bundles/tabletop      # this machine only: ws://127.0.0.1:8000
  (umask 077; openssl rand -hex 32 > serve.key)
  tendon policy serve bundles/tabletop --host 0.0.0.0 --api-key-file serve.key \
    --certificate server.pem --key server.key

On the robot: `tendon run policy:=remote.yaml`, and in that file `kind: tendon` and `url: wss://HOST:8000`. For openpi's
client, and what a request holds, see docs/how-to/remote.md. GET /healthz answers 200. Ctrl-C ends it.
"""

from __future__ import annotations

import logging
import ssl
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument, BundleRobotOption, EngineOption
from tendon.core.errors import ConfigError
from tendon.graph.running.ending import on_end_request

_POLL_S = 0.1


def command(
    bundle: BundleArgument,
    robot: BundleRobotOption = None,
    engine: EngineOption = None,
    host: Annotated[str, typer.Option(help="Address; one that others reach needs a key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The key that clients must show, mode 0600.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM certificate of this server, for TLS.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="PEM private key of the certificate.")] = None,
) -> int:
    """Serves until Ctrl-C.

    Raises:
        ConfigError: an option is wrong, or the address is taken.
        TendonError: the bundle is refused, or does not fit the robot.
    """
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.engines.loading import Engine
    from tendon.policies.inference.policy import BundlePolicy
    from tendon.policies.remote import require_remote
    from tendon.robots.profile import load_profile

    require_remote()
    if not host.strip():
        raise ConfigError("--host is empty: 127.0.0.1 is for this machine only, 0.0.0.0 for all that reach it")
    from tendon.policies.remote.served.server import PolicyServer
    from tendon.policies.remote.served.service import Service
    from tendon.policies.remote.transport.keyfile import read_key

    api_key = None if api_key_file is None else read_key(api_key_file.expanduser())
    tls = _tls(certificate, key)
    loaded = load_bundle(find_bundle(bundle))
    profile = load_profile(robot or loaded.manifest.robot)
    policy = BundlePolicy(loaded, profile, Engine.parse(engine) if engine else None)
    service = Service(policy, loaded.manifest, profile)
    server = PolicyServer(
        service.metadata, service.answer, largest=service.largest, host=host, port=port, key=api_key, tls=tls
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("websockets").setLevel(logging.WARNING)
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    on_end_request(end)
    try:
        server.in_policy_thread(policy.warm_up)
        server.start()
        shown = f"[{host}]" if ":" in host else host
        address = f"{'ws' if tls is None else 'wss'}://{shown}:{server.port}"
        print(
            f"{loaded.manifest.name} ({loaded.digest[:12]}) for {profile.name} on {policy.engine} at {address}, "
            f"{'no key' if api_key is None else 'with a key'}; Ctrl-C ends it",
            flush=True,
        )
        if api_key is not None and tls is None and host != "127.0.0.1":
            print("the key and all images go over the network unencrypted: give --certificate and --key", flush=True)
        while not ended:
            time.sleep(_POLL_S)
    finally:
        server.close()
    return 0


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise ConfigError("--certificate and --key belong together: give both, or none")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        if b"ENCRYPTED" in key.read_bytes():
            raise ConfigError(f"{key} is encrypted, and nobody is there to type: openssl pkey -in {key} -out PLAIN")
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(f"{certificate} and {key} are no certificate and its key in PEM: {error}") from error
    return context
