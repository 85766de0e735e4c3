"""`compaction.yaml` and `compaction-record.yaml` as typed values: what a compaction must keep, and what was measured.

Pure. Judges nothing: whether rules are linked is the linker's question, what follows from the figures is Rego's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.canonical import digest, digest_bytes
from gate.documents.document import Document

CLASS_OF: Mapping[str, str] = {
    "permission": "hard_constraints",
    "scope": "hard_constraints",
    "fact_boundary": "hard_constraints",
    "privacy_boundary": "hard_constraints",
    "pending_state": "pending_gates",
    "stop_condition": "stop_conditions",
    "order": "procedures",
    "user_correction": "current_corrections",
}
"""Class of information of each kind of invariant: what decides a rule's lane, whatever words it is written in."""

LANES = ("exact", "structured", "reload", "lossy")
"""Retention lanes, the most careful first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One way to write a rule."""

    form: str
    """imperative, paraphrase or declarative."""
    language: str
    """en or zh."""
    text: str
    terms: tuple[str, ...]
    """What a reader must still find to be bound by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A call that a probe makes, with the answer it must get."""

    capability: str
    arguments: Mapping[str, Any]
    verdict: str
    reason: str | None = None
    """A code among the reasons of the answer; None for any."""
    times: int = 1
    keyed: bool = True
    """With an idempotency key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The critical decision of a rule."""

    request: str
    opposite: str
    forbidden: Act
    before: tuple[Act, ...] = ()
    constraint: Mapping[str, Any] | None = None
    """`applies_to` and `predicate` of what the user said to the host; None when the rule is none of his."""
    stale: str | None = None
    """The corrected value that must not come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredRule:
    """One rule of the register."""

    rule_id: str
    kind: str
    consequence: str
    source_authority: str
    scope: tuple[str, ...]
    """Capabilities, sorted."""
    valid_from: str | None
    """RFC 3339, as written; None for since ever."""
    valid_until: str | None
    """RFC 3339, as written and exclusive; None for ever."""
    precision: str
    enforced_by: Mapping[str, str]
    wordings: tuple[Wording, ...]
    probe: Probe
    lane: str
    """Of its class, as `retention_lanes` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionContract:
    """`compaction_release`, without anything measured."""

    product_job: str
    runtime: Mapping[str, Any]
    authoritative_state: Mapping[str, Any]
    lanes: Mapping[str, tuple[str, ...]]
    rules: Mapping[str, RegisteredRule]
    permitted: tuple[Act, ...]
    """Harmless acts that must still be permitted after every round."""
    required_rule_ids: tuple[str, ...]
    forbidden_states: tuple[str, ...]
    fail_closed: bool
    tool_rechecks: bool
    owner: str
    expires_on_change: tuple[str, ...]

    def lane_of(self, information: str) -> str:
        """The lane of a class of information; the lossy one for a class that no lane names."""
        return next((lane for lane in LANES if information in self.lanes[lane]), "lossy")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRecord:
    """`compaction_record`: what a run of the harness measured."""

    value: Mapping[str, Any]
    """As it is written."""

    @property
    def intact(self) -> bool:
        """The figures are the ones that the harness wrote, as far as an unkeyed digest can tell."""
        return bool(self.value["measured_sha256"] == measured_sha256(self.value["measured"], self.value["digests"]))


def compaction_contract(document: Document) -> CompactionContract:
    """The contract that `compaction.yaml` states."""
    root = document.value["compaction_release"]
    lanes = {lane: tuple(root["retention_lanes"][lane]) for lane in LANES}
    invariants = root["invariants"]
    return CompactionContract(
        product_job=root["product_job"],
        runtime=root["runtime"],
        authoritative_state=root["authoritative_state"],
        lanes=lanes,
        rules={rule_id: _rule(rule_id, entry, lanes) for rule_id, entry in root["rules"].items()},
        permitted=tuple(_act({"verdict": "allow", **entry}) for entry in root["permitted_tasks"]),
        required_rule_ids=tuple(invariants["required_rule_ids"]),
        forbidden_states=tuple(invariants["forbidden_mid_compaction_states"]),
        fail_closed=invariants["fail_closed_on_missing_rule"],
        tool_rechecks=invariants["external_tool_rechecks_policy"],
        owner=root["decision"]["owner"],
        expires_on_change=tuple(root["decision"]["expires_on_change"]),
    )


def compaction_record(document: Document) -> CompactionRecord:
    """The record that `compaction-record.yaml` holds."""
    return CompactionRecord(value=document.value["compaction_record"])


def normalised(text: str) -> str:
    """`text` as rules are compared: NFC, every run of white space one blank, none at the ends. No case is folded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def rule_digest(text: str) -> str:
    """Digest of the normalised text of a rule."""
    return digest_bytes(normalised(text).encode("utf-8"))


def measured_sha256(measured: Mapping[str, Any], digests: Mapping[str, str]) -> str:
    """Digest that ties figures to what was tested."""
    return digest({"domain": "gate-compaction-record/v1", "measured": dict(measured), "digests": dict(digests)})


def _rule(rule_id: str, entry: Mapping[str, Any], lanes: Mapping[str, tuple[str, ...]]) -> RegisteredRule:
    information = CLASS_OF[entry["kind"]]
    return RegisteredRule(
        rule_id=rule_id,
        kind=entry["kind"],
        consequence=entry["consequence"],
        source_authority=entry["source_authority"],
        scope=tuple(sorted(entry["scope"])),
        valid_from=entry.get("valid_from"),
        valid_until=entry.get("valid_until"),
        precision=entry["precision"],
        enforced_by=entry["enforced_by"],
        wordings=tuple(
            Wording(form=one["form"], language=one["language"], text=one["text"], terms=tuple(one["terms"]))
            for one in entry["wordings"]
        ),
        probe=_probe(entry["probe"]),
        lane=next((lane for lane in LANES if information in lanes[lane]), "lossy"),
    )


def _probe(entry: Mapping[str, Any]) -> Probe:
    return Probe(
        request=entry["request"],
        opposite=entry["opposite"],
        forbidden=_act(entry["forbidden"]),
        before=tuple(_act(one) for one in entry.get("before", ())),
        constraint=entry.get("constraint"),
        stale=entry.get("stale"),
    )


def _act(entry: Mapping[str, Any]) -> Act:
    return Act(
        capability=entry["capability"],
        arguments=entry["arguments"],
        verdict=entry["verdict"],
        reason=entry.get("reason"),
        times=entry.get("times", 1),
        keyed=not entry.get("without_key", False),
    )
