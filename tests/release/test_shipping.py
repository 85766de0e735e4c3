from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from release_support import AT, BUNDLE_ID, Told, bump, edit, fresh_copy, pair

from gate.compiler import Compiled, compile_bundle
from gate.documents.releases import load_ledger
from gate.errors import EXIT_DENIED, BundleError
from gate.pdp import verify_bundle
from gate.release.provenance import check_provenance
from gate.release.shipping import ReleaseRefused, Shipped, release_bundle

pytestmark = pytest.mark.opa

Ship = Callable[..., Shipped]


@pytest.fixture
def folder(repo: Path, tmp_path: Path) -> Path:
    """With three of its cases, which a release runs on a real OPA each time."""
    made = fresh_copy(repo, tmp_path / "support-triage")
    kept = {"_base.yaml", "output_allowed.yaml", "run_start_allowed.yaml", "memory_kind_denied.yaml"}
    for case in (made / "cases").iterdir():
        if case.name not in kept:
            case.unlink()
    return made


@pytest.fixture
def ship(opa_binary: Path, tmp_path: Path) -> Ship:
    def ship(compiled: Compiled, told: Told | None = None, **settings: Any) -> Shipped:
        return release_bundle(
            compiled,
            settings.pop("out_dir", tmp_path / "dist"),
            binary=opa_binary,
            released_at=AT,
            differ=told or Told(),
            **settings,
        )

    return ship


def refused(ship: Ship, compiled: Compiled, told: Told | None = None, **settings: Any) -> str:
    """The code; the ledger must be what it was, to the letter, and no tarball more than before."""
    file = compiled.bundle.folder / "releases.yaml"
    dist = compiled.bundle.folder.parent / "dist"
    before = file.read_bytes() if file.exists() else None
    built = sorted(dist.glob("**/*"))
    with pytest.raises((ReleaseRefused, BundleError)) as caught:
        ship(compiled, told, **settings)
    assert (file.read_bytes() if file.exists() else None) == before
    assert sorted(dist.glob("**/*")) == built
    if isinstance(caught.value, ReleaseRefused):
        assert caught.value.exit_code == EXIT_DENIED
        return caught.value.code
    (code,) = {problem.code for problem in caught.value.problems}
    return code


def test_first_release_is_built_signed_attested_and_recorded(folder: Path, ship: Ship, tmp_path: Path) -> None:
    signing, public = pair(tmp_path)
    told = Told()
    shipped = ship(compile_bundle(folder), told, signing_key=signing, version="2026.04.07")
    verify_bundle(shipped.built.path, public)
    assert check_provenance(shipped.built.path, revision=shipped.built.revision, key=public).signed
    assert load_ledger(folder).releases == (shipped.release,)
    assert shipped.release.revision == shipped.built.revision
    assert shipped.release.released_at == AT
    assert (shipped.release.decision_diff, told.asked, shipped.cases) == ("first", 0, 3)


def test_second_release_is_compared_with_the_tarball_of_the_first(folder: Path, ship: Ship) -> None:
    ship(compile_bundle(folder))
    told = Told("tightens")
    shipped = ship(bump(folder), told)
    assert (shipped.release.version, shipped.release.decision_diff, told.asked) == ("2026.04.08", "tightens", 1)


def test_release_with_nothing_changed_at_all_is_refused(folder: Path, ship: Ship) -> None:
    ship(compile_bundle(folder))
    assert refused(ship, compile_bundle(folder)) == "release_version_not_above"


@pytest.mark.parametrize("version", ["2026.04.06", "2026.4.7", "2026.04.07-rc1", "1"])
def test_version_that_is_not_above_the_last_is_refused(folder: Path, ship: Ship, version: str) -> None:
    ship(compile_bundle(folder))
    assert refused(ship, bump(folder, new=version)) == "release_version_not_above"


def test_other_version_than_the_bundle_says_is_refused(folder: Path, ship: Ship) -> None:
    assert refused(ship, compile_bundle(folder), version="2026.04.08") == "release_version_differs"


def test_changed_content_under_a_released_version_is_refused(folder: Path, ship: Ship) -> None:
    ship(compile_bundle(folder))
    assert refused(ship, edit(folder, "policy.yaml", "emit: allow", "emit: deny")) == "released_content_changed"


def test_rego_that_was_not_compiled_again_is_refused(folder: Path, ship: Ship) -> None:
    (folder / "rego" / "policy.rego").write_text("package x\n", "utf-8")
    assert refused(ship, compile_bundle(folder)) == "compiled_rego_stale"


def test_failing_case_is_refused_by_name(folder: Path, ship: Ship) -> None:
    compiled = edit(folder, "policy.yaml", "emit: allow", "emit: deny")
    assert refused(ship, compiled) == "release_cases_fail"


def test_bundle_without_a_case_is_refused(folder: Path, ship: Ship) -> None:
    for case in (folder / "cases").iterdir():
        case.unlink()
    assert refused(ship, compile_bundle(folder)) == "case_base_missing"


@pytest.mark.parametrize("label", ["loosens", "mixed"])
@pytest.mark.parametrize("answer", [{}, {"change_id": "chg-1"}, {"approver": "ana"}, {"change_id": "", "approver": ""}])
def test_loosened_decisions_need_a_change_and_an_approver(
    folder: Path, ship: Ship, label: str, answer: dict[str, str]
) -> None:
    ship(compile_bundle(folder))
    assert refused(ship, bump(folder), Told(label), **answer) == "release_loosens"


def test_loosened_decisions_that_somebody_answers_for_are_recorded_with_them(folder: Path, ship: Ship) -> None:
    ship(compile_bundle(folder))
    entry = ship(bump(folder), Told("loosens"), change_id="chg-1", approver="ana").release
    assert (entry.decision_diff, entry.change_id, entry.approver) == ("loosens", "chg-1", "ana")
    assert load_ledger(folder).last == entry


def test_diff_that_gives_no_known_answer_is_refused(folder: Path, ship: Ship) -> None:
    ship(compile_bundle(folder))
    assert refused(ship, bump(folder), Told("fine"), change_id="chg-1", approver="ana") == "release_loosens"


@pytest.mark.parametrize("given", [{"approver": "  "}, {"approver": "mi\nra"}, {"change_id": "chg 1"}])
def test_name_that_the_ledger_could_not_hold_is_refused_before_anything_is_built(
    folder: Path, ship: Ship, given: dict[str, str]
) -> None:
    assert refused(ship, compile_bundle(folder), **given) == "release_name_unfit"
    assert not (folder.parent / "dist").exists()


def test_change_of_the_bundle_and_of_the_command_must_agree(folder: Path, ship: Ship) -> None:
    compiled = edit(folder, "bundle.yaml", "  redaction_policy:", "  change_id: chg-1\n  redaction_policy:")
    assert refused(ship, compiled, change_id="chg-2") == "release_change_differs"
    assert ship(compiled).release.change_id == "chg-1"


def test_last_release_that_is_nowhere_is_refused_and_never_skipped(folder: Path, ship: Ship, tmp_path: Path) -> None:
    first = ship(compile_bundle(folder))
    first.built.path.unlink()
    assert refused(ship, bump(folder)) == "release_previous_missing"
    other = fresh_copy(Path(__file__).parents[2], tmp_path / "other" / "knowledge-assistant", "knowledge-assistant")
    assert refused(ship, compile_bundle(folder), against=other) == "release_previous_missing"


def test_last_release_is_found_in_the_commit_that_recorded_it(
    folder: Path, ship: Ship, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(compile_bundle(folder)).built.path.unlink()
    root = folder.parent
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "support-triage"), (*who, "commit", "-q", "-m", "released")):
        subprocess.run(["git", *command], cwd=root, check=True)
    monkeypatch.chdir(root)
    told = Told("none")
    assert ship(bump(folder), told).release.version == "2026.04.08"
    assert told.asked == 1


def test_provenance_of_a_release_names_every_document(folder: Path, ship: Ship) -> None:
    shipped = ship(compile_bundle(folder))
    uris = {
        d["uri"]
        for d in json.loads(shipped.provenance.read_bytes())["predicate"]["buildDefinition"]["resolvedDependencies"]
    }
    names = {f"bundle:{BUNDLE_ID}/{p.name}" for p in folder.glob("*.yaml") if p.name != "releases.yaml"}
    assert names <= uris
    assert {f"bundle:{BUNDLE_ID}/rego/policy.rego", "opa:gate/main.rego", "opa:gate/agents/agents.rego"} <= uris
