"""Where a sidecar follows new bundles: a folder that builds are published into, served to OPA with an ETag.

OPA does the polling and verifies each bundle itself. This decides nothing about a bundle and serves one file, to this
machine only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from gate.errors import InputError, ToolchainError
from gate.pdp.signature import MAX_BUNDLE_BYTES

PUBLISHED = "bundle.tar.gz"
"""Name of the file in a followed folder, and of the resource that OPA polls."""
PUBLISHED_PROVENANCE = "bundle.provenance.json"

_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """Where OPA gets bundles from, and how often it asks."""

    url: str
    """Of the bundle itself; `https`, or `http` on the loopback interface."""
    min_delay_s: int = 5
    max_delay_s: int = 10
    token_file: Path | None = None
    """Bearer token for the server, re-read by OPA at each request."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
        except ValueError:
            parts = urlsplit("")
        loopback = parts.hostname in {"127.0.0.1", "::1", "localhost"}
        sound = parts.scheme == "https" or (parts.scheme == "http" and loopback)
        if not sound or not parts.hostname or len(parts.path) < 2 or parts.username or parts.fragment:
            raise InputError(
                "a bundle is followed over `https://`, or `http://` on the loopback interface",
                code="watch_url_unfit",
                hint="give the whole URL of the bundle, without user and password",
            )
        if not 0 < self.min_delay_s <= self.max_delay_s:
            raise InputError("the delays of polling must be positive and in order", code="watch_url_unfit")

    @property
    def service(self) -> str:
        """URL of the server."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def resource(self) -> str:
        """Path, and query when there is one, of the bundle on the server."""
        parts = urlsplit(self.url)
        return parts.path + (f"?{parts.query}" if parts.query else "")


def publish(tarball: Path, folder: Path) -> Path:
    """Makes `tarball` the bundle that followers of `folder` get next, in one step; returns where it is.

    Its provenance goes with it. Raises `ToolchainError` with code `publish_failed`.
    """
    provenance = tarball.with_name(tarball.name.removesuffix(".tar.gz") + ".provenance.json")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if provenance.is_file():
            _replace(provenance, folder / PUBLISHED_PROVENANCE)
        else:
            (folder / PUBLISHED_PROVENANCE).unlink(missing_ok=True)
        return _replace(tarball, folder / PUBLISHED)
    except OSError as exc:
        raise ToolchainError(f"`{folder}` cannot be published into", code="publish_failed") from exc


def _replace(source: Path, target: Path) -> Path:
    stage = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(source, stage)
        os.replace(stage, target)
    finally:
        stage.unlink(missing_ok=True)
    return target


def fetch(polling: Polling, target: Path) -> None:
    """Downloads the bundle that is followed to `target`, to be verified before OPA is started.

    Raises `ToolchainError` with code `bundle_fetch_failed`.
    """
    import requests  # 60 ms to import, and wanted only where bundles are followed over the network

    headers = {}
    try:
        if polling.token_file is not None:
            headers["Authorization"] = f"Bearer {polling.token_file.read_text('ascii').strip()}"
        with (
            requests.get(
                polling.url, headers=headers, stream=True, timeout=_TIMEOUT_S, allow_redirects=False
            ) as answer,
            target.open("wb") as out,
        ):
            if answer.status_code != HTTPStatus.OK:
                raise ToolchainError(
                    f"the bundle server answered with HTTP status {answer.status_code}", code="bundle_fetch_failed"
                )
            size = 0
            for chunk in answer.iter_content(1 << 20):
                size += len(chunk)
                if size > MAX_BUNDLE_BYTES:
                    raise ToolchainError("the bundle is too large", code="bundle_fetch_failed")
                out.write(chunk)
    except (OSError, ValueError) as exc:  # requests' own exceptions are OSErrors
        raise ToolchainError("the bundle could not be fetched", code="bundle_fetch_failed") from exc


class BundleServer:
    """Serves the published bundle of one folder on 127.0.0.1, while it is entered."""

    def __init__(self, folder: Path) -> None:
        path = folder.absolute() / PUBLISHED

        class Handler(_Handler):
            bundle = path

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="bundle server", daemon=True
        )

    @property
    def url(self) -> str:
        """URL of the bundle."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{PUBLISHED}"

    def __enter__(self) -> BundleServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a client that went away: OPA ends in the middle of a poll whenever a sidecar is stopped."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S
    bundle: Path

    def do_GET(self) -> None:
        if self.path != f"/{PUBLISHED}":
            self._answer(HTTPStatus.NOT_FOUND)
            return
        try:
            data = self.bundle.read_bytes()
        except OSError:
            self._answer(HTTPStatus.NOT_FOUND)
            return
        etag = f'"{hashlib.sha256(data).hexdigest()}"'
        if self.headers.get("If-None-Match") == etag:
            self._answer(HTTPStatus.NOT_MODIFIED, etag=etag)
        else:
            self._answer(HTTPStatus.OK, data, etag=etag)

    def _answer(self, status: HTTPStatus, data: bytes = b"", *, etag: str = "") -> None:
        self.send_response(status)
        if etag:
            self.send_header("ETag", etag)
        if status == HTTPStatus.OK:
            self.send_header("Content-Type", "application/gzip")
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keeps quiet: OPA's status says what was fetched."""
