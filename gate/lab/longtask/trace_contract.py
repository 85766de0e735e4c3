"""What the trace of each case has to tell, so that a row of the report can be followed back to its cause.

Pure. It looks at stages and outcomes only; whether a reader understands them is not measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from gate.lab.longtask.cases import ExperimentCase, TraceRecord

_APPEND = frozenset({("selection", "append_all"), ("measurement", "serialized_bytes")})
_WINDOW = frozenset({("selection", "task_anchor_retained"), ("drop", "early_constraint_dropped")})

REQUIRED: dict[str, frozenset[tuple[str, str]]] = {
    "append-all-cursor-08": _APPEND,
    "append-all-cursor-24": _APPEND,
    "sliding-window-8-events": _WINDOW,
    "summary-only-v1": frozenset({("compaction", "paragraph_summary"), ("drop", "required_semantics_dropped")}),
    "structured-compaction-v1": frozenset(
        {("compaction", "structured_artifact_created"), ("selection", "required_semantics_retained")}
    ),
    "checkpoint-only-v1": frozenset({("selection", "task_anchor_retained"), ("rebuild", "semantic_handoff_absent")}),
    "rehydrated-context-v1": frozenset(
        {
            ("rebuild", "packet_built"),
            ("selection", "selected_from_artifact"),
            ("resume", "post_resume_verified"),
        }
    ),
    "summary-generation-1": frozenset({("compaction", "paragraph_summary"), ("drop", "generation_1_loss")}),
    "summary-generation-2": frozenset({("compaction", "paragraph_summary_generation"), ("drop", "generation_2_loss")}),
    "structured-regenerated-v1": frozenset(
        {("compaction", "structured_regenerated"), ("stability", "canonical_bytes_equal")}
    ),
    "early-constraint-loss": frozenset({("drop", "early_constraint_dropped"), ("decision", "unsafe_signature_change")}),
    "omitted-open-failure": frozenset({("drop", "open_issue_omitted"), ("compaction", "false_completion_injected")}),
    "workspace-digest-mismatch": frozenset({("rejection", "stale_workspace_digest")}),
    "unsupported-artifact-schema": frozenset({("rejection", "artifact_rejected_schema")}),
    "corrupt-artifact-source-digest": frozenset({("rejection", "artifact_source_digest_mismatch")}),
}
"""The (stage, outcome) pairs that the trace of a variant has to hold."""


def traced(case: ExperimentCase, trace: Iterable[TraceRecord]) -> bool:
    """Every pair that the case's variant asks for is in the trace of that very case; of an unknown variant: never."""
    wanted = REQUIRED.get(case.variant)
    told = {
        (entry.stage, entry.outcome)
        for entry in trace
        if (entry.experiment, entry.variant) == (case.experiment, case.variant)
    }
    return wanted is not None and wanted <= told


def graded(case: ExperimentCase, trace: Iterable[TraceRecord]) -> ExperimentCase:
    """The case with its trace contract measured."""
    found = dataclasses.replace(case.grade, trace_contract_passed=traced(case, trace))
    return dataclasses.replace(case, grade=found)
