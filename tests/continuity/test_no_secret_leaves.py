from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from continuity_support import IDENTITY, World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.continuity import UserConstraint
from gate.errors import GateError

_PLACES = st.sampled_from(
    ("summary", "presented", "words", "objective", "title", "reason", "predicate", "vote_note", "scope_summary")
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(mark=st.integers(min_value=10**9, max_value=10**12), place=_PLACES)
def test_secret_in_a_free_text_reaches_no_trace_no_log_and_no_event(
    world: World, caplog: pytest.LogCaptureFixture, mark: int, place: str
) -> None:
    secret = f"sk-{mark}-secret"
    caplog.set_level(logging.DEBUG)

    def text(name: str) -> str:
        return f"{name} {secret}" if name == place else name

    run = world.start()
    gate, shown = world.gate(), []
    gate.record_progress(run, objective=text("objective"), checkpoint_ref="checkpoint:6")
    try:
        gate.record_constraint(
            run,
            UserConstraint(
                words=text("words"),
                predicate=f'arguments.title == "{text("predicate")}"',
                source_event="m-1",
                applies_to=["create_ticket"],
            ),
        )
        world.call(run, {"title": text("title")}, key=f"k-{mark}")
        boundary = gate.note_boundary(run, "context_compaction", summary=text("summary"))
        gate.resume(boundary.envelope_id, text("presented"), run)
        gate.resume(boundary.envelope_id, text("summary"), run)
        gate.resume(boundary.envelope_id, text("summary"), replace(run, identity=replace(IDENTITY, tenant_id="globex")))
    except GateError as exc:
        shown.append(f"{exc.message} {exc.hint}")
    events = [str(event.payload) for event in world.store.events("acme", run.run_id)]

    for sink in (world.trace(), caplog.text, *events, *shown):
        assert secret not in sink


def test_envelope_holds_no_raw_text_of_objective_constraint_or_summary(world: World) -> None:
    run = world.start()
    world.gate().record_progress(run, objective="sk-objective", checkpoint_ref="checkpoint:6")
    world.gate().record_constraint(
        run,
        UserConstraint(
            words="sk-words", predicate='arguments.title == "x"', source_event="m-1", applies_to=["create_ticket"]
        ),
    )
    boundary = world.cut(run, "sk-summary")
    stored = world.store.boundary("acme", boundary.envelope_id)

    assert stored is not None
    assert "sk-" not in stored.body
