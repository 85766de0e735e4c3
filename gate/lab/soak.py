"""The soak: claim rounds, killed calls and faults, on SQLite and on a PostgreSQL of its own, and what was lost.

Everything happens in a temporary folder. A store that is named is used for the rounds and kills only, and keeps them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gate.lab.demo import decision_point
from gate.lab.postgres_server import PostgresServer
from gate.lab.refund_story import copy_with_throwaway_keys
from gate.lab.soak_claims import claim_rounds
from gate.lab.soak_faults import database_killed, deadlocks, disk_full, pool_exhausted
from gate.lab.soak_kills import kill_calls
from gate.lab.soak_work import World

DATABASES = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the soak."""

    database: str
    what: str
    figures: dict[str, Any]
    lost: int
    """Everything that went wrong, counted: must be 0."""


def soak(
    *,
    bundle: Path,
    engine: str = "opa",
    databases: tuple[str, ...] = DATABASES,
    url: str | None = None,
    rounds: int = 1000,
    kills: int = 200,
) -> Iterator[Part]:
    """Runs the parts one after the other; `url` replaces the databases by one store, which faults are kept from."""
    with tempfile.TemporaryDirectory(prefix="gate-soak-") as folder:
        root = Path(folder)
        if url is not None:
            yield from _load("store", lambda _: url, bundle, engine, root, rounds, kills)
            return
        if "sqlite" in databases:
            yield from _load(
                "sqlite", lambda name: f"sqlite:///{root}/{name}.sqlite", bundle, engine, root, rounds, kills
            )
            fault = disk_full(root / "full.sqlite", World(root / "full.world"))
            yield Part(database="sqlite", what=fault.kind, figures=asdict(fault), lost=fault.audit.lost)
        if "postgresql" in databases:
            with ExitStack() as stack:
                server = stack.enter_context(PostgresServer.running())
                yield from _load("postgresql", lambda _: server.url, bundle, engine, root, rounds, kills)
                world = World(root / "faults.world")
                for fault in (
                    deadlocks(server.url, world),
                    pool_exhausted(server.url, world),
                    database_killed(server, world),
                ):
                    yield Part(database="postgresql", what=fault.kind, figures=asdict(fault), lost=fault.audit.lost)


def _load(
    database: str, address: Callable[[str], str], bundle: Path, engine: str, root: Path, rounds: int, kills: int
) -> Iterator[Part]:
    # First: a forked child must not inherit the threads of anything.
    if kills:
        (root / database).mkdir()
        compiled, keys = copy_with_throwaway_keys(bundle, root / database)
        with decision_point(compiled, engine, root / database) as (point, _):
            killed = kill_calls(
                address("kills"),
                point,
                calls=kills,
                world=World(root / f"{database}.world"),
                reviewer=keys["support_reviewer"],
            )
        yield Part(
            database=database,
            what="processes killed between two steps",
            figures=asdict(killed),
            lost=killed.lost,
        )
    if rounds:
        claimed = claim_rounds(address("claims"), rounds=rounds)
        yield Part(
            database=database,
            what="one approval, many callers",
            figures=asdict(claimed),
            lost=rounds - claimed.one_winner,
        )
