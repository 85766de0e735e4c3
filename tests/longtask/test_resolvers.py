from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gate.longtask.events import EvidenceLocator, LongTaskError
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
    ended: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, b""))
        if status == 299:
            # Says a little again and again, for as long as the test lasts.
            while not self.ended.wait(0.02):
                self.wfile.write(b"x")
            return
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


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://localhost@example.com",
        "http://[::1",
        "https://",
        "https://host/base?version=1",
        "ftp://127.0.0.1",
    ],
)
def test_http_object_is_not_read_without_tls_from_elsewhere(url: str) -> None:
    with pytest.raises(LongTaskError) as refused:
        HttpResolver(base_url=url)
    assert refused.value.code == "resolver_url_insecure"


def test_http_object_outside_of_its_base_is_denied(served: str) -> None:
    _Served.answers = {"/b/secret": (200, b"not yours"), "/a/v1": (200, b"yours")}
    resolver = HttpResolver(base_url=f"{served}/a")
    ways = ("/../b/secret", "/%2e%2e/b/secret", "/%252e%252e/b/secret", "/.\\..\\b", "/v1#x", "/\ud800")
    assert [resolver.read(ref) for ref in ways] == [DENIED] * len(ways)
    assert resolver.read("/v1") == b"yours"


def test_http_object_that_never_ends_is_given_up(served: str) -> None:
    _Served.answers = {"/slow": (299, b"")}
    resolver = HttpResolver(base_url=served, deadline_seconds=0.1)
    assert resolver.read("/slow") is MISSING
    _Served.ended.set()


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


def test_evidence_too_large_to_verify_is_not_located_and_matches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"big": b"12345", "other": b"54321"}
    resolver = RowResolver(rows.get)
    monkeypatch.setattr("gate.longtask.resolvers.MAX_EVIDENCE_BYTES", 4)
    with pytest.raises(LongTaskError) as refused:
        locate("row", "big", resolver=resolver, workspace_digest="w")
    seen = EvidenceLocator(locator_id="l", kind="row", ref="big", content_digest="too-large", workspace_digest="w")
    assert (refused.value.code, reload(seen, resolver)) == ("evidence_too_large", (STALE, None))


@pytest.mark.parametrize("answer", [LocatorResult.MATCH, STALE, None, "text", ValueError("of a row")])
def test_resolver_that_fails_or_vouches_without_content_is_denied(answer: object) -> None:
    class Own:
        def read(self, ref: str) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    seen = EvidenceLocator(locator_id="l", kind="own", ref="r", content_digest="d", workspace_digest="w")
    assert resolve([seen], {"own": Own()}, events=()) == {"l": DENIED}
    assert reload(seen, Own()) == (DENIED, None)


def test_pipe_in_the_place_of_a_file_is_missing(files: FileResolver) -> None:
    os.mkfifo(files.root / "pipe")
    writer = os.open(files.root / "pipe", os.O_RDWR | os.O_NONBLOCK)
    before = len(os.listdir("/proc/self/fd"))
    assert [files.read(ref) for ref in ("pipe", ".", "\ud800")] == [MISSING, MISSING, DENIED]
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(writer)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_file_without_permission_is_denied(files: FileResolver) -> None:
    (files.root / "a.txt").chmod(0)
    assert files.read("a.txt") is DENIED
