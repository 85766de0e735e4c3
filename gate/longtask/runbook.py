"""What a person does about a refused rehydration, by its reason code; and what nobody does.

Pure. It advises people: no rule reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

FORBIDDEN = (
    "overwrite a recorded digest with the one that is there now",
    "use an artifact id a second time",
    "build a context without the rehydrator",
    "treat a missing field as empty",
)
"""What is never done, whatever the code."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the runbook."""

    owner: str
    """Who is called."""
    action: str


_WORKSPACE = Entry("whoever owns the workspace", "observe it again, repeat the tests, then compact from new events")
_INTEGRITY = Entry("storage integrity", "keep both sides, compare log, backup and signed heads, find who changed it")
_COMPATIBILITY = Entry("whoever owns compatibility", "migrate with a migrator that loses nothing, or replay the log")
_EVIDENCE = Entry("whoever owns the evidence", "make it again from its source, then record a new locator")

RUNBOOK: dict[str, Entry] = {
    "checkpoint_run_mismatch": Entry("whoever runs the agent", "go back to the task's start, or an earlier checkpoint"),
    "checkpoint_artifact_mismatch": _INTEGRITY,
    "artifact_rejected_schema": _COMPATIBILITY,
    "artifact_rejected_source_digest": _INTEGRITY,
    "artifact_source_unverifiable": _INTEGRITY,
    "artifact_source_range_mismatch": _INTEGRITY,
    "artifact_source_digest_mismatch": _INTEGRITY,
    "summary_digest_mismatch": _INTEGRITY,
    "stale_event_cursor": _INTEGRITY,
    "stale_artifact_workspace_digest": _WORKSPACE,
    "stale_workspace_digest": _WORKSPACE,
    "locator_missing": _EVIDENCE,
    "locator_stale": Entry("whoever owns the evidence", "observe it again and repeat what rested on it"),
    "locator_denied": Entry("whoever grants access", "authorize the resolver, or do without that evidence"),
    "locator_unresolved": Entry("whoever runs the agent", "configure a resolver of that kind"),
    "rehydration_config_mismatch": Entry("whoever runs the agent", "build for the target that is asked for"),
    "artifact_tainted": Entry("incident response", "regenerate from before the taint; see `gate taint`"),
    "fork_artifact_unverified": Entry("whoever merges", "read the locators again and verify again on the main line"),
    "packet_budget_too_small": Entry("whoever runs the agent", "raise the budget; nothing required is left out"),
    "live_item_lowers_authority": Entry("whoever runs the agent", "leave the item out, or state it with its authority"),
    "live_item_replaces_constraint": Entry("the user", "only the user's own event changes a constraint"),
    "live_item_replaces_open_issue": Entry("the verifier", "run the verification that closes it"),
}
"""By reason code. A code that is not here pauses the run and calls whoever runs the agent."""


def entry(code: str) -> Entry:
    """The line for a code; for an unknown one, to stop and ask."""
    return RUNBOOK.get(code, Entry("whoever runs the agent", "pause the run and look: this code has no procedure"))
