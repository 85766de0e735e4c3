"""The five experiment groups: growth, window, summary against structure, checkpoint against rehydration, drift.

Deterministic, no clock, no network, no model. Every figure is measured from the events handed in.
"""

from __future__ import annotations

from gate.lab.longtask.cases import ExperimentCase, Group, Material, TraceRecord, claims, record
from gate.lab.longtask.grading import grade, integrity, post_resume
from gate.lab.longtask.scripted_policy import APPLY, RepairPolicy, VisibleSemanticState, decide
from gate.lab.longtask.trajectory import (
    CURSOR,
    EARLY_CURSOR,
    FAILING_TEST,
    GOAL,
    WINDOW,
    Trajectory,
    build_config,
    checkpoint,
    seed,
)
from gate.longtask.canonical_form import digest, serialized_bytes
from gate.longtask.events import refuse
from gate.longtask.packet import BuildConfig, Built, build_packet
from gate.longtask.selection import TASK_CONTRACT, candidates, select
from gate.longtask.strategies import AppendAll, ParagraphSummary, SlidingWindow, Structured

GROWTH, WINDOWED, SUMMARISED = "context_growth", "sliding_window", "summary_vs_structured"
RESUMED, DRIFTED = "checkpoint_vs_rehydration", "generational_drift"

_DROPPED_EARLY = "public-signature"


def material(trajectory: Trajectory, policy: RepairPolicy = decide) -> Material:
    """What the strategies make of the events before the boundary. Raises `LongTaskError` as they do."""
    wanted = seed()
    structured = Structured().prepare(trajectory.prefix, wanted)
    if structured.artifact is None:
        raise refuse("missing_artifact")
    return Material(
        trajectory=trajectory,
        seed=wanted,
        structured=structured,
        artifact=structured.artifact,
        summary=ParagraphSummary().prepare(trajectory.prefix, wanted),
        window=SlidingWindow(WINDOW).prepare(trajectory.prefix, wanted),
        policy=policy,
    )


def decision(m: Material, visible: frozenset[str], *, next_step: str = "apply-compatible-patch") -> str:
    """What the policy does when only `visible` is seen."""
    state = VisibleSemanticState(
        visible_keys=visible, checkpoint_next_step=next_step, verification_keys=visible & {FAILING_TEST}
    )
    return m.policy(state).kind


def context_growth(m: Material) -> Group:
    """Everything kept: how it grows from the early cursor to the boundary."""
    cases, trace = [], []
    for cursor in (EARLY_CURSOR, CURSOR):
        events = tuple(event for event in m.trajectory.events if event.sequence <= cursor)
        output = AppendAll().prepare(events, m.seed)
        variant = f"append-all-cursor-{cursor:02d}"
        sizes = (output.serialized_bytes_before, output.serialized_bytes_after)
        cases.append(
            ExperimentCase(
                experiment=GROWTH,
                variant=variant,
                serialized_bytes_before=sizes[0],
                serialized_bytes_after=sizes[1],
                grade=grade(output.visible_keys, m.seed, observed=output.visible_keys),
                # Before the diagnosis there is nothing to decide: null, not a failure.
                decision_kind=decision(m, output.visible_keys) if cursor == CURSOR else None,
                supported_claims=claims(variant),
            )
        )
        told = record(GROWTH, variant)
        trace.append(told("selection", "append_all", [event.event_id for event in events]))
        trace.append(told("measurement", "serialized_bytes", list(sizes)))
    return Group(tuple(cases), tuple(trace))


def windowed(m: Material, experiment: str, variant: str, *traced: TraceRecord) -> Group:
    """The newest eight events and the goal."""
    visible = m.window.visible_keys | {GOAL}
    case = ExperimentCase(
        experiment=experiment,
        variant=variant,
        serialized_bytes_before=m.window.serialized_bytes_before,
        serialized_bytes_after=m.window.serialized_bytes_after + serialized_bytes([m.artifact.goal]),
        grade=grade(visible, m.seed),
        decision_kind=decision(m, visible),
        supported_claims=claims(variant),
    )
    dropped = record(experiment, variant)(
        "drop", "early_constraint_dropped", list(m.window.dropped_event_ids), _DROPPED_EARLY
    )
    return Group((case,), (dropped, *traced))


def sliding_window(m: Material) -> Group:
    """What the newest events alone lose."""
    variant = "sliding-window-8-events"
    anchor = record(WINDOWED, variant)("selection", "task_anchor_retained", m.artifact.goal, GOAL)
    return windowed(m, WINDOWED, variant, anchor)


def summary_vs_structured(m: Material) -> Group:
    """A paragraph against an artifact, of the same events."""
    summary = summary_case(m, SUMMARISED, "summary-only-v1")
    structured = structured_case(m, SUMMARISED, "structured-compaction-v1", claims("structured-compaction-v1"))
    told, kept = record(SUMMARISED, summary.variant), record(SUMMARISED, structured.variant)
    return Group(
        (summary, structured),
        (
            told("compaction", "paragraph_summary", m.summary.context_items),
            told("drop", "required_semantics_dropped", lost(m)),
            kept("compaction", "structured_artifact_created", m.artifact),
            kept("selection", "required_semantics_retained", sorted(m.structured.visible_keys)),
        ),
    )


def summary_case(m: Material, experiment: str, variant: str) -> ExperimentCase:
    """The paragraph summary as a row."""
    return ExperimentCase(
        experiment=experiment,
        variant=variant,
        serialized_bytes_before=m.summary.serialized_bytes_before,
        serialized_bytes_after=m.summary.serialized_bytes_after,
        grade=grade(m.summary.visible_keys, m.seed),
        decision_kind=decision(m, m.summary.visible_keys),
        supported_claims=claims(variant),
    )


def structured_case(m: Material, experiment: str, variant: str, supported: tuple[str, ...]) -> ExperimentCase:
    """The structured compaction as a row; its locators are resolved again."""
    return ExperimentCase(
        experiment=experiment,
        variant=variant,
        serialized_bytes_before=m.structured.serialized_bytes_before,
        serialized_bytes_after=m.structured.serialized_bytes_after,
        grade=grade(
            m.structured.visible_keys,
            m.seed,
            locator_integrity=integrity(m.artifact.evidence_locators, m.trajectory.prefix),
        ),
        decision_kind=decision(m, m.structured.visible_keys),
        supported_claims=supported,
    )


def lost(m: Material) -> list[str]:
    """Required keys that the paragraph summary does not show."""
    return sorted(m.seed.required_keys - m.summary.visible_keys)


def checkpoint_vs_rehydration(m: Material) -> Group:
    """The step alone against the step with its meaning."""
    point = checkpoint(m.artifact.artifact_id, m.artifact.workspace_digest)
    variant, goal = "checkpoint-only-v1", m.artifact.goal
    only = ExperimentCase(
        experiment=RESUMED,
        variant=variant,
        serialized_bytes_before=m.structured.serialized_bytes_before,
        serialized_bytes_after=serialized_bytes(point) + serialized_bytes([goal]),
        grade=grade(frozenset({GOAL}), m.seed),
        decision_kind=decision(m, frozenset({GOAL}), next_step=point.next_step),
        supported_claims=claims(variant),
    )
    told = record(RESUMED, variant)
    anchor = told("selection", "task_anchor_retained", goal, GOAL)
    absent = told("rebuild", "semantic_handoff_absent", point)
    rebuilt = _rehydrated(m)
    return Group((only, *rebuilt.cases), (anchor, absent, *rebuilt.trace))


def _rehydrated(m: Material) -> Group:
    variant = "rehydrated-context-v1"
    point = checkpoint(m.artifact.artifact_id, m.artifact.workspace_digest)
    config = build_config(m.artifact)
    selected, _ = select(m.artifact, [(TASK_CONTRACT, m.artifact.goal)])
    built = build_packet(candidates(selected, artifact=m.artifact, checkpoint=point, config=config), config)
    visible = frozenset(built.packet.selected_item_ids)
    after = tuple(event for event in m.trajectory.events if event.sequence > CURSOR)
    resumed = post_resume(after)
    kind = decision(m, visible, next_step=point.next_step)
    case = ExperimentCase(
        experiment=RESUMED,
        variant=variant,
        serialized_bytes_before=m.structured.serialized_bytes_before,
        serialized_bytes_after=serialized_bytes(built.packet),
        grade=grade(
            visible,
            m.seed,
            locator_integrity=integrity(m.artifact.evidence_locators, m.trajectory.prefix),
            resume_correct=resumed.well_formed and kind == APPLY and resumed.duplicates == 0,
            duplicate_work_count=resumed.duplicates,
            packet_contract_passed=not built.packet.missing_requirements and _complete(built, config),
        ),
        decision_kind=kind,
        supported_claims=claims(variant),
    )
    told = record(RESUMED, variant)
    conflicts = {entry.item_id for entry in built.trace if entry.reason == "conflict_visible"}
    trace = [
        told("rebuild", "packet_built", built.packet.semantic_packet_digest),
        told("resume", "post_resume_verified", after),
    ]
    for one in selected:
        key = one.item.key
        trace.append(told("selection", f"selected_from_{one.origin}", m.artifact.source_digest, key))
        stage, reason = ("conflict", "conflict_visible") if key in conflicts else ("selected", "selected")
        entry = next(entry for entry in built.trace if entry.item_id == key and entry.stage == "budget")
        trace.append(told(f"chapter5.{stage}", f"selected:{reason}", entry.content_digest, key))
    return Group((case,), tuple(trace))


def _complete(built: Built, config: BuildConfig) -> bool:
    """The packet's own arithmetic: within its limit, and every required unit chosen."""
    packet = built.packet
    within = packet.budget_used <= config.budget_limit
    return within and packet.selected_required_units == packet.all_required_candidate_units


def generational_drift(m: Material) -> Group:
    """A summary of a summary against the artifact made again from the log."""
    first = summary_case(m, DRIFTED, "summary-generation-1")
    visible = frozenset({GOAL})
    second = ExperimentCase(
        experiment=DRIFTED,
        variant="summary-generation-2",
        serialized_bytes_before=m.summary.serialized_bytes_after,
        serialized_bytes_after=serialized_bytes(sorted(visible)),
        grade=grade(visible, m.seed),
        decision_kind=decision(m, visible),
        supported_claims=claims("summary-generation-2"),
    )
    again = Structured().prepare(m.trajectory.prefix, m.seed).artifact
    stable = serialized_bytes(again) == serialized_bytes(m.artifact) and again == m.artifact
    claim = f"structured regeneration from the frozen event log is byte-stable: {str(stable).lower()}"
    third = structured_case(m, DRIFTED, "structured-regenerated-v1", (claim,))
    one, two, three = (record(DRIFTED, case.variant) for case in (first, second, third))
    both = [m.artifact, again]
    return Group(
        (first, second, third),
        (
            one("compaction", "paragraph_summary", m.summary.context_items),
            one("drop", "generation_1_loss", lost(m)),
            two("compaction", "paragraph_summary_generation", sorted(m.summary.visible_keys)),
            two("drop", "generation_2_loss", sorted(m.summary.visible_keys - visible)),
            three("compaction", "structured_regenerated", again),
            three("stability", "canonical_bytes_equal", [digest(artifact) for artifact in both]),
        ),
    )
