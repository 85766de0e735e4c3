"""How an artifact departs from the log it was made of and from the artifact before it.

Pure detection, field by field; it decides nothing. Rego reads the facts and stops the next generation on them. Kinds:
deletion, rewriting, authority, version, provenance, hardening.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gate.longtask.artifact import GROUPS, NEXT_INTENT, CompactionArtifact, CompactionSeed
from gate.longtask.canonical_form import content_digest
from gate.longtask.completion import Verified, closed_without_verification
from gate.longtask.events import CarryItem, EventRecord
from gate.longtask.packet import REDACTED
from gate.longtask.strategies import latest_items, observed_digest
from gate.longtask.vocabulary import ContextKind, EventType

_SURE_GROUPS = frozenset({"goal", "acceptance_criteria", "constraints", "decisions"})
"""Groups whose items are acted upon as settled."""

_BINDING_GROUPS = frozenset({"goal", "acceptance_criteria", "constraints"})
"""Groups whose items bind; anywhere else they would only be known."""


class DriftKind(StrEnum):
    """What sort of departure it is; each has another way back."""

    DELETION = "deletion"
    """Something is no longer there."""
    REWRITING = "rewriting"
    """It says something else."""
    AUTHORITY = "authority"
    """It has more, or less, force than it was given."""
    VERSION = "version"
    """It belongs to another workspace, schema or generation."""
    PROVENANCE = "provenance"
    """It no longer leads to where it was said."""
    HARDENING = "hardening"
    """A guess, a refuted or an open statement has become a sure one."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Drift:
    """One departure; what stood there and stands there now as digests or closed words, never as content."""

    kind: DriftKind
    code: str
    key: str
    before: str = ""
    after: str = ""


def from_log(artifact: CompactionArtifact, events: Sequence[EventRecord], seed: CompactionSeed) -> tuple[Drift, ...]:
    """Departures of an artifact from the exact events it says it was made of; sorted.

    The event log is the fact, so an item is sound only when its sources carry it as it is, and it is the latest.
    """
    latest = latest_items(events)
    carried = {event.event_id: {item.key: item for item in event.carry_items} for event in events}
    groups = grouped(artifact)
    found = list(_missing(groups.keys(), latest.keys(), seed))
    for key, (group, item) in groups.items():
        found += _item(item, latest.get(key), carried)
        found += _placed(group, key, seed)
    return tuple(sorted({*found, *_locators(artifact, events)}))


def between(
    parent: CompactionArtifact,
    child: CompactionArtifact,
    *,
    since: Sequence[EventRecord],
    verified: Iterable[Verified] = (),
) -> tuple[Drift, ...]:
    """Departures of an artifact from its parent that no event of `since` (those after the parent's range) explains.

    `verified` says which open issues may be gone because they passed.
    """
    explained = latest_items(since)
    before, after = grouped(parent), grouped(child)
    open_before = {item.key for item in parent.open_issues}
    open_after = {item.key for item in child.open_issues}
    closed = set(closed_without_verification(open_before, open_after, verified))
    found = [Drift(kind=DriftKind.DELETION, code="open_issue_closed_without_verification", key=key) for key in closed]
    for key in sorted(before.keys() - after.keys() - open_before):
        found.append(Drift(kind=DriftKind.DELETION, code="item_deleted", key=key, before=before[key][0]))
    for key in before.keys() & after.keys():
        (old_group, old), (new_group, new) = before[key], after[key]
        if old_group != new_group:
            hard = new_group in _SURE_GROUPS and old_group not in _SURE_GROUPS
            kind, code = (
                (DriftKind.HARDENING, "item_moved_to_settled") if hard else (_moved(old_group), "item_in_another_group")
            )
            found.append(Drift(kind=kind, code=code, key=key, before=old_group, after=new_group))
        if explained.get(key) != new:
            found += _changes(old, new)
    found += _verification_jumps(parent, child, since)
    return tuple(sorted(set(found)))


def grouped(artifact: CompactionArtifact) -> dict[str, tuple[str, CarryItem]]:
    """Every item of the artifact with the name of its group, by key."""
    named: list[tuple[str, tuple[CarryItem, ...]]] = [(name, getattr(artifact, name)) for name in GROUPS]
    named = [("goal", (artifact.goal,)), *named, (NEXT_INTENT, (artifact.next_intent,))]
    return {item.key: (group, item) for group, items in named for item in items}


def _missing(there: Iterable[str], known: Iterable[str], seed: CompactionSeed) -> Iterator[Drift]:
    absent = set(known) - set(there)
    for key in sorted((seed.required_keys | {seed.goal_key}) - set(there)):
        yield Drift(kind=DriftKind.DELETION, code="required_item_missing", key=key)
    for key in sorted(seed.constraint_keys & absent):
        yield Drift(kind=DriftKind.DELETION, code="negative_constraint_missing", key=key)
    for key in sorted(seed.open_issue_keys & absent):
        yield Drift(kind=DriftKind.DELETION, code="open_issue_missing", key=key)


def _item(item: CarryItem, latest: CarryItem | None, carried: dict[str, dict[str, CarryItem]]) -> Iterator[Drift]:
    sources = [carried[source][item.key] for source in item.source_event_ids if item.key in carried.get(source, {})]
    if len(sources) < len(item.source_event_ids):
        # A generic next intent is made of no statement; its one source is the last event.
        if latest is None and item.key == NEXT_INTENT and set(item.source_event_ids) <= carried.keys():
            return
        yield Drift(kind=DriftKind.PROVENANCE, code="source_does_not_state_item", key=item.key)
    if latest is None:
        yield Drift(kind=DriftKind.REWRITING, code="item_without_event", key=item.key)
        return
    yield from _changes(latest, item)


def _changes(old: CarryItem, new: CarryItem) -> Iterator[Drift]:
    """How `new` departs from `old` under the same key."""

    def one(kind: DriftKind, code: str, before: object, after: object) -> Drift:
        return Drift(kind=kind, code=code, key=new.key, before=str(before), after=str(after))

    if old.content != new.content:
        yield one(DriftKind.REWRITING, "content_digest_changed", _digest(old), _digest(new))
    if set(old.source_event_ids) != set(new.source_event_ids):
        lost = bool(set(old.source_event_ids) - set(new.source_event_ids))
        code = "provenance_lost" if lost and old.content == new.content else "provenance_replaced"
        yield one(DriftKind.PROVENANCE, code, *("|".join(sorted(item.source_event_ids)) for item in (old, new)))
    if new.authority.rank > old.authority.rank:
        yield one(DriftKind.AUTHORITY, "authority_raised", old.authority, new.authority)
    if new.authority.rank < old.authority.rank:
        yield one(DriftKind.AUTHORITY, "authority_lowered", old.authority, new.authority)
    if old.kind is not new.kind:
        hard = new.kind in {ContextKind.INSTRUCTION, ContextKind.FACT, ContextKind.TASK}
        yield one(DriftKind.HARDENING if hard else DriftKind.REWRITING, "kind_changed", old.kind, new.kind)
    if old.trust is not new.trust:
        raised = new.trust.rank > old.trust.rank
        # A constraint that is hostile text is shown as data: lowering trust takes its force away.
        kind, code = (DriftKind.HARDENING, "trust_raised") if raised else (DriftKind.AUTHORITY, "trust_lowered")
        yield one(kind, code, old.trust, new.trust)
    if old.retention_priority is not new.retention_priority:
        lowered = new.retention_priority.rank < old.retention_priority.rank
        # What is no longer required may be left out by the next generation, without anybody having decided so.
        kind = DriftKind.AUTHORITY if lowered else DriftKind.HARDENING
        code = "retention_lowered" if lowered else "retention_raised"
        yield one(kind, code, old.retention_priority, new.retention_priority)
    if old.sensitivity is not new.sensitivity:
        yield one(DriftKind.AUTHORITY, "sensitivity_changed", old.sensitivity, new.sensitivity)
    if old.required_for - new.required_for:
        yield one(DriftKind.AUTHORITY, "requirement_dropped", len(old.required_for), len(new.required_for))
    if new.required_for - old.required_for:
        yield one(DriftKind.HARDENING, "requirement_added", len(old.required_for), len(new.required_for))


def _digest(item: CarryItem) -> str:
    """Of a secret not even the digest: a short one can be guessed from it."""
    return REDACTED if item.secret else content_digest(item.content)


def _placed(group: str, key: str, seed: CompactionSeed) -> Iterator[Drift]:
    """The item stands in another group than the seed gives it, or among what is acted upon although none does."""
    homes = dict(zip(GROUPS, seed.categories, strict=True)) | {"goal": frozenset({seed.goal_key})}
    home = next((name for name, keys in homes.items() if key in keys), None)
    if NEXT_INTENT in {key, group} or group == home:
        return
    if group in _SURE_GROUPS and home not in _SURE_GROUPS:
        code = "undeclared_item_settled" if home is None else "item_moved_to_settled"
        yield Drift(kind=DriftKind.HARDENING, code=code, key=key, before=home or "", after=group)
    elif home is not None:
        yield Drift(kind=_moved(home), code="item_in_another_group", key=key, before=home, after=group)


def _moved(home: str) -> DriftKind:
    return DriftKind.AUTHORITY if home in _BINDING_GROUPS else DriftKind.REWRITING


def _locators(artifact: CompactionArtifact, events: Sequence[EventRecord]) -> Iterator[Drift]:
    seen = {(event.payload_ref, observed_digest(event)): event.workspace_digest for event in events}
    for locator in artifact.evidence_locators:
        observed = (locator.ref, locator.content_digest)
        if observed not in seen:
            yield Drift(kind=DriftKind.PROVENANCE, code="locator_without_observation", key=locator.locator_id)
        elif seen[observed] not in {locator.workspace_digest, None}:
            yield Drift(
                kind=DriftKind.VERSION,
                code="locator_workspace_mismatch",
                key=locator.locator_id,
                before=str(seen[observed]),
                after=locator.workspace_digest,
            )
    held = {(locator.ref, locator.content_digest) for locator in artifact.evidence_locators}
    for event in events:
        if event.payload_ref is not None and (event.payload_ref, observed_digest(event)) not in held:
            yield Drift(kind=DriftKind.DELETION, code="locator_missing", key=event.event_id)


def _verification_jumps(
    parent: CompactionArtifact, child: CompactionArtifact, since: Sequence[EventRecord]
) -> Iterator[Drift]:
    """A verification item that says something else although no verification event since did."""
    verifications = (event for event in since if event.event_type is EventType.VERIFICATION)
    told = {(item.key, item.content) for event in verifications for item in event.carry_items}
    after = {item.key: item.content for item in child.verification_state}
    for item in parent.verification_state:
        if item.key in after and after[item.key] != item.content and (item.key, after[item.key]) not in told:
            yield Drift(kind=DriftKind.HARDENING, code="verification_changed_without_event", key=item.key)
