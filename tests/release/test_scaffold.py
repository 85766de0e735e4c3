from __future__ import annotations

import re
from pathlib import Path

import pytest
from opa_point import OpaPoint

from gate.compiler import assemble, compile_bundle, differences
from gate.documents import load_cases
from gate.errors import GateError, InputError
from gate.records import public_key_of, read_key_file
from gate.release import run_cases
from gate.release.scaffold import scaffold

NOW_MS = 1_775_560_000_123


@pytest.mark.parametrize("now_ms", [0, NOW_MS, 4_102_444_800_000])
@pytest.mark.parametrize("folder", ["bot", "my-bot_2"])
def test_new_bundle_compiles_as_checked_in_and_passes_its_own_cases(tmp_path: Path, folder: str, now_ms: int) -> None:
    made = scaffold(tmp_path / folder, now_ms=now_ms)
    compiled = compile_bundle(tmp_path / folder)
    assembly = assemble([compiled])
    point = OpaPoint(assembly.modules, revision=assembly.revision)
    results = list(run_cases(load_cases(tmp_path / folder), point, agent_id=made.agent_id))
    assert [r for r in results if not r.passed] == []
    assert len(results) >= 4
    assert {r.expected[0] for r in results} == {"allow", "deny", "require_approval", "blocked_on_reconciliation"}
    assert differences(compiled) == []
    assert (made.name, compiled.bundle.meta.agent_ids) == (folder, (f"{folder}-agent",))
    assert list(made.files) == sorted(
        p.relative_to(tmp_path / folder).as_posix() for p in (tmp_path / folder).rglob("*") if p.is_file()
    )


def test_new_bundle_without_a_key_file_holds_a_public_key_of_which_nobody_has_the_other_half(tmp_path: Path) -> None:
    for name in ("one", "two"):
        scaffold(tmp_path / name, now_ms=NOW_MS)
    keys = {
        re.search(r'public_key: "(.*)"', (tmp_path / n / "reviewers.yaml").read_text("utf-8")) for n in ("one", "two")
    }
    assert len({match and match.group(1) for match in keys}) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "two"]


def test_new_bundle_with_a_key_file_names_its_public_half(tmp_path: Path) -> None:
    scaffold(tmp_path / "bot", key_file=tmp_path / "key.json", now_ms=NOW_MS)
    key = read_key_file(tmp_path / "key.json")
    reviewer = compile_bundle(tmp_path / "bot").bundle.reviewers[0]
    assert (key.reviewer, key.key_id, public_key_of(key.private_key)) == (
        reviewer.id,
        reviewer.keys[0].key_id,
        reviewer.keys[0].public_key,
    )
    assert reviewer.keys[0].not_before_ms == 1_775_560_000_000
    assert reviewer.keys[0].not_after_ms == 1_775_560_000_000 + 365 * 24 * 3600 * 1000


def test_new_bundle_in_an_empty_folder_keeps_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    folder.mkdir(mode=0o700)
    inode = folder.stat().st_ino
    made = scaffold(folder, name="other", now_ms=NOW_MS)
    assert (folder.stat().st_ino, made.name) == (inode, "other")
    assert compile_bundle(folder).bundle.meta.bundle_id == "other"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        *((word, None) for word in ("Bot", "1bot", "my bot", "bot.2", "böt", "package", "input", "x" * 65, "-bot")),
        *(("bot", word) for word in ("", "Bot", "a b", "a\nb", "a: b", "../b", "x" * 65)),
    ],
)
def test_new_bundle_of_a_name_that_is_no_package_is_refused(tmp_path: Path, folder: str, name: str | None) -> None:
    with pytest.raises(InputError) as error:
        scaffold(tmp_path / folder, name=name, key_file=tmp_path / "key", now_ms=NOW_MS)
    assert error.value.code == "bundle_name_invalid"
    assert error.value.hint
    assert list(tmp_path.iterdir()) == []


def test_new_bundle_in_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / ".hidden").touch()
    with pytest.raises(InputError) as error:
        scaffold(tmp_path / "bot", key_file=tmp_path / "key", now_ms=NOW_MS)
    assert error.value.code == "folder_not_empty"
    assert [p.name for p in (tmp_path / "bot").iterdir()] == [".hidden"]
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("place", ["no/such/bot", "file", "file/bot", "dangling"])
def test_new_bundle_where_there_is_no_room_for_one_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as error:
        scaffold(tmp_path / place, now_ms=NOW_MS)
    assert error.value.code == "folder_unusable"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("key", "code"),
    [("taken", "key_file_exists"), ("no/such/key", "key_file_unwritable"), ("bot/key", "key_file_in_bundle")],
)
@pytest.mark.parametrize("existed", [True, False])
def test_new_bundle_whose_key_cannot_be_written_is_not_written_either(
    tmp_path: Path, key: str, code: str, existed: bool
) -> None:
    (tmp_path / "taken").write_text("mine", encoding="ascii")
    if existed:
        (tmp_path / "bot").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as error:
        scaffold(tmp_path / "bot", key_file=tmp_path / key, now_ms=NOW_MS)
    assert error.value.code == code
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "taken").read_text("ascii") == "mine"


def test_folder_that_is_a_loop_of_links_or_has_too_long_a_name_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for folder in (loop, tmp_path / ("x" * 300)):
        with pytest.raises(GateError):
            scaffold(folder, now_ms=NOW_MS)
