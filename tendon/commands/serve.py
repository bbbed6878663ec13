"""Serve a bundle to robots and to openpi's own client: openpi's websocket protocol, with a key and TLS.

Examples:
  tendon serve bundles/tabletop                                    this machine only: ws://127.0.0.1:8000
  (umask 077; openssl rand -hex 32 > serve.key)
  tendon serve bundles/tabletop --host 0.0.0.0 --api-key-file serve.key --certificate server.pem --key server.key

On the robot: `tendon run policy:=remote.yaml`, and in that file `kind: tendon` and `url: wss://HOST:8000`. For openpi's
client, and what a request holds, see docs/remote.md. GET /healthz answers 200. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import logging
import signal
import ssl
import time
from pathlib import Path
from types import FrameType

from tendon.core.errors import ConfigError

_POLL_S = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.epilog = __doc__.partition("\n\n")[2] if __doc__ else None
    parser.add_argument("bundle", type=Path, help="folder of the policy")
    parser.add_argument("--robot", help="robot profile, the same as on the robot; by default the bundle's")
    parser.add_argument("--engine", help="such as cpu, cuda, tensorrt:fp16; by default the best there is")
    parser.add_argument("--host", default="127.0.0.1", help="address; one that others reach needs a key (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="(%(default)s)")
    parser.add_argument("--api-key-file", type=Path, help="file with the key that clients must show, mode 0600")
    parser.add_argument("--certificate", type=Path, help="PEM certificate of this server, for TLS")
    parser.add_argument("--key", type=Path, help="PEM private key of the certificate")


def run(args: argparse.Namespace) -> int:
    """Serves until Ctrl-C.

    Raises:
        ConfigError: an option is wrong, or the address is taken.
        TendonError: the bundle is refused, or does not fit the robot.
    """
    from tendon.core.profile import load_profile
    from tendon.policies.bundle import load_bundle
    from tendon.policies.policy import BundlePolicy
    from tendon.policies.remote import require_remote
    from tendon.policies.runtime import Engine

    require_remote()
    from tendon.policies.remote.keyfile import read_key
    from tendon.policies.remote.server import PolicyServer
    from tendon.policies.remote.service import Service

    key = None if args.api_key_file is None else read_key(args.api_key_file.expanduser())
    tls = _tls(args.certificate, args.key)
    bundle = load_bundle(args.bundle)
    profile = load_profile(args.robot or bundle.manifest.robot)
    policy = BundlePolicy(bundle, profile, Engine.parse(args.engine) if args.engine else None)
    service = Service(policy, bundle.manifest, profile)
    server = PolicyServer(
        service.metadata, service.answer, largest=service.largest, host=args.host, port=args.port, key=key, tls=tls
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("websockets").setLevel(logging.WARNING)
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        server.in_policy_thread(policy.warm_up)
        server.start()
        address = f"{'ws' if tls is None else 'wss'}://{args.host}:{server.port}"
        print(
            f"{bundle.manifest.name} ({bundle.digest[:12]}) for {profile.name} on {policy.engine} at {address}, "
            f"{'no key' if key is None else 'with a key'}; Ctrl-C ends it",
            flush=True,
        )
        if key is not None and tls is None and args.host != "127.0.0.1":
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
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(f"{certificate} and {key} are no certificate and its key in PEM: {error}") from error
    return context
