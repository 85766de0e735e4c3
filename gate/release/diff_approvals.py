"""A call under every approval there could be: by each reviewer and group of them, of each status, for something else.

Pure; of the documents in `gate.release.diff_inputs` those that are about who may approve.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.release.diff_base import EPOCH, approval, vote
from gate.release.diff_documents import ABSENT, Candidate, Patch, value_at
from gate.release.diff_probe import OTHER


def approvals(base: Candidate, agent: str, sides: Sequence[Mapping[str, Any]]) -> Iterator[Candidate]:
    """`base`, a call of `agent`, under every approval that one of `sides`, which are what bundles say, could know."""
    capability = str(value_at(base.base, ("request", "capability")))
    at = ("state", "approval")
    yield base.with_patches([*base.patches, Patch(at, None)])
    yield base.with_patches([*base.patches, Patch(at, ABSENT)])
    for facts in sides:
        if capability not in facts["contracts"]:
            continue
        names = list(facts["reviewers"])
        # Each reviewer alone, then every group up to three: who may approve, and how many it takes.
        groups = [g for n in (1, 2, 3) for g in itertools.combinations(names, n)][:60]
        for group in groups:
            made = approval(facts, capability, list(group))
            made["agent_id"] = agent
            if isinstance(value_at(base.base, at), Mapping) and base.origin == "golden":
                votes = [_same_case(vote(name, facts, capability), base) for name in group]
                yield base.with_patches([*base.patches, Patch((*at, "votes"), votes)])
            else:
                yield base.with_patches([*base.patches, Patch(at, made)])
                if facts["contracts"][capability]["runtime_controls"].get("escalation"):
                    since = made["votes"][0]["issued_at_ms"]
                    yield base.with_patches([*base.patches, Patch(at, {**made, "escalated_at_ms": since})])
    if isinstance(value_at(base.base, at), Mapping):
        now = value_at(base.base, ("now_ms",))
        changes: list[tuple[str, list[Any]]] = [
            ("status", ["pending", "rejected", "expired", "revoked", "consumed", "cancelled", None, ABSENT, 7]),
            ("expires_at_ms", [now - 1, now, now + 1, None, ABSENT, "7"] if isinstance(now, int) else [None]),
            ("votes", [[], None, ABSENT, "x"]),
            ("action_digest", [OTHER, None]),
            ("tenant_id", [OTHER]),
            ("session_id", [OTHER]),
            ("requested_by", [OTHER, None]),
            ("epoch", [EPOCH - 1, EPOCH + 1, None]),
        ]
        for name, values in changes:
            for value in values:
                yield base.with_patches([*base.patches, Patch((*at, name), value)])


def _same_case(made: dict[str, Any], base: Candidate) -> dict[str, Any]:
    """A vote for the very approval that a golden case has."""
    at = value_at(base.base, ("state", "approval"))
    digests = value_at(base.base, ("digests", "action_digest"))
    own = {"approval_id": at.get("approval_id"), "nonce": at.get("nonce"), "action_digest": digests}
    environment = value_at(base.base, ("agent", "environment"))
    return {**made, **own, "environment": None if environment is ABSENT else environment}
