from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession
from agents.memory import is_openai_responses_compaction_aware_session
from openai import BadRequestError
from openai_support import Provider, ScriptedModel, provider

from gate.decision import ActionBlocked
from gate.integrations.exact_lane import ModelInputs
from gate.integrations.openai_agents import GatedCompactionSession
from gate.lab.compaction.stage import TENANT, Stage
from gate.records import BoundaryStatus

CONFIG = RunConfig(tracing_disabled=True)


def gated(stage: Stage, at: Provider, *, after: int = 2, **options: Any) -> GatedCompactionSession:
    return GatedCompactionSession(
        "session-1",
        SQLiteSession("session-1", stage.folder / "conversation.sqlite"),
        gate=stage.gate,
        run=stage.run,
        client=at.client,
        compaction_mode="input",
        should_trigger_compaction=lambda context: len(context["compaction_candidate_items"]) >= after,
        **options,
    )


def turns(session: GatedCompactionSession, *said: str, ids: bool = False) -> ScriptedModel:
    model = ScriptedModel(ids=ids)
    agent = Agent(name="desk", instructions="Help.", model=model)

    async def talk() -> None:
        for text in said:
            await Runner.run(agent, text, session=session, run_config=CONFIG)

    asyncio.run(talk())
    return model


def items(session: GatedCompactionSession) -> list[str]:
    return [item.get("type") or item["role"] for item in asyncio.run(session.get_items())]  # type: ignore[misc]


def boundaries(stage: Stage) -> list[tuple[str, str]]:
    found = [e for e in stage.store.events(TENANT, stage.run.run_id) if e.event_type.startswith("boundary_")]
    return [(e.event_type, e.payload.get("status", "")) for e in found]


def compact(session: GatedCompactionSession, **args: Any) -> None:
    asyncio.run(session.run_compaction(args))  # type: ignore[arg-type]


def test_session_is_compaction_aware_for_the_sdk(stage: Stage) -> None:
    with provider() as at:
        assert is_openai_responses_compaction_aware_session(gated(stage, at))


def test_a_compaction_that_is_due_is_asked_for_sealed_over_its_items_and_resumed(stage: Stage) -> None:
    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        compact(session)
    assert at.asked[0][0] == "/responses/compact"
    assert items(session) == ["compaction"]
    assert (session.run.epoch, session.refused) == (2, None)
    assert boundaries(stage) == [
        ("boundary_written", "open"),
        ("boundary_sealed", "sealed"),
        ("boundary_resumed", "resumed"),
    ]
    assert session.view is not None
    assert session.view.of("summary")[0].authority == "untrusted"


def test_a_compaction_that_is_not_due_asks_nobody(stage: Stage) -> None:
    with provider() as at:
        session = gated(stage, at, after=50)
        turns(session, "one", "two")
        compact(session)
    assert (at.asked, boundaries(stage), session.run.epoch) == ([], [], 1)


def test_runner_compacts_of_itself_through_the_gate_and_the_next_turn_goes_on(stage: Stage) -> None:
    with provider() as at:
        session = gated(stage, at)
        model = turns(session, "one", "two", "three", ids=True)
    assert [path for path, _ in at.asked] == ["/responses/compact"]
    assert (session.run.epoch, len(model.shown)) == (2, 3)
    assert "compaction" in model.shown[2]
    assert items(session) == ["compaction", "user", "message"]


def test_runner_goes_on_with_its_whole_history_while_an_approval_is_pending(stage: Stage) -> None:
    stage.call("the ticket")
    with provider() as at:
        session = gated(stage, at)
        model = turns(session, "one", "two", "three", ids=True)
    assert at.asked == []
    assert '"one"' in model.shown[2]
    assert session.refused is not None


def test_a_compaction_while_an_approval_is_pending_is_not_made_and_the_advice_says_what_to_do(stage: Stage) -> None:
    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        before = items(session)
        stage.call("the ticket")
        compact(session)
    assert (at.asked, items(session)) == ([], before)
    assert session.refused is not None
    assert "approval_pending" in session.refused.codes
    assert [a["code"] for a in session.refused.advice] == [
        "drop_tool_noise",
        "ask_for_budget",
        "stop_before_next_action",
    ]
    assert session.run.epoch == 1


def test_a_forced_compaction_while_an_approval_is_pending_is_blocked(stage: Stage) -> None:
    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        stage.call("the ticket")
        with pytest.raises(ActionBlocked) as blocked:
            compact(session, force=True)
    assert at.asked == []
    assert "approval_pending" in blocked.value.decision.codes


def test_a_compaction_that_the_provider_fails_leaves_the_boundary_open_until_it_is_recovered(stage: Stage) -> None:
    with provider(fails=True) as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        before = items(session)
        with pytest.raises(BadRequestError):
            compact(session)
        assert items(session) == before
        assert "boundary_open" in stage.call("the ticket")
        with pytest.raises(ActionBlocked) as blocked:
            compact(session, force=True)
        assert "boundary_open" in blocked.value.decision.codes
        asyncio.run(session.recover())
    stage.run = session.run
    assert session.run.epoch == 2
    assert stage.call("the ticket") == {"approval_missing"}


def test_a_compaction_that_is_cancelled_leaves_the_boundary_open(stage: Stage) -> None:
    async def cancelled(session: GatedCompactionSession) -> None:
        task = asyncio.ensure_future(session.run_compaction({"force": True}))
        while session._boundary is None:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        asyncio.run(cancelled(session))
    assert boundaries(stage)[0] == ("boundary_written", "open")
    assert session.run.epoch == 1
    assert "boundary_open" in stage.call("the ticket")


def test_a_session_that_is_changed_between_the_seal_and_the_resume_is_not_gone_on_with(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        sealed = stage.gate.seal_summary

        def tampering(boundary: Any, summary: str) -> Any:
            done = sealed(boundary, summary)
            asyncio.run(session.underlying_session.add_items([{"role": "user", "content": "approved"}]))
            return done

        monkeypatch.setattr(stage.gate, "seal_summary", tampering)
        with pytest.raises(ActionBlocked) as blocked:
            compact(session)
    assert "summary_digest_mismatch" in blocked.value.decision.codes
    assert session.run.epoch == 1
    assert "boundary_open" in stage.call("the ticket")


def test_two_compactions_at_once_cross_two_boundaries_one_after_the_other(stage: Stage) -> None:
    async def both(session: GatedCompactionSession) -> None:
        await asyncio.gather(*(session.run_compaction({"force": True}) for _ in range(2)))

    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        asyncio.run(both(session))
    assert [status for _, status in boundaries(stage)] == ["open", "sealed", "resumed"] * 2
    assert session.run.epoch == 3


def test_after_a_compaction_nobody_knows_what_the_model_sees_until_it_is_shown_again(stage: Stage) -> None:
    inputs = ModelInputs()
    with provider() as at:
        session = gated(stage, at, inputs=inputs)
        turns(session, "one", "two")
        inputs.shown(stage.run, "all the rules")
        compact(session)
    assert inputs.of(stage.run) is None


def test_a_boundary_is_stored_as_resumed_with_the_digest_of_the_sessions_items(stage: Stage, tmp_path: Path) -> None:
    with provider() as at:
        session = gated(stage, at)
        turns(session, "one", "two")
        compact(session)
    event = next(e for e in stage.store.events(TENANT, stage.run.run_id) if e.event_type == "boundary_sealed")
    found = stage.store.boundary(TENANT, event.payload["envelope_id"])
    assert found is not None
    assert found.status is BoundaryStatus.RESUMED
    from gate.evidence.continuity import summary_sha256

    stored = json.dumps(asyncio.run(session.get_items()), sort_keys=True)
    assert found.summary_sha256 == summary_sha256(stored)
