from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from edge_support import KEY, copied, http_service, open_edge, point_of
from new_store import new_store
from opa_point import OpaPoint

from gate.decision import ActionBlocked
from gate.enforcement import Gate
from gate.evidence import Identity, Run, sign_evidence
from gate.evidence.http_json import JsonService
from gate.evidence.mcp_server import McpRegistration, McpRegistry
from gate.evidence.sandbox import SandboxSource, profile_digest
from gate.evidence.services import VerifierSource, ownership_source, retrieval_source
from gate.records import Store, generate_key

PLACEHOLDERS = {
    "knowledge-assistant": "cgbVnjUZ8OulJX/jbpfftiIvbnoFOw+g2q9Z6mCL68Y=",
    "incident-coordination": "YEJerorYfr+e0XQB5FkLw4J6Qbwk/uvjb2SyO1Wd6B0=",
    "support-triage": "as8VEQmAlpUH8IGf0BmcTFOH5CJzejSIe7FdFQcoJ/A=",
}
USER = Identity(
    tenant_id="tenant-acme",
    principal_id="user-42",
    authorization_mode="user_delegated",
    delegated_principal_id="user-42",
    delegated_scope="incidents:respond",
)


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], OpaPoint]:
    made: dict[str, OpaPoint] = {}

    def point(name: str) -> OpaPoint:
        if name not in made:
            made[name] = point_of(copied(name, tmp_path_factory.mktemp("bundle"), PLACEHOLDERS[name]))
        return made[name]

    return point


@dataclass(slots=True)
class Registry:
    """What a service of the host knows: one record a name, or a way of not answering."""

    records: dict[str, Any] = field(default_factory=dict)
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    key: str = "incident_id"
    status: int = 200

    def answer(self, question: Mapping[str, Any]) -> tuple[int, Any]:
        self.asked.append(question)
        return self.status, self.records.get(question[self.key], {})


@dataclass(slots=True)
class Place:
    gate: Gate
    run: Run
    registry: Registry

    def call(self, capability: str, arguments: Any, key: str = "key-1") -> list[str]:
        """The codes that refused the call; empty when it ran."""
        try:
            with self.gate.tool_call(self.run, capability, arguments, idempotency_key=key, reason="Now.") as call:
                call.complete("done")
        except ActionBlocked as blocked:
            return [code for code in blocked.decision.codes if not code.startswith("configured")]
        return []


@pytest.fixture
def place(points: Callable[[str], OpaPoint], tmp_path: Path) -> Iterator[Callable[..., Place]]:
    with ExitStack() as stack:

        def make(bundle: str, agent: str, registry: Registry, source: Callable[[Any], Any]) -> Place:
            url = stack.enter_context(http_service(registry.answer))
            store = Store.open(new_store(tmp_path / "records.sqlite"))
            stack.callback(store.close)
            gate = Gate(points(bundle), store, environment="test", evidence=[source(JsonService(url=url).ask)])
            run = gate.start_run(agent_id=agent, identity=USER, session_id="session-1", trace_id="trace-1")
            return Place(gate, run, registry)

        yield make


INCIDENT = {
    "incident_id": "inc-204",
    "owner": "user-42",
    "owner_role": "incident_commander",
    "source": "incident-registry",
    "handover_to": None,
    "handover_approved": False,
    "on_call": "user-77",
    "severity": "sev2",
    "next_level": 2,
    "unacknowledged_ms": 0,
    "alert_state": "confirmed",
    "review_status": "not_started",
}
PAGE = {
    "incident_id": "inc-204",
    "audience": "service_team",
    "milestone": "declared",
    "severity": "sev2",
    "message": "The billing database does not answer.",
}


def incident(place: Callable[..., Place], **changes: Any) -> Place:
    registry = Registry({"inc-204": {**INCIDENT, **changes}})
    capabilities = frozenset({"notify_responders", "notify_customers", "escalate_incident"})
    return place(
        "incident-coordination",
        "incident-coordinator-ref",
        registry,
        lambda ask: ownership_source(ask, capabilities=capabilities),
    )


def test_owner_in_the_registry_pages_the_responders(place: Callable[..., Place]) -> None:
    there = incident(place)

    assert there.call("notify_responders", PAGE) == []
    assert there.registry.asked == [
        {
            "incident_id": "inc-204",
            "tenant_id": "tenant-acme",
            "principal_id": "user-42",
            "capability": "notify_responders",
            "authorization": None,
        }
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"owner": "user-43"}, "not_the_response_owner"),
        ({"owner": ""}, "incident_unowned"),
        ({"incident_id": "inc-205"}, "evidence_for_another_incident"),
        ({"source": "chat"}, "ownership_source_untrusted"),
        ({"severity": "sev4"}, "severity_not_recorded"),
        ({"alert_state": "noise"}, "noisy_alert"),
        ({"checked_at_ms": 1}, "ownership_check_stale"),
        ({"owner_role": "king"}, "not_the_response_owner"),
    ],
)
def test_record_that_says_otherwise_refuses_the_page(
    place: Callable[..., Place], changes: dict[str, Any], code: str
) -> None:
    assert code in incident(place, **changes).call("notify_responders", PAGE)


def test_owner_that_changed_between_two_calls_is_seen_at_the_second(place: Callable[..., Place]) -> None:
    there = incident(place)
    assert there.call("notify_responders", PAGE) == []

    there.registry.records["inc-204"]["owner"] = "user-77"

    assert "not_the_response_owner" in there.call("notify_responders", {**PAGE, "milestone": "mitigated"}, "key-2")


@pytest.mark.parametrize("status", [404, 500, 302])
def test_registry_that_does_not_answer_refuses_the_page(place: Callable[..., Place], status: int) -> None:
    there = incident(place)
    there.registry.status = status

    codes = there.call("notify_responders", PAGE)

    assert {"not_the_response_owner", "ownership_check_stale", "incident_unowned"} <= set(codes)


DOCUMENT = {
    "document_id": "page-17",
    "source": "wiki",
    "classification": "public",
    "access_decision": "granted",
    "principal_id": "user-42",
    "tenant_id": "tenant-acme",
    "revision": "r12",
    "current_revision": "r12",
    "provenance": "attributed",
    "source_count": 2,
    "conflicting": False,
}
ABOUT_RETRIEVAL = {
    "document_access_denied",
    "access_checked_for_another",
    "access_check_untrusted",
    "access_check_stale",
    "evidence_for_another_document",
    "classification_too_high",
    "source_not_approved",
    "page_expired",
}


def read(place: Callable[..., Place], under: str = "svc-access-control", **changes: Any) -> set[str]:
    """What the bundle has against a read as far as retrieval goes; its other evidence is another adapter's."""
    now = Store.open("sqlite://").now_ms()
    registry = Registry({"page-17": {**DOCUMENT, "fetched_at_ms": now - 60_000, **changes}}, key="document_id")
    there = place(
        "knowledge-assistant",
        "knowledge-assistant-ref",
        registry,
        lambda ask: retrieval_source(ask, checked_by=under),
    )
    return set(there.call("read_document", {"document_id": "page-17"})) & ABOUT_RETRIEVAL


def test_page_that_the_access_service_grants_has_nothing_against_it(place: Callable[..., Place]) -> None:
    assert read(place) == set()


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"access_decision": "denied"}, {"document_access_denied"}),
        ({"principal_id": "user-43"}, {"access_checked_for_another"}),
        ({"tenant_id": "tenant-other"}, {"access_checked_for_another"}),
        ({"document_id": "page-18"}, {"evidence_for_another_document"}),
        ({"classification": "restricted"}, {"classification_too_high"}),
        ({"source": "pastebin"}, {"source_not_approved"}),
        ({"fetched_at_ms": 1}, {"page_expired"}),
        ({"checked_at_ms": 1}, {"access_check_stale"}),
        ({"checked_by": "svc-search-index"}, set()),
        ({"surprise": True}, ABOUT_RETRIEVAL),
    ],
)
def test_page_is_read_only_as_the_access_service_says(
    place: Callable[..., Place], changes: dict[str, Any], codes: set[str]
) -> None:
    assert read(place, **changes) == codes


def test_access_service_under_another_name_is_not_trusted(place: Callable[..., Place]) -> None:
    assert read(place, under="svc-search-index") == {"access_check_untrusted"}


# Verifiers


def test_signed_verdict_of_the_very_contract_lets_the_roll_out_be_asked_for(tmp_path: Path) -> None:
    for key, expected in ((KEY[0], False), (generate_key()[0], True)):
        folder = tmp_path / str(expected)
        folder.mkdir()
        bundle = copied("edge-deployment", folder)
        policy = bundle / "policy.yaml"
        text = policy.read_text("utf-8").replace(PLACEHOLDERS["support-triage"], KEY[1])
        policy.write_text(text, "utf-8")

        def verdict(question: Mapping[str, Any], key: str = key) -> tuple[int, Any]:
            signed = sign_evidence(
                {
                    "contract": "rollout-health-verifier",
                    "contract_version": "2",
                    "contract_digest": "sha256:" + "8" * 64,
                    "verdict": "passed",
                    "action_digest": question["action_digest"],
                    "checked_at_ms": question["asked_at_ms"],
                },
                section="verifier",
                environment="test",
                key_id="rollout-health-2026",
                private_key=key,
            )
            return 200, {
                "payload": base64.b64encode(signed.payload).decode(),
                "signature": base64.b64encode(signed.signature).decode(),
            }

        with http_service(verdict) as url:
            source = VerifierSource(
                ask=JsonService(url=url).ask, capabilities=frozenset({"roll_out"}), checked_by="rollout-health"
            )
            with (
                open_edge(point_of(bundle), folder, evidence=[source]) as edge,
                pytest.raises(ActionBlocked) as blocked,
                edge.gate.tool_call(
                    edge.run, "roll_out", {"release": "r-8"}, idempotency_key="k", reason="All is well."
                ),
            ):
                edge.bodies.append("ran")

        assert ("rollout_health_not_judged" in blocked.value.decision.codes) is expected
        assert edge.bodies == []


# Sandboxes


PROFILE = {
    "profile_contract": "support-sandbox-v1",
    "network": "denied",
    "secrets": "none",
    "shell": "none",
    "workspace_entries": [],
}


@pytest.mark.parametrize(
    ("profile", "review", "state", "codes"),
    [
        ({}, {}, {}, set()),
        ({"network": "restricted"}, {}, {}, {"sandbox_profile_mismatch"}),
        ({"extra": 1}, {"profile_digest": profile_digest(PROFILE)}, {}, {"sandbox_profile_not_reviewed"}),
        ({}, {"state": "pending"}, {}, {"sandbox_profile_not_reviewed"}),
        ({}, {"review_ref": ""}, {}, {"sandbox_profile_not_reviewed"}),
        ({"workspace_entries": ["/home:rw"]}, {}, {}, {"sandbox_workspace_not_allowed"}),
        ({}, {}, {"resumed_from": "sha256:1", "snapshot_digest": "sha256:1"}, {"sandbox_resume_not_allowed"}),
    ],
)
def test_sandbox_runs_only_under_the_reviewed_profile(
    points: Callable[[str], OpaPoint],
    tmp_path: Path,
    profile: dict[str, Any],
    review: dict[str, Any],
    state: dict[str, Any],
    codes: set[str],
) -> None:
    used = {**PROFILE, **profile}
    record = {"profile_digest": profile_digest(used), "state": "approved", "review_ref": "review-17", **review}
    started = {"resumed_from": None, "snapshot_digest": None, **state}

    assert _sandboxed(points, tmp_path, json.dumps({"profile": used, "state": started}), json.dumps(record)) == codes


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"profile": 1, "state": {}}', '{"profile": {}}', "not json"])
def test_sandbox_whose_manifest_cannot_be_read_is_unknown(
    points: Callable[[str], OpaPoint], tmp_path: Path, manifest: str
) -> None:
    assert _sandboxed(points, tmp_path, manifest, "{}") == {
        "sandbox_profile_mismatch",
        "sandbox_profile_not_reviewed",
        "sandbox_workspace_not_allowed",
        "sandbox_resume_not_allowed",
    }


def _sandboxed(points: Callable[[str], OpaPoint], folder: Path, manifest: str, review: str) -> set[str]:
    """What the bundle has against a search in the sandbox of these two files."""
    (folder / "manifest.json").write_text(manifest, "utf-8")
    (folder / "review.json").write_text(review, "utf-8")
    source = SandboxSource(manifest=folder / "manifest.json", review=folder / "review.json")
    store = Store.open(new_store(folder / "records.sqlite"))
    docs = McpRegistration(owner="knowledge_platform", discovery_source="approved_registry", auth_mode="oauth")
    registry = McpRegistry({"docs-mcp": docs})
    gate = Gate(points("support-triage"), store, environment="test", evidence=[source, registry])
    run = gate.start_run(agent_id="support-triage-ref", identity=USER, session_id="s", trace_id="t")
    codes = Place(gate, run, Registry()).call("search_docs", {"query": "invoice"})
    store.close()
    return set(codes)
