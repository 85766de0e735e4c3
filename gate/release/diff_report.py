"""A comparison of two bundles as one JSON document, in the form of `schemas/diff.schema.json`.

Pure. Of a recorded input it tells the line it stands in, never a value.
"""

from __future__ import annotations

from typing import Any

from gate.release.diff import Change, DecisionDiff, Witness
from gate.release.diff_batch import Outcome
from gate.release.diff_documents import ABSENT
from gate.release.diff_rego import Hunk, Place

SCHEMA_VERSION = "gate-diff/v1"


def diff_report(diff: DecisionDiff) -> dict[str, Any]:
    """The whole comparison."""
    return {
        "schema_version": SCHEMA_VERSION,
        "old": diff.old,
        "new": diff.new,
        "label": diff.label,
        "tried": dict(diff.tried),
        "counts": diff.counts(),
        "changes": [_change(change) for change in diff.changes],
        "cannot_tell": [
            {"record": one.name, "why": one.why, "fields": list(one.fields), "alike": one.alike} for one in diff.unknown
        ],
        "rego": {"moved": diff.rego.moved, "hunks": [_hunk(hunk) for hunk in diff.rego.hunks]},
        "notes": list(diff.notes),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "group": change.group,
        "direction": change.direction,
        "about": change.about,
        "count": change.count,
        "places": [_place(place) for place in change.places],
        "witness": _witness(change.witness),
    }


def _witness(witness: Witness) -> dict[str, Any]:
    shown = witness.origin != "recorded"
    return {
        "origin": witness.origin,
        "name": witness.name,
        "patches": [
            {"path": path, "absent": True} if value is ABSENT else {"path": path, "value": value}
            for path, value in witness.patches
        ],
        "old": _outcome(witness.old),
        "new": _outcome(witness.new),
        "old_input": dict(witness.old_input) if shown else None,
        "new_input": dict(witness.new_input) if shown else None,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict,
        "reasons": list(outcome.codes),
        "obligations": list(outcome.duties),
        "advice": list(outcome.advice),
    }


def _hunk(hunk: Hunk) -> dict[str, Any]:
    return {
        "change": hunk.change,
        "file": hunk.file,
        "rule": hunk.rule,
        "title": hunk.title,
        "old": None if hunk.old is None else _place(hunk.old),
        "new": None if hunk.new is None else _place(hunk.new),
        "diff": list(hunk.lines),
    }


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "pointer": place.pointer, "line": place.line}
