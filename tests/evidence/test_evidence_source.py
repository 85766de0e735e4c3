"""Sources of evidence: what a good answer becomes, and that a bad one makes its section unknown, never absent."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gate.canonical import canonical_bytes, parse
from gate.enforcement import Gate
from gate.errors import InputError
from gate.evidence import (
    Evidence,
    EvidenceBuilder,
    Identity,
    Question,
    Run,
    SignedEvidence,
    sign_evidence,
)
from gate.evidence.source import MAX_PENDING
from gate.pdp import Facts
from gate.records import Store, generate_key

NOW = 1_800_000_000_000
PRIVATE, PUBLIC = generate_key()
RUN = Run(
    agent_id="agent",
    session_id="session",
    run_id="run-1",
    trace_id="trace",
    identity=Identity(tenant_id="acme", principal_id="user-1"),
)
FACTS = Facts(revision="r", evidence={"destination": {"max_age_seconds": 60, "signature_keys": {"broker-1": PUBLIC}}})
QUESTION = Question(run=RUN, checkpoint="tool_execution", operation="list_tools", now_ms=NOW, facts=FACTS)


@dataclass
class Source:
    """Answers with what it is given, or what it calculates from the question."""

    answer: Any
    section: str = "destination"
    checked_by: str = "svc-egress"

    def collect(self, question: Question) -> Any:
        return self.answer(question) if callable(self.answer) else self.answer


def collected(*sources: Any, timeout_ms: int = 2_000, question: Question = QUESTION) -> dict[str, Any]:
    return Evidence.of(sources, environment="test", timeout_ms=timeout_ms).collect(question)


def stamped(**facts: Any) -> dict[str, Any]:
    stamps = {"checked_by": "svc-egress", "checked_at_ms": NOW, "check_age_ms": 0, "signed_by": None}
    return {**stamps, **facts}


def test_answer_is_stamped_with_who_checked_and_when() -> None:
    assert collected(Source({"host": "a.internal"})) == {"destination": stamped(host="a.internal")}


def test_answer_keeps_when_its_source_looked_and_the_gate_computes_the_age() -> None:
    found = collected(Source({"host": "a", "checked_at_ms": NOW - 1500}))
    assert found == {"destination": stamped(host="a", checked_at_ms=NOW - 1500, check_age_ms=1500)}


def test_answer_from_the_future_has_a_negative_age() -> None:
    assert collected(Source({"checked_at_ms": NOW + 1}))["destination"]["check_age_ms"] == -1


def test_answer_that_does_not_know_when_stays_undated() -> None:
    assert collected(Source({"checked_at_ms": None})) == {"destination": stamped(checked_at_ms=None, check_age_ms=None)}


def test_answer_cannot_say_who_checked_how_old_it_is_or_who_signed() -> None:
    lies = {"host": "a", "checked_by": "svc-trusted", "check_age_ms": 0, "signed_by": "broker-1"}
    assert collected(Source(lies)) == {"destination": stamped(host="a")}


def test_age_of_what_was_fetched_is_computed() -> None:
    found = collected(Source({"fetched_at_ms": NOW - 60_000, "age_ms": 1}, section="retrieval"))
    assert found["retrieval"]["age_ms"] == 60_000


def test_source_without_a_name_is_known_by_its_class() -> None:
    class Broker:
        section = "destination"

        def collect(self, question: Question) -> Mapping[str, Any]:
            return {}

    assert collected(Broker())["destination"]["checked_by"] == "Broker"


def test_nothing_to_say_is_null() -> None:
    assert collected(Source(None)) == {"destination": None}


def test_two_sources_answer_side_by_side() -> None:
    both = threading.Barrier(2, timeout=5)

    def meet(question: Question) -> dict[str, Any]:
        both.wait()
        return {}

    found = collected(Source(meet), Source(meet, section="mcp"))
    assert set(found) == {"destination", "mcp"}
    assert {} not in found.values()


def failing(question: Question) -> Any:
    raise RuntimeError("token tok-secret-1")


def leaving(question: Question) -> Any:
    raise SystemExit(3)


BAD: list[tuple[str, Any]] = [
    ("evidence_source_failed", failing),
    ("evidence_source_failed", leaving),
    ("evidence_malformed", "a.internal"),
    ("evidence_malformed", ["a"]),
    ("evidence_malformed", {"host": 17}),
    ("evidence_malformed", {"host": "a", "hots": "b"}),
    ("evidence_malformed", {"checked_at_ms": "now"}),
    ("evidence_malformed", {"checked_at_ms": True}),
    ("evidence_malformed", {"host": float("nan")}),
    ("evidence_malformed", {"host": "\ud800"}),
    ("evidence_malformed", {17: "a"}),
    ("evidence_malformed", {"host": object()}),
]


@pytest.mark.parametrize(("code", "answer"), BAD)
def test_bad_answer_makes_its_section_unknown_and_no_other(
    code: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = collected(Source(answer), Source({"server": "m"}, section="mcp"))
    assert found["destination"] == {}
    assert found["mcp"]["server"] == "m"
    assert [record.getMessage() for record in caplog.records] == [f"evidence section destination is unknown: {code}"]
    assert "tok-secret-1" not in caplog.text


def test_late_answer_is_unknown_and_does_not_arrive_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    let_go = threading.Event()

    def slow(question: Question) -> dict[str, Any]:
        let_go.wait(10)
        return {"host": "a"}

    found = collected(Source(slow), timeout_ms=50)
    let_go.set()
    assert found == {"destination": {}}
    assert "evidence_source_late" in caplog.text


def test_hung_source_costs_a_bounded_number_of_threads(caplog: pytest.LogCaptureFixture) -> None:
    let_go = threading.Event()
    evidence = Evidence.of([Source(lambda _: let_go.wait(30) and None)], environment="test", timeout_ms=1)
    try:
        found = [evidence.collect(QUESTION) for _ in range(MAX_PENDING + 3)]
        hung = [t for t in threading.enumerate() if t.name == "gate-evidence"]
    finally:
        let_go.set()
    assert found == [{"destination": {}}] * (MAX_PENDING + 3)
    assert len(hung) == MAX_PENDING
    assert caplog.text.count("evidence_source_busy") == 3


def test_source_that_recovers_is_asked_again() -> None:
    let_go = threading.Event()
    answers: list[Callable[[], Any]] = [lambda: let_go.wait(30) and None] * MAX_PENDING
    evidence = Evidence.of(
        [Source(lambda _: answers.pop()() if answers else {"host": "a"})], environment="test", timeout_ms=500
    )
    for _ in range(MAX_PENDING):
        replace(evidence, timeout_ms=1).collect(QUESTION)
    let_go.set()
    for thread in threading.enumerate():
        if thread.name == "gate-evidence":
            thread.join(5)
    assert evidence.collect(QUESTION) == {"destination": stamped(host="a")}


def test_answer_changed_afterwards_changes_nothing() -> None:
    answer: dict[str, Any] = {"host": "a"}
    found = collected(Source(answer))
    answer["host"] = "b"
    assert found["destination"]["host"] == "a"


# --- signed ---------------------------------------------------------------------------------------------------------


def signed(facts: Mapping[str, Any], **changes: str) -> SignedEvidence:
    how = {"section": "destination", "environment": "test", "key_id": "broker-1", "private_key": PRIVATE}
    return sign_evidence(facts, **{**how, **changes})


def test_signed_answer_names_its_key() -> None:
    found = collected(Source(signed({"host": "a", "checked_at_ms": NOW - 10})))
    assert found == {"destination": stamped(host="a", checked_at_ms=NOW - 10, check_age_ms=10, signed_by="broker-1")}


def test_signed_answer_without_a_date_is_undated() -> None:
    assert collected(Source(signed({"host": "a"})))["destination"]["checked_at_ms"] is None


def tampered(evidence: SignedEvidence) -> SignedEvidence:
    claims = parse(evidence.payload)
    claims["facts"]["host"] = "b"
    return replace(evidence, payload=canonical_bytes(claims))


FORGED = {
    "changed": tampered(signed({"host": "a"})),
    "other key": signed({"host": "a"}, private_key=generate_key()[0]),
    "unlisted key id": signed({"host": "a"}, key_id="broker-2"),
    "other section": signed({"host": "a"}, section="mcp"),
    "other environment": signed({"host": "a"}, environment="prod"),
    "no signature": replace(signed({"host": "a"}), signature=b""),
    "not json": replace(signed({"host": "a"}), payload=b"host"),
    "a list": replace(signed({"host": "a"}), payload=b"[]"),
    "spaced": replace(signed({"host": "a"}), payload=b" " + signed({"host": "a"}).payload),
    "null": replace(signed({"host": "a"}), payload=b"null"),
}


@pytest.mark.parametrize("evidence", FORGED.values(), ids=FORGED)
def test_forged_answer_is_unknown(evidence: SignedEvidence, caplog: pytest.LogCaptureFixture) -> None:
    assert collected(Source(evidence)) == {"destination": {}}
    assert "evidence_signature_invalid" in caplog.text


@pytest.mark.parametrize("key", ["", "not base64!", base64.b64encode(b"short").decode(), None, 17])
def test_signature_under_an_unusable_key_of_the_bundle_is_unknown(key: Any) -> None:
    facts = Facts(revision="r", evidence={"destination": {"signature_keys": {"broker-1": key}}})
    assert collected(Source(signed({"host": "a"})), question=replace(QUESTION, facts=facts)) == {"destination": {}}


def test_signed_answer_without_a_key_in_the_bundle_is_unknown() -> None:
    question = replace(QUESTION, facts=Facts(revision="r"))
    assert collected(Source(signed({"host": "a"})), question=question) == {"destination": {}}


# --- construction ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "sources"),
    [
        ("evidence_section_reserved", [Source({}, section="arguments")]),
        ("evidence_section_reserved", [Source({}, section="vote")]),
        ("evidence_section_reserved", [Source({}, section="reconciliation")]),
        ("evidence_section_unknown", [Source({}, section="weather")]),
        ("evidence_section_unknown", [Source({}, section="../input")]),
        ("evidence_section_unknown", [Source({}, section="")]),
        ("evidence_section_twice", [Source({}), Source({})]),
        ("evidence_source_invalid", [object()]),
        ("evidence_source_invalid", [{"section": "mcp"}]),
    ],
)
def test_sources_that_cannot_be_used_are_refused(tmp_path: Path, code: str, sources: list[Any]) -> None:
    with Store.open(f"sqlite:///{tmp_path}/records.sqlite") as store, pytest.raises(InputError) as caught:
        Gate(None, store, environment="test", evidence=sources)  # type: ignore[arg-type]
    assert caught.value.code == code


@pytest.mark.parametrize("timeout_ms", [0, -1, 1.5, True, "1"])
def test_time_limit_that_is_none_is_refused(timeout_ms: Any) -> None:
    with pytest.raises(InputError) as caught:
        Evidence.of([], environment="test", timeout_ms=timeout_ms)
    assert caught.value.code == "evidence_timeout_invalid"


def test_document_of_an_operation_holds_what_was_collected(tmp_path: Path) -> None:
    seen: list[Question] = []

    def answer(question: Question) -> dict[str, Any]:
        seen.append(question)
        return {"host": "a"}

    with Store.open(f"sqlite:///{tmp_path}/records.sqlite") as store:
        builder = EvidenceBuilder(
            store=store, environment="test", evidence=Evidence.of([Source(answer)], environment="test")
        )
        found = builder.operation(
            RUN, checkpoint="tool_execution", operation="list_tools", now_ms=NOW, facts=FACTS, request={}
        )
    assert found.document["evidence"] == {"destination": stamped(host="a")}
    assert seen == [QUESTION]


def test_several_hung_sources_are_all_unknown() -> None:
    let_go = threading.Event()

    def slow(question: Question) -> None:
        let_go.wait(30)

    found = collected(Source(slow), Source(slow, section="mcp"), Source(slow, section="sandbox"), timeout_ms=100)
    let_go.set()
    assert found == {"destination": {}, "mcp": {}, "sandbox": {}}
