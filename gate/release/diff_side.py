"""One side of a comparison: what an engine would load for it, and what is known of where its rules came from.

A folder is compiled as it stands; a tarball and a commit give what was built or checked in there. Reads and unpacks
into memory or a scratch folder; writes nothing else and runs no code of either side.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gate.compiler import Compiled, assemble, compile_bundle
from gate.documents import Case, load_cases, policies_dir
from gate.errors import BundleError, InputError, ToolchainError

_MAX_BYTES = 256 * 1024 * 1024
_GIT_TIMEOUT_S = 60.0
_AGENTS = "gate/agents/agents.rego"
_BUNDLE = re.compile(r"\Agate/bundles/([a-z][a-z0-9_]*)/([^/]+\.rego)\Z")
_TABLE = re.compile(r"^bundle_of := (\{.*?\})$", re.MULTILINE | re.DOTALL)


class SideError(InputError):
    """One side of a comparison could not be had."""

    code = "diff_side_unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One version of one or several bundles, with the core policies it would be served with."""

    label: str
    """As the user named it."""
    modules: Mapping[str, str] = field(repr=False)
    """Rego text by path inside the OPA bundle."""
    agents: Mapping[str, str]
    """Package of the bundle by the agent it governs."""
    places: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict, repr=False)
    """Line and column by source pointer, by package; empty for a tarball, which has no YAML."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Folder of the YAML by package, as a reader would open it."""
    cases: tuple[Case, ...] = field(default=(), repr=False)
    """Golden cases, their `$facts` not filled in."""
    notes: tuple[str, ...] = ()

    def rego(self, package: str) -> dict[str, str]:
        """The compiled files of one bundle by file name."""
        found = {path: _BUNDLE.match(path) for path in self.modules}
        return {m[2]: self.modules[path] for path, m in found.items() if m is not None and m[1] == package}

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of its bundles, sorted."""
        return tuple(sorted({m[1] for m in map(_BUNDLE.match, self.modules) if m is not None}))


def load_side(named: str | Path) -> Side:
    """The side `named`: a bundle's folder, a tarball of `gate build`, or `REV:path` in the git repository here.

    Raises `SideError` for what is none of these, `BundleError` when the YAML of a folder is wrong.
    """
    text = str(named)
    path = Path(named)
    # `os.path` rather than `Path`: of a name that no system has, the latter raises.
    if os.path.isdir(path):
        return compiled_side(compile_bundle(path), label=text)
    if os.path.isfile(path):
        return _tarball(path)
    revision, colon, inside = text.partition(":")
    if colon and revision and inside:
        return _commit(revision, inside, text)
    raise SideError(f"`{text}` is no bundle", hint="name a folder, a tarball or REV:path in git")


def compiled_side(compiled: Compiled, *, label: str) -> Side:
    """What `compiled` compiles to, whatever is checked in."""
    folder = compiled.bundle.folder
    return Side(
        label=label,
        modules=assemble([compiled]).modules,
        agents=dict.fromkeys(compiled.bundle.meta.agent_ids, compiled.package),
        places={compiled.package: json.loads(compiled.source_map)},
        folders={compiled.package: str(folder)},
        cases=_cases(folder),
    )


def _cases(folder: Path) -> tuple[Case, ...]:
    return load_cases(folder) if (folder / "cases").is_dir() else ()


def _tarball(path: Path) -> Side:
    try:
        with tarfile.open(path, "r:*") as archive:
            modules = _members(archive)
    except (OSError, tarfile.TarError, EOFError, ValueError) as exc:
        raise SideError(f"`{path}` is no tarball of `gate build`", hint="build it again with `gate build`") from exc
    if _AGENTS not in modules:
        raise SideError(f"`{path}` holds no compiled bundle", hint="name a tarball made by `gate build`")
    return Side(
        label=str(path),
        modules=modules,
        agents=_agents(modules[_AGENTS], str(path)),
        notes=("a tarball has no YAML: its rules are named by their source, without lines",),
    )


def _members(archive: tarfile.TarFile) -> dict[str, str]:
    modules: dict[str, str] = {}
    size = 0
    for member in archive:
        if not member.isfile() or not member.name.endswith(".rego"):
            continue
        size += member.size
        if size > _MAX_BYTES:
            raise ValueError("too large")
        content = archive.extractfile(member)
        if content is not None:
            name = member.name.lstrip("/")
            modules[name] = content.read(member.size).decode("utf-8")
    return dict(sorted(modules.items()))


def _agents(text: str, label: str) -> dict[str, str]:
    match = _TABLE.search(text)
    try:
        # `opa fmt` leaves a comma behind the last entry of an object over several lines.
        table = json.loads(re.sub(r",\s*\}\Z", "}", match[1])) if match else None
    except ValueError:
        table = None
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise SideError(f"`{label}` does not say which agents it governs")
    return table


def _commit(revision: str, inside: str, label: str) -> Side:
    if revision.startswith("-"):
        raise SideError(f"`{label}` names no commit", hint="name it as REV:path")
    top = Path(_git(["rev-parse", "--show-toplevel"], label).decode().strip())
    relative = PurePosixPath(inside)
    if not inside.startswith(("./", "/")):
        archived = inside.rstrip("/")
    else:
        archived = os.path.relpath((Path.cwd() / relative).resolve(), top)
    commit = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], label)
    with tempfile.TemporaryDirectory(prefix="gate-diff-") as scratch:
        root = Path(scratch)
        _unpack(top, commit.decode().strip(), archived, root, label)
        folder = root / archived
        try:
            _unpack(top, commit.decode().strip(), "policies/gate", root, label)
        except SideError:
            core: dict[str, str] = {}
        else:
            core = _core(root / "policies")
        return _checked_in(folder, core, label)


def _checked_in(folder: Path, core: Mapping[str, str], label: str) -> Side:
    """The Rego that was checked in, with the core policies beside it; what the YAML compiles to where none was."""
    notes: list[str] = []
    rego = {p.name: p.read_text("utf-8") for p in sorted((folder / "rego").glob("*.rego"))}
    package = folder.name.replace("-", "_")
    cases: tuple[Case, ...] = ()
    try:
        cases = _cases(folder)
    except BundleError:
        notes.append(f"the golden cases of `{label}` no longer load and are left out")
    if not rego:
        compiled = compile_bundle(folder)
        side = compiled_side(compiled, label=label)
        notes.append(f"`{label}` has no compiled Rego; its YAML was compiled")
        return Side(
            label=label,
            modules=dict(sorted({**side.modules, **core}.items())),
            agents=side.agents,
            places=side.places,
            folders={package: label},
            cases=cases,
            notes=tuple(notes),
        )
    if not core:
        core = _core(policies_dir())
        notes.append(f"`{label}` has no core policies beside it; the present ones are used")
    agents = _governed(folder, label)
    table = "package gate.agents\n\nbundle_of := " + json.dumps(dict.fromkeys(agents, package)) + "\n"
    modules = {**core, **{f"gate/bundles/{package}/{name}": text for name, text in rego.items()}, _AGENTS: table}
    return Side(
        label=label,
        modules=dict(sorted(modules.items())),
        agents=dict.fromkeys(agents, package),
        places={package: _source_map(folder / "rego" / "source-map.json")},
        folders={package: label},
        cases=cases,
        notes=tuple(notes),
    )


def _governed(folder: Path, label: str) -> list[str]:
    from gate.documents.files import read_document

    value: Any = read_document(folder / "bundle.yaml").value
    try:
        agents = value["bundle"]["applies_to"]["agent_ids"]
    except (KeyError, TypeError):
        agents = None
    if not isinstance(agents, list) or not all(isinstance(a, str) for a in agents):
        raise SideError(f"`{label}` does not say which agents it governs")
    return agents


def _source_map(file: Path) -> dict[str, dict[str, int]]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _core(policies: Path) -> dict[str, str]:
    return {
        f"gate/{path.relative_to(policies / 'gate').as_posix()}": path.read_text("utf-8")
        for path in sorted((policies / "gate").rglob("*.rego"))
        if not path.name.endswith("_test.rego")
    }


def _unpack(top: Path, commit: str, inside: str, into: Path, label: str) -> None:
    data = _git(["-C", str(top), "archive", "--format=tar", commit, "--", inside], label)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(into, filter="data")
    if not (into / inside).is_dir():
        raise SideError(f"`{label}` is not a folder in that commit")


def _git(arguments: list[str], label: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", *arguments],  # noqa: S607 - git as the user has it
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolchainError("`git` could not be run", hint="install git, or name a folder or a tarball") from exc
    if done.returncode != 0 or len(done.stdout) > _MAX_BYTES:
        raise SideError(f"git has no `{label}`", hint="name it as REV:path, the path from the top of the repository")
    return done.stdout
