"""A recorded transcript: what a real provider's compactor returned, replayed for the very contexts it was given.

Makes nothing up: a context that is not in the recording is an error, never an approximation. `Recorder` makes one.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.canonical import digest
from gate.errors import InputError
from gate.lab.compaction.compactor import CompactedContext, CompactionError, Compactor, ContextView

_HEADER = "compaction-transcript/v1"
_MAX_BYTES = 256 * 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCompactor:
    """Replays a transcript; its version is the digest of what was recorded."""

    name: str
    version: str
    replies: dict[str, CompactedContext] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> RecordedCompactor:
        """Reads a transcript, one JSON object a line.

        Raises `InputError`: `transcript_unreadable`, `transcript_invalid`.
        """
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except OSError as exc:
            raise InputError(f"`{path}` cannot be read", code="transcript_unreadable") from exc
        if len(data) > _MAX_BYTES:
            raise InputError(f"`{path}` is too large", code="transcript_unreadable")
        replies: dict[str, CompactedContext] = {}
        name: str | None = None
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                match json.loads(line):
                    case {"transcript": str(kind), "compactor": str(found)} if kind == _HEADER and number == 1:
                        name = found
                    case {"request_sha256": str(key), "reply": dict(reply)} if name is not None:
                        made = CompactedContext.from_json(reply)
                        if replies.setdefault(key, made) != made:
                            raise _invalid(path, number, "contradicts an earlier line")
                    case _:
                        raise _invalid(path, number, "is not in its form")
            except (ValueError, RecursionError, CompactionError) as exc:
                raise _invalid(path, number, "is not in its form") from exc
        if name is None or not replies:
            raise InputError(f"`{path}` holds no recorded compaction", code="transcript_invalid")
        content = digest({key: as_json(reply) for key, reply in sorted(replies.items())})
        return cls(name=f"recorded:{name}", version=content, replies=replies)

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """What was recorded. Raises `CompactionError` (`compaction_unrecorded`) for a context that was not."""
        found = self.replies.get(key_of(context, budget_tokens))
        if found is None:
            raise CompactionError(
                "the recording has no such context",
                code="compaction_unrecorded",
                hint="record again with this contract, these fixtures and this budget",
            )
        return found


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Passes everything on to another compactor and appends what it returned to a transcript."""

    inner: Compactor
    path: Path
    _seen: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The inner name."""
        return self.inner.name

    @property
    def version(self) -> str:
        """The inner revision."""
        return self.inner.version

    def compact(self, context: ContextView, budget_tokens: int) -> CompactedContext:
        """What the inner compactor returns, recorded. Raises what that raises; a failure is not recorded."""
        made = self.inner.compact(context, budget_tokens)
        key = key_of(context, budget_tokens)
        if key not in self._seen:
            self._append({"request_sha256": key, "reply": as_json(made)})
            self._seen.add(key)
        return made

    def _append(self, line: dict[str, Any]) -> None:
        lines = [line] if self._seen else [{"transcript": _HEADER, "compactor": self.inner.name}, line]
        try:
            if not self._seen:
                # A transcript holds what a context held: nobody else may read it, and none is written over.
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(each, ensure_ascii=True, sort_keys=True) + "\n" for each in lines)
        except OSError as exc:
            raise InputError(
                f"`{self.path}` cannot be written", code="transcript_unwritable", hint="name a file that is not there"
            ) from exc


def key_of(context: ContextView, budget_tokens: int) -> str:
    """What a request is found by: the digest of exactly what the compactor was given."""
    return digest(context.as_json(budget_tokens))


def as_json(made: CompactedContext) -> dict[str, Any]:
    """The form `CompactedContext.from_json` reads."""
    return {
        "items": [item.as_json() for item in made.items],
        "opaque": made.opaque,
        "paused": made.paused,
        "notes": dict(made.notes),
    }


def _invalid(path: Path, line: int, what: str) -> InputError:
    return InputError(f"line {line} of `{path}` {what}", code="transcript_invalid", hint="record it again")
