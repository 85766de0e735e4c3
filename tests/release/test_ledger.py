from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from release_support import AT, BUNDLE_ID, bump, edit, fresh_copy

from gate.compiler import Compiled, compile_bundle
from gate.documents.releases import Ledger, load_ledger
from gate.errors import BundleError, GateError
from gate.release.ledger import LedgerError, append_release, content_of, require_immutable

SHIPPED = ("support-triage", "knowledge-assistant", "incident-coordination")


@pytest.fixture
def folder(repo: Path, tmp_path: Path) -> Path:
    return fresh_copy(repo, tmp_path / "support-triage")


def append(compiled: Compiled, expected: Ledger | None = None, label: str = "first") -> None:
    append_release(
        compiled,
        expected=load_ledger(compiled.bundle.folder) if expected is None else expected,
        released_at=AT,
        decision_diff=label,
        change_id=None,
        approver=None,
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_bundle_is_released_and_unchanged_since(repo: Path, name: str) -> None:
    compiled = compile_bundle(repo / "bundles" / name)
    last = load_ledger(compiled.bundle.folder).last
    assert last is not None
    assert (last.version, last.revision) == (compiled.bundle.meta.version, content_of(compiled).revision)
    require_immutable([compiled])


def test_first_and_second_release_are_chained_and_the_first_stays_to_the_letter(folder: Path) -> None:
    append(compile_bundle(folder))
    before = (folder / "releases.yaml").read_text("utf-8")
    append(bump(folder), label="none")
    found = load_ledger(folder)
    assert (folder / "releases.yaml").read_text("utf-8").startswith(before)
    assert [r.version for r in found.releases] == ["2026.04.07", "2026.04.08"]
    assert found.releases[1].revision == content_of(compile_bundle(folder)).revision
    assert found.releases[1].revision.startswith(f"{BUNDLE_ID}@2026.04.08+")
    assert [r.sealed for r in found.releases] == [True, True]
    assert sorted(p.name for p in folder.iterdir() if p.name.startswith(".")) == []


def test_version_that_was_never_released_may_change(folder: Path) -> None:
    append(compile_bundle(folder))
    bump(folder)
    changed = edit(folder, "policy.yaml", "emit: allow", "emit: deny")
    require_immutable([changed])
    assert changed.bundle.policy.operations["emit"] == "deny"


def test_comment_in_a_released_document_changes_nothing(folder: Path) -> None:
    append(compile_bundle(folder))
    commented = edit(folder, "policy.yaml", "policy:", "# why\npolicy:")
    require_immutable([commented])
    assert commented.bundle.policy.operations["emit"] == "allow"


def test_changed_document_of_a_released_version_is_named_and_what_was_compiled_from_it_is_not(folder: Path) -> None:
    append(compile_bundle(folder))
    changed = edit(folder, "policy.yaml", "emit: allow", "emit: deny")
    with pytest.raises(BundleError) as caught:
        require_immutable([changed])
    assert [(p.file, p.code) for p in caught.value.problems] == [
        (str(folder / "policy.yaml"), "released_content_changed")
    ]


@pytest.mark.parametrize(("line", "file"), [("core_digest", "releases.yaml"), ("rego/policy.rego", "rego/policy.rego")])
def test_core_or_compiler_that_moved_on_is_named(folder: Path, line: str, file: str) -> None:
    """As if the package had been upgraded since: the ledger says another digest than what is there now."""
    append(compile_bundle(folder))
    path = folder / "releases.yaml"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(
        "".join(
            f'{x.split(": ")[0]}: "sha256:{"0" * 64}"\n' if f" {line}:" in x else x for x in lines if " seal:" not in x
        ),
        "utf-8",
    )
    with pytest.raises(BundleError) as caught:
        require_immutable([compile_bundle(folder)])
    assert [p.file for p in caught.value.problems] == [str(folder / file)]


def test_append_after_somebody_else_released_is_refused(folder: Path) -> None:
    compiled = compile_bundle(folder)
    before = load_ledger(folder)
    append(compiled, before)
    with pytest.raises(LedgerError) as caught:
        append(bump(folder), before, "none")
    assert caught.value.code == "ledger_moved"
    assert len(load_ledger(folder).releases) == 1


def test_eight_releases_at_once_make_one_entry(folder: Path) -> None:
    compiled, before = compile_bundle(folder), load_ledger(folder)

    def work(_: int) -> str:
        try:
            append(compiled, before)
        except LedgerError as exc:
            return exc.code
        return "appended"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8))) == ["appended", *["ledger_moved"] * 7]
    assert len(load_ledger(folder).releases) == 1


def test_entry_that_could_not_be_read_back_is_not_written(folder: Path) -> None:
    compiled = compile_bundle(folder)
    append(compiled)
    before = (folder / "releases.yaml").read_bytes()
    with pytest.raises(GateError):
        append(compiled, label="none")  # the same version again
    assert (folder / "releases.yaml").read_bytes() == before
    assert [p.name for p in folder.iterdir() if p.name.startswith(".releases")] == []
