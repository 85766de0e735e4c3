"""Where schemas and policies are found, in a clone and in an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gate.documents import resources
from gate.errors import ToolchainError

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


@pytest.mark.parametrize("path", sorted((ROOT / "schemas").glob("*.schema.json")), ids=lambda path: path.name)
def test_every_schema_is_found_by_name_and_is_a_schema(path: Path) -> None:
    value = resources.schema(path.name.removesuffix(".schema.json"))
    Draft202012Validator.check_schema(value)
    assert value["$id"] == path.name


def test_unknown_schema_is_a_toolchain_error() -> None:
    with pytest.raises(ToolchainError, match="schema `nothing` cannot be read"):
        resources.schema("nothing")
