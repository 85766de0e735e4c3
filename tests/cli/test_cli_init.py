from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import document, run

from gate.records import read_key_file


@pytest.mark.parametrize("engine", [pytest.param("opa", marks=pytest.mark.opa), "embedded"])
def test_new_bundle_is_valid_current_and_passes(tmp_path: Path, engine: str) -> None:
    folder = tmp_path / "my-bot"
    made = run("init", folder)
    assert made.exit_code == 0
    assert made.stdout.splitlines() == [str(p) for p in sorted(folder.rglob("*")) if p.is_file()]
    assert run("validate", folder).exit_code == 0
    assert run("compile", folder, "--check").exit_code == 0
    tested = run("test", folder, "--engine", engine, "--output", "json")
    assert (tested.exit_code, document(tested)["failed"]) == (0, 0)


def test_new_bundle_as_json_says_what_was_written(tmp_path: Path) -> None:
    folder, key = tmp_path / "bot", tmp_path / "key.json"
    result = run("init", folder, "--name", "acme-bot", "--reviewer-key", key, "--output", "json")
    answer = document(result)
    assert (result.exit_code, result.stderr) == (0, "")
    files = answer.pop("files")
    assert files == [p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*")) if p.is_file()]
    assert answer == {
        "folder": str(folder),
        "name": "acme-bot",
        "agent_id": "acme-bot-agent",
        "reviewer_key": str(key),
    }
    assert key.stat().st_mode & 0o777 == 0o600
    assert read_key_file(key).private_key not in result.output


@pytest.mark.parametrize(
    ("folder", "more", "code"),
    [
        ("My Bot", (), "bundle_name_invalid"),
        ("bot", ("--name", "My Bot"), "bundle_name_invalid"),
        ("full", (), "folder_not_empty"),
        ("no/such/bot", (), "folder_unusable"),
        ("full/file", (), "folder_unusable"),
        ("bot", ("--reviewer-key", "full/file"), "key_file_exists"),
        ("bot", ("--reviewer-key", "bot/key"), "key_file_in_bundle"),
    ],
)
def test_new_bundle_that_cannot_be_is_one_error_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, more: tuple[str, ...], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine", encoding="ascii")
    result = run("init", folder, *more)
    assert (result.exit_code, result.stdout) == (1, "")
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"error: {code}: ")
    assert hint.startswith("hint: ")
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == ["full", "full/file"]
    assert (tmp_path / "full" / "file").read_text("ascii") == "mine"


def test_new_bundle_in_the_current_folder_keeps_it_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot").mkdir()
    monkeypatch.chdir(tmp_path / "bot")
    assert run("init", ".").exit_code == 0
    assert run("validate", ".").stdout == ". is valid\n"
