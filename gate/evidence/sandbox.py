"""`evidence.sandbox` from two files: the manifest of the sandbox that runs, and the record of its review.

Reads and decides nothing. A manifest's digest is computed here over all of it, so that a profile which was changed
after its review is another profile, whatever the record says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.canonical import digest, parse
from gate.errors import EvidenceError, InputError
from gate.evidence.source import Question

MAX_FILE_BYTES = 65_536
"""Size limit of either file in bytes."""

_PROFILE = ("profile_contract", "network", "secrets", "shell", "workspace_entries")
_STATE = ("snapshot_digest", "resumed_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSource:
    """The sandbox of one host.

    The manifest is a JSON object with `profile` (profile_contract, network, secrets, shell, workspace_entries) and
    `state` (snapshot_digest, resumed_from), written by the sandbox runtime. The review is a JSON object with
    `profile_digest`, `state` and `review_ref`, written by whoever reviews profiles and not by the agent's host user.
    """

    manifest: Path
    review: Path
    capabilities: frozenset[str] | None = None
    """Capabilities that run in it; None for all."""
    checked_by: str = "SandboxSource"
    section: str = "sandbox"

    def collect(self, question: Question) -> Mapping[str, Any] | None:
        """What the files say now. Raises `EvidenceError` (`evidence_malformed`) for a file that cannot be read."""
        call = question.call
        if call is None or (self.capabilities is not None and call.capability not in self.capabilities):
            return None
        manifest, review = _object(self.manifest), _object(self.review)
        profile, state = manifest.get("profile"), manifest.get("state")
        if not isinstance(profile, dict) or not isinstance(state, dict):
            raise _malformed()
        return {
            **{name: profile.get(name) for name in _PROFILE},
            # A manifest that does not say how it was started is of unknown origin, not a fresh one.
            **{name: state[name] for name in _STATE if name in state},
            "profile_digest": profile_digest(profile),
            "reviewed_digest": review.get("profile_digest"),
            "review_ref": review.get("review_ref"),
            "review_state": review.get("state"),
        }


def profile_digest(profile: Mapping[str, Any]) -> str:
    """What a review record names: the digest of the whole profile, fields that nobody here knows included."""
    return digest({"domain": "gate-sandbox-profile/v1", "profile": dict(profile)})


def _object(path: Path) -> dict[str, Any]:
    try:
        value = parse(path.read_bytes(), max_bytes=MAX_FILE_BYTES)
    except (OSError, InputError) as exc:
        raise _malformed() from exc
    if not isinstance(value, dict):
        raise _malformed()
    return value


def _malformed() -> EvidenceError:
    return EvidenceError("the sandbox's manifest or its review cannot be read", code="evidence_malformed")
