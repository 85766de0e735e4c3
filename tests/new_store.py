"""A new SQLite store for a test: a copy of one that was brought to the current schema once.

Bringing a store up takes ten transactions, a third of the time of most tests. The suites of the records make their own.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from gate.records import Store


def new_store(path: Path) -> str:
    """The address of the store at `path`, which is put there unless it is there."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_empty())
    return f"sqlite:///{path}"


@cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.sqlite"
        Store.open(f"sqlite:///{path}").close()
        assert sorted(Path(folder).iterdir()) == [path]
        return path.read_bytes()
