"""A compaction inside the provider: nobody can read what it kept, so the final model input is what is checked."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession
from opa_point import OpaPoint
from openai_support import Provider, ScriptedModel, provider

from gate.compiler import assemble
from gate.decision import ActionBlocked
from gate.documents.compaction import CompactionContract
from gate.enforcement import Gate
from gate.evidence import Call, Identity, Run
from gate.evidence.compaction import CompactionSource
from gate.integrations.exact_lane import ExactLane, ModelInputs
from gate.integrations.openai_agents import GatedCompactionSession, checked_model_input
from gate.lab.compaction.ground import ENVIRONMENT, trial
from gate.pdp import DecisionPoint
from gate.records import GateKey, Store

SEAL = GateKey(key_id="seal", private_key=base64.b64encode(b"s" * 32).decode())


@dataclass
class Desk:
    gate: Gate
    run: Run
    contract: CompactionContract
    inputs: ModelInputs
    folder: Path

    def session(self, at: Provider) -> GatedCompactionSession:
        return GatedCompactionSession(
            "session-1",
            SQLiteSession("session-1", self.folder / "conversation.sqlite"),
            gate=self.gate,
            run=self.run,
            inputs=self.inputs,
            client=at.client,
            compaction_mode="input",
            should_trigger_compaction=lambda context: len(context["compaction_candidate_items"]) >= 2,
        )

    def looked_up(self, run: Run) -> set[str]:
        """The codes with which a harmless call is refused; empty when it may run."""
        call = Call(capability="lookup_charge", arguments={"charge_id": "ch-1"}, reason="asked for")
        decision = self.gate.check_call(run, call)
        return set() if decision.verdict == "allow" else set(decision.codes)


@pytest.fixture(scope="module")
def served(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DecisionPoint, CompactionContract]]:
    with trial(repo / "bundles" / "refund-desk", tmp_path_factory.mktemp("trial")) as compiled:
        assembly = assemble([compiled])
        point = OpaPoint(assembly.modules, revision=assembly.revision)
        assert compiled.bundle.compaction is not None
        yield point, compiled.bundle.compaction
        point.close()


@pytest.fixture
def desk(served: tuple[DecisionPoint, CompactionContract], tmp_path: Path) -> Iterator[Desk]:
    point, contract = served
    inputs = ModelInputs()
    names = ("model", "harness", "compactor", "compactor_version")
    source = CompactionSource(model_input=inputs.of, **{name: contract.runtime[name] for name in names})
    with Store.open(f"sqlite:///{tmp_path}/records.sqlite") as store:
        gate = Gate(point, store, environment=ENVIRONMENT, evidence=[source], seal_key=SEAL)
        run = gate.start_run(
            agent_id="refund-desk-ref",
            identity=Identity(tenant_id="cedardesk", principal_id="user-7"),
            session_id="session-1",
            trace_id="trace-1",
        )
        gate.record_progress(run, objective="Refund.", checkpoint_ref="checkpoint:1")
        yield Desk(gate=gate, run=run, contract=contract, inputs=inputs, folder=tmp_path)


def talk(desk: Desk, session: GatedCompactionSession, lane: ExactLane, *said: str) -> ScriptedModel:
    model = ScriptedModel(ids=True)
    agent = Agent(name="desk", instructions="Help.", model=model)
    config = RunConfig(
        tracing_disabled=True,
        call_model_input_filter=checked_model_input(desk.gate, session, lane, desk.inputs),
    )

    async def turns() -> None:
        for text in said:
            await Runner.run(agent, text, session=session, run_config=config)

    asyncio.run(turns())
    return model


def test_exact_lane_put_back_outside_the_provider_lets_model_and_calls_go_on(desk: Desk) -> None:
    lane = ExactLane.of(desk.contract)
    with provider() as at:
        session = desk.session(at)
        model = talk(desk, session, lane, "one", "two", "three")
    assert session.run.epoch == 2
    assert '"encrypted_content": "b3BhcXVl"' in model.shown[2]
    assert all(line in model.shown[2] for line in lane.lines)
    assert desk.looked_up(session.run) == set()


@pytest.mark.parametrize("broken", ["missing", "reworded", "scope"])
def test_model_is_not_called_after_an_opaque_compaction_with_a_rule_that_is_not_there(desk: Desk, broken: str) -> None:
    sound = ExactLane.of(desk.contract).lines
    spoilt = {
        "missing": sound[1:],
        "reworded": (sound[0].replace("Never", "Rarely"), *sound[1:]),
        "scope": (sound[0].replace(" @ issue_refund]", " @ lookup_charge]"), *sound[1:]),
    }[broken]
    assert spoilt != sound
    with provider() as at:
        session = desk.session(at)
        with pytest.raises(ActionBlocked) as blocked:
            talk(desk, session, ExactLane(lines=spoilt), "one", "two", "three")
    assert "required_rule_missing" in blocked.value.decision.codes
    assert session.run.epoch == 2
    assert "required_rule_missing" in desk.looked_up(session.run)


def test_no_call_runs_between_an_opaque_compaction_and_the_next_model_input(desk: Desk) -> None:
    with provider() as at:
        session = desk.session(at)
        talk(desk, session, ExactLane.of(desk.contract), "one", "two")
    assert session.run.epoch == 2
    assert "required_rule_missing" in desk.looked_up(session.run)


def test_lane_in_the_language_asked_for_is_as_binding(desk: Desk) -> None:
    lane = ExactLane.of(desk.contract, form="declarative", language="zh")
    assert "25.01 至 100.00 的退款由客服人员复核。" in lane.lines[0]
    with provider() as at:
        session = desk.session(at)
        talk(desk, session, lane, "one", "two", "three")
    assert desk.looked_up(session.run) == set()
