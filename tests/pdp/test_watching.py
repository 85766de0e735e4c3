from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from signing_support import built, new_key

from gate.errors import GateError, InputError, PdpError, ToolchainError
from gate.pdp import BundleServer, Polling, Sidecar, SidecarDecisionPoint, VerificationKey, publish
from gate.pdp.watching import PUBLISHED, fetch

pytestmark = pytest.mark.opa

Ask = Callable[..., dict[str, Any]]


@dataclass
class World:
    """A folder that a sidecar follows, and bundles to publish into it."""

    key: VerificationKey
    bundles: dict[str, Path]
    folder: Path
    sidecar: Sidecar

    def wait_for(self, done: Callable[[], bool]) -> None:
        for _ in range(600):
            if done():
                return
            threading.Event().wait(0.05)
        pytest.fail("it did not come to that")

    def serves(self, revision: str) -> bool:
        return self.sidecar.status().revision == revision


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> tuple[VerificationKey, dict[str, Path]]:
    folder = tmp_path_factory.mktemp("signed")
    key = new_key(folder)
    new_key(folder, "stranger")
    bundles = {version: built(folder, version, binary=opa_binary) for version in ("1.0", "2.0", "3.0")}
    bundles["unsigned"] = built(folder, "2.1", binary=opa_binary, key=None)
    bundles["stranger"] = built(folder, "2.2", binary=opa_binary, key="stranger")
    return key, bundles


@pytest.fixture
def world(signed: tuple[VerificationKey, dict[str, Path]], opa_binary: Path, tmp_path: Path) -> Iterator[World]:
    key, bundles = signed
    folder = tmp_path / "published"
    publish(bundles["2.0"], folder)
    with (
        BundleServer(folder) as server,
        Sidecar.start(
            polling=Polling(url=server.url, min_delay_s=1, max_delay_s=1),
            revisions=("sample@2.0",),
            opa=opa_binary,
            listen=tmp_path / "s" / "o",
            work_dir=tmp_path / "w",
            key=key,
            minimum={"sample": "2.0"},
        ) as sidecar,
    ):
        yield World(key, bundles, folder, sidecar)


def outcome(client: SidecarDecisionPoint, document: dict[str, Any]) -> str:
    """The revision a decision came from, or the code of the refusal."""
    try:
        reply = client.decide(document)
    except PdpError as exc:
        return exc.code
    assert reply.decision.audit["request_id"] == document["request_id"]
    return reply.revision


def test_new_release_is_refused_until_the_roll_over_is_declared_and_the_old_one_after_it(
    world: World, ask: Ask
) -> None:
    client = world.sidecar.client(timeout_ms=10_000)
    assert outcome(client, ask("search_docs")) == "sample@2.0"
    publish(world.bundles["3.0"], world.folder)
    world.wait_for(lambda: world.serves("sample@3.0"))
    assert outcome(client, ask("search_docs")) == "pdp_revision_unexpected"
    client.expect(("sample@2.0", "sample@3.0"))
    assert outcome(client, ask("search_docs")) == "sample@3.0"
    client.expect(("sample@3.0",))
    publish(world.bundles["2.0"], world.folder)
    world.wait_for(lambda: world.serves("sample@2.0"))
    assert outcome(client, ask("search_docs")) == "pdp_revision_unexpected"
    client.close()


@pytest.mark.parametrize(("name", "error"), [("unsigned", "bundle_unsigned"), ("stranger", "bundle_signature_invalid")])
def test_bundle_that_the_pinned_key_did_not_sign_leaves_the_old_one_in_force(
    world: World, ask: Ask, name: str, error: str
) -> None:
    client = world.sidecar.client(timeout_ms=10_000)
    publish(world.bundles[name], world.folder)
    world.wait_for(lambda: world.sidecar.status().error is not None)
    status = world.sidecar.status()
    assert (status.revision, status.error) == ("sample@2.0", error)
    assert outcome(client, ask("search_docs")) == "sample@2.0"
    client.close()


def test_older_release_below_the_minimum_is_answered_about_by_nobody(world: World, ask: Ask) -> None:
    """Signed, and expected by a client that is misled: the sidecar's own policy refuses."""
    client = world.sidecar.client(expected_revisions=("sample@1.0", "sample@2.0"), timeout_ms=10_000)
    publish(world.bundles["1.0"], world.folder)
    world.wait_for(lambda: world.serves("sample@1.0"))
    assert outcome(client, ask("search_docs")) == "pdp_revision_refused"
    assert not client.ready()
    publish(world.bundles["2.0"], world.folder)
    world.wait_for(lambda: world.serves("sample@2.0"))
    assert outcome(client, ask("search_docs")) == "sample@2.0"
    client.close()


def test_bundle_that_is_withdrawn_or_half_written_leaves_the_old_one_in_force(world: World, ask: Ask) -> None:
    client = world.sidecar.client(timeout_ms=10_000)
    (world.folder / PUBLISHED).write_bytes(world.bundles["3.0"].read_bytes()[:500])
    world.wait_for(lambda: world.sidecar.status().error == "bundle_unreadable")
    (world.folder / PUBLISHED).unlink()
    world.wait_for(lambda: world.sidecar.status().error == "bundle_fetch_failed")
    assert outcome(client, ask("search_docs")) == "sample@2.0"
    client.close()


def test_roll_over_under_eight_threads_gives_no_wrong_decision(world: World, ask: Ask) -> None:
    """`search_docs` is allowed and `run_shell` is not, in both releases: any other answer would be wrong."""
    client = world.sidecar.client(expected_revisions=("sample@2.0", "sample@3.0"), timeout_ms=10_000)
    rolled = threading.Event()

    def work(worker: int) -> set[tuple[str, str, str]]:
        seen = set()
        name = "search_docs" if worker % 2 else "run_shell"
        after = 0
        for turn in range(100_000):
            try:
                reply = client.decide(ask(name, request_id=f"{worker}-{turn}"))
            except PdpError as exc:
                seen.add((name, exc.code, ""))
                continue
            seen.add((name, str(reply.decision.verdict), reply.revision))
            after += rolled.is_set()
            if after > 20:
                break
        return seen

    with ThreadPoolExecutor(8) as pool:
        working = [pool.submit(work, worker) for worker in range(8)]
        publish(world.bundles["3.0"], world.folder)
        world.wait_for(lambda: world.serves("sample@3.0"))
        rolled.set()
        seen = {item for future in working for item in future.result()}
    assert seen == {
        (name, verdict, revision)
        for name, verdict in (("search_docs", "allow"), ("run_shell", "deny"))
        for revision in ("sample@2.0", "sample@3.0")
    }
    client.close()


def test_server_answers_not_modified_for_the_tag_it_gave_and_serves_nothing_else(world: World) -> None:
    with BundleServer(world.folder) as server:
        first = requests.get(server.url, timeout=10)
        again = requests.get(server.url, headers={"If-None-Match": first.headers["ETag"]}, timeout=10)
        publish(world.bundles["3.0"], world.folder)
        third = requests.get(server.url, headers={"If-None-Match": first.headers["ETag"]}, timeout=10)
        others = [requests.get(f"{server.url}{more}", timeout=10).status_code for more in ("x", "/../../x", "?x")]
        head = requests.head(server.url, timeout=10).status_code
    assert (first.status_code, first.content) == (200, world.bundles["2.0"].read_bytes())
    assert (again.status_code, again.content) == (304, b"")
    assert (third.status_code, third.content) == (200, world.bundles["3.0"].read_bytes())
    assert (others, head) == ([404, 404, 404], 501)


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "http://example.org/b.tar.gz"},
        {"url": "https://example.org"},
        {"url": "http://[::1/b"},
        {"url": "ftp://127.0.0.1/b"},
        {"url": "https://user:pass@example.org/b"},
        {"url": "https://example.org/b", "min_delay_s": 0},
        {"url": "https://example.org/b", "min_delay_s": 5, "max_delay_s": 1},
    ],
)
def test_place_that_must_not_be_followed_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        Polling(**settings)
    assert caught.value.code == "watch_url_unfit"
    assert "pass" not in str(caught.value)


def test_following_without_a_key_or_without_a_revision_is_refused(
    signed: tuple[VerificationKey, dict[str, Path]], opa_binary: Path, tmp_path: Path
) -> None:
    polling = Polling(url="http://127.0.0.1:1/b.tar.gz")
    for more in ({"key": signed[0]}, {"revisions": ("sample@2.0",)}, {"tarball": signed[1]["2.0"], "key": signed[0]}):
        with pytest.raises(ToolchainError) as caught:
            Sidecar.start(opa=opa_binary, listen="tcp", work_dir=tmp_path / "w", polling=polling, **more)  # type: ignore[arg-type]
        assert caught.value.code == "sidecar_misconfigured"


def test_fetch_of_nothing_is_an_error_that_quotes_no_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-token\n", "ascii")
    with BundleServer(tmp_path / "empty") as server, pytest.raises(ToolchainError) as caught:
        fetch(Polling(url=server.url, token_file=token), tmp_path / "b.tar.gz")
    assert caught.value.code == "bundle_fetch_failed"
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, GateError)


def test_decision_log_holds_safe_fields_and_no_argument(world: World) -> None:
    client = world.sidecar.client(timeout_ms=10_000)
    document = {
        "request_id": "r-log",
        "checkpoint": "tool_execution",
        "operation": "call_tool",
        "trace": {"trace_id": "t-log", "note": "SECRET"},
        "agent": {"agent_id": "governed"},
        "identity": {"tenant_id": "acme", "principal_id": "SECRET"},
        "request": {"capability": "search_docs", "arguments": {"query": "SECRET"}, "text": "SECRET"},
        "state": {"anything": ["SECRET"]},
    }
    client.decide(document)
    client.facts("governed")
    client.close()
    lines = [json.loads(x) for x in world.sidecar.log_file.read_text("utf-8").splitlines() if "Decision Log" in x]
    (logged,) = (line for line in lines if line["input"].get("request_id") == "r-log")
    assert logged["input"] == {
        "request_id": "r-log",
        "checkpoint": "tool_execution",
        "operation": "call_tool",
        "trace": {"trace_id": "t-log"},
        "agent": {"agent_id": "governed"},
        "identity": {"tenant_id": "acme"},
    }
    assert "SECRET" not in world.sidecar.log_file.read_text("utf-8")
    assert {line["path"] for line in lines} == {"gate/decision"}


def test_follower_that_goes_away_in_the_middle_of_a_bundle_is_not_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tarball = tmp_path / "big.tar.gz"
    tarball.write_bytes(b"x" * (32 << 20))
    publish(tarball, tmp_path / "published")
    with BundleServer(tmp_path / "published") as server:
        parts = urlsplit(server.url)
        for _ in range(3):
            with socket.create_connection((parts.hostname, parts.port), timeout=10) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not a farewell
                gone.sendall(f"GET {parts.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                assert gone.recv(12) == b"HTTP/1.1 200"
        assert len(requests.get(server.url, timeout=30).content) == 32 << 20
    assert capfd.readouterr() == ("", "")
