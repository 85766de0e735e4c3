"""build, serve and status with the real OPA."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from cli_support import document, run

from gate.pdp import publish

pytestmark = pytest.mark.opa


@pytest.fixture
def tarball(bundle: Path, tmp_path: Path) -> Path:
    return Path(document(run("build", bundle, "-o", tmp_path / "dist", "--output", "json"))["path"])


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose name leaves room for a socket."""
    with tempfile.TemporaryDirectory(prefix="gate-t-") as folder:
        yield Path(folder)


@dataclass
class Served:
    process: subprocess.Popen[str]
    told: dict[str, Any]

    def status(self, *more: str | Path) -> tuple[int, dict[str, Any]]:
        found = run(
            "status", "--opa", self.told["url"], "--token-file", self.told["token_file"], "--output", "json", *more
        )
        return found.exit_code, document(found)


@contextlib.contextmanager
def _serve(*args: str | Path) -> Iterator[Served]:
    command = [sys.executable, "-m", "gate.cli", "serve", *map(str, args), "--output", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            text = ""
            for line in process.stdout:
                text += line
                if line == "}\n":
                    break
            yield Served(process, json.loads(text))
        finally:
            process.kill() if process.poll() is None else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_build_prints_where_the_tarball_is_and_is_reproducible(bundle: Path, tmp_path: Path) -> None:
    first = run("build", bundle, "-o", tmp_path / "one", "--output", "json")
    again = document(run("build", bundle, "-o", tmp_path / "two", "--output", "json"))
    answer = document(first)
    assert first.exit_code == 0
    assert answer.keys() == {"path", "revision", "digest", "provenance", "signed_by"}
    assert Path(answer["path"]).parent == tmp_path / "one"
    assert (answer["revision"], answer["digest"]) == (again["revision"], again["digest"])
    text = run("build", bundle, "-o", tmp_path / "one").stdout
    assert text.splitlines() == [f"{name.ljust(10)}  {value or '-'}" for name, value in answer.items()]


def test_build_of_stale_rego_builds_nothing(bundle: Path, tmp_path: Path) -> None:
    (bundle / "rego" / "policy.rego").unlink()
    result = run("build", bundle, "-o", tmp_path / "dist")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "compiled_rego_stale" in result.stderr
    assert not (tmp_path / "dist").exists()


def test_build_names_the_problems_of_every_bundle(bundle: Path, tmp_path: Path) -> None:
    (bundle / "policy.yaml").write_text("policy: NO\n", encoding="utf-8")
    result = run("build", bundle, tmp_path / "nowhere", "-o", tmp_path / "dist")
    codes = [line.split(": ")[1] for line in result.stderr.splitlines() if not line.startswith("  ")]
    assert (result.exit_code, result.stdout) == (5, "")
    assert sorted(codes) == ["bundle_not_a_folder", "yaml_quote_it"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_until_signalled_is_ready_private_and_leaves_no_opa(
    tarball: Path, short: Path, number: signal.Signals
) -> None:
    socket = short / "s" / "opa.sock"
    with _serve(tarball, "--listen", f"unix:{socket}", "--work-dir", short / "work") as served:
        token = Path(served.told["token_file"])
        assert served.told["url"] == f"unix://{socket}"
        assert token == short / "work" / "token"
        assert token.stat().st_mode & 0o777 == 0o600
        ready = {
            "ready": True,
            "expected": [served.told["revision"]],
            "revision": served.told["revision"],
            "last_error": None,
            "code": None,
            "hint": "",
        }
        for expected in (("--tarball", tarball), ("--revision", served.told["revision"])):
            code, found = served.status(*expected)
            age, since = found.pop("age_seconds"), found.pop("activated_at")
            assert (code, found) == (0, ready)
            assert 0 <= age < 600
            assert since.endswith("Z")
        both = served.status("--revision", "other@1", "--revision", served.told["revision"])
        assert (both[0], both[1]["expected"]) == (0, ["other@1", served.told["revision"]])
        code, other = served.status("--revision", "other@1")
        assert (code, other["ready"], other["code"]) == (1, False, "pdp_revision_unexpected")
        served.process.send_signal(number)
        out, err = served.process.communicate(timeout=30)
        assert (served.process.returncode, out, err) == (0, "", "")
        assert token.read_text("ascii").strip() not in out + err
    assert not _alive(served.told["pid"])
    code, gone = served.status("--tarball", tarball)
    assert (code, gone["ready"], gone["code"]) == (1, False, "pdp_unreachable")


def test_serve_with_a_token_that_is_there_uses_it(tarball: Path, short: Path) -> None:
    token = short / "token"
    token.write_text("a-token-of-ours\n", encoding="ascii")
    token.chmod(0o600)
    with _serve(tarball, "--token-file", token) as served:
        assert served.status("--tarball", tarball)[0] == 0
        served.process.terminate()
        served.process.wait(timeout=30)
    assert token.read_text("ascii") == "a-token-of-ours\n"
    with _serve(tarball, "--token-file", short / "fresh") as served:
        wrong = run("status", "--opa", served.told["url"], "--token-file", token, "--tarball", tarball)
        assert wrong.exit_code == 1
        assert wrong.stdout.splitlines()[0] == "ready     no"
        assert wrong.stdout.splitlines()[3] == "code      pdp_unauthorized"
        served.process.terminate()
        served.process.wait(timeout=30)


def test_serve_exits_one_when_opa_dies(tarball: Path, short: Path) -> None:
    with _serve(tarball, "--work-dir", short / "work") as served:
        os.kill(served.told["pid"], signal.SIGKILL)
        _, err = served.process.communicate(timeout=30)
    assert served.process.returncode == 1
    assert err == (f"error: sidecar_ended: opa ended while it was serving\nhint: see `{short / 'work' / 'opa.log'}`\n")


def test_serve_something_else_starts_nothing_and_leaves_nothing(tmp_path: Path, short: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"not a tarball")
    done = subprocess.run(
        [sys.executable, "-m", "gate.cli", "serve", tmp_path / "x.tar.gz"],
        env={**os.environ, "TMPDIR": str(short)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, list(short.iterdir())) == (1, "", [])
    assert done.stderr == (
        "error: bundle_unreadable: the bundle tarball is not a bundle that can be read\n"
        "hint: build it with `gate build`\n"
    )


@pytest.mark.parametrize("listen", ["", "tcp:", "tcp:x", "tcp:65536", "tcp:-1", "unix:", "8181", "http://x"])
def test_serve_at_an_address_that_is_none_is_a_usage_error(tmp_path: Path, listen: str) -> None:
    result = run("serve", tmp_path / "x.tar.gz", f"--listen={listen}")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("command", ["serve", "status"])
@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (b"secret\n", 0o644, "token_file_exposed"),
        (b"", 0o600, "token_file_malformed"),
        (b"two words\n", 0o600, "token_file_malformed"),
        (b"x" * 5000, 0o600, "token_file_malformed"),
        (b"caf\xc3\xa9", 0o600, "token_file_malformed"),
    ],
)
def test_token_file_that_holds_no_private_token_is_refused(
    tarball: Path, tmp_path: Path, command: str, content: bytes, mode: int, code: str
) -> None:
    token = tmp_path / "token"
    token.write_bytes(content)
    token.chmod(mode)
    if command == "serve":
        result = run("serve", tarball, "--token-file", token)
    else:
        result = run("status", "--opa", "http://127.0.0.1:1", "--token-file", token, "--tarball", tarball)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {code}: `{token}` ")
    assert "secret" not in result.stderr


@pytest.mark.parametrize("more", [(), ("--revision", "a", "--tarball", "b")])
def test_status_needs_one_expected_revision(tmp_path: Path, more: tuple[str, ...]) -> None:
    result = run("status", "--opa", "http://127.0.0.1:1", "--token-file", tmp_path / "t", *more)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Folder of two pairs, `release` and `other`."""
    for name in ("release", "other"):
        made = run("keys", "new", tmp_path / f"{name}.pem", "--type", "ecdsa", "--output", "json")
        assert (made.exit_code, document(made)["key_id"]) == (0, name)
    return tmp_path


@pytest.fixture
def signed(bundle: Path, keys: Path) -> Path:
    built = run("build", bundle, "-o", keys / "signed", "--signing-key", keys / "release.pem", "--output", "json")
    assert document(built)["signed_by"] == "release"
    return Path(document(built)["path"])


def _refusal(*args: str | Path) -> tuple[int, str, str]:
    """Of a `gate serve` that must not come to serve: exit code, stdout and the code on stderr."""
    command = [sys.executable, "-m", "gate.cli", "serve", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr.split(": ")[1] if ": " in done.stderr else done.stderr


def test_serve_what_the_pinned_key_signed_over_tcp_with_diagnostics(signed: Path, keys: Path, bundle: Path) -> None:
    bundle_id = yaml.safe_load((bundle / "bundle.yaml").read_text("utf-8"))["bundle"]["bundle_id"]
    pinned = ("--verification-key", keys / "release.pub", "--min-version", f"{bundle_id}=0")
    with _serve(signed, *pinned, "--diagnostics-port", "0") as served:
        assert served.status("--tarball", signed)[0] == 0
        assert requests.get(f"{served.told['diagnostics']}/health?bundles", timeout=10).status_code == 200
        assert requests.get(f"{served.told['diagnostics']}/v1/data", timeout=10).status_code == 401
        served.process.terminate()
        served.process.wait(timeout=30)


def test_serve_refuses_what_the_pinned_key_did_not_sign_or_is_too_old(
    signed: Path, tarball: Path, keys: Path, bundle: Path
) -> None:
    bundle_id = yaml.safe_load((bundle / "bundle.yaml").read_text("utf-8"))["bundle"]["bundle_id"]
    release = ("--verification-key", keys / "release.pub")
    cut = keys / "cut.tar.gz"
    cut.write_bytes(signed.read_bytes()[:-300])
    assert [
        _refusal(tarball, *release),
        _refusal(signed, "--verification-key", keys / "other.pub"),
        _refusal(cut, *release),
        _refusal(signed, *release, "--min-version", f"{bundle_id}=99"),
        _refusal(signed, "--verification-key", keys / "release.pem"),
    ] == [
        (1, "", "bundle_unsigned"),
        (1, "", "bundle_signature_invalid"),
        (1, "", "bundle_unreadable"),
        (1, "", "bundle_rolled_back"),
        (1, "", "verification_key_unfit"),
    ]
    Path(str(signed).replace(".tar.gz", ".provenance.json")).unlink()
    assert _refusal(signed, *release) == (1, "", "provenance_missing")


def test_serve_that_follows_a_folder_keeps_to_signed_bundles_and_says_what_it_refused(
    bundle: Path, signed: Path, tarball: Path, keys: Path, short: Path
) -> None:
    folder = short / "published"
    assert run("serve", "--watch", folder).exit_code == 2
    pinned = ("--watch", folder, "--verification-key", keys / "release.pub")
    assert _refusal(*pinned) == (1, "", "bundle_unreadable")
    publish(tarball, folder)
    assert _refusal(*pinned) == (1, "", "bundle_unsigned")
    publish(signed, folder)
    following = ("--watch", folder, "--poll", "1", "--verification-key", keys / "release.pub")
    with _serve(*following, "--work-dir", short / "w", "--listen", f"unix:{short / 's' / 'o'}") as served:
        again = run("build", bundle, "-o", keys / "plain", "--publish", folder)
        assert again.exit_code == 0
        for _ in range(400):
            code, found = served.status("--tarball", signed)
            if found["last_error"] is not None:
                break
            time.sleep(0.05)
        assert (code, found["ready"], found["last_error"]) == (0, True, "bundle_unsigned")
        time.sleep(2.5)
        served.process.send_signal(signal.SIGINT)
        _, err = served.process.communicate(timeout=30)
    assert (served.process.returncode, err) == (0, "note: refused the next bundle: bundle_unsigned\n")


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("x.tar.gz", "--watch", "d"),
        ("--watch", "d"),
        ("x.tar.gz", "--watch-token-file", "t"),
        ("x.tar.gz", "--tls-cert", "c"),
        ("x.tar.gz", "--min-version", "a"),
        ("x.tar.gz", "--min-version", "a=1", "--min-version", "a=2"),
        ("x.tar.gz", "--key-id", "k"),
        ("x.tar.gz", "--min-version", "a=@@"),
        ("x.tar.gz", "--poll", "9"),
        ("x.tar.gz", "--inside", "/x"),
        ("x.tar.gz", "--prepare", "d"),
        ("x.tar.gz", "--prepare", "d", "--listen", "tcp:8181", "--diagnostics-port", "0"),
        *(
            ("x.tar.gz", "--prepare", "d", "--listen", "tcp:8181", *more)
            for more in (("--docker",), ("--work-dir", "w"), ("--tls-cert", "c", "--tls-key", "k", "--tls-ca", "a"))
        ),
        ("--watch", "https://x/b", "--verification-key", "k.pub", "--prepare", "d"),
    ],
)
def test_serve_with_options_that_do_not_go_together_is_a_usage_error(args: tuple[str, ...], keys: Path) -> None:
    given = [str(keys / "release.pub") if arg == "k.pub" else arg for arg in args]
    result = run("serve", *given)
    assert (result.exit_code, result.stdout) == (2, "")


def test_build_and_release_of_a_new_bundle_and_of_changed_content(bundle: Path, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "dist", "--output", "json")
    released = run("release", bundle, *out)
    assert released.exit_code == 0, released.stderr
    assert document(released)["decision_diff"] == "first"
    assert document(run("build", bundle, *out))["revision"] == document(released)["revision"]
    again = run("release", bundle, *out)
    assert (again.exit_code, again.stdout, again.stderr.split(": ")[1]) == (3, "", "release_version_not_above")
    policy = bundle / "policy.yaml"
    policy.write_text(policy.read_text("utf-8").replace("run_start: allow", "run_start: deny"), "utf-8")
    assert run("compile", bundle).exit_code == 0
    changed = run("build", bundle, *out)
    assert (changed.exit_code, changed.stdout) == (5, "")
    assert changed.stderr.startswith(f"{policy}:1:1: released_content_changed: ")


def test_bundles_whose_agents_overlap_are_not_linked(bundle: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(bundle, tmp_path / "other-bot"))
    assert run("compile", other).exit_code == 0
    result = run("build", bundle, other, "-o", tmp_path / "dist")
    assert (result.exit_code, result.stdout) == (5, "")
    assert "agent_governed_twice" in result.stderr
    assert not (tmp_path / "dist").exists()


def test_prepare_writes_all_that_another_opa_needs_and_starts_nothing(signed: Path, keys: Path) -> None:
    folder = keys / "sidecar"
    pinned = ("--verification-key", keys / "release.pub", "--listen", "tcp:8181", "--output", "json")
    told = document(run("serve", signed, *pinned, "--prepare", folder))
    assert sorted(p.name for p in folder.iterdir()) == [
        "authz.rego",
        "bundle.tar.gz",
        "config.json",
        "log.rego",
        "settings.json",
    ]
    token = Path(told["token_file"])
    assert (token, token.stat().st_mode & 0o777) == (keys / "sidecar.token", 0o600)
    assert [p.name for p in folder.iterdir() if token.read_bytes().strip() in p.read_bytes()] == []
    assert json.loads((folder / "config.json").read_bytes())["bundles"]["gate"] == {
        "persist": False,
        "resource": "file:///sidecar/bundle.tar.gz",
        "signing": {"keyid": "release"},
    }
    assert {"--authentication", "--authorization", "/sidecar/config.json"} <= set(told["command"])
    again = document(run("serve", signed, *pinned, "--prepare", folder))
    assert again["revision"] == told["revision"]
    assert run("serve", signed, *pinned[:2], "--prepare", folder).exit_code == 2
    refused = run("serve", signed, "--verification-key", keys / "other.pub", "--listen", "tcp:1", "--prepare", folder)
    assert (refused.exit_code, refused.stderr.split(": ")[1]) == (1, "bundle_signature_invalid")


def test_serve_without_a_docker_engine_says_so(tarball: Path, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{short}/nobody.sock")
    assert _refusal(tarball, "--docker", "--work-dir", short / "w") == (1, "", "docker_unavailable")


def test_prepared_sidecar_answers_probes_without_the_token_which_is_the_one_given(
    tarball: Path, opa_binary: Path, short: Path
) -> None:
    """As a kubelet asks: at the diagnostics port, of which OPA's own policy must have been told."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        port, probed = one.getsockname()[1], two.getsockname()[1]
    token = short / "token"
    token.touch(0o600)
    token.write_text("chosen-by-the-cluster\n", encoding="ascii")
    folder = short / "sidecar"
    told = document(
        run(
            *("serve", tarball, "--listen", f"tcp:{port}", "--diagnostics-port", probed, "--token-file", token),
            *("--prepare", folder, "--inside", folder, "--output", "json"),
        )
    )
    with subprocess.Popen([opa_binary, *told["command"]], stderr=subprocess.DEVNULL) as process:
        try:
            status = 0
            for _ in range(400):
                with contextlib.suppress(requests.ConnectionError):
                    status = requests.get(f"http://127.0.0.1:{probed}/health?bundles", timeout=10).status_code
                if status == 200:
                    break
                time.sleep(0.05)
            asked = ("status", "--opa", f"http://127.0.0.1:{port}", "--token-file", token, "--tarball", tarball)
            assert (status, run(*asked).exit_code) == (200, 0)
            assert requests.get(f"http://127.0.0.1:{probed}/v1/status", timeout=10).status_code == 401
        finally:
            process.terminate()
