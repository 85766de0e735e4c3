from __future__ import annotations

import functools
import hashlib
import http.server
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gate import opa
from gate.errors import ToolchainError

PINNED = f"#!/bin/sh\necho 'Version: {opa.OPA_VERSION}'\n"
OLDER = "#!/bin/sh\necho 'Version: 0.70.0'\n"

Put = Callable[[str, str], Path]
Publish = Callable[[str, str], None]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Writes an executable script into a folder below `tmp_path`."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    return put


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No OPA and no Go anywhere but where a test puts them."""
    monkeypatch.delenv("GATE_OPA_BIN", raising=False)
    monkeypatch.setenv("GATE_TOOLS_DIR", str(tmp_path / "tools"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Publish]:
    """A release server on loopback: publishes one binary, for every platform, with a checksum file."""
    folder = tmp_path / "releases" / f"v{opa.OPA_VERSION}"
    folder.mkdir(parents=True)
    handler = functools.partial(_Quiet, directory=str(folder.parent))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(opa, "_RELEASES", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def publish(binary: str, checksum: str) -> None:
        for asset in opa._ASSETS.values():
            (folder / asset).write_text(binary, encoding="utf-8")
            (folder / f"{asset}.sha256").write_text(f"{checksum}  {asset}\n", encoding="utf-8")

    yield publish
    server.shutdown()
    server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """A test's server has nothing to tell the terminal."""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_find_takes_the_pinned_version_on_path(put: Put) -> None:
    path = put("path/opa", PINNED)
    assert opa.find() == opa.OpaBinary(path, opa.OPA_VERSION, "found on PATH")


def test_find_passes_over_an_older_one_on_path_and_says_why(put: Put, tmp_path: Path) -> None:
    older, pinned = put("path/opa", OLDER), put("tools/opa", PINNED)
    note = f"`{older}`, which is version 0.70.0, not {opa.OPA_VERSION}"
    assert opa.find() == opa.OpaBinary(pinned, opa.OPA_VERSION, f"found in {tmp_path / 'tools'}", (note,))


def test_find_given_a_folder_looks_there(put: Put, tmp_path: Path) -> None:
    path = put("elsewhere/opa", PINNED)
    assert opa.find(tools_dir=tmp_path / "elsewhere").path == path


def test_find_looks_into_the_current_directory(put: Put, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GATE_TOOLS_DIR")
    monkeypatch.setattr(opa, "__file__", str(tmp_path / "site-packages" / "gate" / "opa.py"))
    path = put(".tools/opa", PINNED)
    assert opa.find().path == path


@pytest.mark.parametrize(
    "text",
    [
        OLDER,
        "#!/bin/sh\necho 'Version: 1.22.30'\n",
        "#!/bin/sh\necho hello\n",
        "#!/bin/sh\nexit 1\n",
        "\x7fELF",
    ],
)
def test_find_refuses_anything_but_the_pinned_version(put: Put, text: str) -> None:
    put("path/opa", text)
    with pytest.raises(ToolchainError, match=f"OPA {opa.OPA_VERSION} was not found") as caught:
        opa.find()
    assert caught.value.hint == "run `make opa`"


def test_find_without_any_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        opa.find()
    assert caught.value.message == (
        f"OPA {opa.OPA_VERSION} was not found: no `opa` on PATH; no file at `{tmp_path / 'tools' / 'opa'}`"
    )


def test_named_binary_wins(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put("path/opa", PINNED)
    named = put("named/opa", PINNED)
    monkeypatch.setenv("GATE_OPA_BIN", str(named))
    assert opa.find() == opa.OpaBinary(named, opa.OPA_VERSION, "named by GATE_OPA_BIN")


@pytest.mark.parametrize("look", [opa.find, opa.ensure])
@pytest.mark.parametrize("text", [OLDER, None])
def test_named_binary_of_another_version_is_an_error_and_not_passed_over(
    put: Put, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, look: Callable[[], Any], text: str | None
) -> None:
    put("path/opa", PINNED)
    if text is not None:
        put("named/opa", text)
    monkeypatch.setenv("GATE_OPA_BIN", str(tmp_path / "named" / "opa"))
    with pytest.raises(ToolchainError, match="`GATE_OPA_BIN` names"):
        look()


def test_ensure_takes_what_it_finds(put: Put) -> None:
    path = put("path/opa", PINNED)
    assert opa.ensure() == opa.OpaBinary(path, opa.OPA_VERSION, "found on PATH")


def test_ensure_downloads_and_checks_against_the_checksum_file(release: Publish, tmp_path: Path) -> None:
    release(PINNED, _sha256(PINNED))
    found = opa.ensure()
    assert (found.path, found.how) == (tmp_path / "tools" / "opa", "downloaded from the official release")
    assert (found.path.read_text(encoding="utf-8"), stat.S_IMODE(found.path.stat().st_mode)) == (
        PINNED,
        0o755,
    )
    assert [p.name for p in (tmp_path / "tools").iterdir()] == ["opa"]


def test_ensure_builds_when_the_download_does_not_match_its_checksum(
    put: Put, release: Publish, tmp_path: Path
) -> None:
    release(PINNED, "0" * 64)
    put("path/go", f'#!/bin/sh\nprintf "#!/bin/sh\\necho Version: {opa.OPA_VERSION}\\n" > "$GOBIN/opa"\n')
    found = opa.ensure()
    assert (found.path, found.how) == (tmp_path / "tools" / "opa", "built by go install")
    assert found.notes[1:] == ("the download does not match the checksum file of its release",)
    assert [p.name for p in (tmp_path / "tools").iterdir()] == ["opa"]


def test_ensure_never_installs_a_build_of_another_version(put: Put, release: Publish, tmp_path: Path) -> None:
    release(OLDER, _sha256(OLDER))
    put("path/go", '#!/bin/sh\nprintf "#!/bin/sh\\necho Version: 0.70.0\\n" > "$GOBIN/opa"\n')
    with pytest.raises(ToolchainError, match="could not be had") as caught:
        opa.ensure()
    assert caught.value.message.count("what arrived is not the pinned version") == 2
    assert list((tmp_path / "tools").iterdir()) == []


def test_ensure_names_why_each_way_failed(put: Put, release: Publish) -> None:
    put("path/go", "#!/bin/sh\nexit 3\n")
    with pytest.raises(ToolchainError) as caught:
        opa.ensure()
    assert [
        reason in caught.value.message
        for reason in ("was not found", "could not be downloaded", "`go install` failed with exit code 3")
    ] == [True, True, True]


def test_ensure_into_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ToolchainError, match="cannot be written"):
        opa.ensure(tools_dir=tmp_path / "file" / "tools")


def test_run_returns_what_was_printed_and_leaves_the_exit_code_to_the_caller(put: Put, tmp_path: Path) -> None:
    path = put("bin/opa", '#!/bin/sh\ncat\necho "$@" >&2\npwd >&2\nexit 4\n')
    done = opa.run(["check", "x"], input="text", cwd=tmp_path, binary=path)
    assert (done.returncode, done.stdout, done.stderr) == (4, "text", f"check x\n{tmp_path}\n")


def test_run_that_takes_too_long_is_an_error(put: Put) -> None:
    path = put("bin/opa", "#!/bin/sh\nexec sleep 30\n")
    with pytest.raises(ToolchainError, match="`opa eval` was not done after"):
        opa.run(["eval"], timeout_s=0.2, binary=path)


def test_run_of_what_is_no_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="`opa eval` could not be run"):
        opa.run(["eval"], binary=tmp_path / "absent")


def test_module_prints_path_version_and_origin(put: Put) -> None:
    path = put("path/opa", PINNED)
    done = _module()
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"{path}\n{opa.OPA_VERSION}\nfound on PATH\n",
        "",
    )


def test_module_without_opa_prints_one_error_with_a_hint() -> None:
    done = _module()
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (1, "", "hint: run `make opa`")


def _module() -> subprocess.CompletedProcess[str]:
    root = Path(opa.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, "-m", "gate.opa"], env=env, capture_output=True, text=True, check=False, timeout=60
    )
