from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from records_support import OTHER, TENANT, run_record, url

from gate.records import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """A store on a file, with `run-1` in both tenants."""
    with Store.open(url(path)) as opened:
        for tenant in (TENANT, OTHER):
            opened.create_run(run_record(tenant_id=tenant))
        yield opened
