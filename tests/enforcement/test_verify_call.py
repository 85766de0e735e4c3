"""A tool in a process of its own, asked past the executor in every way that comes to mind."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from desk_support import (
    CALL_KEY,
    CALL_PUBLIC,
    TENANT,
    Desk,
    desk_copy,
    desk_point,
    refund_of,
)
from new_store import new_store
from opa_point import OpaPoint
from service_support import Service, approve, claimed, serving

from gate.enforcement import CallRefused, EffectOutcomeUnknown
from gate.enforcement.call_token import issue, read
from gate.errors import InputError
from gate.records import GateKey, PublicKey, RunStatus, generate_key


@pytest.fixture(scope="module")
def point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    return desk_point(desk_copy(repo, tmp_path_factory.mktemp("desk")))


@pytest.fixture(scope="module")
def short_point(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> OpaPoint:
    """A desk whose claims last a second beside their margin."""
    folder = tmp_path_factory.mktemp("short")
    return desk_point(desk_copy(repo, folder, ("capabilities.yaml", "timeout_seconds: 10", "timeout_seconds: 1")))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store(tmp_path / "records.sqlite")


@pytest.fixture
def desk(point: OpaPoint, url: str) -> Iterator[Desk]:
    opened = Desk.open(point, url)
    yield opened
    opened.store.close()


@pytest.fixture
def service(desk: Desk, url: str, tmp_path: Path) -> Iterator[Service]:
    with serving(url, tmp_path) as running:
        yield running


def test_call_through_the_executor_is_paid_once(desk: Desk, service: Service) -> None:
    with claimed(desk, 2500, "ch-1") as call:
        assert service.call(call.token, call.arguments) == (200, "ch-1")
        call.complete({"refund": "ch-1"})
    assert service.paid == [refund_of(2500, "ch-1")]
    kinds = [event.event_type for event in desk.store.events(TENANT, desk.run.run_id)]
    assert kinds == ["run_created", "effect_claimed", "effect_dispatched", "effect_settled"]
    assert [(c.events, c.sound) for c in desk.store.inspect_chains(TENANT, desk.run.run_id)] == [(4, True)]


def test_direct_call_is_refused(service: Service) -> None:
    assert service.call(None, refund_of(2500, "ch-1")) == (403, "call_token_missing")
    assert service.call("", refund_of(2500, "ch-1")) == (403, "call_token_missing")
    assert service.call("let me in", refund_of(2500, "ch-1")) == (403, "call_token_malformed")
    assert service.paid == []


def test_replayed_token_is_refused_before_and_after_the_effect_is_settled(desk: Desk, service: Service) -> None:
    with claimed(desk, 2500, "ch-1") as call:
        token, arguments = call.token, call.arguments
        assert service.call(token, arguments) == (200, "ch-1")
        assert service.call(token, arguments) == (403, "call_token_replayed")
        # Another token of the same claim is the same start.
        assert service.call(call.token, arguments) == (403, "call_token_replayed")
        call.complete()
    assert service.call(token, arguments) == (403, "call_token_replayed")
    assert len(service.paid) == 1


def test_token_that_was_not_used_is_worth_nothing_once_its_effect_is_settled(desk: Desk, service: Service) -> None:
    with claimed(desk, 2500, "ch-1") as call:
        token = call.token
    assert service.call(token, refund_of(2500, "ch-1")) == (403, "claim_settled")
    assert service.paid == []


@pytest.mark.parametrize(
    "arguments",
    [
        refund_of(2501, "ch-1"),
        refund_of(2500, "ch-2"),
        {**refund_of(2500, "ch-1"), "note": ""},
        refund_of("2500", "ch-1"),
        None,
        {},
        [],
    ],
    ids=["amount", "charge", "one more", "text", "null", "empty", "list"],
)
def test_token_for_other_arguments_is_refused(desk: Desk, service: Service, arguments: Any) -> None:
    with claimed(desk, 2500, "ch-1") as call:
        assert service.call(call.token, arguments) == (403, "call_token_arguments_mismatch")
    assert service.paid == []


def test_tampered_and_foreign_tokens_are_refused(desk: Desk, service: Service) -> None:
    arguments = refund_of(2500, "ch-1")
    with claimed(desk, 2500, "ch-1") as call:
        payload, signature = call.token.split(".")
        said = json.loads(urlsafe_b64decode(payload + "=="))
        stranger = GateKey(key_id="executor-1", private_key=generate_key()[0])
        unlisted = GateKey(key_id="executor-2", private_key=CALL_KEY.private_key)
        token = read(call.token, {"executor-1": PublicKey(public_key=CALL_PUBLIC)})
        forged = urlsafe_b64encode(json.dumps({**said, "fencing": 2}).encode()).decode().rstrip("=")
        tried = {
            "unsigned": f"{payload}.",
            "without a dot": payload,
            "signed twice": f"{call.token}.{signature}",
            "changed": f"{forged}.{signature}",
            "by a stranger": issue(token, stranger),
            "by a key nobody lists": issue(replace(token, key_id="executor-2"), unlisted),
            "in another spelling": f"{payload}={'.'}{signature}",
            "of a head": issue(token, CALL_KEY).replace(".", ". "),
        }
        answers = {what: service.call(text, arguments) for what, text in tried.items()}
    malformed, invalid = (403, "call_token_malformed"), (403, "call_token_signature_invalid")
    assert answers == {
        "unsigned": invalid,
        "without a dot": malformed,
        "signed twice": malformed,
        "changed": invalid,
        "by a stranger": invalid,
        "by a key nobody lists": (403, "call_token_key_unknown"),
        "in another spelling": malformed,
        "of a head": malformed,
    }
    assert service.paid == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"environment": "production"}, "call_token_environment_mismatch"),
        ({"tenant_id": "globex"}, "call_token_tenant_mismatch"),
        ({"capability": "issue_manager_refund"}, "call_token_capability_mismatch"),
        ({"expires_at_ms": 1}, "call_token_expired"),
        ({"run_id": "run-other"}, "run_unknown"),
        ({"business_key": "sha256:other"}, "claim_unknown"),
        ({"principal_id": "user-8"}, "claim_unknown"),
        ({"fencing": 2}, "claim_fenced"),
        ({"action_digest": "sha256:" + "0" * 64}, "claim_action_mismatch"),
        ({"approval_id": "apr-none"}, "approval_unknown"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_token_that_the_records_do_not_bear_out_is_refused(
    desk: Desk, service: Service, changes: dict[str, Any], code: str
) -> None:
    """Signed with the gate's own key: what a confused or taken-over executor could say."""
    with claimed(desk, 2500, "ch-1") as call:
        token = read(call.token, {"executor-1": PublicKey(public_key=CALL_PUBLIC)})
        assert service.call(issue(replace(token, **changes), CALL_KEY), call.arguments) == (403, code)
    assert service.paid == []


def test_token_is_refused_by_a_service_of_another_tenant_environment_or_store(
    desk: Desk, url: str, tmp_path: Path
) -> None:
    answers = {}
    for what, address, options in (
        ("tenant", url, {"tenant": "globex"}),
        ("environment", url, {"environment": "production"}),
        ("store", f"sqlite:///{tmp_path / 'other.sqlite'}", {}),
    ):
        folder = tmp_path / what
        folder.mkdir()
        with serving(address, folder, **options) as service, claimed(desk, 2500, f"ch-{what}") as call:
            answers[what] = service.call(call.token, call.arguments)
            assert service.paid == []
    assert answers == {
        "tenant": (403, "call_token_tenant_mismatch"),
        "environment": (403, "call_token_environment_mismatch"),
        "store": (403, "run_unknown"),
    }


def test_call_after_its_run_was_stopped_or_paused_is_refused(desk: Desk, service: Service) -> None:
    def answer(charge: str, move: Any) -> tuple[int, str]:
        run = desk.start(session_id=f"session-{charge}")
        with claimed(desk, 2500, charge, run=run) as call:
            move(run)
            return service.call(call.token, call.arguments)

    assert answer("ch-1", lambda run: desk.gate.end_run(run, RunStatus.STOPPED)) == (403, "run_not_running")
    assert answer("ch-2", desk.gate.pause_run) == (403, "run_not_running")
    assert service.paid == []


def test_approved_call_is_paid_and_after_a_revocation_is_not(desk: Desk, service: Service) -> None:
    approval_id = approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        assert service.call(call.token, call.arguments) == (200, "ch-78")
        call.complete()
    assert str(desk.store.approval(TENANT, approval_id).status) == "consumed"  # type: ignore[union-attr]
    approve(desk, 9900, "ch-99")
    with claimed(desk, 9900, "ch-99") as call:
        # What takes an approval back that a claim has consumed already: the key of who signed it is denied.
        desk.store.deny_key(TENANT, "sana-support-2026", public_key=None, reason="stolen", denied_by="security")
        assert service.call(call.token, call.arguments) == (403, "approval_key_denied")
    assert [paid["charge_id"] for paid in service.paid] == ["ch-78"]


def test_approval_whose_row_says_revoked_or_was_not_consumed_by_this_claim_starts_nothing(
    desk: Desk, service: Service, url: str
) -> None:
    def sql(statement: str) -> None:
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute(statement)

    approve(desk, 7800, "ch-78")
    with claimed(desk, 7800, "ch-78") as call:
        token, arguments = call.token, call.arguments
        sql("UPDATE approvals SET status = 'revoked'")
        assert service.call(token, arguments) == (403, "approval_revoked")
        sql("UPDATE approvals SET status = 'consumed'")
        sql("UPDATE approval_consumptions SET fencing = 7")
        assert service.call(token, arguments) == (403, "approval_not_consumed")
    assert service.paid == []


def test_call_after_its_lease_ran_out_is_refused(short_point: OpaPoint, url: str, tmp_path: Path) -> None:
    desk, answers = Desk.open(short_point, url), []

    def come_too_late(service: Service) -> None:
        with claimed(desk, 2500, "ch-1") as call:
            token = read(call.token, {"executor-1": PublicKey(public_key=CALL_PUBLIC)})
            while desk.store.now_ms() < token.expires_at_ms:
                time.sleep(0.1)
            answers.append(service.call(call.token, call.arguments))
            later = issue(replace(token, expires_at_ms=token.expires_at_ms + 60_000), CALL_KEY)
            answers.append(service.call(later, call.arguments))

    with serving(url, tmp_path) as service:
        with pytest.raises(EffectOutcomeUnknown):
            come_too_late(service)
        assert answers == [(403, "call_token_expired"), (403, "lease_expired")]
        assert service.paid == []
    desk.store.close()


def test_call_is_refused_while_the_records_cannot_be_read(desk: Desk, service: Service, url: str) -> None:
    path = Path(url.removeprefix("sqlite:///"))
    with claimed(desk, 2500, "ch-1") as call:
        token, arguments = call.token, call.arguments
        hidden = path.with_name("hidden.sqlite")
        path.rename(hidden)
        try:
            assert service.call(token, arguments)[0] == 503
        finally:
            path.unlink(missing_ok=True)
            hidden.rename(path)
    assert service.paid == []


def test_call_that_claims_nothing_has_no_token(desk: Desk) -> None:
    with desk.gate.tool_call(desk.run, "lookup_charge", {"charge_id": "ch-1"}) as call:
        with pytest.raises(InputError, match="no token") as raised:
            _ = call.token
        assert raised.value.code == "call_not_claimed"


def test_retired_key_signs_no_token_and_its_later_tokens_are_refused(desk: Desk) -> None:
    with claimed(desk, 2500, "ch-1") as call:
        text = call.token
        token = read(text, {"executor-1": PublicKey(public_key=CALL_PUBLIC)})
        at = token.issued_at_ms
        with pytest.raises(InputError, match="retired"):
            issue(token, replace(CALL_KEY, retired_at_ms=at))
        with pytest.raises(CallRefused) as raised:
            read(text, {"executor-1": PublicKey(public_key=CALL_PUBLIC, retired_at_ms=at)})
        assert raised.value.code == "call_token_key_retired"
        assert read(text, {"executor-1": PublicKey(public_key=CALL_PUBLIC, retired_at_ms=at + 1)}) == token


def test_token_shows_no_argument_value(desk: Desk) -> None:
    def text(token: str) -> str:
        payload = token.split(".")[0]
        return urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()

    with claimed(desk, 2399, "ch-secret") as call:
        assert "ch-secret" not in text(call.token)
        assert "2399" not in text(call.token)
