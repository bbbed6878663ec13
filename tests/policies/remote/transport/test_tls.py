"""TLS with a certificate authority of one's own: what is trusted is served, anything else is not spoken to."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tendon.commands.policy.serve import _tls
from tendon.core.errors import ConfigError, RemoteError
from tendon.policies.remote.openpi.client import OpenpiClient
from tendon.policies.remote.served.server import MAX_OPENING, PolicyServer
from tendon.policies.remote.transport.endpoint import Endpoint

KEY = "a key of enough characters"


def issue(
    folder: Path, name: str, authority: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None, address: str = ""
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Makes a key and a certificate, writes both, and returns them; without `authority` it signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, signer = (subject, key) if authority is None else (authority[0].subject, authority[1])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
    )
    if address:
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        builder = builder.add_extension(names, critical=False)
    else:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    certificate = builder.sign(signer, hashes.SHA256())
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities, and certificates of the first for this machine and for another address."""
    folder = tmp_path_factory.mktemp("tls")
    authority = issue(folder, "authority", None)
    issue(folder, "stranger", None)
    issue(folder, "server", authority, "127.0.0.1")
    issue(folder, "elsewhere", authority, "192.0.2.1")
    return folder


@pytest.fixture(params=["server"])
def url(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{request.param}.pem", folder / f"{request.param}.key")
    server = PolicyServer({}, lambda request: dict(request), largest=1 << 23, port=0, key=KEY, tls=context)
    server.start()
    yield f"127.0.0.1:{server.port}"
    server.close()


def test_a_server_of_a_trusted_authority_is_used(url: str, folder: Path) -> None:
    """Images of several megabytes and back, more than one request, idle in between."""
    client = OpenpiClient(Endpoint(url=f"wss://{url}", key=KEY, ca_file=folder / "authority.pem", largest=1 << 23))
    image = np.random.default_rng(0).integers(0, 256, (2, 640, 480, 3), np.uint8)
    for _ in range(3):
        np.testing.assert_array_equal(client.ask({"image": image}, 20.0)["image"], image)


def test_an_authority_that_is_not_trusted_is_refused(url: str, folder: Path) -> None:
    """The system's, or another one's."""
    for trusted in (None, folder / "stranger.pem"):
        with pytest.raises(RemoteError, match="certificate verify failed"):
            OpenpiClient(Endpoint(url=f"wss://{url}", key=KEY, ca_file=trusted)).connect()


@pytest.mark.parametrize("url", ["elsewhere"], indirect=True)
def test_a_certificate_for_another_address_is_refused(url: str, folder: Path) -> None:
    """Somebody else's server of the same authority is not ours."""
    with pytest.raises(RemoteError, match="certificate is not valid for"):
        OpenpiClient(Endpoint(url=f"wss://{url}", key=KEY, ca_file=folder / "authority.pem")).connect()


def test_plain_text_to_a_tls_server_and_tls_to_a_plain_one_are_clear_errors(url: str, folder: Path) -> None:
    """Neither hangs."""
    with pytest.raises(RemoteError):
        OpenpiClient(Endpoint(url=f"ws://{url}", key=KEY)).connect()
    plain = PolicyServer({}, lambda request: dict(request), largest=1 << 20, port=0)
    plain.start()
    with pytest.raises(RemoteError, match="out of reach"):
        OpenpiClient(Endpoint(url=f"wss://127.0.0.1:{plain.port}", ca_file=folder / "authority.pem")).connect()
    plain.close()


def test_who_begins_no_handshake_keeps_nobody_out(url: str, folder: Path) -> None:
    host, port = url.split(":")
    held = [socket.create_connection((host, int(port)), 20.0) for _ in range(2 * MAX_OPENING)]
    OpenpiClient(Endpoint(url=f"wss://{url}", key=KEY, ca_file=folder / "authority.pem")).connect()
    for stream in held:
        stream.close()


def test_a_private_key_that_is_encrypted_is_named(tmp_path: Path, folder: Path) -> None:
    """Nobody is there to type its password."""
    key = serialization.load_pem_private_key((folder / "server.key").read_bytes(), None)
    form = serialization.PrivateFormat.PKCS8
    locked = key.private_bytes(serialization.Encoding.PEM, form, serialization.BestAvailableEncryption(b"secret"))
    (tmp_path / "server.key").write_bytes(locked)
    with pytest.raises(ConfigError, match=r"server.key is encrypted, .*: openssl pkey -in"):
        _tls(folder / "server.pem", tmp_path / "server.key")
