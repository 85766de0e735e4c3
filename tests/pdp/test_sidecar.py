from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gate.decision import Verdict
from gate.errors import PdpError, ToolchainError
from gate.pdp import Facts, Sidecar, SidecarDecisionPoint, manifest_revision
from gate.pdp.transport import Transport

pytestmark = pytest.mark.opa

Ask = Callable[..., dict[str, Any]]


def test_decision_over_tcp_and_socket_is_the_served_one(sidecar: Sidecar, ask: Ask) -> None:
    client = sidecar.client(timeout_ms=10_000)
    replies = [client.decide(ask(name)) for name in ("search_docs", "run_shell", 'say "hi"\né\\')]
    assert [(r.decision.verdict, r.decision.codes, r.revision) for r in replies] == [
        (Verdict.ALLOW, ("configured_allow",), "sample@1+aa"),
        (Verdict.DENY, ("no_rule_permits",), "sample@1+aa"),
        (Verdict.ALLOW, ("configured_allow",), "sample@1+aa"),
    ]
    client.close()


def test_undefined_decision_is_refused(sidecar: Sidecar, ask: Ask) -> None:
    assert _code(sidecar.client(timeout_ms=10_000), ask("undefined")) == "pdp_result_undefined"


def test_builtin_error_is_refused_not_undefined(sidecar: Sidecar, ask: Ask) -> None:
    assert _code(sidecar.client(timeout_ms=10_000), ask("strict_failure")) == "pdp_server_error"


def test_facts_of_governed_and_unknown_agent(sidecar: Sidecar) -> None:
    client = sidecar.client(timeout_ms=10_000)
    bundle = {
        "bundle_id": "sample",
        "version": "1",
        "release_identity": "sample-release",
        "contract_version": None,
    }
    governed = Facts("sample@1+aa", bundle, {"search_docs": {"version": "1"}}, {}, {}, {})
    assert client.facts("governed") == governed
    assert client.facts("stranger") == Facts("sample@1+aa")
    assert client.revision() == "sample@1+aa"


def test_facts_are_kept_for_one_revision(sidecar: Sidecar) -> None:
    client = sidecar.client(timeout_ms=10_000)
    assert client.facts("governed") is client.facts("governed")


@pytest.mark.parametrize("token", [None, "wrong"])
def test_without_the_token_everything_is_refused(sidecar: Sidecar, ask: Ask, token: str | None) -> None:
    client = sidecar.client(token=token)
    assert _code(client, ask("search_docs")) == "pdp_unauthorized"
    assert client.ready() is False


def test_other_revision_pinned_is_refused(sidecar: Sidecar, ask: Ask) -> None:
    client = sidecar.client(expected_revisions=("sample@2+bb",), timeout_ms=10_000)
    assert _code(client, ask("search_docs")) == "pdp_revision_unexpected"
    assert client.ready() is False


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/data"),
        ("POST", "/v1/data"),
        ("GET", "/v1/data/gate/decision"),
        ("POST", "/v1/data/gate"),
        ("POST", "/v1/data/gate/facts"),
        ("POST", "/v1/data/system/authz"),
        ("PUT", "/v1/data/gate/decision"),
        ("PATCH", "/v1/data/gate/decision"),
        ("GET", "/v1/policies"),
        ("PUT", "/v1/policies/gate/main.rego"),
        ("DELETE", "/v1/policies/gate/main.rego"),
        ("POST", "/v0/data/gate/decision"),
        ("POST", "/v1/query"),
        ("POST", "/v1/compile"),
        ("GET", "/v1/config"),
        ("POST", "/v1/status"),
        ("GET", "/v1/status/gate"),
        ("GET", "/metrics"),
        ("GET", "/health/live"),
        ("POST", "/"),
    ],
)
def test_paths_the_gate_does_not_ask_are_closed_even_with_the_token(sidecar: Sidecar, method: str, path: str) -> None:
    assert _status(sidecar, method, path) == 401


def test_files_of_the_sidecar_are_private_and_hold_no_token(sidecar: Sidecar) -> None:
    folder = sidecar.log_file.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir()} == {
        "authz.rego": 0o600,
        "config.json": 0o600,
        "log.rego": 0o600,
        "opa.log": 0o600,
        "settings.json": 0o600,
    }
    assert [p.name for p in folder.iterdir() if sidecar.token in p.read_text(encoding="utf-8")] == []
    if sidecar.url.startswith("unix://"):
        path = Path(sidecar.url.removeprefix("unix://"))
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_token_is_not_on_the_command_line(sidecar: Sidecar) -> None:
    if not sys.platform.startswith("linux"):
        assert sidecar.running
        return
    assert sidecar.token.encode() not in Path(f"/proc/{sidecar.pid}/cmdline").read_bytes()
    assert sidecar.token.encode() not in Path(f"/proc/{sidecar.pid}/environ").read_bytes()


def test_socket_of_another_user_is_refused(sidecar: Sidecar, ask: Ask) -> None:
    client = sidecar.client(allowed_peer_uids=(os.geteuid() + 1,))
    if sidecar.url.startswith("unix://"):
        assert _code(client, ask("search_docs")) == "pdp_peer_untrusted"
    else:
        assert client.decide(ask("search_docs")).decision.allowed


def test_eight_threads_share_a_client_and_get_their_own_answers(sidecar: Sidecar, ask: Ask) -> None:
    client = sidecar.client(timeout_ms=10_000)

    def work(worker: int) -> list[tuple[str | None, Verdict]]:
        name = "search_docs" if worker % 2 else "run_shell"
        replies = [client.decide(ask(name, request_id=f"{worker}-{i}")) for i in range(20)]
        return [(r.decision.audit["request_id"], r.decision.verdict) for r in replies]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(work, range(8)))
    assert answers == [[(f"{w}-{i}", Verdict.ALLOW if w % 2 else Verdict.DENY) for i in range(20)] for w in range(8)]
    client.close()


def test_closed_client_refuses(sidecar: Sidecar, ask: Ask) -> None:
    client = sidecar.client(timeout_ms=10_000)
    client.decide(ask("search_docs"))
    client.close()
    assert _code(client, ask("search_docs")) == "pdp_closed"
    assert client.ready() is False


def test_killed_opa_refuses_and_a_restarted_one_answers_the_same_client(
    tarball: Path, opa_binary: Path, tmp_path: Path, ask: Ask
) -> None:
    where = {"tarball": tarball, "opa": opa_binary, "listen": tmp_path / "s" / "opa.sock"}
    first = Sidecar.start(**where, work_dir=tmp_path / "work")
    client = first.client(timeout_ms=10_000)
    assert client.decide(ask("search_docs")).decision.allowed
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait(30)
    assert _code(client, ask("search_docs")) == "pdp_unreachable"
    assert (client.ready(), first.running) == (False, False)
    with Sidecar.start(**where, work_dir=tmp_path / "work", token=first.token):
        assert client.decide(ask("search_docs")).decision.allowed
        assert client.ready() is True
    client.close()


def test_new_revision_is_refused_until_pinned_and_empties_the_facts(
    build: Callable[..., Path], opa_binary: Path, tmp_path: Path, ask: Ask
) -> None:
    old, new = build("sample@1+aa"), build("sample@2+bb")
    where = {"opa": opa_binary, "listen": tmp_path / "s" / "opa.sock", "work_dir": tmp_path / "work"}
    first = Sidecar.start(tarball=old, **where)
    strict = first.client(timeout_ms=10_000)
    rolling = first.client(expected_revisions=("sample@1+aa", "sample@2+bb"), timeout_ms=10_000)
    kept = rolling.facts("governed")
    first.stop()
    with Sidecar.start(tarball=new, **where, token=first.token):
        assert _code(strict, ask("search_docs")) == "pdp_revision_unexpected"
        assert rolling.decide(ask("search_docs")).revision == "sample@2+bb"
        assert (kept.revision, rolling.facts("governed").revision) == ("sample@1+aa", "sample@2+bb")


def test_forked_child_asks_over_its_own_connection(sidecar: Sidecar, ask: Ask) -> None:
    # In a process of its own: forking a process that has threads is what Python warns of.
    script = textwrap.dedent("""
        import json, os, sys
        from gate.pdp import SidecarDecisionPoint
        url, token, revision = sys.argv[1:]
        client = SidecarDecisionPoint(url=url, token=token, expected_revisions=(revision,), timeout_ms=10000)
        def ask(who, i):
            rid = f"{who}-{i}"
            document = {"request_id": rid, "request": {"capability": "search_docs" if who else "run_shell"}}
            decision = client.decide(document).decision
            return decision.audit["request_id"] == rid and decision.allowed is bool(who)
        assert ask(9, 0)
        children = []
        for child in range(3):
            pid = os.fork()
            if pid == 0:
                right = all(ask(child, i) for i in range(50))
                client.close()
                os._exit(0 if right else 1)
            children.append(pid)
        right = all(ask(9, i) for i in range(50))
        print(right, [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children], ask(9, 99))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, sidecar.url, sidecar.token, sidecar.revision],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True [0, 0, 0] True\n", "")


def test_opa_ends_when_the_gate_is_killed(tarball: Path, opa_binary: Path, tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux ties a process to its parent")
    script = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from gate.pdp import Sidecar
        tarball, opa, folder = map(Path, sys.argv[1:])
        sidecar = Sidecar.start(tarball=tarball, opa=opa, listen=folder / "s" / "o", work_dir=folder / "w")
        print(sidecar.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tarball), str(opa_binary), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    pid = int(done.stdout)
    ended = threading.Event()
    for _ in range(500):
        if not _alive(pid):
            ended.set()
            break
        threading.Event().wait(0.02)
    assert ended.is_set()


def test_start_says_so_when_opa_ends_early(tarball: Path, tmp_path: Path) -> None:
    fake = tmp_path / "opa"
    fake.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    fake.chmod(0o755)
    with pytest.raises(ToolchainError, match="exit code 7 before it was ready") as caught:
        Sidecar.start(tarball=tarball, opa=fake, listen="tcp", work_dir=tmp_path / "work")
    assert caught.value.code == "sidecar_not_started"


def test_start_says_so_when_the_bundle_does_not_load(
    build: Callable[..., Path], opa_binary: Path, tmp_path: Path
) -> None:
    tarball = tmp_path / "cut.tar.gz"
    _tar(
        tarball,
        {"/.manifest": b'{"revision":"r","roots":["gate"]}', "/gate/main.rego": b"package gate\nx :="},
    )
    with pytest.raises(ToolchainError, match=r"^opa refused the bundle$") as caught:
        Sidecar.start(tarball=tarball, opa=opa_binary, listen="tcp", work_dir=tmp_path / "work")
    assert caught.value.code == "bundle_error"


def test_start_refuses_a_folder_open_to_others(tarball: Path, opa_binary: Path, tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o755)
    with pytest.raises(ToolchainError, match="is open to other users"):
        Sidecar.start(tarball=tarball, opa=opa_binary, listen="tcp", work_dir=open_folder)
    with pytest.raises(ToolchainError, match="is open to other users"):
        Sidecar.start(tarball=tarball, opa=opa_binary, listen=open_folder / "opa.sock", work_dir=tmp_path / "work")


def test_start_refuses_a_socket_path_the_kernel_would_cut(tarball: Path, opa_binary: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="over 107 bytes"):
        Sidecar.start(tarball=tarball, opa=opa_binary, listen=tmp_path / ("x" * 108), work_dir=tmp_path / "work")


def test_manifest_revision_of_a_built_bundle(tarball: Path) -> None:
    assert manifest_revision(tarball) == "sample@1+aa"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "no manifest"),
        ({"/.manifest": b"{"}, "not JSON"),
        ({"/.manifest": b"[]"}, "not an object"),
        ({"/.manifest": b'{"revision":"a","revision":"b","roots":["gate"]}'}, "not JSON"),
        ({"/.manifest": b'{"roots":["gate"]}'}, "no revision"),
        ({"/.manifest": b'{"revision":"","roots":["gate"]}'}, "no revision"),
        ({"/.manifest": b'{"revision":"a"}'}, "only root"),
        ({"/.manifest": b'{"revision":"a","roots":["gate","system"]}'}, "only root"),
        ({"/.manifest": b'{"revision":"a","roots":["gate"]}', ".manifest": b"{}"}, "more than one"),
    ],
)
def test_manifest_revision_refuses(tmp_path: Path, members: dict[str, bytes], message: str) -> None:
    tarball = tmp_path / "b.tar.gz"
    _tar(tarball, members)
    with pytest.raises(ToolchainError, match=message) as caught:
        manifest_revision(tarball)
    assert caught.value.code == "bundle_unreadable"


@pytest.mark.parametrize("content", [None, b"", b"not a tarball"])
def test_manifest_revision_refuses_what_is_no_tarball(tmp_path: Path, content: bytes | None) -> None:
    tarball = tmp_path / "b.tar.gz"
    if content is not None:
        tarball.write_bytes(content)
    with pytest.raises(ToolchainError, match="not a bundle that can be read"):
        manifest_revision(tarball)


def _code(client: SidecarDecisionPoint, document: dict[str, Any]) -> str:
    with pytest.raises(PdpError) as caught:
        client.decide(document)
    return caught.value.code


def _status(sidecar: Sidecar, method: str, path: str) -> int:
    transport = Transport(sidecar.url, token=sidecar.token)
    body = b"{}" if method == "POST" else b""
    status, _ = transport.request(method, path, body=body, timeout_ms=10_000, limit=1_000_000)
    transport.close()
    return status


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
