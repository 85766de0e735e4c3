"""The addresses of stores: which database, where, how it may be opened.

Opens nothing. What each database needs is in `gate.records.sqlite` and `gate.records.postgresql`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from gate.errors import StoreError

_POSTGRES_OPTIONS = frozenset(
    {
        *("host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile", "application_name"),
        *("target_session_attrs", "channel_binding", "gssencmode", "options"),
    }
)
# Of all server settings only the schema: others, such as synchronous_commit, decide whether a claim is durable.
_SEARCH_PATH = re.compile(r"-c ?search_path=[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store lives."""

    path: str | None
    """Absolute path of the SQLite file, or name of the PostgreSQL database; None for a store in memory."""
    mode: str
    """How it is opened: `ro`, `rw` (must exist; always so for PostgreSQL) or `rwc` (may be created)."""
    url: URL | None = None
    """Address of a PostgreSQL server; None for SQLite."""

    @property
    def read_only(self) -> bool:
        """True when no write can succeed."""
        return self.mode == "ro"


def locate(url: str) -> Location:
    """Reads `sqlite:////abs/path`, `sqlite://`, `sqlite:///file:/abs/path?mode=ro&uri=true` or
    `postgresql://user@host/database`.

    Raises `StoreError` with code `store_url_unsupported` for any other address or option: databases have
    options, such as SQLite's `nolock`, under which one approval could be spent twice.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as exc:
        raise _unsupported("the address of the store is not a URL") from exc
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return _postgresql(parsed)
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return _sqlite(parsed)
    raise _unsupported(f"a store at `{parsed.drivername}` is not supported")


def _postgresql(parsed: URL) -> Location:
    for name, value in parsed.query.items():
        known = name in _POSTGRES_OPTIONS and isinstance(value, str)
        if not known or (name == "options" and not _SEARCH_PATH.fullmatch(str(value))):
            raise _unsupported("the address of the store has an option that is not supported")
    if not parsed.database or "\x00" in parsed.database:
        raise _unsupported("the address of a PostgreSQL store has no database")
    return Location(parsed.database, "rw", parsed.set(drivername="postgresql+psycopg"))


def _sqlite(parsed: URL) -> Location:
    if parsed.host or parsed.username or parsed.port:
        raise _unsupported("the address of a SQLite store has no host")
    options = dict(parsed.query)
    as_uri = options.pop("uri", "false")
    mode = options.pop("mode", "rwc")
    if options or as_uri not in ("true", "false") or mode not in ("ro", "rw", "rwc"):
        raise _unsupported("the address of the store has an option that is not supported")
    database = parsed.database or ":memory:"
    if as_uri == "true" and database.startswith("file:"):
        database = unquote(database.removeprefix("file:"))
        database = "/" + database.lstrip("/") if database.startswith("//") else database
    elif as_uri == "true" or mode != "rwc":
        raise _unsupported("`mode` and `uri` go with `sqlite:///file:/path?mode=ro&uri=true`")
    if not database or "\x00" in database:
        raise _unsupported("the address of the store has no path")
    if database == ":memory:":
        return Location(None, "rwc")
    return Location(os.path.abspath(database), str(mode))


def _unsupported(message: str) -> StoreError:
    hint = "use `sqlite:////absolute/path.sqlite` or `postgresql://user@host/database`"
    return StoreError(message, code="store_url_unsupported", hint=hint)
