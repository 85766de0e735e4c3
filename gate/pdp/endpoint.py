"""Where a decision point listens: TCP, TLS with a pinned CA, or a unix socket whose peer is checked.

Makes connected sockets that obey one deadline; speaks no HTTP, and never sends a token over an unprotected
network.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gate.errors import PdpError

MAX_SOCKET_PATH_BYTES = 107
"""What fits into `sun_path` on Linux with its closing zero."""


class DeadlineSocket(socket.socket):
    """A socket whose every read must end by `deadline`: a slow drip of bytes cannot stretch a call."""

    deadline: float = 0.0
    """On the monotonic clock, in seconds."""

    def recv_into(self, *args: Any, **kwargs: Any) -> int:  # noqa: D102 - as in socket.socket
        _arm(self, self.deadline)
        return super().recv_into(*args, **kwargs)

    def sendall(self, *args: Any, **kwargs: Any) -> None:  # noqa: D102 - one timeout covers all of it
        _arm(self, self.deadline)
        return super().sendall(*args, **kwargs)


class DeadlineTlsSocket(ssl.SSLSocket):
    """`DeadlineSocket` inside TLS."""

    deadline: float = 0.0
    """On the monotonic clock, in seconds."""

    def recv_into(self, *args: Any, **kwargs: Any) -> int:  # noqa: D102 - as in ssl.SSLSocket
        _arm(self, self.deadline)
        return super().recv_into(*args, **kwargs)

    def send(self, *args: Any, **kwargs: Any) -> int:  # noqa: D102 - ssl's sendall is a loop over it
        _arm(self, self.deadline)
        return super().send(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One decision point's address, resolved once: looking a name up at each call has no deadline."""

    host_header: str
    path: str = ""
    """Of a unix socket; empty for TCP."""
    allowed_peer_uids: frozenset[int] = frozenset()
    addresses: tuple[tuple[socket.AddressFamily, Any], ...] = ()
    server_name: str = ""
    tls: ssl.SSLContext | None = None

    @classmethod
    def parse(
        cls, url: str, *, ca_file: Path | None = None, allowed_peer_uids: frozenset[int] | None = None
    ) -> Endpoint:
        """Reads `url` as `gate.pdp.transport.Transport` does; raises `PdpError`, code `pdp_misconfigured`."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as exc:
            raise _misconfigured("the address of the decision point is not a URL") from exc
        if parts.query or parts.fragment or parts.username or parts.password:
            raise _misconfigured("the address of the decision point may hold host, port or socket path only")
        if parts.scheme == "unix":
            return cls._unix(parts.netloc, parts.path, allowed_peer_uids)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path not in {"", "/"}:
            raise _misconfigured("the address of the decision point is not `http://`, `https://` or `unix:///`")
        if port is None:
            port = 443 if parts.scheme == "https" else 8181
        addresses = _resolve(parts.hostname, port)
        tls = None
        if parts.scheme == "https":
            tls = _tls_context(ca_file)
        elif not all(ipaddress.ip_address(address[0]).is_loopback for _, address in addresses):
            raise _misconfigured(
                "plain `http://` is for the loopback interface only",
                hint="use a unix socket, or `https://` with the CA file of the sidecar",
            )
        return cls(parts.netloc, addresses=addresses, server_name=parts.hostname, tls=tls)

    @classmethod
    def _unix(cls, netloc: str, path: str, allowed_peer_uids: frozenset[int] | None) -> Endpoint:
        if netloc or not path.startswith("/") or len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
            raise _misconfigured("a unix socket is `unix:///` and an absolute path of at most 107 bytes")
        uids = frozenset({os.geteuid()}) if allowed_peer_uids is None else allowed_peer_uids
        return cls("localhost", path=path, allowed_peer_uids=uids)

    def connect(self, deadline: float) -> DeadlineSocket | DeadlineTlsSocket:
        """A connected socket, by `deadline` (monotonic seconds).

        Raises `PdpError`: `pdp_unreachable`, `pdp_timeout`, `pdp_peer_untrusted`.
        """
        try:
            if self.path:
                return self._connect_unix(deadline)
            return self._connect_tcp(deadline)
        except TimeoutError as exc:
            raise PdpError("the decision point did not answer in time", code="pdp_timeout") from exc
        except ssl.SSLCertVerificationError as exc:
            raise _untrusted("the certificate of the decision point is not from the pinned CA") from exc
        except OSError as exc:
            raise PdpError(
                "the decision point cannot be reached", code="pdp_unreachable", hint="is the sidecar running?"
            ) from exc

    def _connect_unix(self, deadline: float) -> DeadlineSocket:
        sock = DeadlineSocket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _arm(sock, deadline)
            sock.connect(self.path)
            self._check_peer(sock)
        except BaseException:
            sock.close()
            raise
        return sock

    def _check_peer(self, sock: socket.socket) -> None:
        option = getattr(socket, "SO_PEERCRED", None)
        if option is None:
            raise _untrusted("this system cannot tell who serves a unix socket")
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, option, size))
        if uid not in self.allowed_peer_uids:
            raise _untrusted("the unix socket is served by another user")

    def _connect_tcp(self, deadline: float) -> DeadlineSocket | DeadlineTlsSocket:
        failure: OSError | None = None
        for family, address in self.addresses:
            sock = DeadlineSocket(family, socket.SOCK_STREAM)
            try:
                _arm(sock, deadline)
                sock.connect(address)
                # Without it the kernel may hold back the end of a request until the server acknowledges its
                # start.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.tls is None:
                    return sock
                _arm(sock, deadline)
                wrapped = self.tls.wrap_socket(sock, server_hostname=self.server_name)
            except (TimeoutError, ssl.SSLError):
                sock.close()
                raise
            except OSError as exc:
                sock.close()
                failure = exc
            except BaseException:
                sock.close()
                raise
            else:
                if not isinstance(wrapped, DeadlineTlsSocket):  # pragma: no cover - set by _tls_context
                    raise _untrusted("the TLS connection has no deadline")
                return wrapped
        raise failure if failure is not None else OSError("no address")


def _arm(sock: socket.socket, deadline: float) -> None:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    sock.settimeout(remaining)


def _resolve(host: str, port: int) -> tuple[tuple[socket.AddressFamily, Any], ...]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise PdpError("the host of the decision point has no address", code="pdp_unreachable") from exc
    return tuple((family, address) for family, _, _, _, address in found)


def _tls_context(ca_file: Path | None) -> ssl.SSLContext:
    if ca_file is None:
        raise _misconfigured("`https://` needs the CA file that the sidecar's certificate comes from")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks names and certificates, trusts nobody yet
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = DeadlineTlsSocket
    try:
        context.load_verify_locations(cafile=str(ca_file))
    except OSError as exc:  # ssl.SSLError is one
        raise _misconfigured("the CA file cannot be read") from exc
    return context


def _misconfigured(message: str, *, hint: str = "") -> PdpError:
    return PdpError(message, code="pdp_misconfigured", hint=hint)


def _untrusted(message: str) -> PdpError:
    return PdpError(message, code="pdp_peer_untrusted")
