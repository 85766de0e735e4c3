"""Fork, subagent isolation, migration of a schema, reload on demand: what each carries, and what it never vouches for.

Decides nothing: a fork's first pair goes through the same six steps, in a run, a namespace and a workspace of its own.
What comes back to the main line is candidate evidence without authority, to be verified there again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gate import canonical
from gate.errors import InputError
from gate.evidence import Run
from gate.longtask.artifact import SCHEMA_VERSION, CompactionArtifact
from gate.longtask.commit import MAIN, Committed, Coordinator, Request
from gate.longtask.events import CarryItem, EventRecord, EvidenceLocator, LongTaskError, refuse
from gate.longtask.log import TaskLog
from gate.longtask.resolvers import Resolver, reload
from gate.longtask.stored import artifact_from, named, raw_artifact
from gate.longtask.vocabulary import ContextKind, EventType, InstructionAuthority, RetentionPriority, TrustLevel
from gate.records import LedgerEntry, LocatorResult, Store

MAX_TRUST = TrustLevel.UNVERIFIED
"""The most that what another line found is trusted with before it was verified here."""


def fork(main: Run, child: Run, request: Request, *, coordinator: Coordinator, cursor: int) -> Committed:
    """Starts `child` from the main line's events up to `cursor`, and commits its first pair in its own namespace.

    `coordinator` must name a namespace and a workspace that the main line does not use, and `child` act for the same
    principal, in the same session or as a child that the gate forked: forgetting a session has to reach what is copied.
    Raises `LongTaskError`: `fork_principal_mismatch`, `fork_session_mismatch`, `fork_namespace_shared`,
    `fork_workspace_shared`; and as `Coordinator.compact` does.
    """
    tenant, store = main.identity.tenant_id or "", coordinator.store
    theirs, ours = child.identity, main.identity
    if (theirs.tenant_id, theirs.principal_id) != (ours.tenant_id, ours.principal_id):
        raise refuse("fork_principal_mismatch", "a fork acts for the tenant and the principal of the main line")
    record = store.run(tenant, child.run_id)
    if child.session_id != main.session_id and (record is None or record.parent_run_id != main.run_id):
        raise refuse("fork_session_mismatch", "a fork stays in the session of its main line, or is a child of its run")
    pair = store.committed_pair(tenant, main.run_id)
    taken = {MAIN} | ({pair.checkpoint.namespace} if pair is not None else set())
    if coordinator.namespace in taken or child.run_id == main.run_id:
        raise refuse("fork_namespace_shared", "a fork needs a run and a namespace of its own")
    log = TaskLog(store=store)
    events = log.read(tenant, main.run_id, first=1, last=cursor)
    # Where the main line is now counts too, though it went there after the fork's cursor.
    newest = log.cursor(tenant, main.run_id)
    used = {event.workspace_digest for event in (*events, *log.read(tenant, main.run_id, first=newest, last=newest))}
    workspace = coordinator.workspace()
    if workspace in used:
        raise refuse("fork_workspace_shared", "a fork needs a workspace of its own")
    copied = [replace(event, run_id=child.run_id) for event in events]
    observed = EventRecord(
        event_id=f"fork-{coordinator.namespace}",
        run_id=child.run_id,
        sequence=cursor + 1,
        event_type=EventType.OBSERVATION,
        workspace_digest=workspace,
    )
    log.append(tenant, child.run_id, [*copied, observed])
    return coordinator.compact(child, replace(request, reason="context_compaction"))


def candidate_evidence(items: Iterable[CarryItem], *, event_id: str, prefix: str) -> tuple[CarryItem, ...]:
    """What a fork or a subagent hands back, as observations of the event `event_id` of the main line.

    No authority, no more than `MAX_TRUST`, nothing required, under keys of their own: it can stand beside what the main
    line knows and in the place of nothing.
    """
    return tuple(
        replace(
            item,
            key=f"{prefix}/{item.key}",
            kind=ContextKind.OBSERVATION,
            authority=InstructionAuthority.NONE,
            trust=min((item.trust, MAX_TRUST), key=lambda trust: trust.rank),
            retention_priority=min((item.retention_priority, RetentionPriority.NORMAL), key=lambda word: word.rank),
            source_event_ids=(event_id,),
            required_for=frozenset(),
        )
        for item in items
    )


class Migrator(Protocol):
    """Turns artifacts of one schema into another."""

    @property
    def input_schema(self) -> str:
        """What it reads."""

    @property
    def name(self) -> str:
        """Name and version; recorded with what it made."""

    def migrate(self, data: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """The artifact in `SCHEMA_VERSION`, and the fields it could not carry over without loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """An artifact in the schema of now, under an id and a digest of its own; the old one stays as it is."""

    artifact: CompactionArtifact
    parent_artifact_id: str
    parent_digest: str
    lost: tuple[str, ...]


def migrate(
    store: Store, run: Run, artifact_id: str, migrator: Migrator, *, required: Iterable[str], operator: str
) -> Migrated:
    """Migrates a stored artifact and stores nothing of it but the ledger's line: a commit is what makes it count.

    `required`: keys and fields that no migration may lose. Raises `LongTaskError`: `artifact_unknown`,
    `artifact_digest_mismatch`, `migrator_schema_mismatch`, `migrator_failed`, `migration_loses_required`,
    `artifact_id_conflict`, `invalid_artifact_record`, `artifact_rejected_schema`: stop, and replay the log instead.
    """
    tenant = run.identity.tenant_id or ""
    try:
        done = _migrated(store, tenant, run.run_id, artifact_id, migrator, frozenset(required))
    except LongTaskError as exc:
        _note(store, tenant, run.run_id, operator, exc.code, {"artifact_id": artifact_id, "migrator": migrator.name})
        raise
    audit = {
        "artifact_id": artifact_id,
        "input_schema": migrator.input_schema,
        "output_schema": done.artifact.schema_version,
        "migrator": migrator.name,
        "event_range": list(done.artifact.source_event_range),
        "made": done.artifact.artifact_id,
        "lost": list(done.lost),
    }
    _note(store, tenant, run.run_id, operator, "ok", audit)
    return done


def _migrated(
    store: Store, tenant: str, run_id: str, artifact_id: str, migrator: Migrator, required: frozenset[str]
) -> Migrated:
    row = store.task_artifact(tenant, artifact_id)
    if row is None or row.body is None or row.run_id != run_id:
        raise refuse("artifact_unknown", "there is no such artifact of this run")
    if canonical.digest_bytes(row.body.encode("utf-8", "surrogatepass")) != row.digest:
        raise refuse("artifact_digest_mismatch", "the artifact is not what was stored")
    data = raw_artifact(row.body)
    if data.get("schema_version") != migrator.input_schema or migrator.input_schema == SCHEMA_VERSION:
        raise refuse("migrator_schema_mismatch", "the migrator reads another schema than the artifact has")
    made, lost = _asked(migrator, canonical.parse(row.body))
    if required & set(lost):
        raise refuse("migration_loses_required", "a required field has no way over without loss; replay the log")
    try:
        text = canonical.canonical_bytes({**made, "artifact_id": "migrated"}).decode("utf-8")
    except (InputError, TypeError) as exc:
        raise refuse("invalid_artifact_record") from exc
    artifact = named(artifact_from(text), made_of=row.digest)
    if not required <= {item.key for item in artifact.items} | set(made):
        raise refuse("migration_loses_required", "a required item is gone after the migration; replay the log")
    if artifact.run_id != run_id or artifact.source_digest != data.get("source_digest"):
        raise refuse("migration_changed_source", "a migration keeps the run and the source of its artifact")
    return Migrated(artifact=artifact, parent_artifact_id=artifact_id, parent_digest=row.digest, lost=tuple(lost))


def _asked(migrator: Migrator, data: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """What the migrator makes of `data`. Raises `LongTaskError` `migrator_failed`; a part of an answer is none."""
    answer: object
    try:
        answer = migrator.migrate(data)
    except Exception as exc:
        raise refuse("migrator_failed", "the migrator raised an error") from exc
    match answer:
        # One name alone would be read as its letters, and no required field is called by one of those.
        case (Mapping() as made, tuple() | list() | frozenset() as lost) if all(isinstance(one, str) for one in lost):
            return made, tuple(lost)
    raise refuse("migrator_failed", "the migrator answered in another form")


def reload_evidence(
    store: Store, run: Run, locator: EvidenceLocator, resolver: Resolver, *, operator: str
) -> tuple[LocatorResult, bytes | None]:
    """On-demand reload: the content, only when it is what was seen; counted in the ledger either way."""
    result, content = reload(locator, resolver)
    size = 0 if content is None else len(content)
    _note(
        store,
        run.identity.tenant_id or "",
        run.run_id,
        operator,
        str(result),
        {"locator_id": locator.locator_id, "content_digest": locator.content_digest},
        kind="reload",
        size=size,
    )
    return result, content


def _note(
    store: Store,
    tenant: str,
    run_id: str,
    operator: str,
    outcome: str,
    audit: Mapping[str, Any],
    *,
    kind: str = "migration",
    size: int = 0,
) -> None:
    store.log_task(
        LedgerEntry(
            tenant_id=tenant,
            run_id=run_id,
            kind=kind,
            outcome=outcome,
            operator=operator,
            audit=canonical.canonical_bytes(dict(audit)).decode("utf-8"),
            bytes_after=size,
        )
    )
