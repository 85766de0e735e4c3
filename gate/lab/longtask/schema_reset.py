"""A reset after a schema change: work planned over one database schema goes on in a clean context, or stops.

A real SQLite database in memory gives the schema, and the hand-over is resumed through the same checks and the same
packet as any other. Nothing is written outside this process.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Mapping
from contextlib import closing

from gate.lab.longtask.reference_checks import first_objection
from gate.lab.longtask.supplement import Expectation, Section, Value, listed
from gate.longtask.artifact import CompactionArtifact, CompactionSeed, RunCheckpoint
from gate.longtask.canonical_form import content_digest
from gate.longtask.completion import VerificationState, verify
from gate.longtask.events import CarryItem, EventRecord, LongTaskError
from gate.longtask.packet import BuildConfig, build_packet
from gate.longtask.selection import candidates, select
from gate.longtask.strategies import structured_artifact
from gate.longtask.vocabulary import (
    ContextKind,
    EventType,
    InstructionAuthority,
    RetentionPriority,
    Sensitivity,
    TrustLevel,
)

RUN = "run-invoice-migration"
SPECIFICATION = "docs/invoice-migration.md"

_SPECIFIED = "Add invoice.currency, default EUR; no invoice may be locked for longer than two seconds."
_TABLES = ("CREATE TABLE invoice (id INTEGER PRIMARY KEY, amount TEXT NOT NULL)",)
_CHANGE = "ALTER TABLE invoice ADD COLUMN paid_at TEXT"

_STATEMENTS: tuple[tuple[str, EventType, str, ContextKind, str], ...] = (
    ("goal", EventType.TASK, "move-invoices", ContextKind.TASK, "Move the invoices to the new schema."),
    ("acceptance_keys", EventType.TASK, "sums-equal", ContextKind.FACT, "Sums before and after are equal."),
    ("acceptance_keys", EventType.TASK, "rollback-known", ContextKind.FACT, "The way back is written down."),
    ("", EventType.DECISION, "plan-a", ContextKind.OBSERVATION, "Plan A: rewrite the table in one statement."),
    ("", EventType.DECISION, "plan-c", ContextKind.OBSERVATION, "Plan C: dual writes for a week."),
    ("rejected_hypothesis_keys", EventType.DECISION, "plan-a-rejected", ContextKind.OBSERVATION, "A locks the table."),
    ("rejected_hypothesis_keys", EventType.DECISION, "plan-c-rejected", ContextKind.OBSERVATION, "C needs a release."),
    ("decision_keys", EventType.USER_UPDATE, "plan-b", ContextKind.FACT, "Plan B was chosen: add, fill, then switch."),
    ("constraint_keys", EventType.USER_UPDATE, "no-long-lock", ContextKind.INSTRUCTION, "Lock nothing over 2 s."),
    ("verification_keys", EventType.DECISION, "check-sums", ContextKind.OBSERVATION, "Compare sums; not yet done."),
    ("open_issue_keys", EventType.DECISION, "switch-open", ContextKind.OBSERVATION, "The switch is not done."),
    ("next", EventType.DECISION, "next-intent", ContextKind.TASK, "Add the column as the specification says."),
)

ROLLBACK = "rollback-known"


def reset_after_schema_change() -> Section:
    """The same hand-over, resumed over the schema it was made for, over a changed one, and incomplete."""
    with closing(_database()) as database:
        before = schema_digest(database)
        events, seed = _events(before), _seed()
        rows = [
            _resume("nothing changed", events, seed, live=before, documents={SPECIFICATION: _SPECIFIED}),
            _resume(
                "specification edited", events, seed, live=before, documents={SPECIFICATION: _SPECIFIED + " Twice."}
            ),
            _resume("specification gone", events, seed, live=before, documents={}),
        ]
        database.execute(_CHANGE)
        after = schema_digest(database)
        rows.append(_resume("schema changed", events, seed, live=after, documents={SPECIFICATION: _SPECIFIED}))
    without = tuple(
        dataclasses.replace(event, carry_items=tuple(i for i in event.carry_items if i.key != ROLLBACK))
        for event in events
    )
    rows.append(_resume("hand-over without the way back", without, seed, live=before, documents={}))
    observed = _resume(
        "observed again, new hand-over", _events(after), seed, live=after, documents={SPECIFICATION: _SPECIFIED}
    )
    rows.append(observed)
    by = {str(row["variant"]): row for row in rows}
    return Section(
        name="reset after a schema change",
        about="Three plans were discussed, B was chosen, and the run goes on in a clean context from its hand-over.",
        rows=tuple(rows),
        expectations=(
            Expectation(
                "over the same schema the work goes on with plan B, and A and C are known as rejected",
                by["nothing changed"]["resumed"] is True
                and by["nothing changed"]["rejected"] == "plan-a-rejected, plan-c-rejected",
            ),
            Expectation(
                "a changed schema is refused before anything is built",
                (by["schema changed"]["reason"], by["schema changed"]["packet_items"])
                == ("stale_workspace_digest", None),
            ),
            Expectation(
                "a specification that was edited is told from one that is gone, and neither builds a packet",
                [(row["specification"], row["packet_items"]) for row in rows[1:3]]
                == [("stale", None), ("missing", None)],
            ),
            Expectation(
                "a hand-over without the way back is not made",
                by["hand-over without the way back"]["reason"] == "missing_required_carry_items",
            ),
            Expectation(
                "what was not verified before the reset is not verified after it",
                all(row["not_verified"] in {None, "check-sums, switch-open"} for row in rows),
            ),
            Expectation("observed again over the new schema, the work goes on", observed["resumed"] is True),
        ),
    )


def schema_digest(database: sqlite3.Connection) -> str:
    """Digest of every statement that made the schema, in order of name."""
    made = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").fetchall()
    return content_digest("\n".join(str(statement) for (statement,) in made))


def _database() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for statement in _TABLES:
        database.execute(statement)
    return database


def _seed() -> CompactionSeed:
    names = {field for field, *_ in _STATEMENTS if field.endswith("_keys")}
    groups = {name: frozenset(key for field, _, key, *_ in _STATEMENTS if field == name) for name in names}
    required = frozenset({"move-invoices"}).union(*groups.values())
    return CompactionSeed(run_id=RUN, goal_key="move-invoices", required_keys=required, **groups)


def _events(workspace: str) -> tuple[EventRecord, ...]:
    read = EventRecord(
        event_id="mig-00",
        run_id=RUN,
        sequence=1,
        event_type=EventType.TOOL_RESULT,
        carry_items=(_item("specification-read", ContextKind.OBSERVATION, content_digest(_SPECIFIED), "mig-00"),),
        payload_ref=SPECIFICATION,
        workspace_digest=workspace,
    )
    stated = (
        EventRecord(
            event_id=f"mig-{number:02d}",
            run_id=RUN,
            sequence=number + 1,
            event_type=kind,
            carry_items=(_item(key, item_kind, content, f"mig-{number:02d}"),),
            workspace_digest=workspace,
        )
        for number, (_, kind, key, item_kind, content) in enumerate(_STATEMENTS, start=1)
    )
    return (read, *stated)


def _item(key: str, kind: ContextKind, content: str, source: str) -> CarryItem:
    instruction = kind is ContextKind.INSTRUCTION
    return CarryItem(
        key=key,
        kind=kind,
        content=content,
        authority=InstructionAuthority.USER if instruction else InstructionAuthority.NONE,
        trust=TrustLevel.VERIFIED,
        retention_priority=RetentionPriority.REQUIRED,
        sensitivity=Sensitivity.INTERNAL,
        source_event_ids=(source,),
    )


def _resume(
    variant: str,
    events: tuple[EventRecord, ...],
    seed: CompactionSeed,
    *,
    live: str,
    documents: Mapping[str, str],
) -> dict[str, Value]:
    row: dict[str, Value] = {
        "variant": variant,
        "reason": None,
        "resumed": False,
        "packet_items": None,
        "rejected": None,
        "specification": None,
        "not_verified": None,
    }
    try:
        artifact = structured_artifact(events, seed)
    except LongTaskError as exc:
        return {**row, "reason": exc.code}
    point = _checkpoint(artifact)
    objection = first_objection(artifact, point, live_workspace_digest=live, resolve=lambda _: events)
    if objection is not None:
        return {**row, "reason": objection}
    specification = _read_again(events, documents)
    if specification != "match":
        # The first step rests on the specification: without it as it was, there is nothing to go on with.
        return {**row, "reason": f"locator_{specification}", "specification": specification}
    config = BuildConfig(task_id="move-invoices", repository="invoices", target_path="schema.sql", budget_limit=50_000)
    selected, _ = select(artifact, [])
    packet = build_packet(candidates(selected, artifact=artifact, checkpoint=point, config=config), config).packet
    shown = frozenset(packet.selected_item_ids)
    subjects = seed.open_issue_keys | seed.verification_keys
    states = verify(subjects, events=events, receipts=(), live_workspace_digest=live)
    return {
        **row,
        "resumed": seed.required_keys <= shown,
        "packet_items": len(shown),
        "rejected": listed(shown & seed.rejected_hypothesis_keys),
        "specification": specification,
        "not_verified": listed(one.key for one in states if one.state is not VerificationState.PASSED),
    }


def _read_again(events: tuple[EventRecord, ...], documents: Mapping[str, str]) -> str:
    """match, stale or missing: the content is read and compared, not the path."""
    seen = events[0].carry_items[0].content
    content = documents.get(str(events[0].payload_ref))
    if content is None:
        return "missing"
    return "match" if content_digest(content) == seen else "stale"


def _checkpoint(artifact: CompactionArtifact) -> RunCheckpoint:
    return RunCheckpoint(
        run_id=RUN,
        checkpoint_id="ckpt-invoice-reset",
        next_step="add-column",
        completed_steps=("discuss", "choose"),
        pending_step="add-column",
        event_cursor=artifact.source_event_range[1],
        workspace_digest=artifact.workspace_digest,
        artifact_id=artifact.artifact_id,
    )
