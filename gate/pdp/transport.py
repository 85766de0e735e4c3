"""One HTTP/1.1 exchange with a decision point, over TCP or a unix socket, inside one deadline.

Knows nothing of decisions. Never follows a redirect, never sends a request twice, and never lets two
threads or two processes share a connection: a forked child that did read its parent's answers as its own.
"""

from __future__ import annotations

import http.client
import os
import re
import select
import socket
import ssl
import threading
import time
import weakref
from pathlib import Path

from gate.errors import PdpError
from gate.pdp.endpoint import DeadlineSocket, DeadlineTlsSocket, Endpoint

_TOKEN = re.compile(r"\A[\x21-\x7e]+\Z")


class _Held:
    """The one connection of one thread in one process."""

    def __init__(self, sock: DeadlineSocket | DeadlineTlsSocket) -> None:
        self.sock = sock
        self.pid = os.getpid()
        self.lock = threading.Lock()

    def __del__(self) -> None:
        self.sock.close()


class Transport:
    """Kept-alive connections to one decision point, one for each thread of each process. Safe to share."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        ca_file: Path | None = None,
        allowed_peer_uids: frozenset[int] | None = None,
    ) -> None:
        """`url` is `http://127.0.0.1:8181`, `https://HOST:PORT` with `ca_file`, or `unix:///path/to/socket`.

        `allowed_peer_uids` are the users a unix socket's server may run as; by default our own. Raises
        `PdpError` with code `pdp_misconfigured`.
        """
        if token is not None and _TOKEN.match(token) is None:
            raise PdpError("the token is empty or has characters a header cannot hold", code="pdp_misconfigured")
        self._endpoint = Endpoint.parse(url, ca_file=ca_file, allowed_peer_uids=allowed_peer_uids)
        self._headers = f"Host: {self._endpoint.host_header}\r\nAccept: application/json\r\n"
        if token is not None:
            self._headers += f"Authorization: Bearer {token}\r\n"
        self._local = threading.local()
        # A plain dict of weak references: each operation used on it is atomic, so there is no lock to
        # inherit locked.
        self._open: dict[int, weakref.ref[_Held]] = {}
        self._closed = False

    def request(
        self, method: str, target: str, *, body: bytes = b"", timeout_ms: float, limit: int
    ) -> tuple[int, bytes]:
        """Status and body of one exchange; only a 200 has its body read, and at most `limit` bytes of it.

        `timeout_ms` bounds the whole call in milliseconds, however slowly bytes drip in. Raises `PdpError`.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        held = self._connection(deadline)
        if not held.lock.acquire(blocking=False):
            # Only a signal handler or a tracer that asks in the middle of its own thread's call comes here.
            raise PdpError("this thread is already waiting for a decision", code="pdp_connection_busy")
        try:
            message = self._message(method, target, body)
            status, answer, reusable = _exchange(held.sock, message, deadline, method, limit)
            if not reusable or self._closed:
                self._drop(held)
        except BaseException as exc:
            self._drop(held)
            if isinstance(exc, OSError | http.client.HTTPException | ValueError):
                raise self._translated(exc) from exc
            raise
        finally:
            held.lock.release()
        return status, answer

    def discard(self) -> None:
        """Closes the calling thread's connection: its last answer made no sense, so neither may the next."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None:
            self._drop(held)

    def close(self) -> None:
        """Closes every connection of this process; later requests raise `PdpError` with code `pdp_closed`."""
        self._closed = True
        for reference in list(self._open.values()):
            held = reference()
            if held is None:
                continue
            if held.pid != os.getpid():
                # A copy from before a fork: closing the descriptor leaves the parent's connection alone.
                held.sock.close()
            elif held.lock.acquire(blocking=False):
                try:
                    held.sock.close()
                finally:
                    held.lock.release()
            else:
                # Another thread is inside a call: wake it up; it closes its own connection.
                _shut_down(held.sock)
        self._open.clear()

    def _message(self, method: str, target: str, body: bytes) -> bytes:
        head = f"{method} {target} HTTP/1.1\r\n{self._headers}"
        if method == "POST":
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        # One write: head and body in two segments would cost a second wake-up of the server.
        return f"{head}\r\n".encode("ascii") + body

    def _connection(self, deadline: float) -> _Held:
        if self._closed:
            raise PdpError("the decision point was closed", code="pdp_closed")
        held: _Held | None = getattr(self._local, "held", None)
        if held is not None:
            if held.pid == os.getpid() and not _readable(held.sock):
                return held
            # Another process's connection, or one the server closed (or wrote to) while nobody asked
            # anything. Nothing of this request was sent, so a fresh connection is not a retry.
            self._drop(held)
        held = _Held(self._endpoint.connect(deadline))
        self._local.held = held
        opened, key = self._open, id(held)
        opened[key] = weakref.ref(held, lambda _: opened.pop(key, None))
        return held

    def _drop(self, held: _Held) -> None:
        held.sock.close()
        self._local.held = None
        self._open.pop(id(held), None)

    def _translated(self, exc: Exception) -> PdpError:
        if self._closed:
            return PdpError("the decision point was closed", code="pdp_closed")
        if isinstance(exc, TimeoutError):
            return PdpError("the decision point did not answer in time", code="pdp_timeout")
        if isinstance(exc, http.client.IncompleteRead):
            return PdpError("the reply ended early", code="pdp_reply_truncated")
        if isinstance(exc, OSError):  # http.client.RemoteDisconnected is one of them
            return PdpError("the connection was lost before a reply arrived", code="pdp_connection_lost")
        return PdpError("the reply is not HTTP", code="pdp_not_http")


def _exchange(
    sock: DeadlineSocket | DeadlineTlsSocket, message: bytes, deadline: float, method: str, limit: int
) -> tuple[int, bytes, bool]:
    """Sends `message` and reads its reply: status, body, and whether the connection may be used again."""
    sock.deadline = deadline
    sock.sendall(message)
    response = http.client.HTTPResponse(sock, method=method)
    try:
        response.begin()
        if response.status != 200:
            return response.status, b"", False
        body = _read_body(response, limit)
        return 200, body, response.isclosed() and not response.will_close
    finally:
        response.close()


def _read_body(response: http.client.HTTPResponse, limit: int) -> bytes:
    lengths = response.headers.get_all("content-length", [])
    if len(lengths) + bool(response.chunked) != 1 or (response.length is None and not response.chunked):
        # Without one stated length a cut connection and a finished reply look the same.
        raise PdpError("the reply does not say where it ends", code="pdp_reply_truncated")
    # A stated length is refused before a byte of it is read; a short body makes read() raise IncompleteRead.
    if (response.length or 0) <= limit:
        body = response.read() if response.length is not None else response.read(limit + 1)
        if len(body) <= limit:
            return body
    raise PdpError(f"the reply is over {limit} bytes", code="pdp_reply_too_large")


def _readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0 or (isinstance(sock, ssl.SSLSocket) and sock.pending()):
        return True
    poller = select.poll()
    poller.register(sock, select.POLLIN)  # a hang-up or an error is reported unasked
    return bool(poller.poll(0))


def _shut_down(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return  # it is gone already, which is all that was wanted
