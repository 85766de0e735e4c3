"""Where rounds are played: a copy of the contract's bundle on trial, real records, tools behind `verify_call`.

Changes nothing of the bundle itself. Expects nothing: it carries out acts and says what was answered and what ran.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.compiler import Compiled, compile_bundle, write
from gate.compiler.link_compaction import RECORD, filled
from gate.compiler.lower_compaction import COMPONENTS, component_digests
from gate.decision import ActionBlocked
from gate.documents import schema
from gate.documents.compaction import Act, CompactionContract, measured_sha256
from gate.enforcement import AlreadyCommitted, CallRefused, EffectNotStarted, Gate
from gate.errors import InputError
from gate.evidence import Identity, Run
from gate.evidence.compaction import CompactionSource
from gate.lab.compaction.witnesses import witnesses
from gate.pdp import DecisionPoint
from gate.records import GateKey, PublicKey, Store, generate_key

Opened = Callable[[Compiled], AbstractContextManager[DecisionPoint]]
"""A decision point that serves a bundle for as long as the block lasts."""

ENVIRONMENT = "compaction-trial"
"""The one environment in which a trial record releases anything; the policies know it by this name."""

_REASON = "The customer was charged twice."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one act."""

    verdict: str
    """The gate's, or `receipt` for an act that was carried out before."""
    reasons: tuple[str, ...]
    ran: bool
    """The tool carried it out."""
    decided: bool
    """The decision came from the policies, with the bundle it came from in its audit."""
    state_unchanged: bool
    """Neither the ledger nor the tool changed."""


@dataclass(slots=True, kw_only=True)
class Tools:
    """Every tool of the bundle, in a process's own gate: it trusts no caller and asks the records itself."""

    gate: Gate
    done: list[tuple[str, str, str]] = field(default_factory=list)
    """(tenant, capability, arguments as JSON) of everything that was carried out, in order."""

    def run(self, token: object, tenant: str, capability: str, arguments: Any, *, reads: bool) -> dict[str, Any]:
        """Carries out. Raises `CallRefused` for what did not come through the executor; reading needs no claim."""
        if not reads:
            call = self.gate.verify_call(
                token, tenant_id=tenant, capability=capability, arguments=arguments, tool="trial-tools"
            )
            arguments = call.arguments
            self.done.append((tenant, capability, json.dumps(arguments, sort_keys=True)))
        return {"number": len(self.done)}

    def of(self, tenant: str) -> list[tuple[str, str]]:
        """What was carried out for `tenant`."""
        return [(capability, arguments) for owner, capability, arguments in self.done if owner == tenant]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One set of records with its gate and tools."""

    compiled: Compiled
    contract: CompactionContract
    gate: Gate
    store: Store
    tools: Tools
    inputs: dict[str, str]
    """The text that the model of each run is shown, by run id."""
    folder: Path

    def start(self, tenant: str, principal: str) -> Run:
        """A run of the bundle's agent, in epoch 1."""
        return self.gate.start_run(
            agent_id=self.compiled.bundle.meta.agent_ids[0],
            identity=Identity(tenant_id=tenant, principal_id=principal),
            session_id=f"session-{principal}",
            trace_id=f"trace-{tenant}-{principal}",
            run_id=f"run-{tenant}-{principal}",
        )

    def act(self, run: Run, act: Act, number: int, *, key: str) -> Answer:
        """Attempts `act` through the gate, and the tool behind it."""
        tenant = run.identity.tenant_id or ""
        before, done = self._ledger(tenant), len(self.tools.done)
        arguments = filled(act.arguments, number)

        def answer(verdict: str, reasons: tuple[str, ...], audit: Mapping[str, Any]) -> Answer:
            return Answer(
                verdict=verdict,
                reasons=reasons,
                ran=len(self.tools.done) > done,
                decided=audit.get("bundle_version") == self.compiled.bundle.meta.version,
                state_unchanged=self._ledger(tenant) == before and len(self.tools.done) == done,
            )

        reads = self.compiled.bundle.capabilities[act.capability].side_effect == "none"
        try:
            with self.gate.tool_call(
                run, act.capability, arguments, idempotency_key=key if act.keyed else None, reason=_REASON
            ) as call:
                try:
                    token = None if reads else call.token
                    call.complete(self.tools.run(token, tenant, act.capability, call.arguments, reads=reads))
                except CallRefused as exc:
                    raise EffectNotStarted("the tool refused") from exc
        except AlreadyCommitted as known:
            return answer("receipt", known.decision.codes, known.decision.audit)
        except ActionBlocked as blocked:
            return answer(str(blocked.decision.verdict), blocked.decision.codes, blocked.decision.audit)
        return answer(str(call.decision.verdict), call.decision.codes, call.decision.audit)

    def past_the_gate(self, tenant: str, act: Act, number: int, token: str) -> bool:
        """The tool refuses `act` when it is asked directly, with whatever a context holds for a token."""
        done = len(self.tools.done)
        try:
            self.tools.run(token, tenant, act.capability, filled(act.arguments, number), reads=False)
        except CallRefused:
            return len(self.tools.done) == done
        return False

    def _ledger(self, tenant: str) -> list[tuple[str, str, int]]:
        return sorted((e.business_key, str(e.status), e.version) for e in self.store.effects(tenant))


@contextmanager
def trial(bundle: Path, folder: Path) -> Iterator[Compiled]:
    """A compiled copy of `bundle` below `folder` with a record on trial.

    Raises `BundleError`, and `InputError` (`compaction_contract_missing`) for a bundle without `compaction.yaml`.
    """
    original = compile_bundle(bundle)
    contract = original.bundle.compaction
    if contract is None:
        raise InputError(
            f"`{bundle}` has no compaction.yaml", code="compaction_contract_missing", hint="write and list it"
        )
    copy = folder / bundle.resolve().name
    shutil.copytree(bundle, copy)
    envelope = original.bundle.documents["bundle.yaml"].value["bundle"]
    artifacts = [name for name in envelope["artifacts"] if name != RECORD]
    # JSON is strict YAML, whatever style the original is written in.
    listed = {"bundle": {**envelope, "artifacts": [*artifacts, RECORD]}}
    (copy / "bundle.yaml").write_text(json.dumps(listed, indent=1), "utf-8")
    digests = component_digests(original.bundle, contract)
    (copy / RECORD).write_text(json.dumps({"compaction_record": trial_record(digests)}, indent=1), "utf-8")
    compiled = compile_bundle(copy)
    write(compiled)
    yield compiled


def trial_record(digests: Mapping[str, str]) -> dict[str, Any]:
    """A record that measured nothing, for the harness's own copy."""
    measured = _empty(schema("compaction-record")["properties"]["compaction_record"]["properties"]["measured"])
    return {
        "report_sha256": "sha256:" + "0" * 64,
        "measured_sha256": measured_sha256(measured, digests),
        "digests": {name: digests[name] for name in COMPONENTS},
        "measured": measured,
        "posture": "reject",
        "trial": True,
    }


@contextmanager
def ground(compiled: Compiled, point: DecisionPoint, *, compactor_revision: str) -> Iterator[Ground]:
    """Fresh records for one compactor on trial."""
    contract = compiled.bundle.compaction
    if contract is None:
        raise InputError("the bundle has no compaction.yaml", code="compaction_contract_missing")
    inputs: dict[str, str] = {}
    private, public = generate_key()
    with tempfile.TemporaryDirectory(prefix="gate-compaction-") as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/records.sqlite"
        source = CompactionSource(
            model=contract.runtime["model"],
            harness=contract.runtime["harness"],
            compactor=contract.runtime["compactor"],
            compactor_version=compactor_revision,
            model_input=lambda run: inputs.get(run.run_id),
        )
        with Store.open(url) as store, Store.open(url) as tool_store:
            gate = Gate(
                point,
                store,
                environment=ENVIRONMENT,
                evidence=[source, *witnesses(compiled)],
                call_key=GateKey(key_id="executor", private_key=private),
                seal_key=GateKey(key_id="seal", private_key=base64.b64encode(os.urandom(32)).decode("ascii")),
            )
            keys = {"executor": PublicKey(public_key=public)}
            tools = Tools(gate=Gate(point, tool_store, environment=ENVIRONMENT, call_keys=keys))
            yield Ground(
                compiled=compiled,
                contract=contract,
                gate=gate,
                store=store,
                tools=tools,
                inputs=inputs,
                folder=folder,
            )


def _empty(node: Mapping[str, Any]) -> Any:
    if node["type"] == "object":
        return {name: _empty(child) for name, child in node["properties"].items()}
    return [] if node["type"] == "array" else 0
