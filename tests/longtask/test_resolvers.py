from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from gate.longtask.events import LongTaskError
from gate.longtask.resolvers import FileResolver, GitResolver, HttpResolver, RowResolver, locate, reload, resolve
from gate.records import LocatorResult

MATCH, MISSING, STALE, DENIED = (
    LocatorResult.MATCH,
    LocatorResult.MISSING,
    LocatorResult.STALE,
    LocatorResult.DENIED,
)


@pytest.fixture
def files(tmp_path: Path) -> FileResolver:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("seen")
    (tmp_path / "outside.txt").write_text("not yours")
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside.txt")
    return FileResolver(tmp_path / "work")


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("a.txt", b"seen"),
        ("b.txt", MISSING),
        ("../outside.txt", DENIED),
        ("/etc/hostname", DENIED),
        ("link", DENIED),
        ("a\x00b", DENIED),
        (".", MISSING),
    ],
)
def test_file_is_read_below_its_root_and_nowhere_else(
    files: FileResolver, ref: str, found: bytes | LocatorResult
) -> None:
    assert files.read(ref) == found


def test_file_that_changed_under_the_same_name_is_stale(files: FileResolver) -> None:
    seen = locate("file", "a.txt", resolver=files, workspace_digest="w")
    assert reload(seen, files) == (MATCH, b"seen")
    (files.root / "a.txt").write_text("changed")
    assert reload(seen, files) == (STALE, None)
    (files.root / "a.txt").unlink()
    assert reload(seen, files) == (MISSING, None)


def test_nothing_is_located_where_nothing_is(files: FileResolver) -> None:
    with pytest.raises(LongTaskError) as missing:
        locate("file", "b.txt", resolver=files, workspace_digest="w")
    with pytest.raises(LongTaskError) as denied:
        locate("file", "../outside.txt", resolver=files, workspace_digest="w")
    assert (missing.value.code, denied.value.code) == ("evidence_missing", "evidence_denied")


def test_git_object_is_read_at_its_revision(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "a.txt").write_text("first")
    git("add", "a.txt")
    git("commit", "-q", "-m", "first")
    revision = git("rev-parse", "HEAD")
    resolver = GitResolver(tmp_path)
    seen = locate("git", f"{revision}:a.txt", resolver=resolver, workspace_digest="w")
    moving = locate("git", "HEAD:a.txt", resolver=resolver, workspace_digest="w")
    (tmp_path / "a.txt").write_text("second")
    git("commit", "-q", "-a", "-m", "second")
    found = resolve([seen, moving], {"git": resolver}, events=())
    assert found == {seen.locator_id: MATCH, moving.locator_id: STALE}
    assert [resolver.read(ref) for ref in (f"{revision}:b.txt", "--help", "0" * 40)] == [MISSING, DENIED, MISSING]


class _Served(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[int, bytes]]] = {}

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, b""))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/v1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Served)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_http_object_is_read_again_and_no_redirect_is_followed(served: str) -> None:
    _Served.answers = {"/v1": (200, b"one"), "/secret": (403, b""), "/login": (401, b""), "/moved": (302, b"")}
    resolver = HttpResolver(base_url=served)
    seen = locate("http", "/v1", resolver=resolver, workspace_digest="w")
    assert resolve([seen], {"http": resolver}, events=()) == {seen.locator_id: MATCH}
    _Served.answers["/v1"] = (200, b"two")
    assert resolve([seen], {"http": resolver}, events=()) == {seen.locator_id: STALE}
    del _Served.answers["/v1"]
    assert resolve([seen], {"http": resolver}, events=()) == {seen.locator_id: MISSING}
    found = [resolver.read(ref) for ref in ("/secret", "/login", "/moved", "//other.example/", "no-slash")]
    assert found == [DENIED, DENIED, MISSING, DENIED, DENIED]


def test_http_object_is_not_read_without_tls_from_elsewhere() -> None:
    with pytest.raises(LongTaskError) as refused:
        HttpResolver(base_url="http://example.com")
    assert refused.value.code == "resolver_url_insecure"


def test_row_is_read_again_and_the_four_results_stay_apart() -> None:
    rows: dict[str, bytes] = {"order-1": b"open"}

    def fetch(ref: str) -> bytes | None:
        if ref == "order-2":
            raise PermissionError
        return rows.get(ref)

    resolver = RowResolver(fetch)
    seen = locate("row", "order-1", resolver=resolver, workspace_digest="w")
    results = [resolve([seen], {"row": resolver}, events=())[seen.locator_id]]
    rows["order-1"] = b"paid"
    results.append(resolve([seen], {"row": resolver}, events=())[seen.locator_id])
    rows.clear()
    results.append(resolve([seen], {"row": resolver}, events=())[seen.locator_id])
    results.append(resolve([seen], {}, events=())[seen.locator_id])
    assert results == [MATCH, STALE, MISSING, DENIED]
    assert resolver.read("order-2") is DENIED


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_file_without_permission_is_denied(files: FileResolver) -> None:
    (files.root / "a.txt").chmod(0)
    assert files.read("a.txt") is DENIED
