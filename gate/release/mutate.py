"""How good the golden cases of a bundle are: each small change to its YAML, and whether any case notices it.

Every mutant is compiled like the bundle itself and decided by the real OPA. What no case notices is put to the
decision diff, which shows an input that ought to be a case or finds none. Changes no file of the bundle.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.compiler import Compiled, assemble
from gate.documents import Case
from gate.errors import GateError
from gate.release.diff import Change, decision_diff
from gate.release.diff_batch import Batch, Outcome
from gate.release.diff_documents import Candidate
from gate.release.diff_side import Side, compiled_side
from gate.release.golden import duties_shown
from gate.release.mutants import Mutant, mutants
from gate.release.mutants_compiled import Compiler, renamed

REFUSED, SAME, NOTICED, MISSED, UNDETERMINED = "refused", "same", "noticed", "missed", "undetermined"
_TOGETHER = 25
"""Mutants that one OPA process holds: loading the core policies for each would cost more than deciding."""
_AT_ONCE = 500
"""Decisions that one OPA process takes: a few seconds, so that a slow machine stays within its time limit."""
_SEARCHED = 3000
_NEAREST = 300
"""Inputs that are tried before the rest of a search."""
_ROUNDS = (8, 48)
"""How many cases are asked about a mutant before more are, and then all the others."""

Told = Callable[[int, int], None]


class MutateError(GateError):
    """The golden cases cannot be judged."""

    code = "mutate_cases_fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one mutant."""

    mutant: Mutant
    state: str
    """`refused` by the compiler, `same` Rego or data that no rule tells apart, `noticed`, `missed` by every case, or
    `undetermined`: no case and no generated input shows a difference."""
    line: int
    """1-based line of the change in the YAML."""
    case: str = ""
    """The first case that notices."""
    change: Change | None = None
    """For a missed one, a decision that differs and the smallest input that shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """All mutants of a bundle."""

    bundle: str
    verdicts: tuple[Verdict, ...]
    cases: int

    def count(self, state: str) -> int:
        """Mutants that came out so."""
        return sum(one.state == state for one in self.verdicts)

    @property
    def score(self) -> float:
        """Share of the mutants that change a decision, as far as is known, which a case notices; 1.0 without any."""
        told = self.count(NOTICED) + self.count(MISSED)
        return self.count(NOTICED) / told if told else 1.0

    @property
    def strict_score(self) -> float:
        """The same over every mutant that compiles to other Rego, the undetermined ones counted as missed."""
        told = self.count(NOTICED) + self.count(MISSED) + self.count(UNDETERMINED)
        return self.count(NOTICED) / told if told else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Live:
    """A mutant that compiles to other Rego than its bundle."""

    at: int
    mutant: Mutant
    compiled: Compiled


def mutate(
    compiled: Compiled,
    cases: Sequence[Case],
    *,
    binary: Path,
    search: int = _SEARCHED,
    told: Told = lambda done, total: None,
) -> Mutation:
    """Judges `cases` by the mutants of `compiled`; `search` inputs look for what a missed mutant changes.

    `told` hears how many mutants are settled, of how many.
    Raises `MutateError` when a case fails on the bundle as it is: it would notice every mutant.
    """
    _require_passing(compiled, cases, binary)
    bundle = compiled.bundle
    made = list(mutants(bundle))
    verdicts: dict[int, Verdict] = {}
    alive: list[_Live] = []
    compiler = Compiler(compiled)
    for at, mutant in enumerate(made):
        line = bundle.documents[mutant.file].position(mutant.pointer)[0]
        other = compiler.compile(mutant, f"m{at:05}")
        state = REFUSED if other is None else (SAME if compiler.same(other) else "")
        verdicts[at] = Verdict(mutant=mutant, state=state or UNDETERMINED, line=line)
        if other is not None and not state:
            alive.append(_Live(at=at, mutant=mutant, compiled=other))
        told(at + 1 - len(alive), len(made))
    groups = [alive[start : start + _TOGETHER] for start in range(0, len(alive), _TOGETHER)]
    done = len(made) - len(alive)
    with ThreadPoolExecutor(max_workers=2) as pool:
        for group, noticing in zip(groups, pool.map(lambda g: _noticing(g, cases, binary), groups), strict=True):
            for live, case in zip(group, noticing, strict=True):
                if case:
                    verdicts[live.at] = dataclasses.replace(verdicts[live.at], state=NOTICED, case=case)
            done += sum(map(bool, noticing))
            told(done, len(made))
    base = compiled_side(compiled, label=bundle.name)
    for live in alive:
        if verdicts[live.at].state == UNDETERMINED:
            change = _difference(base, _side(live.compiled, base), search, binary)
            if change is not None:
                verdicts[live.at] = dataclasses.replace(verdicts[live.at], state=MISSED, change=change)
            done += 1
            told(done, len(made))
    return Mutation(bundle=bundle.name, verdicts=tuple(verdicts[at] for at in sorted(verdicts)), cases=len(cases))


def _difference(base: Side, other: Side, search: int, binary: Path) -> Change | None:
    """A decision that differs; what is closest to the change is tried first and mostly enough."""
    for limit in sorted({min(search, _NEAREST), search}):
        found = decision_diff(base, other, limit=limit, binary=binary)
        if found.changes:
            return found.changes[0]
    return None


def _side(compiled: Compiled, base: Side) -> Side:
    """The mutant under the name of the bundle it was made from, so that their rules are compared with each other."""
    (package,) = base.packages
    named = renamed(compiled, package)
    return Side(
        label="mutant",
        modules=assemble([named]).modules,
        agents=dict.fromkeys(compiled.bundle.meta.agent_ids, package),
        places=base.places,
        folders=base.folders,
        cases=base.cases,
    )


def _require_passing(compiled: Compiled, cases: Sequence[Case], binary: Path) -> None:
    with Batch(assemble([compiled]).modules, binary=binary) as batch:
        facts = {agent: batch.facts(agent) for agent in compiled.bundle.meta.agent_ids}
        documents = [_candidate(case).document(facts) for case in cases]
        failing = [c.id for c, o in zip(cases, batch.decide(documents), strict=True) if not _passes(c, o)]
    if failing:
        raise MutateError(
            f"{len(failing)} golden cases fail, `{failing[0]}` first", hint="make `gate test` pass before judging it"
        )


def _noticing(group: Sequence[_Live], cases: Sequence[Case], binary: Path) -> list[str]:
    """For each mutant a case whose decision is not the expected one; empty when there is none.

    The cases that are most about the change are asked first, all others only about the mutants that those missed.
    """
    (agents,) = {live.compiled.bundle.meta.agent_ids for live in group}
    modules = {p: t for p, t in assemble([group[0].compiled]).modules.items() if not p.startswith("gate/bundles/")}
    for live in group:
        modules |= {f"gate/bundles/{live.compiled.package}/{file}": text for file, text in live.compiled.rego.items()}
    with Batch(modules, binary=binary) as batch:
        tables = [dict.fromkeys(agents, live.compiled.package) for live in group]
        stated = batch.facts_under(agents[0], tables)
        order = [sorted(cases, key=lambda case: -_about(live, case)) for live in group]
        told = [dict.fromkeys(agents, facts) for facts in stated]
        found = [""] * len(group)
        for start, end in itertools.pairwise((0, *_ROUNDS, len(cases))):
            asked = [(at, case) for at in range(len(group)) if not found[at] for case in order[at][start:end]]
            for begin in range(0, len(asked), _AT_ONCE):
                part = [(at, case) for at, case in asked[begin : begin + _AT_ONCE] if not found[at]]
                outcomes = batch.decide_under([(tables[at], _candidate(case).document(told[at])) for at, case in part])
                for (at, case), outcome in zip(part, outcomes, strict=True):
                    if not found[at] and not _passes(case, outcome):
                        found[at] = case.id
        return found


def _about(live: _Live, case: Case) -> int:
    """How much a case seems to be about a change: it is the control's own case, or of its capability or operation."""
    mutant, document = live.mutant, case.document
    index = re.match(r"/control_checkpoints/(\d+)", mutant.pointer)
    controls = live.compiled.bundle.checkpoints
    named = "" if index is None or int(index[1]) >= len(controls) else controls[int(index[1])].eval_case_id
    request = document.get("request")
    capability = request.get("capability") if isinstance(request, dict) else None
    words = set(re.split(r"[^a-z0-9]+", mutant.id.lower()))
    return (
        8 * (case.id == named)
        + 3 * (str(capability) in mutant.id)
        + 3 * (f"/{document.get('operation')}" in mutant.id)
        + len(words & set(case.id.split("_")))
    )


def _candidate(case: Case) -> Candidate:
    return Candidate(origin="golden", name=case.id, base=case.document)


def _passes(case: Case, outcome: Outcome) -> bool:
    """What `gate test` compares."""
    return (
        outcome.verdict == case.expect_verdict
        and outcome.codes == tuple(sorted(set(case.expect_reasons)))
        and duties_shown(case, case.expect_obligations or ()) == duties_shown(case, _obligations(outcome))
        and (case.expect_advice is None or tuple(sorted(set(case.expect_advice))) == outcome.advice)
    )


def _obligations(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(one) for one in outcome.obligations]
