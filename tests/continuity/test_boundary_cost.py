from __future__ import annotations

from typing import Any

from continuity_support import TENANT, World
from sqlalchemy import event


def _statements(world: World, action: Any) -> tuple[list[str], int]:
    """What `action` asks of the database, and how many event rows it reads."""
    seen: list[str] = []
    engines = {world.store._database.backend.reader, world.store._database.backend.writer}

    def note(_c: Any, _k: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        action()
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)
    return seen, sum(" events" in statement and "SELECT" in statement for statement in seen)


def _long_log(world: World, count: int) -> Any:
    run = world.start()
    for number in range(count):
        world.store.append_event(TENANT, run.run_id, "note", {"n": number})
    return run


def test_writing_a_boundary_asks_the_same_of_the_database_over_a_long_log(world: World) -> None:
    short, long = _long_log(world, 10), _long_log(world, 400)

    asked = [
        _statements(world, lambda run=run: world.gate().prepare_boundary(run, "context_compaction"))
        for run in (short, long)
    ]

    assert asked[0] == asked[1]
    assert asked[0][1] > 0


def test_boundary_freezes_the_whole_range_and_the_next_begins_after_it(world: World) -> None:
    run = _long_log(world, 30)
    first = world.cut(run)
    resumed = world.resume(first).run
    assert resumed is not None
    second = world.cut(resumed)

    frozen = first.envelope["source_event_range"]
    assert frozen["first_seq"] == 1
    assert second.envelope["source_event_range"]["first_seq"] == frozen["last_seq"] + 1
