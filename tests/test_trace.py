from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gate.documents.resources import schema
from gate.errors import EvidenceError
from gate.trace import JsonlSink, NullSink, TraceEvent

PAYLOAD: dict[str, Any] = {"a": "x", "b": 1, "c": True, "d": None, "e": ["p", "q"], "f": ("r",)}


def event(**changes: Any) -> TraceEvent:
    return TraceEvent(**{"event_type": "decision", "trace_id": "trace-1", "at_ms": 5, "payload": PAYLOAD, **changes})


def test_line_is_the_event_in_the_order_of_its_schema() -> None:
    line = event().as_line()

    assert line == json.dumps(
        {
            "schema_version": "1.0",
            "event_type": "decision",
            "trace_id": "trace-1",
            "at_ms": 5,
            "payload": {"a": "x", "b": 1, "c": True, "d": None, "e": ["p", "q"], "f": ["r"]},
        }
    )
    jsonschema.validate(json.loads(line), schema("trace-event"))


@pytest.mark.parametrize("text", ["line\nbreak", "\u2028", "\u0085", "naïve", "\ud800"])
def test_line_is_one_line_of_ascii_whatever_a_text_holds(text: str) -> None:
    line = event(payload={"a": text}).as_line()

    assert (len(line.splitlines()), line.isascii()) == (1, True)
    assert json.loads(line)["payload"]["a"] == text


@pytest.mark.parametrize(
    "changes",
    [
        {"event_type": ""},
        {"trace_id": ""},
        {"payload": {"a": 1.5}},
        {"payload": {"a": float("nan")}},
        {"payload": {"a": {"arguments": "x"}}},
        {"payload": {"a": [1]}},
        {"payload": {"a": [["x"]]}},
        {"payload": {"a": b"x"}},
        {"payload": {"a": object()}},
    ],
)
def test_event_that_its_schema_has_no_place_for_is_not_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(EvidenceError) as refused:
        JsonlSink(tmp_path / "trace.jsonl").write(event(**changes))

    assert refused.value.code == "trace_event_invalid"
    assert not (tmp_path / "trace.jsonl").exists()


def test_sink_appends_a_line_an_event_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    for number in range(3):
        JsonlSink(file).write(event(at_ms=number))

    assert file.read_text().splitlines() == [event(at_ms=n).as_line() for n in range(3)]
    assert file.stat().st_mode & 0o777 == 0o600


def test_sink_shared_by_threads_never_mixes_lines(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    sink = JsonlSink(file)

    def write(number: int) -> None:
        for _ in range(50):
            sink.write(event(trace_id=f"trace-{number}", payload={"a": "x" * 5000}))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ids = [json.loads(line)["trace_id"] for line in file.read_text().splitlines()]
    assert sorted(ids) == sorted(f"trace-{n}" for n in range(8) for _ in range(50))


@pytest.mark.parametrize("name", ["missing/trace.jsonl", "folder"])
def test_sink_that_cannot_write_raises(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(EvidenceError, match="the trace could not be written") as refused:
        JsonlSink(tmp_path / name).write(event())

    assert refused.value.code == "trace_unwritable"


def test_sink_on_a_full_disk_raises() -> None:
    with pytest.raises(EvidenceError) as refused:
        JsonlSink(Path("/dev/full")).write(event())

    assert refused.value.code == "trace_unwritable"


def test_null_sink_keeps_nothing() -> None:
    assert NullSink().write(event()) is None  # type: ignore[func-returns-value]
