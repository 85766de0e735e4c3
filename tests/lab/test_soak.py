"""The soak in small: every part runs, and loses nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import cli
from gate.lab.demo import decision_point
from gate.lab.postgres_server import PostgresServer
from gate.lab.refund_story import copy_with_throwaway_keys
from gate.lab.soak_claims import claim_rounds
from gate.lab.soak_faults import database_killed, deadlocks, disk_full, pool_exhausted
from gate.lab.soak_kills import kill_calls
from gate.lab.soak_work import Audit, World, audit, claim_of, new_run, work
from gate.records import Store

CLEAN = Audit(happened=0, twice=0, forgotten=0, broken_chains=0, wrong_counters=0)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'records.sqlite'}"


def test_killed_calls_happen_once_each_in_the_end(repo: Path, url: str, tmp_path: Path) -> None:
    compiled, keys = copy_with_throwaway_keys(repo / "bundles" / "refund-desk", tmp_path)
    with decision_point(compiled, "opa", tmp_path) as (point, _):
        seen = kill_calls(url, point, calls=6, world=World(tmp_path / "world"), reviewer=keys["support_reviewer"])
    assert (seen.happened_after_all, seen.audit) == (6, replace(CLEAN, happened=6))
    assert (seen.reviewed, seen.without_review, seen.without_dispatch, seen.lost) == (3, 0, 0, 0)
    assert sum(seen.found.values()) == sum(seen.retries.values()) == 6
    assert seen.killed >= 1


def test_each_round_has_one_winner(url: str) -> None:
    seen = claim_rounds(url, rounds=2, processes=2, threads=5)
    assert (seen.one_winner, seen.callers, sum(seen.refusals.values())) == (2, 10, 18)


def test_full_disk_refuses_with_a_code_and_loses_nothing(tmp_path: Path) -> None:
    seen = disk_full(tmp_path / "full.sqlite", World(tmp_path / "world"))
    assert seen.succeeded > 1
    assert seen.attempts - seen.succeeded >= 20
    assert seen.refusals.keys() <= {"store_commit_unknown", "store_unavailable", "store_full"}
    assert seen.audit == replace(CLEAN, happened=seen.audit.happened)


def test_faults_of_a_server_refuse_with_a_code_and_lose_nothing(tmp_path: Path) -> None:
    with PostgresServer.running() as server:
        world = World(tmp_path / "world")
        crossed = deadlocks(server.url, world, times=1)
        exhausted = pool_exhausted(server.url, world, seconds=0.5)
        killed = database_killed(server, world, times=1)
    assert (crossed.attempts, crossed.audit.lost) == (1, 0)
    assert (exhausted.refusals.keys() >= {"store_busy"}, exhausted.audit.lost) == (True, 0)
    assert (killed.succeeded > 0, killed.refusals != {}, killed.audit.lost) == (True, True, 0)


def test_command_prints_one_document_and_what_was_lost(repo: Path) -> None:
    options = [
        "--bundle",
        str(repo / "bundles" / "refund-desk"),
        "--database",
        "sqlite",
        "--rounds",
        "0",
        "--kills",
        "0",
    ]
    done = CliRunner().invoke(cli, ["lab", "soak", *options, "--output", "json"])
    document = json.loads(done.stdout)
    assert (done.exit_code, document["lost"]) == (0, 0)
    assert [(part["database"], part["what"]) for part in document["parts"]] == [("sqlite", "disk full")]


def test_audit_counts_what_is_wrong(url: str, tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    with Store.open(url) as store:
        run = new_run(store)
        assert work(store, run, world) == ""
        (key,) = world.happened()
        assert audit(store, world) == replace(CLEAN, happened=1)
        world.happen(key)
        world.happen("never claimed")
        store.claim(claim_of(run, "never happened"))
        with store._database.write() as tx:
            tx.exec_driver_sql("UPDATE events SET payload = '{}' WHERE seq = 1")
        # A space makes two words of it: each is an effect that nobody claimed.
        assert audit(store, world) == Audit(happened=4, twice=1, forgotten=2, broken_chains=1, wrong_counters=0)
