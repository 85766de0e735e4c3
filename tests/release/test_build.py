from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from release_support import AT, fresh_copy

from gate.compiler import compile_bundle, write
from gate.documents.releases import load_ledger
from gate.errors import BundleError
from gate.pdp import manifest_revision
from gate.release import BuildError, build, require_checked_in
from gate.release.ledger import append_release

pytestmark = pytest.mark.opa


@pytest.fixture
def folder(repo: Path, tmp_path: Path) -> Path:
    """A copy of the shipped bundle whose Rego is checked in."""
    target = tmp_path / "support-triage"
    shutil.copytree(repo / "bundles" / "support-triage", target)
    write(compile_bundle(target))
    return target


def members(tarball: Path) -> dict[str, bytes]:
    with tarfile.open(tarball, "r:gz") as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]


def test_same_bundle_built_twice_in_two_places_is_the_same_tarball(
    folder: Path, opa_binary: Path, tmp_path: Path
) -> None:
    other = tmp_path / "deeper" / "place" / "support-triage"
    shutil.copytree(folder, other)
    one = build([compile_bundle(folder)], tmp_path / "a", binary=opa_binary, trial=True)
    two = build([compile_bundle(other)], tmp_path / "b" / "c", binary=opa_binary, trial=True)
    again = build([compile_bundle(folder)], tmp_path / "a", binary=opa_binary, trial=True)
    assert (one.digest, one.revision) == (two.digest, two.revision) == (again.digest, again.revision)
    assert one.path.read_bytes() == two.path.read_bytes()
    assert [p.name for p in (tmp_path / "a").iterdir()] == [one.path.name]


def test_tarball_holds_roots_revision_no_test_and_no_path_of_this_machine(
    folder: Path, opa_binary: Path, tmp_path: Path
) -> None:
    compiled = compile_bundle(folder)
    built = build([compiled], tmp_path / "dist", binary=opa_binary, trial=True)
    content = members(built.path)
    manifest = json.loads(content["/.manifest"])
    assert (manifest["roots"], manifest["revision"]) == (["gate"], built.revision)
    assert manifest["metadata"]["bundles"] == ["policy-support-triage-2026-04-07@2026.04.07"]
    assert manifest_revision(built.path) == built.revision
    assert [name for name in content if name.endswith("_test.rego")] == []
    assert [name for name in content if ".." in name or str(tmp_path) in name] == []
    assert [name for name, data in content.items() if str(tmp_path).encode() in data] == []
    assert {"/gate/main.rego", "/gate/agents/agents.rego", "/gate/bundles/support_triage/policy.rego"} <= content.keys()
    assert content["/gate/bundles/support_triage/policy.rego"] == compiled.rego["policy.rego"].encode()
    assert "source-map.json" not in " ".join(content)


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (lambda rego: (rego / "policy.rego").write_text("package x\n"), "policy.rego"),
        (lambda rego: (rego / "catalog.rego").unlink(), "catalog.rego"),
        (lambda rego: (rego / "extra.rego").write_text("package gate.router\n"), "extra.rego"),
        (lambda rego: (rego / "source-map.json").write_text("{}"), "source-map.json"),
    ],
    ids=["changed", "missing", "left over", "source map"],
)
def test_rego_that_is_not_what_the_yaml_compiles_to_is_refused_by_name(
    folder: Path, opa_binary: Path, tmp_path: Path, spoil: object, name: str
) -> None:
    compiled = compile_bundle(folder)
    spoil(folder / "rego")  # type: ignore[operator]
    with pytest.raises(BundleError) as caught:
        build([compiled], tmp_path / "dist", binary=opa_binary, trial=True)
    assert [(p.file, p.code) for p in caught.value.problems] == [(str(folder / "rego" / name), "compiled_rego_stale")]
    assert not (tmp_path / "dist").exists()


def test_yaml_edited_after_the_rego_was_checked_in_is_refused(folder: Path) -> None:
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("emit: allow", "emit: deny"))
    with pytest.raises(BundleError) as caught:
        require_checked_in([compile_bundle(folder)])
    assert [p.code for p in caught.value.problems] == ["compiled_rego_stale"]


def test_changed_content_under_a_released_version_is_refused_by_the_library_and_built_as_a_trial_by_name(
    repo: Path, opa_binary: Path, tmp_path: Path
) -> None:
    folder = fresh_copy(repo, tmp_path / "support-triage")
    before = compile_bundle(folder)
    ledger = load_ledger(folder)
    append_release(before, expected=ledger, released_at=AT, decision_diff="first", change_id=None, approver=None)
    released = build([before], tmp_path / "dist", binary=opa_binary)
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("emit: allow", "emit: deny"))
    changed = compile_bundle(folder)
    write(changed)
    with pytest.raises(BundleError) as caught:
        build([changed], tmp_path / "dist", binary=opa_binary)
    assert [(p.file, p.code) for p in caught.value.problems] == [(str(policy), "released_content_changed")]
    assert [path.name for path in (tmp_path / "dist").iterdir()] == [released.path.name]
    assert build([changed], tmp_path / "dist", binary=opa_binary, trial=True).revision != released.revision


def test_other_rule_gives_another_revision_and_another_file(folder: Path, opa_binary: Path, tmp_path: Path) -> None:
    before = build([compile_bundle(folder)], tmp_path / "dist", binary=opa_binary, trial=True)
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("emit: allow", "emit: deny"))
    write(compile_bundle(folder))
    after = build([compile_bundle(folder)], tmp_path / "dist", binary=opa_binary, trial=True)
    assert before.revision != after.revision
    assert before.path != after.path
    assert before.path.exists()


def test_folder_that_cannot_be_written_to_is_an_error_of_the_build(
    folder: Path, opa_binary: Path, tmp_path: Path
) -> None:
    (tmp_path / "dist").write_text("a file")
    with pytest.raises(BuildError, match=r"^cannot write to `") as caught:
        build([compile_bundle(folder)], tmp_path / "dist", binary=opa_binary, trial=True)
    assert caught.value.code == "build_failed"


def test_bundle_that_opa_refuses_leaves_nothing_behind(folder: Path, opa_binary: Path, tmp_path: Path) -> None:
    broken = tmp_path / "opa"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(BuildError, match="refused"):
        build([compile_bundle(folder)], tmp_path / "dist", binary=broken, trial=True)
    assert list((tmp_path / "dist").iterdir()) == []
