"""Many decisions at once: one OPA a side, asked about a hundred documents at a time.

It is the real OPA with strict builtins, so that what it says is what a sidecar would say; a document that makes a
builtin fail is found by halving and has no decision. Serves nothing and keeps nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.canonical import digest
from gate.errors import PdpError
from gate.release.diff_engine import Engine, parallel

CHUNK = 100
_RULE, _RULE_UNDER = "review/outcomes", "review/outcomes_under"
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
	"advice": [[warning.code, object.get(warning, "source", "")] | some warning in decision.advice],
}
"""
_FACTS = "gate/facts/document"
UNDECIDED, UNCHANGED = "undecided", "unchanged"
"""The one stands for a verdict where the policies gave none; the gate refuses then. The other where both sides were
proven to come to the same one."""
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
    """Where in the YAML reasons and warnings stand. Not compared: an inserted line moves them and changes nothing."""

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
    """One set of modules, compiled once and asked many times. Use as a context manager."""

    def __init__(self, modules: Mapping[str, str], *, binary: Path) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="gate-review-")
        tree = Path(self._scratch.name) / "tree"
        for path, text in {**modules, "review/review.rego": _REVIEW}.items():
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8"))
        self._engine = Engine(tree, binary=binary)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()
        self._scratch.cleanup()

    def facts(self, agent_id: str) -> dict[str, Any]:
        """What the bundle of `agent_id` says of itself; raises `PdpError` when there is nothing to trust."""
        value = self._engine.ask(_FACTS, encoded({"agent": {"agent_id": agent_id}}))
        if not isinstance(value, dict):
            raise PdpError("the policies state no facts", code="pdp_result_invalid")
        return value

    def facts_under(self, agent_id: str, tables: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The same under each of `tables`, which say which package governs which agent; raises `PdpError` likewise."""
        value = self._engine.ask("review/facts_under", encoded({"agent_id": agent_id, "tables": list(tables)}))
        if not isinstance(value, list) or len(value) != len(tables):
            raise PdpError("the policies state no facts", code="pdp_result_invalid")
        return value

    def decide(self, documents: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        """The outcome of each document, in order."""
        return self.decide_encoded([encoded(document) for document in documents])

    def decide_encoded(self, documents: Sequence[bytes]) -> list[Outcome]:
        """The same of documents that are JSON already."""
        return self._in_chunks(documents, _RULE)

    def decide_under(self, asked: Sequence[tuple[Mapping[str, str], Mapping[str, Any]]]) -> list[Outcome]:
        """The outcome of each document, each under a table of its own that says which package governs which agent."""
        return self._in_chunks(
            [encoded({"agents": table, "document": document}) for table, document in asked], _RULE_UNDER
        )

    def value(self, rule: str, documents: Sequence[bytes]) -> Any:
        """What `rule` says of all `documents` together; None when OPA had no value for it."""
        return self._engine.ask(rule, b'{"documents":[' + b",".join(documents) + b"]}")

    def _in_chunks(self, documents: Sequence[bytes], rule: str) -> list[Outcome]:
        starts = range(0, len(documents), CHUNK)
        return [one for start in starts for one in self._decided(documents[start : start + CHUNK], rule)]

    def _decided(self, documents: Sequence[bytes], rule: str) -> list[Outcome]:
        found = self.value(rule, documents)
        if isinstance(found, dict):
            return [_outcome(found.get(str(index))) for index in range(len(documents))]
        if len(documents) == 1:
            return [Outcome(UNDECIDED)]
        middle = len(documents) // 2
        return [*self._decided(documents[:middle], rule), *self._decided(documents[middle:], rule)]


def encoded(document: Any) -> bytes:
    """A document as JSON; what two documents do not share tells them apart, and what they share is asked once."""
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def decide_both(
    old: Batch,
    new: Batch,
    pairs: Sequence[tuple[bytes, bytes]],
    *,
    told: Callable[[int], None] = lambda _: None,
) -> list[tuple[Outcome, Outcome]]:
    """Both outcomes of each pair of documents in JSON; `told` hears of how many more documents there is a decision."""
    distinct = list(dict.fromkeys(pairs))
    repeated = Counter(pairs)
    starts = range(0, len(distinct), CHUNK)

    def work(job: tuple[int, int]) -> list[Outcome]:
        side, start = job
        asked = distinct[start : start + CHUNK]
        outcomes = (old, new)[side].decide_encoded([pair[side] for pair in asked])
        told(sum(repeated[pair] for pair in asked))
        return outcomes

    # The sides take turns, so that no engine waits for the other to be done.
    jobs = [(side, start) for start in starts for side in (0, 1)]
    with ThreadPoolExecutor(max_workers=2 * parallel()) as pool:
        results = dict(zip(jobs, pool.map(work, jobs), strict=True))
    both = [pair for start in starts for pair in zip(results[0, start], results[1, start], strict=True)]
    found = dict(zip(distinct, both, strict=True))
    return [found[pair] for pair in pairs]


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
        advice=tuple(sorted({code for code, _ in found["advice"]})),
        sources=frozenset(
            [source for *_, source in found["reasons"] if source]
            # What a core policy advises names the policy and no line.
            + [source for _, source in found["advice"] if "#" in str(source)]
        ),
    )


def fingerprint(document: Mapping[str, Any]) -> str:
    """What tells documents apart."""
    return digest(document)
