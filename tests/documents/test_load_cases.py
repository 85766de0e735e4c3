"""Golden cases: a base document, patched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.documents.cases import Case, load_cases, patched
from gate.errors import BundleError

BASE = "a: {x: 1, z: 2}\nb: [1, 2]\nc: text\n"
CASE = "id: {id}\ntitle: A title\ninput: {patch}\nexpect: {{verdict: deny, reasons: [z_code, a_code]}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "_base.yaml").write_text(BASE, encoding="utf-8")
    write(tmp_path, "one", "{c: other}")
    return tmp_path


def write(folder: Path, name: str, patch: str, *, case_id: str | None = None) -> None:
    text = CASE.format(id=case_id or name, patch=patch)
    (folder / "cases" / f"{name}.yaml").write_text(text, encoding="utf-8")


def report(folder: Path) -> list[str]:
    with pytest.raises(BundleError) as caught:
        load_cases(folder)
    root = f"{folder}/cases"
    return [f"{p.file.removeprefix(root)}:{p.line}:{p.column} {p.code}" for p in caught.value.problems]


def test_case_is_the_base_with_its_patch(folder: Path) -> None:
    assert load_cases(folder) == (
        Case(
            id="one",
            title="A title",
            document={"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "other"},
            expect_verdict="deny",
            expect_reasons=("a_code", "z_code"),
            file=str(folder / "cases" / "one.yaml"),
        ),
    )


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("{}", {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "text"}),
        ("{a: {x: 9}}", {"a": {"x": 9, "z": 2}, "b": [1, 2], "c": "text"}),
        ("{a: {x: null}}", {"a": {"x": None, "z": 2}, "b": [1, 2], "c": "text"}),
        ("{a: {x: {$absent: true}}}", {"a": {"z": 2}, "b": [1, 2], "c": "text"}),
        ("{a: null}", {"a": None, "b": [1, 2], "c": "text"}),
        ("{a: {$absent: true}}", {"b": [1, 2], "c": "text"}),
        ("{a: {}}", {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "text"}),
        ("{a: []}", {"a": [], "b": [1, 2], "c": "text"}),
        ("{b: [3]}", {"a": {"x": 1, "z": 2}, "b": [3], "c": "text"}),
        ("{c: {d: 1, e: {$absent: true}}}", {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": {"d": 1}}),
        (
            "{new: {deep: {er: 1}}}",
            {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "text", "new": {"deep": {"er": 1}}},
        ),
        ("{gone: {$absent: true}}", {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "text"}),
    ],
)
def test_patch_states_missing_and_null_apart(folder: Path, patch: str, expected: dict[str, Any]) -> None:
    write(folder, "one", patch)
    (case,) = load_cases(folder)
    assert case.document == expected


def test_file_that_is_no_case_is_left_alone(folder: Path) -> None:
    (folder / "cases" / "README.md").write_text("a: [", encoding="utf-8")
    assert [case.id for case in load_cases(folder)] == ["one"]


def test_cases_share_no_part_of_their_documents(folder: Path) -> None:
    write(folder, "two", "{}")
    one, two = load_cases(folder)
    one.document["a"]["x"] = "changed"
    one.document["b"].append("changed")
    assert two.document == {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "text"}


@pytest.mark.parametrize(
    ("patch", "place"),
    [
        ("{$absent: true}", "3:9"),
        ("{a: {$absent: false}}", "3:13"),
        ("{a: {$absent: 1}}", "3:13"),
        ("{a: {$absent: null}}", "3:13"),
        ("{a: {$absent: true, x: 1}}", "3:13"),
        ("{b: [{$absent: true}]}", "3:14"),
    ],
)
def test_absent_marker_that_would_remove_nothing_is_refused(folder: Path, patch: str, place: str) -> None:
    write(folder, "one", patch)
    assert report(folder) == [f"/one.yaml:{place} case_patch_invalid"]


def test_case_id_unlike_its_file_is_refused(folder: Path) -> None:
    write(folder, "two", "{}", case_id="tow")
    assert report(folder) == ["/two.yaml:1:5 case_id_mismatch"]


def test_case_id_used_twice_is_refused(folder: Path) -> None:
    write(folder, "two", "{}", case_id="one")
    assert report(folder) == ["/two.yaml:1:5 case_duplicate", "/two.yaml:1:5 case_id_mismatch"]


def test_problems_of_all_cases_are_reported_together(folder: Path) -> None:
    (folder / "cases" / "_base.yaml").write_text("a: NO\n", encoding="utf-8")
    (folder / "cases" / "two.yml").write_text("a: 1\n", encoding="utf-8")
    (folder / "cases" / "three.yaml").write_text("id: three\ntitle: t\ninput: {}\nexpct: {}\n", encoding="utf-8")
    (folder / "cases" / "four.yaml").symlink_to(folder / "cases" / "one.yaml")
    assert report(folder) == [
        "/_base.yaml:1:4 yaml_quote_it",
        "/four.yaml:1:1 document_not_regular",
        "/three.yaml:1:1 missing_key",
        "/three.yaml:4:1 unknown_key",
        "/two.yml:1:1 case_misnamed",
    ]


def test_verdict_outside_the_closed_set_is_refused(folder: Path) -> None:
    path = folder / "cases" / "one.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("verdict: deny", "verdict: denied"), encoding="utf-8")
    assert report(folder) == ["/one.yaml:4:19 schema_enum"]


def test_folder_without_base_is_refused(folder: Path) -> None:
    (folder / "cases" / "_base.yaml").unlink()
    assert report(folder) == ["/_base.yaml:1:1 case_base_missing"]


def test_folder_with_nothing_but_the_base_is_refused(folder: Path) -> None:
    (folder / "cases" / "one.yaml").unlink()
    assert report(folder) == [":1:1 cases_missing"]


def test_bundle_without_cases_folder_is_refused(tmp_path: Path) -> None:
    assert report(tmp_path) == [":1:1 cases_missing"]


_KEYS = st.sampled_from(["a", "b", "c"])
_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(_JSON, st.dictionaries(_KEYS, _JSON, max_size=3))
def test_patch_applied_twice_changes_nothing_more(base: Any, patch: dict[str, Any]) -> None:
    once = patched(base, patch)
    assert patched(once, patch) == once


@given(st.dictionaries(_KEYS, _JSON, max_size=3))
def test_empty_patch_changes_nothing(base: dict[str, Any]) -> None:
    assert patched(base, {}) == base


def based(folder: Path, name: str, base: str) -> None:
    text = CASE.format(id=name, patch="{c: other}").replace("input:", f"base: {base}\ninput:")
    (folder / "cases" / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_case_of_another_base_is_a_patch_over_that_patch(folder: Path) -> None:
    (folder / "cases" / "_resume.yaml").write_text("a: {x: 9}\nb: {$absent: true}\n", encoding="utf-8")
    based(folder, "two", "resume")
    assert [case.document for case in load_cases(folder)] == [
        {"a": {"x": 1, "z": 2}, "b": [1, 2], "c": "other"},
        {"a": {"x": 9, "z": 2}, "c": "other"},
    ]


def test_base_that_is_not_there_and_base_that_nobody_uses_are_refused(folder: Path) -> None:
    (folder / "cases" / "_resumed.yaml").write_text("a: {x: 9}\n", encoding="utf-8")
    based(folder, "two", "resume")
    assert report(folder) == ["/_resumed.yaml:1:1 case_base_unused", "/two.yaml:3:7 case_base_unknown"]
