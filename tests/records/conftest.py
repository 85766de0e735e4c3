from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import postgres_support
import pytest
from new_store import new_store
from records_support import OTHER, TENANT, Place, run_record
from sqlalchemy import URL, make_url

from gate.records import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.sqlite"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[URL]:
    """The server that the whole suite shares."""
    named = os.environ.get(postgres_support.URL_VARIABLE)
    if named:
        yield make_url(named).set(drivername="postgresql+psycopg")
        return
    with postgres_support.Server.running() as server:
        yield server.url


@pytest.fixture(scope="session")
def postgres_schemas(postgres_server: URL) -> Iterator[postgres_support.Schemas]:
    schemas = postgres_support.Schemas(postgres_server)
    yield schemas
    schemas.drop()


@pytest.fixture
def postgres(postgres_schemas: postgres_support.Schemas) -> Iterator[Place]:
    """A schema of its own, migrated and without records."""
    with postgres_schemas.migrated() as url:
        yield Place(url)


@pytest.fixture
def fresh_postgres(postgres_schemas: postgres_support.Schemas) -> Iterator[Place]:
    """A schema of its own with nothing in it."""
    with postgres_schemas.fresh() as url:
        yield Place(url)


@pytest.fixture
def sqlite(path: Path) -> Place:
    """A file that is not there yet."""
    return Place(f"sqlite:///{path}")


@pytest.fixture
def migrated_sqlite(path: Path) -> Place:
    """A file with the schema, and without records."""
    return Place(new_store(path))


@pytest.fixture(params=["migrated_sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each of the two databases, without records."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Place)
    return found


@pytest.fixture(params=["sqlite", "fresh_postgres"])
def fresh_place(request: pytest.FixtureRequest) -> Place:
    """Each of the two databases, with no schema yet."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Place)
    return found


@pytest.fixture
def sqlite_store(migrated_sqlite: Place) -> Iterator[Store]:
    """A store with `run-1` on a SQLite file, for what only a file can suffer."""
    with Store.open(migrated_sqlite.url) as opened:
        opened.create_run(run_record())
        yield opened


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """A store with `run-1` in both tenants."""
    with Store.open(place.url) as opened:
        for tenant in (TENANT, OTHER):
            opened.create_run(run_record(tenant_id=tenant))
        yield opened
