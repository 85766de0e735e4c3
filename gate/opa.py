"""Finds, fetches or builds the pinned OPA and runs its subcommands.

Never falls back to another version, and never decides anything: `gate.pdp` asks a running OPA. Runnable as
`python -m gate.opa [--ensure]`, which prints path, version and how it was had, one a line.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.errors import ToolchainError

OPA_VERSION = "1.22.3"
"""The one pinned version: compiled Rego, golden cases and the sidecar are all checked against it."""

_RELEASES = "https://github.com/open-policy-agent/opa/releases/download"
_ASSETS = {
    ("linux", "x86_64"): "opa_linux_amd64_static",
    ("linux", "aarch64"): "opa_linux_arm64_static",
    ("darwin", "x86_64"): "opa_darwin_amd64",
    ("darwin", "arm64"): "opa_darwin_arm64_static",
}
_CONNECT_TIMEOUT_S = 3.0
_READ_TIMEOUT_S = 30.0
_DOWNLOAD_TIMEOUT_S = 300.0
_BUILD_TIMEOUT_S = 1200.0
_VERSION_TIMEOUT_S = 20.0
_MAX_BINARY_BYTES = 300_000_000
_VERSION_LINE = re.compile(r"^Version: (\S+)$", re.MULTILINE)

_versions: dict[tuple[str, int, int], str] = {}


@dataclass(frozen=True, slots=True)
class OpaBinary:
    """An `opa` executable that said it is `OPA_VERSION`."""

    path: Path
    """Absolute."""
    version: str
    how: str
    """Which way it was had, such as `found on PATH`."""
    notes: tuple[str, ...] = ()
    """Why the ways tried earlier did not work, in order."""


def find(*, tools_dir: Path | None = None) -> OpaBinary:
    """The pinned OPA from `GATE_OPA_BIN`, else PATH, else `.tools/`; nothing is downloaded or built.

    `tools_dir` takes the place of `GATE_TOOLS_DIR`, which takes the place of `.tools/` in the checkout and
    in the current directory. Raises `ToolchainError`: a `GATE_OPA_BIN` of another version is never passed
    over.
    """
    named = os.environ.get("GATE_OPA_BIN")
    if named:
        path = Path(named).absolute()
        reason = _unfit(path)
        if reason:
            raise ToolchainError(f"`GATE_OPA_BIN` names {reason}", hint=f"point it at OPA {OPA_VERSION} or unset it")
        return OpaBinary(path, OPA_VERSION, "named by GATE_OPA_BIN")
    notes: list[str] = []
    on_path = shutil.which("opa")
    candidates = [(Path(on_path).absolute(), "found on PATH")] if on_path else []
    candidates += [(folder / "opa", f"found in {folder}") for folder in _tools_dirs(tools_dir)]
    for path, how in candidates:
        reason = _unfit(path)
        if reason is None:
            return OpaBinary(path, OPA_VERSION, how, tuple(notes))
        notes.append(reason)
    if not on_path:
        notes.insert(0, "no `opa` on PATH")
    raise ToolchainError(f"OPA {OPA_VERSION} was not found: {'; '.join(notes)}", hint="run `make opa`")


def ensure(*, tools_dir: Path | None = None) -> OpaBinary:
    """`find`, else download the official release, else `go install`: the first that works, into `.tools/`.

    Raises `ToolchainError` that names why each way failed.
    """
    try:
        return find(tools_dir=tools_dir)
    except ToolchainError as exc:
        if os.environ.get("GATE_OPA_BIN"):
            raise
        notes = [exc.message]
    target = _tools_dirs(tools_dir)[0]
    ways: tuple[tuple[str, Callable[[Path], None]], ...] = (
        ("downloaded from the official release", _download),
        ("built by go install", _build),
    )
    for how, fetch in ways:
        try:
            return OpaBinary(_install(target, fetch), OPA_VERSION, how, tuple(notes))
        except ToolchainError as exc:
            notes.append(exc.message)
    raise ToolchainError(
        f"OPA {OPA_VERSION} could not be had: {'; '.join(notes)}",
        hint="put the `opa` of this version on PATH, or name it in GATE_OPA_BIN",
    )


def run(
    args: Sequence[str],
    *,
    input: str | None = None,
    cwd: Path | None = None,
    timeout_s: float = 60.0,
    binary: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs `opa ARGS` and returns what it printed; a non-zero exit is the caller's to judge.

    `environment` is added to the present one. Raises `ToolchainError` when it cannot be started or is not done after
    `timeout_s` seconds.
    """
    program = str(binary if binary is not None else find().path)
    subcommand = args[0] if args else ""
    try:
        return subprocess.run(
            [program, *args],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            cwd=cwd,
            env=None if environment is None else {**os.environ, **environment},
            timeout=timeout_s,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise ToolchainError(f"`opa {subcommand}` was not done after {timeout_s:g} s") from exc
    except (OSError, UnicodeError) as exc:
        raise ToolchainError(f"`opa {subcommand}` could not be run", hint="run `make opa`") from exc


def _tools_dirs(tools_dir: Path | None) -> list[Path]:
    if tools_dir is not None:
        return [tools_dir.absolute()]
    named = os.environ.get("GATE_TOOLS_DIR")
    if named:
        return [Path(named).absolute()]
    checkout = Path(__file__).resolve().parent.parent
    folders = [checkout / ".tools"] if (checkout / "pyproject.toml").is_file() else []
    here = Path.cwd() / ".tools"
    return folders if here in folders else [*folders, here]


def _unfit(path: Path) -> str | None:
    """Why the file at `path` is not the pinned OPA, or None when it is."""
    try:
        stat = path.stat()
    except OSError:
        return f"no file at `{path}`"
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    version = _versions.get(key)
    if version is None:
        try:
            done = run(["version"], timeout_s=_VERSION_TIMEOUT_S, binary=path)
        except ToolchainError:
            return f"`{path}`, which does not run"
        match = _VERSION_LINE.search(done.stdout)
        if done.returncode != 0 or match is None:
            return f"`{path}`, which does not say its version"
        version = _versions[key] = match.group(1)
    return None if version == OPA_VERSION else f"`{path}`, which is version {version}, not {OPA_VERSION}"


def _install(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Lets `fetch` fill a scratch folder, checks the binary, and renames it into `folder` in one step."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".opa-") as scratch:
            fresh = Path(scratch) / "opa"
            fetch(fresh)
            fresh.chmod(0o755)
            reason = _unfit(fresh)
            if reason is not None:
                raise ToolchainError("what arrived is not the pinned version")
            final = folder / "opa"
            fresh.replace(final)
            return final
    except OSError as exc:
        raise ToolchainError(f"`{folder}` cannot be written") from exc


def _download(target: Path) -> None:
    import requests  # 60 ms to import, and needed once in the life of a checkout

    asset = _ASSETS.get((sys.platform, platform.machine()))
    if asset is None:
        raise ToolchainError(f"there is no official binary for {sys.platform} on {platform.machine()}")
    url = f"{_RELEASES}/v{OPA_VERSION}/{asset}"
    give_up = time.monotonic() + _DOWNLOAD_TIMEOUT_S
    try:
        with requests.Session() as session:
            timeout = (_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S)
            with session.get(f"{url}.sha256", timeout=timeout) as sums:
                sums.raise_for_status()
                expected = sums.text.split()[0].lower() if sums.text.split() else ""
            seen, size = hashlib.sha256(), 0
            with session.get(url, timeout=timeout, stream=True) as body, target.open("wb") as out:
                body.raise_for_status()
                for chunk in body.iter_content(1 << 20):
                    size += len(chunk)
                    if size > _MAX_BINARY_BYTES or time.monotonic() > give_up:
                        raise ToolchainError("the download is too large or too slow")
                    seen.update(chunk)
                    out.write(chunk)
    except requests.RequestException as exc:
        raise ToolchainError("the official release could not be downloaded") from exc
    if seen.hexdigest() != expected:
        raise ToolchainError("the download does not match the checksum file of its release")


def _build(target: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise ToolchainError("no `go` on PATH to build it with")
    env = {**os.environ, "GOBIN": str(target.parent), "CGO_ENABLED": "0"}
    # Cross-compiling refuses GOBIN, and the binary has to run here anyway.
    env.pop("GOOS", None)
    env.pop("GOARCH", None)
    try:
        done = subprocess.run(
            [go, "install", f"github.com/open-policy-agent/opa@v{OPA_VERSION}"],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_BUILD_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise ToolchainError(f"`go install` was not done after {_BUILD_TIMEOUT_S:g} s") from exc
    except OSError as exc:
        raise ToolchainError("`go install` could not be run") from exc
    if done.returncode != 0 or not target.is_file():
        raise ToolchainError(f"`go install` failed with exit code {done.returncode}")


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the pinned OPA's path, version and origin, one a line; why other ways failed goes to stderr."""
    parser = argparse.ArgumentParser(prog="python -m gate.opa", description=main.__doc__)
    parser.add_argument("--ensure", action="store_true", help="download or build it when it is not found")
    options = parser.parse_args(argv)
    try:
        binary = ensure() if options.ensure else find()
    except ToolchainError as exc:
        sys.stderr.write(f"{exc.code}: {exc.message}\n" + (f"hint: {exc.hint}\n" if exc.hint else ""))
        return exc.exit_code
    for note in binary.notes:
        sys.stderr.write(f"note: {note}\n")
    sys.stdout.write(f"{binary.path}\n{binary.version}\n{binary.how}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
