"""The sidecar over TLS with a pinned CA, and its diagnostics."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gate.errors import PdpError, ToolchainError
from gate.pdp import Sidecar, Tls

pytestmark = pytest.mark.opa


def certificate(folder: Path, name: str = "sidecar") -> Tls:
    """A certificate for 127.0.0.1 that signs itself: its own CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{name}.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    (folder / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return Tls(cert_file=folder / f"{name}.crt", key_file=folder / f"{name}.key", ca_file=folder / f"{name}.crt")


def test_tls_with_the_pinned_ca_decides_and_with_another_is_refused(
    tarball: Path, opa_binary: Path, tmp_path: Path, ask: Callable[..., dict[str, Any]]
) -> None:
    tls, other = certificate(tmp_path), certificate(tmp_path, "other")
    with Sidecar.start(tarball=tarball, opa=opa_binary, listen="tcp", work_dir=tmp_path / "w", tls=tls) as sidecar:
        assert sidecar.url.startswith("https://127.0.0.1:")
        client = sidecar.client(timeout_ms=10_000)
        assert client.decide(ask("search_docs")).decision.allowed
        client.close()
        for settings, code in (
            ({"ca_file": other.ca_file}, "pdp_peer_untrusted"),
            ({"url": sidecar.url.replace("https", "http"), "ca_file": None}, "pdp_bad_request"),
        ):
            stranger = sidecar.client(timeout_ms=10_000, **settings)
            with pytest.raises(PdpError) as caught:
                stranger.decide(ask("search_docs"))
            assert caught.value.code == code
            stranger.close()


def test_tls_on_a_socket_is_refused(tarball: Path, opa_binary: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        Sidecar.start(
            tarball=tarball,
            opa=opa_binary,
            listen=tmp_path / "s" / "o",
            work_dir=tmp_path / "w",
            tls=certificate(tmp_path),
        )
    assert caught.value.code == "sidecar_misconfigured"
