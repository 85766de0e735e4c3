"""A copy of a SQLite store, taken while it is in use.

To restore: stop every gate; move the damaged file and its `-wal` and `-shm` companions away, all three; copy the
backup to the file's place; run `gate store verify` with the heads that were signed last. What was claimed after the
backup is not in it: a head that `verify` calls cut names a run whose later effects may have happened. Reconcile
them with the systems they went to, and cancel those runs, before any gate starts again. A PostgreSQL store is
copied with `pg_dump --format=custom` and restored with `pg_restore` into an empty database; the same holds.

Never overwrites a file, and opens no store.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from gate.errors import InputError, StoreError
from gate.records.database import Database

_PAGES = 1024


def write(database: Database, path: Path) -> None:
    """Copies the database to `path`, mode 0600, synced to disk. Raises as `Store.backup` does."""
    if database.location.url is not None:
        raise StoreError(
            "a PostgreSQL store is not copied by the gate",
            code="backup_unsupported",
            hint="use `pg_dump --format=custom`, and `pg_restore` into an empty database",
        )
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as exc:
        raise InputError(
            f"`{path}` exists already", code="backup_exists", hint="choose another name; backups are not overwritten"
        ) from exc
    except OSError as exc:
        raise _unwritable(path) from exc
    try:
        with database.read() as tx, contextlib.closing(sqlite3.connect(path)) as copy:
            source = tx.connection.driver_connection
            if not isinstance(source, sqlite3.Connection):
                raise StoreError("the store is not SQLite", code="backup_unsupported")
            source.backup(copy, pages=_PAGES)
        _sync(path)
    except BaseException as exc:
        # Half a copy must not be taken for one.
        with contextlib.suppress(OSError):
            os.unlink(path)
        if isinstance(exc, (sqlite3.Error, OSError)):
            raise _unwritable(path) from exc
        raise


def _sync(path: Path) -> None:
    for target in (path, path.parent):
        handle = os.open(target, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unwritable(path: Path) -> InputError:
    return InputError(
        f"the backup `{path}` cannot be written",
        code="backup_unwritable",
        hint="check the folder and the room on its disk",
    )
