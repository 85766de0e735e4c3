"""A relay in front of a PostgreSQL socket that loses the answer to the next COMMIT."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL


class Relay:
    """Hands bytes to and fro; when armed, waits until the server has answered a COMMIT and drops the answer."""

    def __init__(self, server: Path, folder: Path) -> None:
        self._server = str(server)
        self.armed = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    @classmethod
    @contextlib.contextmanager
    def before(cls, server: URL) -> Iterator[tuple[Relay, URL]]:
        """A relay and the address of the same database through it."""
        host = server.query["host"]
        with tempfile.TemporaryDirectory(prefix="gate-relay-") as folder:
            relay = cls(Path(str(host)) / ".s.PGSQL.5432", Path(folder))
            try:
                yield relay, server.update_query_dict({"host": folder})
            finally:
                relay._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        lost = threading.Event()
        threading.Thread(target=self._back, args=(server, client, lost), daemon=True).start()
        while data := _read(client):
            if self.armed.is_set() and b"COMMIT\x00" in data:
                self.armed.clear()
                lost.set()
            server.sendall(data)
        server.close()

    def _back(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        while data := _read(server):
            if lost.is_set():
                break
            client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def _read(end: socket.socket) -> bytes:
    try:
        return end.recv(65536)
    except OSError:
        return b""
