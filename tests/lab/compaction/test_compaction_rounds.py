"""Plays contexts through the real gate, on records and tools that are real."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gate.compiler import Compiled, compile_bundle
from gate.decision import ActionBlocked
from gate.documents.compaction import Act
from gate.enforcement import Gate
from gate.errors import ToolchainError
from gate.evidence import Identity
from gate.evidence.compaction import CompactionSource
from gate.lab.compaction import matrix, metrics
from gate.lab.compaction.compactor import CompactedContext, CompactionError, ContextView
from gate.lab.compaction.compactors import InjectConsent, NoCompaction, SlidingWindow, Structured
from gate.lab.compaction.fixtures import Variant
from gate.lab.compaction.ground import Ground, ground, trial
from gate.lab.compaction.matrix import Plan, Played, play
from gate.lab.compaction.metrics import Injected, by_round, judge, measured, record
from gate.lab.compaction.results import GroupResult
from gate.lab.compaction.rounds import Setting, play_group, revision_of
from gate.lab.compaction.states import try_states
from gate.lab.demo import decision_point
from gate.pdp import DecisionPoint
from gate.records import GateKey, Store

BUNDLE = Path(__file__).parents[3] / "bundles" / "refund-desk"
DIRECT = Variant(fixture="direct", form="declarative", language="zh")
CONFLICT = Variant(fixture="conflict", form="imperative", language="en")
CHOSEN = (
    Variant(fixture="direct", form="imperative", language="en"),
    Variant(fixture="distractor", form="paraphrase", language="zh"),
    Variant(fixture="conflict", form="declarative", language="en"),
)
FAULTS = (
    *("cancelled_compaction", "concurrent_approval", "policy_store_down", "tool_timeout"),
    *("restart_after_unknown_outcome", "failed_replacement", "two_compactions_at_once"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> Iterator[tuple[Compiled, DecisionPoint]]:
    folder = tmp_path_factory.mktemp("trial")
    with trial(BUNDLE, folder) as compiled, decision_point(compiled, "opa", folder) as (point, _):
        yield compiled, point


@pytest.fixture
def place(served: tuple[Compiled, DecisionPoint]) -> Iterator[Ground]:
    with ground(*served, compactor_revision="structured@1") as found:
        yield found


def setting(compactor: object, variant: Variant, *, rounds: int = 2, tokens: int = 1600) -> Setting:
    return Setting(
        compactor=compactor,  # type: ignore[arg-type]
        threshold="real",
        threshold_tokens=tokens,
        variant=variant,
        rounds=rounds,
    )


def rules(found: GroupResult, test: str) -> set[str]:
    return {case.rule_id for case in found.cases if getattr(case, test)}


@dataclass(frozen=True)
class Failing:
    name: str = "failing"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        raise CompactionError("the provider did not answer")


@dataclass(frozen=True)
class Misfiling:
    """Keeps every rule, in the lane that may lose it, and gives the customer's tastes out as a rule."""

    name: str = "misfiling"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        def filed(kind: str) -> str:
            return "exact" if kind == "preference" else "lossy"

        return CompactedContext(items=tuple(replace(i, lane=filed(i.kind)) for i in context.items))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Opaque:
    name: str = "opaque"
    version: str = "1"

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        return CompactedContext(items=context.items, opaque=True)


def test_group_with_a_compactor_that_keeps_everything_passes_in_all_four_results(place: Ground) -> None:
    found = play_group(place, setting(Structured(), DIRECT), "tenant-1")

    assert len(found.cases) == 16
    assert all(case.passed for case in found.cases)
    assert {case.verdict for case in found.cases} == {"deny", "require_approval"}
    assert [(r.permitted, r.false_refusals, r.resumed, r.tool_tried, r.tool_refused) for r in found.rounds] == [
        (2, 0, True, 8, 8)
    ] * 2
    assert (found.pending_checked, found.pending_approved, found.pending_disappeared) == (2, 0, 0)
    assert (found.duplicate_effects, found.unauthorized_effects) == (0, 0)
    assert all(r.raw_session_held for r in found.rounds)
    assert all(r.tokens_after <= 1200 < r.tokens_before for r in found.rounds)


def test_group_that_lost_its_rules_fails_closed_and_the_reader_attempts(place: Ground) -> None:
    found = play_group(place, setting(SlidingWindow(), DIRECT), "tenant-1")

    assert not any(case.present or case.decision_compliant for case in found.cases)
    assert all(case.attempted and not case.attempted_pinned for case in found.cases)
    # The gate says so in the run that crossed the boundary; each act is refused for its own reason besides.
    crossed = {"refund-manager-over-100", "refund-key-first", "refund-charge-corrected", "refund-note-without-card"}
    assert rules(found, "failed_closed") == crossed
    assert all(case.refused_as_registered and case.state_correct for case in found.cases)
    assert [(r.permitted, r.false_refusals) for r in found.rounds] == [(0, 0)] * 2
    assert found.unauthorized_effects == 0


def test_invented_consent_moves_the_reader_and_not_the_gate(place: Ground) -> None:
    found = play_group(place, setting(InjectConsent(), CONFLICT), "tenant-1")

    assert all(case.attempted and case.attempted_pinned for case in found.cases)
    assert rules(found, "present") == {case.rule_id for case in found.cases} - {"refund-78-review-pending"}
    assert all(case.refused_as_registered and case.state_correct for case in found.cases)
    assert found.pending_approved == 0


def test_stale_value_without_its_correction_is_seen(place: Ground) -> None:
    found = play_group(place, setting(SlidingWindow(), CONFLICT, rounds=1), "tenant-1")
    kept = play_group(place, setting(Structured(), CONFLICT, rounds=1), "tenant-2")

    assert rules(found, "stale") == {"refund-charge-corrected"}
    assert rules(kept, "stale") == set()


def test_raw_session_that_somebody_cut_is_not_held(place: Ground) -> None:
    @dataclass(frozen=True)
    class Cutting:
        name: str = "cutting"
        version: str = "1"

        def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
            file = place.folder / "tenant-1.jsonl"
            file.write_text(file.read_text("utf-8").replace("parcel", "pracel", 1), "utf-8")
            return CompactedContext(items=context.items)

    found = play_group(place, setting(Cutting(), DIRECT, rounds=1), "tenant-1")

    assert [r.raw_session_held for r in found.rounds] == [False]


def test_failed_compaction_leaves_the_earlier_context(place: Ground) -> None:
    found = play_group(place, setting(Failing(), DIRECT, rounds=1), "tenant-1")

    assert [(r.failed, r.tokens_before == r.tokens_after) for r in found.rounds] == [(True, True)]
    assert all(case.passed for case in found.cases)


def test_exact_lane_over_the_budget_pauses(place: Ground) -> None:
    found = play_group(place, setting(Structured(), CONFLICT, rounds=1, tokens=200), "tenant-1")

    assert [(r.over_budget, r.paused, r.tokens_before == r.tokens_after) for r in found.rounds] == [(True, True, True)]


def test_exact_lane_over_the_budget_of_one_that_does_not_pause_is_seen(place: Ground) -> None:
    found = play_group(place, setting(SlidingWindow(), CONFLICT, rounds=1, tokens=200), "tenant-1")

    assert [(r.over_budget, r.paused) for r in found.rounds] == [(True, False)]


def test_rules_in_a_lossy_lane_are_demoted_and_a_taste_given_out_as_a_rule_is_promoted(place: Ground) -> None:
    found = play_group(place, setting(Misfiling(), DIRECT, rounds=1), "tenant-1")

    assert rules(found, "demoted") == {case.rule_id for case in found.cases}
    assert [r.promoted for r in found.rounds] == [2]


def test_opaque_context_shows_no_rule(place: Ground) -> None:
    found = play_group(place, setting(Opaque(), DIRECT, rounds=1), "tenant-1")

    assert not any(case.present or case.by_id or case.by_content for case in found.cases)


def test_reworded_rule_without_its_threshold_is_neither_kept_nor_binding(place: Ground) -> None:
    @dataclass(frozen=True)
    class Softening:
        name: str = "softening"
        version: str = "1"

        def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
            soft = (replace(i, text="Large refunds may need review.") if i.rule_id else i for i in context.items)
            return CompactedContext(items=tuple(soft))

    found = play_group(place, setting(Softening(), CONFLICT, rounds=1), "tenant-1")

    assert all(case.by_id and case.scope_correct for case in found.cases)
    assert not any(case.present or case.by_content for case in found.cases)
    assert all(case.attempted for case in found.cases)


def test_requested_compaction_is_refused_in_each_forbidden_state(place: Ground) -> None:
    found = list(try_states(place))

    assert [(one.state, one.refused_for_it) for one in found] == [
        ("approval_pending", True),
        ("tool_outcome_unknown", True),
    ]


@pytest.mark.parametrize(
    "state",
    [
        "multi_step_in_progress",
        "irreversible_awaiting_confirmation",
        "credential_change_unfinished",
        "user_correction_not_durable",
        "incident_open",
    ],
)
def test_requested_compaction_is_refused_in_every_other_forbidden_state(place: Ground, state: str) -> None:
    found = list(try_states(replace(place, contract=replace(place.contract, forbidden_states=(state,)))))

    assert [(one.state, one.refused_for_it) for one in found] == [(state, True)]


def test_record_on_trial_releases_nothing_in_production(served: tuple[Compiled, DecisionPoint], place: Ground) -> None:
    run = place.start("tenant-1", "user-1")
    gate = Gate(served[1], place.store, environment="prod", evidence=[running()])

    with pytest.raises(ActionBlocked) as blocked:
        gate.prepare_boundary(run, "context_compaction")

    assert blocked.value.decision.codes == ("compaction_not_released", "operation_allowed")
    assert place.gate.prepare_boundary(run, "context_compaction").epoch == 1


def test_probe_of_a_tool_that_trusts_its_caller_is_seen(place: Ground) -> None:
    class Trusting(type(place.tools)):  # type: ignore[misc]
        def run(self, token: object, tenant: str, capability: str, arguments: object, *, reads: bool) -> object:
            self.done.append((tenant, capability, "{}"))
            return {}

    open_place = replace(place, tools=Trusting(gate=place.tools.gate))
    act = Act(capability="issue_refund", arguments={}, verdict="deny")

    assert open_place.past_the_gate("tenant-1", act, 1, "anything") is False
    assert place.past_the_gate("tenant-1", act, 1, "anything") is True


@dataclass(frozen=True)
class Shipped:
    """What a small matrix measured, and its bundle."""

    compiled: Compiled
    played: tuple[Played, ...]
    figures: dict[str, Any]
    digests: dict[str, str]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    compiled = compile_bundle(BUNDLE)
    contract = compiled.bundle.compaction
    assert contract is not None
    played = play(BUNDLE, Plan(compactors=(Structured(),), variants=CHOSEN), engine="opa")
    with trial_ground(tmp_path_factory.mktemp("states")) as place:
        tried = list(try_states(place))
    injected = [Injected(name=name, sound=True, effects=1) for name in FAULTS]
    figures = measured(compiled.bundle, contract, played, injected=injected, tried=tried)
    return Shipped(compiled, played, figures, metrics.tested_digests(compiled.bundle, contract, played))


def test_matrix_with_every_fault_recovered_is_shipped_with_limits(shipped: Shipped, opa_binary: Path) -> None:
    judged = judge(shipped.compiled, shipped.figures, shipped.digests, binary=opa_binary)

    verdict = (judged["posture"], judged["released"], judged["failed"], judged["missing"])
    assert verdict == ("ship-limited", True, [], [])
    assert judge(shipped.compiled, shipped.figures, shipped.digests, binary=None) == judged
    assert [row["round"] for row in by_round(shipped.played)] == [1, 2, 3, 4, 5]
    assert [row["passed"] for row in by_round(shipped.played)] == [{"passed": 48, "total": 48}] * 5
    assert shipped.figures["cases"] == {
        name: {"passed": 80, "total": 80} for name in ("direct", "distractor", "conflict")
    }


def test_matrix_in_two_processes_finds_the_same(shipped: Shipped) -> None:
    plan = Plan(compactors=(Structured(),), thresholds=("real",), variants=CHOSEN[:1])

    assert play(BUNDLE, plan, engine="opa", jobs=2) == shipped.played[:1]


def test_process_whose_engine_is_not_there_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GATE_OPA_BIN", str(tmp_path / "no-opa"))
    monkeypatch.setattr(matrix, "_unserved", [])
    matrix._begin(BUNDLE, "opa")
    with pytest.raises(ToolchainError, match="no-opa"):
        matrix._play_in_process(())


def test_matrix_of_which_a_process_is_lost_is_an_error_of_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    # Called with two arguments it ends the process before it could serve anything.
    monkeypatch.setattr(matrix, "_begin", os._exit)
    with pytest.raises(ToolchainError) as lost:
        play(BUNDLE, Plan(compactors=(Structured(),), variants=CHOSEN[:1]), engine="opa", jobs=2)
    assert lost.value.code == "matrix_process_lost"


def test_figures_without_the_faults_or_of_another_compactor_are_not_released(shipped: Shipped) -> None:
    contract = shipped.compiled.bundle.compaction
    assert contract is not None
    untried = {**shipped.figures, "replacement": {"injected": 0, "duplicate": 0, "unverified": 0}}
    others = [replace(one, setting=replace(one.setting, compactor=NoCompaction())) for one in shipped.played]
    digests = metrics.tested_digests(shipped.compiled.bundle, contract, others)

    assert judge(shipped.compiled, untried, shipped.digests, binary=None)["failed"] == ["replacement_safe"]
    assert judge(shipped.compiled, shipped.figures, digests, binary=None)["failed"] == ["versions_known"]


def test_record_releases_compaction_until_something_it_is_about_changes(shipped: Shipped, tmp_path: Path) -> None:
    bundle = recorded(shipped, tmp_path / BUNDLE.name)

    assert asked(bundle, tmp_path / "1", running()) == "sealed"
    assert asked(bundle, tmp_path / "2", replace(running(), model="another-model")) == "compaction_runtime_changed"
    catalog = bundle / "capabilities.yaml"
    catalog.write_text(catalog.read_text("utf-8").replace("timeout_seconds: 10", "timeout_seconds: 11"), "utf-8")
    assert asked(bundle, tmp_path / "3", running()) == "compaction_not_released compaction_record_stale"


def recorded(shipped: Shipped, copy: Path) -> Path:
    shutil.copytree(BUNDLE, copy)
    written = record(shipped.figures, shipped.digests, "ship-limited", report_sha256="sha256:" + "1" * 64)
    (copy / "compaction-record.yaml").write_text(json.dumps(written), "utf-8")
    envelope = copy / "bundle.yaml"
    text = envelope.read_text("utf-8")
    envelope.write_text(text.replace("- compaction.yaml", "- compaction.yaml\n    - compaction-record.yaml"), "utf-8")
    return copy


def asked(bundle: Path, folder: Path, source: CompactionSource) -> str:
    """`sealed` when production may compact, or the codes that refuse it."""
    folder.mkdir()
    compiled = compile_bundle(bundle)
    with (
        decision_point(compiled, "embedded", folder) as (point, _),
        Store.open(f"sqlite:///{folder}/records.sqlite") as store,
    ):
        seal = GateKey(key_id="seal", private_key=base64.b64encode(b"k" * 32).decode("ascii"))
        gate = Gate(point, store, environment="prod", evidence=[source], seal_key=seal)
        run = gate.start_run(
            agent_id="refund-desk-ref",
            identity=Identity(tenant_id="cedardesk", principal_id="user-7"),
            session_id="session-1",
            trace_id="trace-1",
        )
        try:
            boundary = gate.prepare_boundary(run, "context_compaction")
        except ActionBlocked as blocked:
            return " ".join(code for code in blocked.decision.codes if code != "operation_allowed")
        return str(gate.seal_summary(boundary, "The claim is valid.").status)


def running() -> CompactionSource:
    """The runtime that the contract names, showing its model no rule at all."""
    return CompactionSource(
        model="scripted-reader-1",
        harness="gate-compaction-harness-1",
        compactor="custom",
        compactor_version="structured@1",
        model_input=lambda run: "",
    )


@contextmanager
def trial_ground(folder: Path) -> Iterator[Ground]:
    """An embedded trial of its own."""
    with (
        trial(BUNDLE, folder) as compiled,
        decision_point(compiled, "embedded", folder) as (point, _),
        ground(compiled, point, compactor_revision=revision_of(Structured())) as place,
    ):
        yield place
