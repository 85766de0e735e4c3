"""Trace events: what was decided or done, one JSON line each, without any secret, prompt or argument value.

Pure but for the sinks. A payload holds ids, digests, codes and numbers, in the form of
`schemas/trace-event.schema.json`; anything else is refused before it is written. A sink that cannot write raises: a
decision nobody can trace later must not pass unnoticed.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gate.errors import EvidenceError

SCHEMA_VERSION = "1.0"

Scalar = str | int | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    """One event of a trace."""

    event_type: str
    trace_id: str
    at_ms: int
    """Milliseconds since the epoch, from the gate's clock."""
    payload: Mapping[str, Scalar | Sequence[str]]

    def as_line(self) -> str:
        """The event as one line of ASCII JSON. Raises as `as_dict` does."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def as_dict(self) -> dict[str, Any]:
        """The event with its keys in the order of the schema.

        Raises `EvidenceError` (`trace_event_invalid`) for what the schema has no place for.
        """
        if not self.event_type or not self.trace_id or not all(map(_fits, self.payload.values())):
            raise EvidenceError("the trace event is not in the form of its schema", code="trace_event_invalid")
        return {
            "schema_version": SCHEMA_VERSION,
            "event_type": self.event_type,
            "trace_id": self.trace_id,
            "at_ms": self.at_ms,
            "payload": {key: list(v) if isinstance(v, tuple) else v for key, v in self.payload.items()},
        }


def _fits(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, (str, int))


class TraceSink(Protocol):
    """Where trace events go."""

    def write(self, event: TraceEvent) -> None:
        """Keeps `event`; raises `EvidenceError` when it cannot."""


class NullSink:
    """Keeps nothing; the event log of the run is still written by the records."""

    def write(self, event: TraceEvent) -> None:
        """Does nothing."""


class JsonlSink:
    """Appends one line an event to a file, whole lines only, safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def write(self, event: TraceEvent) -> None:
        """Appends the event with one `write` on an O_APPEND descriptor, so that lines never mix."""
        line = (event.as_line() + "\n").encode()
        try:
            with self._lock:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    written = os.write(descriptor, line)
                finally:
                    os.close(descriptor)
        except OSError as exc:
            raise EvidenceError("the trace could not be written", code="trace_unwritable") from exc
        if written != len(line):
            raise EvidenceError("the trace was written in part", code="trace_unwritable")
