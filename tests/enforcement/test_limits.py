"""Limits and budgets through the gate: decided in Rego, counted by the claim, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from desk_support import PRINCIPAL, TENANT, Desk, desk_copy, desk_point, refund_of
from enforcement_support import at_once
from new_store import new_store
from opa_point import OpaPoint
from standins import Altered, obliging

from gate.enforcement import EffectNotStarted
from gate.errors import ToolchainError
from gate.evidence import Call, Identity
from gate.lab.postgres_server import PostgresServer
from gate.pdp.protocol import Reply
from gate.records import Store

LOW = ("policy.yaml", "max: 50000", "max: 100")
ROOMY = ("policy.yaml", "max_effects: 5", "max_effects: 500")
DAY = 86_400_000
TODAY = 1_780_315_200_000


@pytest.fixture(scope="module")
def low_point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    """A desk that gives back 1.00 a day and principal at most, in any number of effects."""
    return desk_point(desk_copy(repo, tmp_path_factory.mktemp("low"), LOW, ROOMY))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    try:
        with PostgresServer.running() as running:
            yield running
    except ToolchainError as exc:
        pytest.fail(f"{exc.message}; {exc.hint}")


@pytest.fixture(params=["sqlite", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def open_desk(request: pytest.FixtureRequest, low_point: OpaPoint, tmp_path: Path) -> Iterator[Callable[[], Desk]]:
    """Opens a desk on the same empty database each time: SQLite, or PostgreSQL at each level it is offered at."""
    opened: list[Desk] = []
    options: dict[str, Any] = {}
    if request.param == "sqlite":
        url = new_store(tmp_path / "records.sqlite")
    else:
        url, options = request.getfixturevalue("server").url, {"isolation": request.param}
        with Store.open(url) as store, store._database.write() as tx:
            tables = "dispatches counter_uses counters approval_uses approval_consumptions approval_votes effects "
            tables += "idempotency_keys approvals events runs"
            for table in tables.split():
                tx.exec_driver_sql(f"DELETE FROM {table}")

    def open_one() -> Desk:
        opened.append(Desk.open(low_point, url, **options))
        return opened[-1]

    yield open_one
    for desk in opened:
        desk.store.close()


@pytest.fixture
def desk(low_point: OpaPoint, tmp_path: Path) -> Iterator[Desk]:
    opened = Desk.open(low_point, new_store(tmp_path / "records.sqlite"), clock_ms=lambda: TODAY)
    yield opened
    opened.store.close()


def test_two_calls_of_60_at_once_under_100_spend_60(open_desk: Callable[[], Desk]) -> None:
    desks = [open_desk(), open_desk()]
    run = desks[0].run
    answers = at_once(2, lambda n: desks[n].refund(60, f"ch-{n}", run=run))
    assert sorted(answers) == [("allow", "configured_allow"), ("deny", "configured_allow", "limit_exceeded")]
    assert sorted([*desks[0].paid, *desks[1].paid]) == [60]
    assert desks[0].counter("refunded_per_principal") == 60


def test_many_calls_at_once_spend_what_there_is_and_no_cent_more(open_desk: Callable[[], Desk]) -> None:
    desks = [open_desk() for _ in range(3)]
    run = desks[0].run
    answers = at_once(12, lambda n: desks[n % 3].refund(30, f"ch-{n}", run=run))
    paid = [amount for desk in desks for amount in desk.paid]
    # A caller that met others at the counter too often is refused; nobody is let through beside it.
    refused = {("deny", "configured_allow", "limit_exceeded"), ("deny", "claim_contended")}
    assert {a for a in answers if a[0] != "allow"} <= refused
    assert len(paid) == sum(a[0] == "allow" for a in answers) == 3
    assert desks[0].counter("refunded_per_principal") == 90
    assert desks[0].store.wrong_counters() == []


def test_limit_may_be_reached_and_not_passed(desk: Desk) -> None:
    assert desk.refund(60, "ch-1") == ("allow", "configured_allow")
    assert desk.refund(41, "ch-2") == ("deny", "configured_allow", "limit_exceeded")
    assert desk.refund(40, "ch-2") == ("allow", "configured_allow")
    assert desk.refund(1, "ch-3") == ("deny", "configured_allow", "limit_exceeded")
    assert desk.paid == [60, 40]


def test_effect_that_failed_before_it_began_gives_back(desk: Desk) -> None:
    assert desk.refund(60, "ch-1", fails=EffectNotStarted("refused")) == ("EffectNotStarted",)
    assert desk.counter("refunded_per_principal") == 0
    assert desk.refund(100, "ch-2") == ("allow", "configured_allow")


def test_effect_of_unknown_outcome_holds_until_it_is_reconciled(desk: Desk) -> None:
    assert desk.refund(60, "ch-1", fails=TimeoutError()) == ("TimeoutError",)
    assert desk.refund(60, "ch-2") == ("deny", "configured_allow", "limit_exceeded")
    assert desk.refund(60, "ch-1") == ("blocked_on_reconciliation", "configured_allow", "unknown_side_effect")
    (effect,) = desk.store.effects(TENANT)
    desk.gate.reviews.reconcile(
        effect, outcome="not_committed", evidence_ref="billing:search", reconciled_by="ops", owner_fenced=True
    )
    assert desk.refund(60, "ch-2") == ("allow", "configured_allow")


def test_same_call_again_at_the_limit_gets_its_first_receipt(desk: Desk) -> None:
    assert desk.refund(100, "ch-1") == ("allow", "configured_allow")
    assert desk.refund(100, "ch-1") == ("receipt", "ch-1")
    assert desk.paid == [100]


def test_limit_of_a_day_starts_anew_at_midnight_utc(low_point: OpaPoint, tmp_path: Path) -> None:
    now = [TODAY - TODAY % DAY + DAY - 1]
    desk = Desk.open(low_point, new_store(tmp_path / "records.sqlite"), clock_ms=lambda: now[0])
    assert desk.refund(100, "ch-1") == ("allow", "configured_allow")
    assert desk.refund(1, "ch-2") == ("deny", "configured_allow", "limit_exceeded")
    now[0] += 1
    assert desk.refund(1, "ch-2") == ("allow", "configured_allow")
    desk.store.close()


def test_charge_is_given_back_once_whatever_the_run_or_principal(desk: Desk) -> None:
    assert desk.refund(10, "ch-1") == ("allow", "configured_allow")
    other = desk.start(identity=Identity(tenant_id=TENANT, principal_id="user-8"), session_id="session-2")
    assert desk.refund(10, "ch-1", run=other) == ("deny", "configured_allow", "limit_exceeded")
    assert desk.refund(10, "ch-2", run=other) == ("allow", "configured_allow")


def test_two_spellings_of_a_subject_have_two_counters_and_no_value_in_a_name(desk: Desk) -> None:
    desk.refund(10, "ch/secret")
    names = [u["name"] for e in desk.store.events(TENANT, desk.run.run_id) for u in e.payload.get("counters", ())]
    assert [name for name in names if "secret" in name] == []
    assert len([name for name in names if PRINCIPAL in name]) == 1


def test_run_that_spent_its_budget_has_no_further_effect(repo: Path, tmp_path: Path) -> None:
    point = desk_point(desk_copy(repo, tmp_path, ("policy.yaml", "max_effects: 5", "max_effects: 2")))
    desk = Desk.open(point, new_store(tmp_path / "records.sqlite"))
    assert [desk.refund(1, f"ch-{n}")[0] for n in range(3)] == ["allow", "allow", "deny"]
    # Another run has a budget of its own.
    assert desk.refund(1, "ch-3", run=desk.start(session_id="session-2")) == ("allow", "configured_allow")
    desk.store.close()


class Listening:
    """A decision point that remembers what it was asked."""

    def __init__(self, point: OpaPoint) -> None:
        self.point = point
        self.asked: list[Mapping[str, Any]] = []

    def decide(self, document: Mapping[str, Any]) -> Reply:
        self.asked.append(document)
        return self.point.decide(document)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.point, name)


def test_budget_that_remains_is_in_every_document_of_the_run(repo: Path, tmp_path: Path) -> None:
    point: Any = Listening(desk_point(desk_copy(repo, tmp_path)))
    desk = Desk.open(point, new_store(tmp_path / "records.sqlite"))
    desk.refund(1, "ch-1")
    desk.gate.check(desk.run, "user_message", {"text": "hello"})
    desk.gate.check_call(desk.run, Call(capability="lookup_charge", arguments={"charge_id": "ch-1"}))
    told = [(d["operation"], (d["state"]["run"] or {}).get("budget_remaining")) for d in point.asked]
    assert told == [("run_start", None), ("call_tool", 5), ("user_message", 4), ("call_tool", 4)]
    desk.store.close()


def test_amount_that_is_no_whole_number_of_cents_is_refused(desk: Desk) -> None:
    answers = {}
    for amount in (0, -60, 0.6, "60", None, True, [60]):
        call = Call(capability="issue_refund", arguments=refund_of(amount, "ch-1"), idempotency_key="k", reason="r")
        answers[str(amount)] = str(desk.gate.check_call(desk.run, call).verdict)
    assert answers == dict.fromkeys(answers, "deny")


@pytest.mark.parametrize(
    "counters",
    [[], None, "all", [{"name": "x"}], [{"name": "x", "amount": 1, "limit": 1, "read": 0}]],
    ids=["none", "null", "text", "unlike a counter", "too few"],
)
def test_allow_that_does_not_say_what_to_count_is_refused(low_point: OpaPoint, tmp_path: Path, counters: Any) -> None:
    point = Altered(low_point, obliging("claim_effect", counters=counters))
    desk = Desk.open(point, new_store(tmp_path / "records.sqlite"))
    assert desk.refund(1, "ch-1") == ("deny", "obligation_undischarged")
    assert desk.store.effects(TENANT) == []
    desk.store.close()
