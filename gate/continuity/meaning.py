"""The meaning of a long task at a boundary: asked about inside the open boundary, committed with its envelope.

Decides nothing. The artifact and the authority envelope become one boundary: the checkpoint and the seal over the
artifact's text are written in one transaction, or neither is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gate.continuity.boundary import Boundary
from gate.continuity.desk import Desk, body_text, only_obligation
from gate.decision import Decision
from gate.errors import ConflictError, EvidenceError, InputError
from gate.evidence import Prepared
from gate.evidence.continuity import boundary_document, summary_sha256, with_meaning
from gate.pdp import Facts
from gate.records import TaskCheckpoint

_OBLIGED = frozenset({"envelope_id", "artifact_id", "artifact_digest", "checkpoint_id", "event_cursor"})


def decide(desk: Desk, boundary: Boundary, section: Mapping[str, Any]) -> Decision:
    """Asks, at operation compact, about the pair that `section` describes; carries nothing out.

    The forbidden states are looked at again: what was quiet when the boundary opened need not be now. Raises
    `InputError` `run_unknown`.
    """
    run, tenant = boundary.run, desk.tenant(boundary.run)
    snapshot = desk.store.snapshot(tenant, run.run_id)
    if snapshot is None:
        raise InputError(f"run `{run.run_id}` is not known", code="run_unknown")

    def prepared(facts: Facts) -> Prepared:
        found = boundary_document(
            desk.evidence,
            run,
            snapshot,
            operation="compact",
            handoff_to=None,
            now_ms=desk.clock_ms(),
            facts=facts,
            inside=True,
        )
        return with_meaning(found, {**section, "envelope_id": boundary.envelope_id})

    decision = desk.ask(run.agent_id, prepared).decision
    desk.tell(
        run,
        "decision",
        {
            "operation": "compact",
            "verdict": str(decision.verdict),
            "reasons": list(decision.codes),
            "revision": decision.revision,
            "request_id": decision.audit.get("request_id"),
        },
        None,
    )
    return decision


def commit(desk: Desk, boundary: Boundary, decision: Decision, checkpoint: TaskCheckpoint, text: str) -> Boundary:
    """Writes the checkpoint and seals the envelope over `text`, the artifact's body.

    Raises `ActionBlocked` for a decision that is no allow, `EvidenceError` (`obligation_*`, `seal_invalid`),
    `ConflictError` when the boundary or the artifact is not what was decided about.
    """
    obliged = only_obligation(decision.enforce(), "commit_artifact", _OBLIGED)
    if any(obliged[field] != getattr(checkpoint, field) for field in _OBLIGED):
        raise EvidenceError("an obligation of the decision cannot be discharged", code="obligation_undischarged")
    tenant = desk.tenant(boundary.run)
    stored = desk.store.boundary(tenant, boundary.envelope_id)
    if stored is None:
        raise ConflictError("the envelope is not in the records", code="boundary_unknown", hint="check its id")
    envelope = desk.envelope_of(stored)
    if envelope is None or not envelope["seal"]["valid"]:
        raise EvidenceError("the stored envelope is not what was sealed", code="seal_invalid", hint="recover the run")
    digest = summary_sha256(text)
    body = {key: value for key, value in envelope.items() if key != "seal"} | {"summary_sha256": digest}
    _, written, event = desk.store.commit_task(
        checkpoint,
        expected_version=stored.version,
        body=body_text(body),
        summary_sha256=digest,
        sealed_with=desk.sealer.sign(body_text(body), now_ms=desk.clock_ms()),
    )
    desk.tell(
        boundary.run,
        "task_checkpoint_committed",
        {
            "envelope_id": written.envelope_id,
            "checkpoint_id": checkpoint.checkpoint_id,
            "artifact_id": checkpoint.artifact_id,
            "artifact_digest": checkpoint.artifact_digest,
            "event_cursor": checkpoint.event_cursor,
            "summary_sha256": digest,
        },
        event,
    )
    return replace(boundary, status=written.status, envelope=body)
