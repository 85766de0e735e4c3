"""Many decisions at once: documents in files, one OPA process a chunk, two chunks at a time.

It is the real OPA with strict builtins, so that what it says is what a sidecar would say; a document that makes a
builtin fail is found by halving and has no decision. Serves nothing and keeps nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate import opa
from gate.canonical import digest
from gate.errors import PdpError

_TIMEOUT_S = 300.0
# A process of a few seconds: what it saves by collecting garbage it loses by doing so.
_SPEED = {"GOGC": "400"}
_CHUNK = 1000
_RULE, _RULE_UNDER = "data.review.outcomes", "data.review.outcomes_under"
# Only what a comparison looks at: whole decisions of ten thousand documents are more to write than to take.
_REVIEW = """package review

outcomes := {index: compared(decision) |
	some index, document in input.documents
	decision := data.gate.decision with input as document
}

outcomes_under := {index: compared(decision) |
	some index, asked in input.documents
	table := asked.agents
	document := asked.document
	decision := data.gate.decision with input as document with data.gate.agents.bundle_of as table
}

facts_under := [stated |
	document := {"agent": {"agent_id": input.agent_id}}
	some table in input.tables
	stated := data.gate.facts.document with input as document with data.gate.agents.bundle_of as table
]

compared(decision) := {
	"verdict": decision.verdict,
	"reasons": [[reason.code, reason.verdict, reason.rule, reason.source] | some reason in decision.reasons],
	"obligations": decision.obligations,
	"advice": [warning.code | some warning in decision.advice],
}
"""
_FACTS = "data.gate.facts.document"
UNDECIDED = "undecided"
"""Stands for a verdict where the policies gave none; the gate refuses then."""
# They follow from the version and from what the contract says, which is compared where it has an effect.
_DERIVED = frozenset({"contract_digest", "capability_version", "bundle_version", "release_identity"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is compared of a decision."""

    verdict: str
    reasons: tuple[tuple[str, str, str], ...] = ()
    """Code, verdict and rule of each, sorted."""
    obligations: tuple[str, ...] = ()
    """Each as canonical JSON, without digests that follow from the version."""
    advice: tuple[str, ...] = ()
    sources: frozenset[str] = frozenset()
    """Where in the YAML the reasons come from. Not compared: an inserted line moves a rule and changes nothing."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The reason codes, sorted."""
        return tuple(sorted({code for code, *_ in self.reasons}))

    @property
    def duties(self) -> tuple[str, ...]:
        """Types of the obligations, in order."""
        return tuple(str(json.loads(one)["type"]) for one in self.obligations)

    def same(self, other: Outcome) -> bool:
        """Whether a caller would see no difference."""
        return (self.verdict, self.reasons, self.obligations, self.advice) == (
            other.verdict,
            other.reasons,
            other.obligations,
            other.advice,
        )


class Batch:
    """One set of modules, written out once and asked many times. Use as a context manager."""

    def __init__(self, modules: Mapping[str, str], *, binary: Path) -> None:
        self._binary = binary
        self._scratch = tempfile.TemporaryDirectory(prefix="gate-review-")
        self._tree = Path(self._scratch.name) / "tree"
        for path, text in {**modules, "review/review.rego": _REVIEW}.items():
            file = self._tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8"))

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def facts(self, agent_id: str) -> dict[str, Any]:
        """What the bundle of `agent_id` says of itself; raises `PdpError` when there is nothing to trust."""
        value = self._evaluate({"agent": {"agent_id": agent_id}}, _FACTS)
        if not isinstance(value, dict):
            raise PdpError("the policies state no facts", code="pdp_result_invalid")
        return value

    def facts_under(self, agent_id: str, tables: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The same under each of `tables`, which say which package governs which agent; raises `PdpError` likewise."""
        value = self._evaluate({"agent_id": agent_id, "tables": list(tables)}, "data.review.facts_under")
        if not isinstance(value, list) or len(value) != len(tables):
            raise PdpError("the policies state no facts", code="pdp_result_invalid")
        return value

    def decide(self, documents: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """The outcome of each document, in order."""
        return self._decided(list(documents), _RULE)

    def decide_under(self, asked: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]) -> list[Outcome]:
        """The outcome of each document, each under a table of its own that says which package governs which agent."""
        return self._decided([{"agents": table, "document": document} for table, document in asked], _RULE_UNDER)

    def _decided(self, documents: Sequence[Mapping[str, Any]], rule: str) -> list[Outcome]:
        found = self._evaluate({"documents": documents}, rule) if documents else {}
        if isinstance(found, dict):
            return [_outcome(found.get(str(index))) for index in range(len(documents))]
        if len(documents) == 1:
            return [Outcome(UNDECIDED)]
        middle = len(documents) // 2
        return [*self._decided(documents[:middle], rule), *self._decided(documents[middle:], rule)]

    def _evaluate(self, document: Mapping[str, Any], rule: str) -> Any:
        """The value of `rule`, or None when OPA gave none."""
        with tempfile.NamedTemporaryFile("w", dir=self._scratch.name, suffix=".json", encoding="utf-8") as given:
            json.dump(document, given, separators=(",", ":"))
            given.flush()
            arguments = ["eval", "--format", "raw", "--strict-builtin-errors", "--data", str(self._tree)]
            done = opa.run(
                [*arguments, "--input", given.name, rule],
                timeout_s=_TIMEOUT_S,
                binary=self._binary,
                environment=_SPEED,
            )
        if done.returncode != 0 or not done.stdout.strip():
            return None
        return json.loads(done.stdout)


def decide_both(
    old: Batch,
    new: Batch,
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    *,
    told: Callable[[int], None] = lambda _: None,
) -> list[tuple[Outcome, Outcome]]:
    """Both outcomes of each pair of documents; `told` hears how many more decisions are done."""
    size = min(_CHUNK, max(100, len(pairs) // (2 * (os.cpu_count() or 1)) + 1))
    starts = range(0, len(pairs), size)

    def work(job: tuple[int, int]) -> list[Outcome]:
        side, start = job
        batch = (old, new)[side]
        outcomes = batch.decide([pair[side] for pair in pairs[start : start + size]])
        told(len(outcomes))
        return outcomes

    jobs = [(side, start) for start in starts for side in (0, 1)]
    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        results = dict(zip(jobs, pool.map(work, jobs), strict=True))
    return [both for start in starts for both in zip(results[0, start], results[1, start], strict=True)]


def _outcome(found: Any) -> Outcome:
    if not isinstance(found, dict):
        return Outcome(UNDECIDED)
    return Outcome(
        verdict=str(found["verdict"]),
        reasons=tuple(sorted({(code, verdict, rule) for code, verdict, rule, _ in found["reasons"]})),
        obligations=tuple(
            json.dumps({k: v for k, v in one.items() if k not in _DERIVED}, sort_keys=True)
            for one in found["obligations"]
        ),
        advice=tuple(sorted(set(found["advice"]))),
        sources=frozenset(source for *_, source in found["reasons"] if source),
    )


def fingerprint(document: Mapping[str, Any]) -> str:
    """What tells documents apart."""
    return digest(document)
