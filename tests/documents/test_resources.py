"""Where schemas and policies are found, in a clone and in an installed package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gate.documents import resources
from gate.errors import ToolchainError
from gate.evidence.source import RESERVED

ROOT = Path(__file__).resolve().parents[2]


def test_clone_uses_the_folders_beside_the_package() -> None:
    assert (resources.schemas_dir(), resources.policies_dir()) == (ROOT / "schemas", ROOT / "policies")


def test_installed_package_uses_its_own_folders_first(tmp_path: Path) -> None:
    for folder in (tmp_path / "gate" / "_schemas", tmp_path / "schemas"):
        folder.mkdir(parents=True)
        (folder / "bundle.schema.json").write_text("{}", encoding="utf-8")
    found = resources._find("schemas", "bundle.schema.json", tmp_path / "gate")
    assert found == tmp_path / "gate" / "_schemas"


def test_folder_of_somebody_else_with_the_same_name_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    with pytest.raises(ToolchainError, match="`schemas` of this package are not installed") as caught:
        resources._find("schemas", "bundle.schema.json", tmp_path / "gate")
    assert caught.value.hint == "reinstall the package"


SCHEMAS = sorted(path.relative_to(ROOT / "schemas").as_posix() for path in (ROOT / "schemas").rglob("*.schema.json"))


@pytest.mark.parametrize("path", SCHEMAS)
def test_every_schema_is_found_by_name_and_is_a_schema(path: str) -> None:
    value = resources.schema(path.removesuffix(".schema.json"))
    Draft202012Validator.check_schema(value)
    assert value["$id"] == path


def test_every_evidence_schema_is_a_section_of_the_input_and_the_other_way_round() -> None:
    files = {path.name.removesuffix(".schema.json") for path in (ROOT / "schemas" / "evidence").iterdir()}
    assert resources.evidence_sections() == files


def test_input_schema_is_self_contained() -> None:
    text = json.dumps(resources.schema("input"))
    assert "$ref" not in text
    assert resources.schema("input")["properties"]["evidence"]["properties"]["destination"]["properties"]["host"] == {
        "description": "Host name as allowed_egress spells it.",
        "type": ["string", "null"],
    }


@pytest.mark.parametrize("section", sorted(resources.evidence_sections() - RESERVED))
def test_every_section_says_by_whom_and_when_it_was_checked(section: str) -> None:
    properties = resources.schema(f"evidence/{section}")["properties"]
    kinds = {
        name: properties.get(name, {}).get("type")
        for name in ("checked_by", "checked_at_ms", "check_age_ms", "signed_by")
    }
    assert kinds == {
        "checked_by": ["string", "null"],
        "checked_at_ms": ["integer", "null"],
        "check_age_ms": ["integer", "null"],
        "signed_by": ["string", "null"],
    }


def test_unknown_schema_is_a_toolchain_error() -> None:
    with pytest.raises(ToolchainError, match="schema `nothing` cannot be read"):
        resources.schema("nothing")
