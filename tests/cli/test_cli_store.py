"""A store that is not there, not ours, locked or read-only: every command that needs one, one clear error."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import ENVIRONMENT, TENANT, World, run

from gate.records import ReviewerKey, generate_key, write_key_file

READING = [("approvals", "list"), ("approvals", "show", "apr-1"), ("effects", "list")]
WRITING = [
    ("approvals", "approve", "apr-1", "--key", "{key}", "--bundle", "{bundle}"),
    ("approvals", "reject", "apr-1", "--key", "{key}", "--bundle", "{bundle}"),
    (*("effects", "reconcile", "k", "--bundle", "{bundle}"), *("--outcome", "committed", "--evidence", "e")),
]


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key.json"
    write_key_file(path, ReviewerKey(reviewer="r", key_id="k", private_key=generate_key()[0]))
    return path


def _gone(folder: Path) -> str:
    return f"sqlite:///{folder / 'gone.sqlite'}"


def _no_folder(folder: Path) -> str:
    return f"sqlite:///{folder / 'no' / 'such' / 'x.sqlite'}"


def _empty(folder: Path) -> str:
    (folder / "empty.sqlite").touch()
    return f"sqlite:///{folder / 'empty.sqlite'}"


def _garbage(folder: Path) -> str:
    (folder / "garbage.sqlite").write_bytes(b"this is not a database, and long enough to be read as one" * 40)
    return f"sqlite:///{folder / 'garbage.sqlite'}"


def _foreign(folder: Path) -> str:
    connection = sqlite3.connect(folder / "foreign.sqlite")
    connection.execute("CREATE TABLE photos (id INTEGER)")
    connection.close()
    return f"sqlite:///{folder / 'foreign.sqlite'}"


@pytest.mark.parametrize("command", [*READING, *WRITING], ids=lambda c: " ".join(c[:2]))
@pytest.mark.parametrize(
    ("make", "code"),
    [
        (_gone, "store_unavailable"),
        (_no_folder, "store_unavailable"),
        (_empty, "store_unavailable"),
        (_garbage, "store_corrupt"),
        (lambda _: "mysql://host/db", "store_url_unsupported"),
        (lambda _: "not a url", "store_url_unsupported"),
        (lambda _: "sqlite://", "store_in_memory"),
    ],
)
def test_store_that_holds_no_records_is_an_error_and_is_not_made(
    key_file: Path, bundle: Path, tmp_path: Path, command: tuple[str, ...], make: Callable[[Path], str], code: str
) -> None:
    words = [word.format(key=key_file, bundle=bundle) for word in command]
    folder = tmp_path / "stores"
    folder.mkdir()
    url = make(folder)
    before = {p: p.read_bytes() for p in folder.iterdir()}
    result = run(*words, "--store", url, "--tenant", TENANT)
    assert (result.exit_code, result.stdout) == (1, "")
    error, hint = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert error.startswith(f"error: {code}: ")
    assert hint.startswith("hint: ")
    assert {p: p.read_bytes() for p in folder.iterdir()} == before


def test_store_of_something_else_is_an_error_and_gets_no_tables(tmp_path: Path) -> None:
    url = _foreign(tmp_path)
    result = run("approvals", "list", "--store", url, "--tenant", TENANT)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: store_foreign: ")
    connection = sqlite3.connect(tmp_path / "foreign.sqlite")
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
    connection.close()


def test_store_that_is_locked_refuses_the_vote(world: World) -> None:
    approval = world.ask()
    lock = sqlite3.connect(world.store_file, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    try:
        result = run(
            "approvals", "approve", approval, "--key", world.key_file, *world.reviewing, "--store-timeout", "1"
        )
    finally:
        lock.close()
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-2:] == [
        "error: store_locked: the database is locked by another writer",
        "hint: try again when the other writer is done",
    ]
    after = world.store.approval(TENANT, approval)
    assert after is not None
    assert (after.status, after.votes) == ("pending", ())


def test_store_that_is_read_only_lists_and_refuses_the_vote(world: World) -> None:
    approval = world.ask()
    url = f"sqlite:///file:{world.store_file}?mode=ro&uri=true"
    listed = run("approvals", "list", "--store", url, "--tenant", TENANT)
    assert (listed.exit_code, len(listed.stdout.splitlines())) == (0, 2)
    result = run(
        *("approvals", "approve", approval, "--key", world.key_file, "--store", url, "--tenant", TENANT),
        *("--environment", ENVIRONMENT, "--bundle", world.bundle),
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-2].startswith("error: store_read_only: ")
    after = world.store.approval(TENANT, approval)
    assert after is not None
    assert (after.status, after.votes) == ("pending", ())


def test_store_at_a_path_with_strange_characters_is_found(world: World, tmp_path: Path) -> None:
    strange = tmp_path / "a b#é.sqlite"
    world.store.close()
    strange.write_bytes(world.store_file.read_bytes())
    result = run("approvals", "list", "--store", f"sqlite:///{strange}", "--tenant", TENANT)
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("tenant", ["", "a\x00b"])
def test_tenant_that_no_record_can_have_is_an_error(world: World, tenant: str) -> None:
    result = run("approvals", "list", "--store", world.url, "--tenant", tenant)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
