"""Releasing a version: everything that must hold first, then the build, then one entry in the ledger.

In order: 1. the version in `bundle.yaml` is new and above the last, 2. checked-in Rego is what the YAML compiles to,
3. every golden case passes on the tarball itself, served by OPA, 4. the decision diff against the last release
loosened nothing, or a change and an approver answer for it. When one of them does not hold, nothing is appended and
no tarball is left.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gate.canonical import digest_bytes
from gate.compiler import Compiled
from gate.documents import load_cases, schema
from gate.documents.releases import LEDGER, Ledger, Release, load_ledger, version_below
from gate.errors import EXIT_DENIED, BundleError, GateError, Problem
from gate.pdp import Sidecar
from gate.release.build import BuildError, Built, build, require_checked_in
from gate.release.diff_side import Side, compiled_side, load_side
from gate.release.golden import CaseResult, run_cases
from gate.release.ledger import append_release, core_digest, require_immutable
from gate.release.provenance import attest, git
from gate.release.signing import SigningKey

_STARTUP_TIMEOUT_S = 60.0
"""Nobody waits for an answer here, and a machine that builds is busy."""
FIRST = "first"
LABELS = frozenset({"none", "tightens", "loosens", "mixed"})
LOOSER = frozenset({"loosens", "mixed"})
"""Labels of a decision diff that somebody must answer for."""

Differ = Callable[[Side, Side], str]
"""The label of the decision diff from what was released last to what is released now."""


class ReleaseRefused(GateError):
    """The version was not released; the ledger is as it was."""

    code = "release_refused"
    exit_code = EXIT_DENIED


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A version that was released."""

    built: Built
    provenance: Path
    release: Release
    cases: int
    """Golden cases that passed on the tarball."""


def release_bundle(
    compiled: Compiled,
    out_dir: Path,
    *,
    binary: Path,
    released_at: str,
    differ: Differ,
    version: str | None = None,
    against: str | Path | None = None,
    change_id: str | None = None,
    approver: str | None = None,
    signing_key: SigningKey | None = None,
) -> Shipped:
    """Releases `compiled` and appends it to its ledger.

    `version`: what `bundle.yaml` is expected to say. `against`: where the last release is, for the decision diff;
    by default its tarball in `out_dir`, else the commit that recorded it. `released_at`: RFC 3339.

    Raises `ReleaseRefused` (`release_version_differs`, `release_version_not_above`, `release_change_differs`,
    `release_loosens`, `release_previous_missing`, `release_name_unfit`), and `BundleError` for stale Rego, changed
    content and failing cases.
    """
    ledger = load_ledger(compiled.bundle.folder)
    _require_new(compiled, ledger, version)
    _require_fit("change_id", change_id)
    _require_fit("approver", approver)
    change = _change(compiled, change_id)
    require_checked_in([compiled])
    with _stage(out_dir) as stage:
        built = build([compiled], stage, binary=binary, signing_key=signing_key)
        passed = _require_passing(compiled, built, binary, signing_key)
        label = FIRST
        if ledger.last is not None:
            old = _released_side(
                against if against is not None else _previous(compiled, ledger.last, out_dir), ledger.last
            )
            label = differ(old, compiled_side(compiled, label=str(compiled.bundle.folder)))
            _require_answered(label, change, approver)
        provenance = attest(built, [compiled], signing_key=signing_key)
        entry = append_release(
            compiled,
            expected=ledger,
            released_at=released_at,
            decision_diff=label,
            change_id=change,
            approver=approver,
        )
        placed = _handed_over(out_dir, built.path, provenance)
    return Shipped(built=replace(built, path=placed[0]), provenance=placed[1], release=entry, cases=passed)


@contextlib.contextmanager
def _stage(out_dir: Path) -> Iterator[Path]:
    """A folder inside `out_dir` that goes away: what is refused leaves no tarball that somebody could serve."""
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".release-", dir=out_dir)
    except OSError as exc:
        raise BuildError(f"cannot write to `{out_dir}`", hint="check permissions and free space") from exc
    with scratch as stage:
        yield Path(stage)


def _handed_over(out_dir: Path, *made: Path) -> tuple[Path, ...]:
    """Where the files `made` are in `out_dir` now."""
    try:
        for path in made:
            os.replace(path, out_dir / path.name)
    except OSError as exc:
        hint = "the ledger holds the release already: build its tarball again with `gate build`"
        raise BuildError(f"cannot write to `{out_dir}`", hint=hint) from exc
    return tuple(out_dir.absolute() / path.name for path in made)


def _require_new(compiled: Compiled, ledger: Ledger, wanted: str | None) -> None:
    stated = compiled.bundle.meta.version
    if wanted is not None and wanted != stated:
        raise ReleaseRefused(
            f"`bundle.yaml` says version `{stated}`, not `{wanted}`",
            code="release_version_differs",
            hint="write the version into `bundle.yaml` and its contracts, compile, and have it reviewed",
        )
    require_immutable([compiled])
    if ledger.last is not None and not version_below(ledger.last.version, stated):
        raise ReleaseRefused(
            f"version `{stated}` is not above `{ledger.last.version}`, the last that was released",
            code="release_version_not_above",
            hint="give `bundle.yaml` a higher version",
        )


def _require_fit(name: str, given: str | None) -> None:
    """Returns when the ledger can hold what was given; a release takes minutes, so it is asked first."""
    pattern = schema("releases")["properties"]["releases"]["items"]["properties"][name]["pattern"]
    if given and re.fullmatch(str(pattern).strip("^$"), given) is None:
        raise ReleaseRefused(
            f"`{given}` is not what the ledger takes for its `{name}`",
            code="release_name_unfit",
            hint="a letter, and then letters, digits, `_`, `.`, `-`, as in `CHG-7` or `mira@example.org`",
        )


def _change(compiled: Compiled, given: str | None) -> str | None:
    stated = compiled.bundle.meta.change_id
    if given is not None and stated is not None and given != stated:
        raise ReleaseRefused(f"`bundle.yaml` says change `{stated}`, not `{given}`", code="release_change_differs")
    return given if given is not None else stated


def _require_passing(compiled: Compiled, built: Built, binary: Path, signing_key: SigningKey | None) -> int:
    cases = load_cases(compiled.bundle.folder)
    key = None if signing_key is None else signing_key.public
    with tempfile.TemporaryDirectory(prefix="gate-") as scratch:
        place = Path(scratch)
        with Sidecar.start(
            tarball=built.path,
            opa=binary,
            listen=place / "s" / "opa.sock",
            work_dir=place / "w",
            key=key,
            startup_timeout_s=_STARTUP_TIMEOUT_S,
        ) as sidecar:
            client = sidecar.client(timeout_ms=10_000)
            try:
                results = list(run_cases(cases, client, agent_id=compiled.bundle.meta.agent_ids[0]))
            finally:
                client.close()
    failed = [result for result in results if not result.passed]
    if failed:
        raise BundleError(_failure(result) for result in failed)
    return len(results)


def _failure(result: CaseResult) -> Problem:
    message = f"case `{result.id}` got `{', '.join(result.got)}`, not `{', '.join(result.expected)}`"
    return Problem(result.file, 1, 1, "release_cases_fail", message, "see `gate test`")


def _require_answered(label: str, change_id: str | None, approver: str | None) -> None:
    if label not in LABELS:
        raise ReleaseRefused("the decision diff gave no answer", code="release_loosens")
    if label not in LOOSER:
        return
    missing = [name for name, value in (("a change id", change_id), ("a named approver", approver)) if not value]
    if missing:
        raise ReleaseRefused(
            f"decisions were loosened (`{label}`) and the release lacks {' and '.join(missing)}",
            code="release_loosens",
            hint="see `gate diff`; then give --change-id and --approver",
        )


def _previous(compiled: Compiled, last: Release, out_dir: Path) -> str | Path:
    """The last release: the tarball it was built into, else the commit that recorded it."""
    name, digest = compiled.bundle.name, last.content_digest.removeprefix("sha256:")
    tarball = out_dir / f"{name}-{digest[:12]}.tar.gz"
    if os.path.isfile(tarball):
        return tarball
    folder = compiled.bundle.folder.resolve()
    commit = git(folder, "log", "-1", "--format=%H", "--", LEDGER)
    if not commit:
        raise _missing(last)
    return f"{commit}:{folder}"


def _released_side(where: str | Path, last: Release) -> Side:
    """The side at `where`, which must hold exactly what the ledger says was released."""
    side = load_side(where)
    rego = {f"rego/{name}": text for package in side.packages for name, text in side.rego(package).items()}
    found = {name: digest_bytes(text.encode("utf-8")) for name, text in rego.items()}
    released = {name: digest for name, digest in last.files.items() if name.startswith("rego/")}
    if len(side.packages) != 1 or found != released or core_digest(side.modules) != last.core_digest:
        raise ReleaseRefused(
            f"`{where}` does not hold what was released as version `{last.version}`",
            code="release_previous_missing",
            hint="name the tarball of that release, or the commit that recorded it, with --against",
        )
    return side


def _missing(last: Release) -> ReleaseRefused:
    return ReleaseRefused(
        f"the last release, version `{last.version}`, is not here to compare with",
        code="release_previous_missing",
        hint="name it with --against: a tarball, a folder or REV:path in git",
    )
