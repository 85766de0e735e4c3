"""The trace event of a decision over history: fourteen texts, none of them a raw value.

Pure. Repeats what the policies said and what the event log holds; decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gate.decision import Decision
from gate.trace import Scalar

MAX_VALUE = 8192
"""Longest value of the event, in characters."""

_VALUE = re.compile(r"\A[a-z0-9][a-z0-9+._~:/#=;,\[\]-]*\Z")


def trajectory_event(decision: Decision, section: Mapping[str, Any] | None) -> dict[str, Scalar] | None:
    """The payload; None when the decision says nothing of a history.

    A value that is not of the event's form, such as a run id in capitals, is told as `invalid`.
    """
    said = decision.audit.get("trajectory")
    if not isinstance(said, Mapping) or section is None:
        return None
    request, history = section["request"], section["history"] or {}
    ref, sequence = history.get("history_ref"), history.get("observed_sequence")
    event = {
        "policy_id": said["policy_id"],
        "policy_version": said["policy_version"],
        "rule_id": said["rule_id"],
        "reason": said["reason"],
        "history_ref": ref,
        "history_version": history.get("history_version"),
        "sequence_summary": None if sequence is None else f"observed={len(sequence)};current={len(sequence) + 1}",
        "sequence_ref": None if ref is None else f"{ref}#observed_sequence",
        "fingerprints": _fingerprints(request, history),
        "counters": ";".join(f"{name}={state}" for name, state in sorted(said["counters"].items())) or "none",
        "window_id": history.get("window_id"),
        "window_state": history.get("window_state"),
        "approval_state": history.get("approval_state"),
        "decision": said["decision"],
    }
    return {name: _text(value) for name, value in event.items()}


def _fingerprints(request: Mapping[str, Any], history: Mapping[str, Any]) -> str:
    before = history.get("fingerprints", {})
    parts = [
        f"{name}[history={before.get(name) or 'none'},current={value or 'none'}]"
        for name, value in sorted(request["fingerprints"].items())
    ]
    return ";".join([*parts, f"request[{request['request_fingerprint']}]"])


def _text(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= MAX_VALUE and _VALUE.match(text) else "invalid"
