from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from longtask_support import RUN, WORKSPACE, artifact, constraint, event, item, seed, trajectory

from gate.longtask.artifact import GROUPS, CompactionArtifact, Lineage, items_digest
from gate.longtask.canonical_form import content_digest
from gate.longtask.completion import Outcome, VerificationReceipt, verify
from gate.longtask.drift import Drift, DriftKind, between, from_log, grouped
from gate.longtask.events import CarryItem, EventRecord
from gate.longtask.generation import Generation, GenerationFacts, canonical, inspect, lineage_drifts
from gate.longtask.vocabulary import (
    ContextKind,
    EventType,
    InstructionAuthority,
    RetentionPriority,
    Sensitivity,
    TrustLevel,
)


def codes(drifts: tuple[Drift, ...]) -> set[tuple[str, str, str]]:
    return {(one.kind.value, one.code, one.key) for one in drifts}


def against_log(changed: CompactionArtifact) -> set[tuple[str, str, str]]:
    return codes(from_log(changed, trajectory(), seed()))


def constrained(**changes: Any) -> CompactionArtifact:
    return dataclasses.replace(artifact(), constraints=(constraint(**changes),))


def test_artifact_of_the_log_has_no_drift() -> None:
    assert from_log(artifact(), trajectory(), seed()) == ()
    assert from_log(canonical(trajectory()[:4], seed()), trajectory()[:4], seed()) == ()


CHANGES: list[tuple[dict[str, Any], set[tuple[str, str]]]] = [
    ({"content": "push when you like"}, {("rewriting", "content_digest_changed")}),
    ({"authority": InstructionAuthority.SYSTEM}, {("authority", "authority_raised")}),
    ({"authority": InstructionAuthority.UNTRUSTED}, {("authority", "authority_lowered")}),
    ({"trust": TrustLevel.UNKNOWN}, {("authority", "trust_lowered")}),
    ({"retention_priority": RetentionPriority.LOW}, {("authority", "retention_lowered")}),
    ({"sensitivity": Sensitivity.PUBLIC}, {("authority", "sensitivity_changed")}),
    ({"required_for": frozenset({"x"})}, {("hardening", "requirement_added")}),
    (
        {"source_event_ids": ("e1",)},
        {("provenance", "source_does_not_state_item"), ("provenance", "provenance_lost")},
    ),
    (
        {"source_event_ids": ("e2", "nowhere")},
        {("provenance", "source_does_not_state_item"), ("provenance", "provenance_replaced")},
    ),
    (
        {"kind": ContextKind.OBSERVATION, "authority": InstructionAuthority.NONE},
        {("rewriting", "kind_changed"), ("authority", "authority_lowered")},
    ),
]


@pytest.mark.parametrize(("changes", "wanted"), CHANGES, ids=[str(sorted(changes)) for changes, _ in CHANGES])
def test_one_changed_field_of_an_item_is_told(changes: dict[str, Any], wanted: set[tuple[str, str]]) -> None:
    assert against_log(constrained(**changes)) == {(kind, code, "no-push") for kind, code in wanted}


def test_statement_that_lost_or_gained_weight_is_told() -> None:
    light = dataclasses.replace(artifact().open_issues[0], required_for=frozenset())
    heavy = dataclasses.replace(artifact().goal, retention_priority=RetentionPriority.REQUIRED)
    assert against_log(dataclasses.replace(artifact(), open_issues=(light,), goal=heavy)) == {
        ("authority", "requirement_dropped", "broken"),
        ("hardening", "retention_raised", "goal"),
    }


FIELDS = {
    "content": st.text(min_size=1).filter(lambda text: bool(text.strip())),
    "trust": st.sampled_from(TrustLevel),
    "retention_priority": st.sampled_from(RetentionPriority),
    "sensitivity": st.sampled_from(Sensitivity),
    "source_event_ids": st.lists(st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e9"]), min_size=1, unique=True).map(
        tuple
    ),
    "required_for": st.frozensets(st.sampled_from(["a", "b"])),
}


@given(data=st.data())
def test_no_changed_field_of_any_item_goes_unseen(data: st.DataObject) -> None:
    sound = artifact()
    group = data.draw(st.sampled_from(["goal", "next_intent", *(name for name in GROUPS if getattr(sound, name))]))
    field = data.draw(st.sampled_from(sorted(FIELDS)))
    value = data.draw(FIELDS[field])
    held = getattr(sound, group)
    item_before = held[0] if isinstance(held, tuple) else held
    item_after = dataclasses.replace(item_before, **{field: value})
    changed = dataclasses.replace(sound, **{group: (item_after, *held[1:]) if isinstance(held, tuple) else item_after})
    unchanged = (
        set(value) == set(getattr(item_before, field)) if field == "source_event_ids" else item_after == item_before
    )
    assert bool(from_log(changed, trajectory(), seed())) is not unchanged
    assert bool(between(sound, changed, since=())) is not unchanged


def test_observation_that_became_an_instruction_is_hardened_and_raised() -> None:
    plan = dataclasses.replace(
        artifact().decisions[0], kind=ContextKind.INSTRUCTION, authority=InstructionAuthority.USER
    )
    assert against_log(dataclasses.replace(artifact(), decisions=(plan,))) == {
        ("hardening", "kind_changed", "plan"),
        ("authority", "authority_raised", "plan"),
    }


def test_unverified_that_became_verified_is_hardened() -> None:
    events = (*trajectory()[:4], event(5, item("guess", trust=TrustLevel.UNVERIFIED, source_event_ids=("e5",))))
    made = canonical(events, seed())
    hard = dataclasses.replace(made.rejected_hypotheses[0], trust=TrustLevel.VERIFIED)
    found = from_log(dataclasses.replace(made, rejected_hypotheses=(hard,)), events, seed())
    assert found == (
        Drift(kind=DriftKind.HARDENING, code="trust_raised", key="guess", before="unverified", after="verified"),
    )


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            {"constraints": ()},
            {("deletion", "required_item_missing", "no-push"), ("deletion", "negative_constraint_missing", "no-push")},
        ),
        (
            {"open_issues": ()},
            {("deletion", "required_item_missing", "broken"), ("deletion", "open_issue_missing", "broken")},
        ),
        ({"decisions": ()}, set()),
        ({"evidence_locators": ()}, {("deletion", "locator_missing", "e3"), ("deletion", "locator_missing", "e4")}),
    ],
)
def test_what_is_deleted_is_told(changes: dict[str, Any], wanted: set[tuple[str, str, str]]) -> None:
    assert against_log(dataclasses.replace(artifact(), **changes)) == wanted


def test_refuted_guess_among_the_decisions_is_hardened() -> None:
    sound = artifact()
    moved = dataclasses.replace(sound, decisions=(*sound.decisions, *sound.rejected_hypotheses), rejected_hypotheses=())
    assert from_log(moved, trajectory(), seed()) == (
        Drift(
            kind=DriftKind.HARDENING,
            code="item_moved_to_settled",
            key="guess",
            before="rejected_hypotheses",
            after="decisions",
        ),
    )


def test_constraint_hidden_among_the_open_issues_is_told() -> None:
    sound = artifact()
    moved = dataclasses.replace(sound, constraints=(), open_issues=(*sound.open_issues, *sound.constraints))
    assert against_log(moved) == {("authority", "item_in_another_group", "no-push")}


def test_statement_that_nobody_declared_among_the_constraints_is_told() -> None:
    aside = trajectory()[2].carry_items[2]
    added = dataclasses.replace(artifact(), constraints=(*artifact().constraints, aside))
    assert against_log(added) == {("hardening", "undeclared_item_settled", "aside")}


def test_statement_of_no_event_is_told() -> None:
    invented = item("invented", source_event_ids=("e1",))
    added = dataclasses.replace(artifact(), verification_state=(*artifact().verification_state, invented))
    assert against_log(added) == {
        ("rewriting", "item_without_event", "invented"),
        ("provenance", "source_does_not_state_item", "invented"),
    }


def test_older_statement_of_a_key_is_told_as_rewriting() -> None:
    events = (*trajectory(), event(6, item("plan", content="new plan", source_event_ids=("e6",))))
    made = canonical(events, seed())
    old = dataclasses.replace(made, decisions=artifact().decisions)
    assert {("rewriting", "content_digest_changed", "plan"), ("provenance", "provenance_replaced", "plan")} <= codes(
        from_log(old, events, seed())
    )


def test_locator_with_the_wrong_workspace_is_version_drift() -> None:
    sound = artifact()
    wrong = dataclasses.replace(sound.evidence_locators[0], workspace_digest="workspace-0")
    found = from_log(
        dataclasses.replace(sound, evidence_locators=(wrong, *sound.evidence_locators[1:])), trajectory(), seed()
    )
    assert found == (
        Drift(
            kind=DriftKind.VERSION,
            code="locator_workspace_mismatch",
            key=wrong.locator_id,
            before=WORKSPACE,
            after="workspace-0",
        ),
    )


def test_locator_with_another_content_digest_rests_on_no_observation() -> None:
    sound = artifact()
    wrong = dataclasses.replace(sound.evidence_locators[0], content_digest="0" * 64)
    found = against_log(dataclasses.replace(sound, evidence_locators=(wrong, *sound.evidence_locators[1:])))
    assert found == {
        ("provenance", "locator_without_observation", wrong.locator_id),
        ("deletion", "locator_missing", "e3"),
    }


def test_drift_names_digests_and_never_content() -> None:
    (found,) = from_log(constrained(content="hunter2"), trajectory(), seed())
    assert (found.before, found.after) == (content_digest("what no-push says"), content_digest("hunter2"))


# --- against the parent --------------------------------------------------------------------------------------------


def next_to(child: CompactionArtifact, *since: EventRecord, **more: Any) -> set[tuple[str, str, str]]:
    return codes(between(artifact(), child, since=since, **more))


def test_child_like_its_parent_has_no_drift() -> None:
    assert next_to(artifact()) == set()


def test_change_that_an_event_since_carries_is_explained() -> None:
    newer = item("plan", kind=ContextKind.FACT, content="new plan", source_event_ids=("e6",))
    child = dataclasses.replace(artifact(), decisions=(newer,))
    assert next_to(child, event(6, newer)) == set()
    assert next_to(child) == {
        ("rewriting", "content_digest_changed", "plan"),
        ("provenance", "provenance_replaced", "plan"),
    }


def test_same_content_with_lost_sources_is_provenance_drift() -> None:
    child = constrained(source_event_ids=("e1",))
    assert next_to(child) == {("provenance", "provenance_lost", "no-push")}


def test_deleted_items_are_told_by_their_group() -> None:
    found = between(artifact(), dataclasses.replace(artifact(), constraints=(), decisions=()), since=())
    assert found == (
        Drift(kind=DriftKind.DELETION, code="item_deleted", key="no-push", before="constraints"),
        Drift(kind=DriftKind.DELETION, code="item_deleted", key="plan", before="decisions"),
    )


def test_open_issue_goes_only_with_a_verification_that_passed() -> None:
    child = dataclasses.replace(artifact(), open_issues=())
    log = (*trajectory(), event(6, event_type=EventType.VERIFICATION))
    receipt = VerificationReceipt(
        event_id="e6",
        subjects=frozenset({"broken"}),
        command="make test",
        result=Outcome.PASSED,
        workspace_digest=WORKSPACE,
        exit_status=0,
    )
    gone = {("deletion", "open_issue_closed_without_verification", "broken")}
    for receipts, live, wanted in (
        ((), WORKSPACE, gone),
        ((receipt,), "workspace-2", gone),
        ((dataclasses.replace(receipt, result=Outcome.FAILED, exit_status=1),), WORKSPACE, gone),
        ((receipt,), WORKSPACE, set()),
    ):
        verified = verify(["broken"], events=log, receipts=receipts, live_workspace_digest=live)
        assert next_to(child, verified=verified) == wanted


def test_open_issue_that_became_a_decision_is_closed_and_hardened() -> None:
    sound = artifact()
    child = dataclasses.replace(sound, open_issues=(), decisions=(*sound.decisions, *sound.open_issues))
    assert next_to(child) == {
        ("deletion", "open_issue_closed_without_verification", "broken"),
        ("hardening", "item_moved_to_settled", "broken"),
    }


@pytest.mark.parametrize(
    ("kind", "explained"), [(EventType.VERIFICATION, True), (EventType.DECISION, False), (EventType.USER_UPDATE, False)]
)
def test_verification_state_changes_by_a_verification_only(kind: EventType, explained: bool) -> None:
    passes = item("test-fails", content="now it passes", source_event_ids=("e6",))
    child = dataclasses.replace(artifact(), verification_state=(passes,))
    jump = ("hardening", "verification_changed_without_event", "test-fails")
    assert (jump in next_to(child, event(6, passes, event_type=kind))) is not explained


# --- generations ---------------------------------------------------------------------------------------------------


def generation(made: CompactionArtifact, **changes: Any) -> Generation:
    sound: dict[str, Any] = {
        "generation": 1,
        "parent_artifact_id": None,
        "parent_digest": None,
        "direct_source": "event_log",
        "generator": "structured",
        "generator_version": "1",
        "items_digest": items_digest(made),
    }
    return Generation(artifact=made, lineage=Lineage(**{**sound, **changes}))


def child_of(parent: Generation, made: CompactionArtifact, **changes: Any) -> Generation:
    named = {
        "generation": parent.lineage.generation + 1,
        "parent_artifact_id": parent.artifact.artifact_id,
        "parent_digest": items_digest(parent.artifact),
        "direct_source": "artifact",
    }
    return generation(dataclasses.replace(made, artifact_id="cmp-child"), **{**named, **changes})


def facts(one: Generation, parent: Generation | None = None, **changes: Any) -> GenerationFacts:
    given: dict[str, Any] = {"events": trajectory(), "seed": seed(), "live_workspace_digest": WORKSPACE}
    return inspect(one, parent=parent, **{**given, **changes})


def _child(**changes: Any) -> Generation:
    made = dataclasses.replace(artifact(), artifact_id="cmp-child", **changes)
    return child_of(generation(artifact()), made, items_digest=items_digest(made))


def test_sound_generation_meets_no_stop_rule() -> None:
    assert facts(generation(artifact())).as_evidence() == {
        "drifts": [],
        "required_missing": [],
        "negative_constraints_missing": [],
        "issues_closed_without_verification": [],
        "source_digest_matches": True,
        "workspace_matches": True,
        "schema_readable": True,
        "lineage_sound": True,
    }
    assert facts(_child(), generation(artifact())).stops == ()


def _forged(**changes: Any) -> CompactionArtifact:
    forged = dataclasses.replace(artifact())
    for name, value in changes.items():
        object.__setattr__(forged, name, value)
    return forged


STOPS: list[tuple[str, Callable[[], GenerationFacts]]] = [
    ("required_item_missing", lambda: facts(generation(dataclasses.replace(artifact(), constraints=())))),
    ("negative_constraint_missing", lambda: facts(generation(dataclasses.replace(artifact(), constraints=())))),
    ("open_issue_closed_without_verification", lambda: facts(_child(open_issues=()), generation(artifact()))),
    ("artifact_source_digest_mismatch", lambda: facts(generation(artifact()), events=trajectory()[:4])),
    ("artifact_source_digest_mismatch", lambda: facts(generation(artifact()), events=())),
    (
        "artifact_source_digest_mismatch",
        lambda: facts(generation(dataclasses.replace(artifact(), source_event_range=(1, 6)))),
    ),
    ("stale_workspace_digest", lambda: facts(generation(artifact()), live_workspace_digest="workspace-2")),
    ("artifact_rejected_schema", lambda: facts(generation(_forged(schema_version="2.0")))),
]


@pytest.mark.parametrize(("code", "make"), STOPS, ids=[f"{n}-{code}" for n, (code, _) in enumerate(STOPS)])
def test_stop_rule_is_met_by_its_fact(code: str, make: Callable[[], GenerationFacts]) -> None:
    assert code in make().stops


def test_constraint_of_the_parent_that_is_gone_is_a_negative_constraint_missing() -> None:
    parent = generation(artifact())
    found = facts(_child(constraints=()), parent, seed=seed(constraint_keys=frozenset(), required_keys=frozenset()))
    assert found.negative_constraints_missing == ("no-push",)


LINEAGES: list[tuple[str, dict[str, Any], bool]] = [
    ("items_digest_mismatch", {"items_digest": "sha256:" + "0" * 64}, False),
    ("direct_source_unknown", {"direct_source": "summary"}, False),
    ("parent_not_found", {"direct_source": "artifact"}, False),
    ("parent_not_found", {"direct_source": "migration"}, False),
    ("parent_not_read", {"parent_artifact_id": "cmp-lost"}, False),
    ("parent_not_read", {"parent_digest": "sha256:" + "0" * 64}, False),
    ("generation_not_next", {"generation": 2}, False),
    ("generation_not_next", {"generation": 0}, False),
    ("generator_unnamed", {"generator": " "}, False),
    ("generator_unnamed", {"generator_version": ""}, False),
    ("direct_source_unknown", {"direct_source": ""}, True),
    ("parent_mismatch", {"parent_artifact_id": "cmp-other"}, True),
    ("parent_mismatch", {"parent_artifact_id": None}, True),
    ("parent_digest_mismatch", {"parent_digest": None}, True),
    ("generation_not_next", {"generation": 1}, True),
    ("generation_not_next", {"generation": 3}, True),
    ("generation_not_next", {"direct_source": "migration"}, True),
    ("parent_not_read", {"direct_source": "event_log", "generation": 1}, True),
]


@pytest.mark.parametrize(("code", "changes", "has_parent"), LINEAGES)
def test_lineage_that_says_something_else_is_told(code: str, changes: dict[str, Any], has_parent: bool) -> None:
    parent = generation(artifact()) if has_parent else None
    one = child_of(parent, artifact(), **changes) if parent else generation(artifact(), **changes)
    assert code in {drift.code for drift in lineage_drifts(one, parent)}
    assert facts(one, parent).lineage_sound is False


def test_generation_of_the_log_is_the_first_again_whatever_came_before() -> None:
    parent = child_of(generation(artifact()), artifact())
    assert parent.lineage.generation == 2
    assert lineage_drifts(generation(artifact()), parent) == ()


def test_migration_is_of_its_parent_s_generation() -> None:
    parent = generation(artifact())
    assert lineage_drifts(child_of(parent, artifact(), direct_source="migration", generation=1), parent) == ()


def test_id_used_again_for_other_content_is_told() -> None:
    parent = generation(artifact())
    other = generation(dataclasses.replace(artifact(), decisions=()))
    assert {drift.code for drift in lineage_drifts(other, parent)} == {"artifact_id_reused"}
    assert lineage_drifts(generation(artifact()), parent) == ()


def test_regeneration_from_the_log_gives_the_same_bytes() -> None:
    assert items_digest(canonical(list(trajectory()), seed())) == items_digest(artifact())


def test_grouped_names_every_item_once() -> None:
    found = grouped(artifact())
    assert {key: group for key, (group, _) in found.items()} == {
        "goal": "goal",
        "no-push": "constraints",
        "plan": "decisions",
        "guess": "rejected_hypotheses",
        "broken": "open_issues",
        "test-fails": "verification_state",
        "next-intent": "next-intent",
    }
    assert all(isinstance(one, CarryItem) for _, one in found.values())
    assert artifact().run_id == RUN
