"""A signature holds for exactly the bundle.yaml it was made of, and the commands say what they found."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.cli import main
from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.bundle import signature
from tendon.policies.bundle.bundle import Bundle, load_bundle, sign_bundle, write_bundle
from tendon.policies.bundle.signature import (
    DEMAND_VARIABLE,
    generate_keys,
    read_public_key,
    sign,
    trusted_folder,
    verify,
)
from tests.laws import law_settings

Make = Callable[..., Bundle]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(DEMAND_VARIABLE, raising=False)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    generate_keys(tmp_path / "keys" / "lab")
    return tmp_path / "keys" / "lab"


@pytest.fixture
def trust(key: Path) -> Path:
    trusted_folder().mkdir(parents=True)
    (trusted_folder() / "lab.pub").write_bytes(key.with_name("lab.pub").read_bytes())
    return key


@pytest.fixture
def signed(make_bundle: Make, key: Path) -> Path:
    return sign_bundle(make_bundle().folder, key).folder


def test_a_signed_bundle_says_who_signed_it(signed: Path, trust: Path) -> None:
    bundle = load_bundle(signed, require_signature=True)
    assert bundle.signer is not None and bundle.signer.trusted and bundle.signer.name == "lab"
    assert bundle.unlisted == ()


@law_settings(max_examples=100)
@given(data=st.data())
def test_one_bit_flipped_in_a_signed_manifest_or_its_signature_is_refused(data: st.DataObject) -> None:
    """Before it is parsed: what YAML makes of the changed text does not matter."""
    with tempfile.TemporaryDirectory() as folder:
        generate_keys(Path(folder, "key"))
        trusted = {"key": read_public_key(Path(folder, "key.pub"))}
        manifest = b"format: 1\nname: tiny\n"
        made = sign(manifest, Path(folder, "key"))
        assert verify(manifest, made, trusted).trusted
        changed = {"manifest": bytearray(manifest), "signature": bytearray(made.rstrip())}
        name = data.draw(st.sampled_from(sorted(changed)))
        bit = data.draw(st.integers(0, 8 * len(changed[name]) - 1))
        changed[name][bit // 8] ^= 1 << bit % 8
        try:
            signer = verify(bytes(changed["manifest"]), bytes(changed["signature"]), trusted)
        except IntegrityError:
            return
        assert name == "signature" and signer.trusted and _meaning(changed[name]) == _meaning(made)


def _meaning(text: bytes | bytearray) -> list[bytes]:
    """Returns what a signature file says: white space and unused bits of base64 say nothing."""
    _, public, made = bytes(text).split()
    return [base64.b64decode(public), base64.b64decode(made)]


def test_a_manifest_changed_after_signing_is_refused_though_it_is_valid(signed: Path) -> None:
    path = signed / "bundle.yaml"
    path.write_text(path.read_text().replace("step_s: 0.1", "step_s: 0.2"))
    with pytest.raises(IntegrityError, match=r"is not of this bundle\.yaml"):
        load_bundle(signed)


@pytest.mark.parametrize("content", [b"", b"ed25519", b"rsa QQ== QQ==", b"ed25519 QQ== QQ==", b"\xff\xfe", b"a b c d"])
def test_a_malformed_signature_is_refused_even_where_none_is_demanded(signed: Path, content: bytes) -> None:
    (signed / "bundle.sig").write_bytes(content)
    with pytest.raises(IntegrityError, match="malformed"):
        load_bundle(signed)


def test_a_signature_of_another_bundle_is_refused(signed: Path, tmp_path: Path, key: Path) -> None:
    bundle = load_bundle(signed)
    other = write_bundle(tmp_path / "other", bundle.manifest, {"policy.onnx": b"other"}).folder
    (other / "bundle.sig").write_bytes((signed / "bundle.sig").read_bytes())
    with pytest.raises(IntegrityError, match=r"is not of this bundle\.yaml"):
        load_bundle(other)


def test_an_unknown_signer_is_refused_where_trust_is_demanded(signed: Path, trust: Path, tmp_path: Path) -> None:
    generate_keys(tmp_path / "stranger")
    bundle = sign_bundle(signed, tmp_path / "stranger")
    assert bundle.signer is not None
    known = load_bundle(signed).signer
    assert known is not None and not known.trusted
    with pytest.raises(IntegrityError, match=r"signer SHA256:.* is not trusted here"):
        load_bundle(signed, require_signature=True)


def test_an_unsigned_bundle_is_refused_where_trust_is_demanded(
    make_bundle: Make, trust: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_bundle().folder
    assert load_bundle(folder).signer is None
    monkeypatch.setenv(DEMAND_VARIABLE, "1")
    with pytest.raises(IntegrityError, match="it is not signed and a trusted signature is required"):
        load_bundle(folder)
    monkeypatch.setenv(DEMAND_VARIABLE, "maybe")
    with pytest.raises(ConfigError, match="TENDON_REQUIRE_SIGNATURE=maybe"):
        load_bundle(folder)


def test_a_signature_that_is_a_link_is_refused(signed: Path, tmp_path: Path) -> None:
    (signed / "bundle.sig").rename(tmp_path / "sig")
    (signed / "bundle.sig").symlink_to(tmp_path / "sig")
    with pytest.raises(IntegrityError, match="symbolic link"):
        load_bundle(signed)


def test_writing_a_bundle_anew_drops_the_old_signature(signed: Path) -> None:
    bundle = load_bundle(signed)
    assert write_bundle(signed, bundle.manifest, {"policy.onnx": b"new"}).signer is None


def test_a_bundle_with_a_changed_file_is_not_signed(make_bundle: Make, key: Path) -> None:
    folder = make_bundle().folder
    (folder / "policy.onnx").write_bytes(b"other")
    with pytest.raises(IntegrityError, match="was changed"):
        sign_bundle(folder, key)
    assert not (folder / "bundle.sig").exists()


class TestKeys:
    def test_the_private_key_is_for_its_owner_only(self, key: Path) -> None:
        assert key.stat().st_mode & 0o777 == 0o600
        key.chmod(0o640)
        with pytest.raises(ConfigError, match="chmod 600"):
            sign(b"", key)

    def test_no_key_is_replaced(self, key: Path) -> None:
        before = key.read_bytes()
        with pytest.raises(ConfigError, match="exists already"):
            generate_keys(key)
        assert key.read_bytes() == before

    def test_another_kind_of_key_is_named(self, tmp_path: Path, key: Path) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import x25519

        wrong = tmp_path / "wrong.pub"
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        public = x25519.X25519PrivateKey.generate().public_key()
        wrong.write_bytes(public.public_bytes(serialization.Encoding.PEM, form))
        with pytest.raises(ConfigError, match="must be Ed25519"):
            read_public_key(wrong)
        for reader in (read_public_key, signature.public_of):
            with pytest.raises(ConfigError, match="is no p"):
                reader(tmp_path / "missing")


class TestCommand:
    """Exit codes and one line a person can act on."""

    def test_the_way_from_a_key_to_a_trusted_bundle(
        self, make_bundle: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder, mine = str(make_bundle().folder), str(tmp_path / "mine")
        assert main(["policy", "keygen", mine]) == 0
        assert main(["policy", "verify", folder]) == 1
        assert "signer     none" in capsys.readouterr().out
        assert main(["policy", "pin", folder]) == 0
        assert main(["policy", "sign", folder, "--key", mine]) == 0
        assert main(["policy", "verify", folder]) == 1
        assert "not trusted" in capsys.readouterr().out
        assert main(["policy", "verify", folder, "--key", f"{mine}.pub"]) == 0
        out = capsys.readouterr().out
        assert "signer     mine, SHA256:" in out and "policy.onnx" in out and "limits" in out

    def test_a_changed_file_is_refused_with_one_line(
        self, signed: Path, trust: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (signed / "policy.onnx").write_bytes(b"other")
        assert main(["policy", "verify", str(signed)]) == 2
        captured = capsys.readouterr()
        assert "refused" in captured.out
        assert captured.err.count("\n") == 1 and "policy.onnx was changed" in captured.err

    def test_the_wrong_key_is_refused_with_one_line(
        self, signed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        generate_keys(tmp_path / "stranger")
        assert main(["policy", "verify", str(signed), "--key", str(tmp_path / "stranger.pub")]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "not trusted here" in error
