"""The event log of long tasks over the records: append, freeze a cursor, read exactly one range.

Decides nothing. No secret is ever written; what is read was held against the run's hash chain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gate.longtask.events import EventRecord, refuse, secret_event
from gate.longtask.stored import body_of, record_from
from gate.longtask.vocabulary import MAY_INSTRUCT
from gate.records import NewTaskEvent, Store, TaskEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLog:
    """The log of every run of one store."""

    store: Store

    def append(self, tenant_id: str, run_id: str, events: Iterable[EventRecord]) -> list[TaskEvent]:
        """Appends events, all or none.

        Raises `LongTaskError`: `secret_event_payload`, `instruction_authority_exceeded`, `event_run_mismatch`;
        `ConflictError`: `duplicate_event_id`, `non_monotonic_event_sequence`, `session_forgotten`, `run_closed`.
        """
        new = tuple(events)
        if any(map(secret_event, new)):
            raise refuse("secret_event_payload", "a secret is never written to the log; refer to it by an id")
        if any(item.authority not in MAY_INSTRUCT[event.event_type] for event in new for item in event.carry_items):
            raise refuse(
                "instruction_authority_exceeded", "what a tool, a model or a page said is data, whoever it names"
            )
        if any(event.run_id != run_id for event in new):
            raise refuse("event_run_mismatch", "an event names another run")
        return self.store.append_task_events(
            tenant_id,
            run_id,
            (
                NewTaskEvent(
                    sequence=event.sequence,
                    event_id=event.event_id,
                    event_type=str(event.event_type),
                    body=body_of(event),
                )
                for event in new
            ),
        )

    def cursor(self, tenant_id: str, run_id: str) -> int:
        """Sequence of the last event, 0 without any. Raises `StoreError` `task_log_broken`."""
        last = self.store.last_task_event(tenant_id, run_id)
        return 0 if last is None else last.sequence

    def read(self, tenant_id: str, run_id: str, *, first: int, last: int) -> tuple[EventRecord, ...]:
        """Exactly the events of that range. Raises `StoreError`: `task_log_broken`, `task_log_erased`."""
        rows = self.store.task_events(tenant_id, run_id, first=first, last=last)
        read = []
        for row in rows:
            event = record_from(row.body)
            if (event.sequence, event.event_id, event.run_id) != (row.sequence, row.event_id, row.run_id):
                raise refuse("invalid_event_record", "an event's row names another event")
            read.append(event)
        return tuple(read)
