"""The failure matrix: five broken hand-overs, and where each is caught or what it leads to.

Deterministic. The last three are refused before anything is built; the first two show what happens without a check.
"""

from __future__ import annotations

import dataclasses

from gate.lab.longtask.cases import ExperimentCase, Group, Material, claims, record
from gate.lab.longtask.experiments import windowed
from gate.lab.longtask.grading import grade
from gate.lab.longtask.reference_checks import first_objection
from gate.lab.longtask.scripted_policy import VisibleSemanticState
from gate.lab.longtask.trajectory import COMPLETION, FAILING_TEST, GOAL, OPEN_ISSUE, checkpoint
from gate.longtask.artifact import CompactionArtifact
from gate.longtask.canonical_form import serialized_bytes

FAILURES = "failure_matrix"


def failure_matrix(m: Material) -> Group:
    """The five cases in their published order."""
    groups = (_early_loss(m), _omitted(m), *_rejections(m))
    return Group(
        tuple(case for group in groups for case in group.cases),
        tuple(entry for group in groups for entry in group.trace),
    )


def _early_loss(m: Material) -> Group:
    visible = m.window.visible_keys | {GOAL}
    state = VisibleSemanticState(
        visible_keys=visible,
        checkpoint_next_step="apply-compatible-patch",
        verification_keys=visible & {FAILING_TEST},
    )
    decided = m.policy(state)
    variant = "early-constraint-loss"
    return windowed(m, FAILURES, variant, record(FAILURES, variant)("decision", decided.kind, decided))


def _omitted(m: Material) -> Group:
    """A summary that replaces the open issue by a claim of completion."""
    variant = "omitted-open-failure"
    altered = (m.structured.visible_keys - {OPEN_ISSUE}) | {COMPLETION}
    case = ExperimentCase(
        experiment=FAILURES,
        variant=variant,
        serialized_bytes_before=m.structured.serialized_bytes_before,
        serialized_bytes_after=m.structured.serialized_bytes_after,
        grade=grade(
            altered,
            m.seed,
            # Claimed complete, and no verification event of the range says so.
            false_completion=COMPLETION in altered - m.structured.visible_keys and OPEN_ISSUE not in altered,
        ),
        decision_kind="injected_summary_claims_complete",
        supported_claims=claims(variant),
    )
    told = record(FAILURES, variant)
    return Group(
        (case,),
        (
            told("drop", "open_issue_omitted", sorted(m.seed.open_issue_keys)),
            told("compaction", "false_completion_injected", sorted(altered)),
        ),
    )


def _rejections(m: Material) -> tuple[Group, ...]:
    unsupported = _forged_schema(m.artifact, "2.0-unsupported")
    corrupt = dataclasses.replace(m.artifact, source_digest="corrupt-source-digest")
    live = m.artifact.workspace_digest
    return (
        # A stale workspace is found after the artifact was read: what is measured is what would have been resumed.
        _rejected(
            m,
            "workspace-digest-mismatch",
            m.artifact,
            "workspace-price-stale",
            m.structured.serialized_bytes_after,
            "stale_workspace_digest",
        ),
        _rejected(
            m,
            "unsupported-artifact-schema",
            unsupported,
            live,
            serialized_bytes(unsupported),
            "artifact_rejected_schema",
        ),
        _rejected(
            m,
            "corrupt-artifact-source-digest",
            corrupt,
            live,
            serialized_bytes(corrupt),
            "artifact_source_digest_mismatch",
        ),
    )


def _rejected(m: Material, variant: str, artifact: CompactionArtifact, live: str, size: int, expected: str) -> Group:
    point = checkpoint(artifact.artifact_id, m.artifact.workspace_digest)
    found = first_objection(artifact, point, live_workspace_digest=live, resolve=lambda _: m.trajectory.prefix)
    reason = found or "accepted"
    case = ExperimentCase(
        experiment=FAILURES,
        variant=variant,
        serialized_bytes_before=m.structured.serialized_bytes_before,
        serialized_bytes_after=size,
        # Nothing is visible after a refusal.
        grade=grade(frozenset(), m.seed),
        decision_kind="rejected_" + reason.replace("artifact_rejected_", "artifact_"),
        supported_claims=claims(variant),
    )
    # Of an injected boundary the record holds the expected and the observed code, of a stale workspace the code.
    evidence: object = reason if artifact is m.artifact else [expected, reason]
    return Group((case,), (record(FAILURES, variant)("rejection", reason, evidence),))


def _forged_schema(artifact: CompactionArtifact, version: str) -> CompactionArtifact:
    """What a newer writer would have stored: past the constructor, which refuses it."""
    forged = dataclasses.replace(artifact)
    object.__setattr__(forged, "schema_version", version)
    return forged
