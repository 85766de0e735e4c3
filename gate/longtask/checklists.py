"""What has to hold before a compaction and at a recovery, the five threat paths, and the code that says it does not.

Pure, and for people: no rule reads it. The rules stand in `policies/gate` and, for what is never written at all, where
it would be written; a test holds every code here to a rule and to a test.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One item of a list."""

    statement: str
    codes: tuple[str, ...]
    """What is told when it does not hold."""


BEFORE_COMPACTION: tuple[Check, ...] = (
    Check("the range of events is frozen", ("artifact_source_range_mismatch", "stale_event_cursor")),
    Check(
        "no call is under way, and none counts as done before it returned",
        ("pending_call_counted_done", "tool_outcome_unknown"),
    ),
    Check("everything required is there", ("missing_required_carry_items",)),
    Check("what came from a tool stays data", ("authority_raised", "artifact_drifted")),
    Check("no secret is carried", ("secret_in_artifact", "secret_event_payload")),
    Check("only a verification event closes an open issue", ("open_issue_closed_without_verification",)),
    Check("every locator has a digest and a resolver", ("blank_evidence_content_digest", "locator_unresolved")),
    Check("the workspace is the one that was seen", ("stale_workspace_digest", "stale_artifact_workspace_digest")),
    Check("the schema is one that is read", ("artifact_rejected_schema",)),
    Check("what is written is this run's, under an id of its own", ("run_mismatch", "artifact_id_conflict")),
)

AT_RECOVERY: tuple[Check, ...] = (
    Check("the checkpoint is the last committed one", ("checkpoint_run_mismatch", "meaning_not_presented")),
    Check("id and digest of the artifact are those that it names", ("checkpoint_artifact_mismatch",)),
    Check("the source can be read again", ("artifact_source_unverifiable", "artifact_source_digest_mismatch")),
    Check("the workspace is the recorded one", ("stale_workspace_digest",)),
    Check("the required locators resolve", ("locator_missing", "locator_stale", "locator_denied")),
    Check(
        "what the user said since is merged, and talks nothing away",
        ("live_item_replaces_constraint", "live_item_lowers_authority"),
    ),
    Check("the packet lacks nothing required", ("packet_budget_too_small", "missing_required_carry_items")),
    Check("the lifecycle trace holds no content", ("redacted",)),
    Check("the next action is permitted, approved and confined anew", ("no_rule_permits", "sandbox_snapshot_changed")),
)

THREATS: tuple[Check, ...] = (
    Check(
        "a source pollutes what is made of it",
        ("instruction_authority_exceeded", "authority_raised", "item_rewritten", "artifact_provenance_missing"),
    ),
    Check("a secret spreads", ("secret_in_artifact", "secret_event_payload", "session_forgotten")),
    Check("stale evidence comes back to life", ("locator_stale", "stale_workspace_digest", "artifact_tainted")),
    Check("tenants, runs or sessions are mixed up", ("tenant_mismatch", "run_mismatch", "session_mismatch")),
    Check(
        "a claim of completion goes around the verification",
        ("open_issue_closed_without_verification", "live_item_replaces_open_issue"),
    ),
)

LISTS: tuple[tuple[str, tuple[Check, ...]], ...] = (
    ("Before a compaction", BEFORE_COMPACTION),
    ("At a recovery", AT_RECOVERY),
    ("Threat paths", THREATS),
)
"""The three, with their titles."""
