"""One run of the release gate: the matrix, the forbidden states, the faults, the probe, and what Rego makes of them.

Decides nothing: the posture is Rego's, and so is whether anything is released. The document has nothing in it that
changes between two runs; what does is in the header.
"""

from __future__ import annotations

import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gate.canonical import digest_bytes
from gate.compiler import Compiled, compile_bundle
from gate.documents.compaction import CompactionContract
from gate.errors import InputError
from gate.lab.compaction import faults, metrics
from gate.lab.compaction.faults import Fault
from gate.lab.compaction.ground import ground, trial
from gate.lab.compaction.matrix import Plan, Played, play
from gate.lab.compaction.probe import Probe, probe
from gate.lab.compaction.report_json import text_of
from gate.lab.compaction.rounds import revision_of
from gate.lab.compaction.states import Tried, try_states
from gate.lab.demo import decision_point
from gate.pdp import DecisionPoint

SCHEMA_VERSION = "compaction-report/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What one run found."""

    header: dict[str, Any]
    """When, where and how long: the only part that differs between two runs."""
    document: dict[str, Any]
    """Everything else; `digest` is over its text."""
    records: dict[str, dict[str, Any]]
    """The content of `compaction-record.yaml` for each compactor, by its revision."""

    @property
    def passed(self) -> bool:
        """Every compactor is released at the posture that was required, or at a better one."""
        return bool(self.document["passed"])


def assess(
    bundle: Path,
    plan: Plan,
    *,
    engine: str,
    binary: Path | None,
    require: str,
    jobs: int = 1,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Assessment:
    """Runs everything on copies of `bundle`, which has a `compaction.yaml`.

    `engine` is embedded or opa, `binary` the OPA that judges, None for the embedded engine; `require` is the least
    posture that passes. Raises `BundleError`, `InputError` (`compaction_contract_missing`, `posture_unknown`,
    `compactor_repeated`), and
    `PdpError` when there is no judgement to trust.
    """
    if require not in metrics.POSTURES:
        raise InputError(f"`{require}` is no posture", code="posture_unknown", hint=", ".join(metrics.POSTURES))
    revisions = [revision_of(compactor) for compactor in plan.compactors]
    if len(set(revisions)) != len(revisions):
        raise InputError("a compactor is named twice", code="compactor_repeated", hint="give each its own version")
    began = time.monotonic()
    compiled = compile_bundle(bundle)
    contract = contract_of(compiled, bundle)
    total = len(plan.settings(contract)) + len(faults.FAULTS) + 2
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        told(done, total)

    played = play(bundle, plan, engine=engine, jobs=jobs, told=step)
    tried = _states(bundle, plan, engine)
    step()
    with _opener(engine) as opened:
        injected = []
        for fault in faults.play(opened):
            injected.append(fault)
            step()
        probed = probe(opened)
    step()
    # By revision, not by object: what comes back from another process is a copy.
    found = [
        _compactor(
            compiled, contract, [p for p in played if revision_of(p.setting.compactor) == name], injected, tried, probed
        )
        for name in revisions
    ]
    for one in found:
        one["judgement"] = metrics.judge(compiled, one["measured"], one["digests"], binary=binary)
    document = _document(compiled, contract, engine, require, plan, found, injected, tried, probed)
    sha256 = digest_bytes(text_of(document).encode("utf-8"))
    return Assessment(
        header=_header(played, time.monotonic() - began, sha256),
        document=document,
        records={
            one["revision"]: metrics.record(
                one["measured"], one["digests"], one["judgement"]["posture"], report_sha256=sha256
            )
            for one in found
        },
    )


def contract_of(compiled: Compiled, bundle: Path) -> CompactionContract:
    """The contract of a compiled bundle. Raises `InputError` (`compaction_contract_missing`) when it has none."""
    if compiled.bundle.compaction is None:
        raise InputError(
            f"`{bundle}` has no compaction.yaml", code="compaction_contract_missing", hint="write and list it"
        )
    return compiled.bundle.compaction


def _states(bundle: Path, plan: Plan, engine: str) -> tuple[Tried, ...]:
    with (
        tempfile.TemporaryDirectory(prefix="gate-states-") as name,
        trial(bundle, Path(name)) as compiled,
        decision_point(compiled, engine, Path(name)) as (point, _),
        ground(compiled, point, compactor_revision=revision_of(plan.compactors[0])) as place,
    ):
        return tuple(try_states(place))


@contextmanager
def _opener(engine: str) -> Iterator[Callable[[Compiled], Any]]:
    with tempfile.TemporaryDirectory(prefix="gate-point-") as name:

        @contextmanager
        def opened(compiled: Compiled) -> Iterator[DecisionPoint]:
            with (
                tempfile.TemporaryDirectory(dir=name) as folder,
                decision_point(compiled, engine, Path(folder)) as (point, _),
            ):
                yield point

        yield opened


def _compactor(
    compiled: Compiled,
    contract: CompactionContract,
    played: Sequence[Played],
    injected: Sequence[Fault],
    tried: Sequence[Tried],
    probed: Probe,
) -> dict[str, Any]:
    figures = metrics.measured(
        compiled.bundle,
        contract,
        played,
        injected=[metrics.Injected(name=f.name, sound=f.sound, effects=f.tickets) for f in injected],
        tried=tried,
    )
    # A tool that refuses everybody rechecks nothing: its own executor's call counts as well.
    figures["tool_probe"]["tried"] += len(probed.attempts)
    figures["tool_probe"]["refused"] += sum(a.sound for a in probed.attempts) if probed.effects <= 1 else 0
    cases = [case for one in played for case in one.result.cases]
    return {
        "name": played[0].setting.compactor.name,
        "revision": revision_of(played[0].setting.compactor),
        "digests": metrics.tested_digests(compiled.bundle, contract, played),
        "measured": figures,
        "rounds": metrics.by_round(played),
        "cases": [case.as_json() for case in cases],
    }


def _document(
    compiled: Compiled,
    contract: CompactionContract,
    engine: str,
    require: str,
    plan: Plan,
    found: list[dict[str, Any]],
    injected: Sequence[Fault],
    tried: Sequence[Tried],
    probed: Probe,
) -> dict[str, Any]:
    rank = metrics.POSTURES.index
    return {
        "schema_version": SCHEMA_VERSION,
        "what": "a conformance result of scripted agents and shipped fixtures; it measures no model",
        "bundle_id": compiled.bundle.meta.bundle_id,
        "bundle_version": compiled.bundle.meta.version,
        "engine": engine,
        "contract": {
            "product_job": contract.product_job,
            "runtime": dict(contract.runtime),
            "required_rule_ids": list(contract.required_rule_ids),
            "owner": contract.owner,
            "thresholds": list(plan.thresholds),
        },
        "required_posture": require,
        "passed": all(rank(one["judgement"]["posture"]) >= rank(require) for one in found),
        "compactors": found,
        "forbidden_states": [
            {"state": t.state, "compacted": t.compacted, "refused_for_it": t.refused_for_it} for t in tried
        ],
        "faults": [
            {"fault": f.name, "outcome": f.outcome, "effects": f.tickets, "seen": list(f.seen)} for f in injected
        ],
        "tool_probe": {
            "rechecks": probed.rechecks,
            "effects": probed.effects,
            "attempts": [asdict(a) for a in probed.attempts],
        },
    }


def _header(played: Sequence[Played], seconds: float, sha256: str) -> dict[str, Any]:
    times = sorted(1000 * each for one in played for each in one.seconds)
    return {
        "report_sha256": sha256,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "took_seconds": round(seconds, 1),
        "python": platform.python_version(),
        "compaction_ms": {
            "median": round(statistics.median(times), 3),
            "slowest": round(times[-1], 3),
        }
        if times
        else None,
    }
