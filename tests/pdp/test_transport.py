from __future__ import annotations

import datetime
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gate.errors import PdpError
from gate.pdp.transport import Transport


@dataclass
class TlsServer:
    """A TLS server on loopback that answers `ok` to every request of every connection."""

    port: int
    ca_file: Path


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = _certificate(folder, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def one(raw: socket.socket) -> None:
        try:
            with context.wrap_socket(raw, server_side=True) as connection:
                while connection.recv(65_536):
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except OSError:
            raw.close()

    def serve() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(raw,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield TlsServer(listener.getsockname()[1], certificate)
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_tls_with_the_pinned_ca_keeps_its_connection(tls_server: TlsServer) -> None:
    transport = Transport(f"https://127.0.0.1:{tls_server.port}", ca_file=tls_server.ca_file)
    assert [_get(transport) for _ in range(3)] == [(200, b"ok")] * 3
    transport.close()


def test_tls_with_another_ca_is_refused(tls_server: TlsServer, tmp_path: Path) -> None:
    other, _ = _certificate(tmp_path, "127.0.0.1")
    transport = Transport(f"https://127.0.0.1:{tls_server.port}", ca_file=other)
    assert _refusal(transport) == "pdp_peer_untrusted"


def test_tls_certificate_of_another_name_is_refused(tls_server: TlsServer) -> None:
    transport = Transport(f"https://localhost:{tls_server.port}", ca_file=tls_server.ca_file)
    assert _refusal(transport) == "pdp_peer_untrusted"


def test_tls_handshake_that_never_ends_is_a_timeout(tls_server: TlsServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        transport = Transport(f"https://127.0.0.1:{silent.getsockname()[1]}", ca_file=tls_server.ca_file)
        assert _refusal(transport, timeout_ms=200) == "pdp_timeout"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8181",
        "ftp://127.0.0.1",
        "http://",
        "http://127.0.0.1:port",
        "http://127.0.0.1:8181/v1/data",
        "http://user:secret@127.0.0.1:8181",
        "http://127.0.0.1:8181?x=1",
        "http://192.0.2.1:8181",
        "https://127.0.0.1:8181",
        "unix://relative/path",
        "unix:///" + "x" * 107,
        "unix://",
    ],
)
def test_address_that_cannot_be_used_safely_is_refused(url: str) -> None:
    with pytest.raises(PdpError) as caught:
        Transport(url)
    assert caught.value.code == "pdp_misconfigured"
    assert "secret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("token", ["", "two words", "line\r\nX-Injected: 1", "caf\u00e9"])
def test_token_that_would_break_the_header_is_refused(token: str) -> None:
    with pytest.raises(PdpError) as caught:
        Transport("http://127.0.0.1:8181", token=token)
    assert caught.value.code == "pdp_misconfigured"


def test_ca_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PdpError) as caught:
        Transport("https://127.0.0.1:1", ca_file=tmp_path / "absent.pem")
    assert caught.value.code == "pdp_misconfigured"


def test_peer_of_an_allowed_user_is_accepted_and_of_no_user_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with listener:
        threading.Thread(target=serve, daemon=True).start()
        allowed = Transport(f"unix://{path}", allowed_peer_uids=frozenset({os.geteuid()}))
        assert _get(allowed) == (200, b"ok")
        nobody = Transport(f"unix://{path}", allowed_peer_uids=frozenset())
        assert _refusal(nobody) == "pdp_peer_untrusted"
        allowed.close()


def _get(transport: Transport, *, timeout_ms: int = 10_000) -> tuple[int, bytes]:
    return transport.request("GET", "/", timeout_ms=timeout_ms, limit=100)


def _refusal(transport: Transport, *, timeout_ms: int = 10_000) -> str:
    with pytest.raises(PdpError) as caught:
        _get(transport, timeout_ms=timeout_ms)
    return caught.value.code


def _certificate(folder: Path, address: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sidecar")])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder / "cert.pem", folder / "key.pem"
