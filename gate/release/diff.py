"""What changes between two versions of a bundle: in the compiled Rego, and in the decisions it comes to.

Every difference it reports was seen on both sides in a real OPA and has a witness. That it reports none is no proof:
it says how many inputs it tried. Changes nothing and releases nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate import opa
from gate.release.diff_batch import UNCHANGED, Batch, Outcome, decide_both, encoded, fingerprint
from gate.release.diff_change import GROUPS
from gate.release.diff_documents import Candidate, Filler, value_at
from gate.release.diff_inputs import Governed, Material
from gate.release.diff_recorded import Unknown, read_records, unknowns
from gate.release.diff_rego import Place, RegoDiff, places_of, rego_diff
from gate.release.diff_same import PATH, alike, review_of
from gate.release.diff_side import Side, load_side
from gate.release.diff_voters import Voters
from gate.release.rego_text import RegoText

LIMIT = 10_000
"""Generated inputs unless told otherwise."""
_MOST_PATCHES = 6
_PARTS = 2000

Told = Callable[[int, int], None]
"""Hears how many decisions are done, of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """One input on which the two sides differ."""

    origin: str
    """`golden`, `recorded` or `generated`."""
    name: str
    """Case id, line of the record, or base of the generated input."""
    patches: tuple[tuple[str, Any], ...]
    """What distinguishes it from its base: pointer and value, `ABSENT` for a field that is not there."""
    old: Outcome
    new: Outcome
    old_input: Mapping[str, Any] = field(repr=False)
    new_input: Mapping[str, Any] = field(repr=False)
    """The same situation with what each side's bundle says of itself, such as its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One way in which decisions differ, with the smallest input that shows it."""

    group: str
    """`newly_allowed`, `newly_needing_approval`, `newly_refused` or `other`."""
    direction: str
    """`loosens`, `tightens`, `mixed` or `none`."""
    about: str
    """Capability of a call, operation of anything else."""
    count: int
    """Inputs that differ in this way."""
    witness: Witness
    places: tuple[Place, ...]
    """Where to look for the cause, first the YAML behind the reasons that only one side gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDiff:
    """Everything that differs between two sides."""

    old: str
    new: str
    rego: RegoDiff
    changes: tuple[Change, ...]
    """By group, then the most frequent first."""
    unknown: tuple[Unknown, ...]
    """Recorded decisions that nothing can be told of."""
    tried: Mapping[str, int]
    """Inputs by origin."""
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`loosens`, `tightens`, `mixed` or `none`."""
        directions = {change.direction for change in self.changes} - {"none"}
        return directions.pop() if len(directions) == 1 else ("mixed" if directions else "none")

    @property
    def loosens(self) -> bool:
        """Whether any decision became less strict."""
        return self.label in ("loosens", "mixed")

    def counts(self) -> dict[str, int]:
        """Number of differing inputs by group."""
        return {group: sum(c.count for c in self.changes if c.group == group) for group in GROUPS}


def decision_diff(
    old: Path | str | Side,
    new: Path | str | Side,
    *,
    decisions: Sequence[Path] = (),
    limit: int = LIMIT,
    golden: bool = True,
    binary: Path | None = None,
    told: Told = lambda done, total: None,
) -> DecisionDiff:
    """Compares two versions of a bundle; each a folder, a tarball or `REV:path`.

    `decisions` are files of recorded decisions, `limit` bounds the generated inputs. Without `golden` no golden case is
    an input, nor what one is made from; they still say what a host vouches for. Raises `SideError`, `BundleError`,
    and `ToolchainError` without the pinned OPA.
    """
    before = old if isinstance(old, Side) else load_side(old)
    after = new if isinstance(new, Side) else load_side(new)
    program = binary or opa.find().path
    compared = rego_diff(before, after)
    recorded = {file: list(read_records(file)) for file in decisions}
    records = [record for found in recorded.values() for record in found]
    notes = [*before.notes, *after.notes, *(f"`{file}` holds no decision" for file in recorded if not recorded[file])]
    said = review_of(before, after, compared)
    more = {} if said is None else {PATH: said}
    with (
        Batch({**before.modules, **more}, binary=program) as one,
        Batch({**after.modules, **more}, binary=program) as two,
    ):
        facts = _facts(one, before), _facts(two, after)
        if not compared.hunks and before.agents == after.agents:
            notes.append("both sides have the same rules; no input was generated")
            candidates: list[Candidate] = []
        else:
            made = (
                m for agent in _agents(before, after) for m in _material(agent, before, after, facts, compared, golden)
            )
            candidates = _distinct(made, limit)
        usable = [record for record in records if record.document is not None]
        candidates += [record.candidate(facts) for record in usable]
        total = 2 * len(candidates)
        progress = _Progress(told, total)
        asked = _Asked(one, two, (Filler(facts[0]), Filler(facts[1])), provable=said is not None)
        outcomes = asked.outcomes(candidates, told=progress.more)
        seen = list(zip(candidates, outcomes, strict=True))
        unknown = unknowns(records, seen, read=compared.read, core=compared.core)
        untold = {u.name for u in unknown}
        differing = [
            (c, o) for c, o in seen if not o[0].same(o[1]) and not (c.origin == "recorded" and c.name in untold)
        ]
        changes = _changes(
            asked, differing, lambda found, about: places_of(found, about, before, after, compared.hunks)
        )
    return DecisionDiff(
        old=before.label,
        new=after.label,
        rego=compared,
        changes=changes,
        unknown=unknown,
        tried=_tried(candidates),
        notes=tuple(dict.fromkeys(notes)),
    )


class _Progress:
    def __init__(self, told: Told, total: int) -> None:
        self._told, self._total, self._done = told, total, 0

    def more(self, count: int) -> None:
        self._done += count
        self._told(self._done, self._total)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The two sides, each with what its bundles say of themselves."""

    old: Batch
    new: Batch
    fillers: tuple[Filler, Filler]
    provable: bool
    """Whether the batches can tell that a document is decided alike without deciding it."""

    def outcomes(
        self, candidates: Sequence[Candidate], *, told: Callable[[int], None] = lambda _: None
    ) -> list[tuple[Outcome, Outcome]]:
        """Both outcomes of each candidate; `UNCHANGED` where they were not needed, because they are proven the same.

        `told` hears of how many more decisions nothing is left to be done.
        """
        old, new = (filler.document for filler in self.fillers)
        pairs = [(encoded(old(c)), encoded(new(c))) for c in candidates]
        # Of what was recorded the decision itself is wanted, to see whether it is the recorded one.
        may = [self.provable and c.origin != "recorded" for c in candidates]
        proven = alike(self.old, self.new, itertools.compress(pairs, may), told=told) if any(may) else frozenset()
        settled = [can and pair in proven for can, pair in zip(may, pairs, strict=True)]
        rest = [pair for pair, done in zip(pairs, settled, strict=True) if not done]
        decided = iter(decide_both(self.old, self.new, rest, told=told))
        same = Outcome(UNCHANGED)
        return [(same, same) if done else next(decided) for done in settled]


Facts = Mapping[str, Mapping[str, Any]]


def _facts(batch: Batch, side: Side) -> Facts:
    return {agent: batch.facts(agent) for agent in side.agents}


def _agents(old: Side, new: Side) -> list[str]:
    return sorted({*old.agents, *new.agents})


def _material(
    agent: str, old: Side, new: Side, facts: tuple[Facts, Facts], compared: RegoDiff, golden: bool
) -> Iterable[Iterable[Candidate]]:
    sides = [
        Governed(facts=stated[agent], text=RegoText.read(side.rego(side.agents[agent])))
        for side, stated in ((old, facts[0]), (new, facts[1]))
        if agent in side.agents
    ]
    packages = {side.agents[agent] for side in (old, new) if agent in side.agents}
    changed = [rule for package in sorted(packages) for rule in compared.changed.get(package, ())]
    cases = {
        fingerprint(case.document): case
        for side in (old, new)
        for case in side.cases
        if value_at(case.document, ("agent", "agent_id")) == agent or agent == next(iter(side.agents), None)
    }
    modules = {**old.modules, **new.modules}
    yield Material(
        agent=agent, sides=sides, changed=changed, cases=list(cases.values()), modules=modules, golden=golden
    ).inputs()


def _distinct(sources: Iterable[Iterable[Candidate]], limit: int) -> list[Candidate]:
    """At most `limit` generated documents, and every golden one, each document once."""
    found: dict[str, Candidate] = {}
    generated = 0
    for candidate in itertools.chain.from_iterable(sources):
        key = f"{id(candidate.base)} {[(p.path, repr(p.value)) for p in candidate.patches]}"
        if key in found:
            continue
        if candidate.origin == "golden" and not candidate.patches:
            found[key] = candidate
            continue
        if generated >= limit:
            break
        generated += 1
        found[key] = candidate
    return list(found.values())


def _tried(candidates: Sequence[Candidate]) -> dict[str, int]:
    plain = [c.origin if not (c.origin == "golden" and c.patches) else "generated" for c in candidates]
    return {origin: plain.count(origin) for origin in ("golden", "recorded", "generated")}


Seen = tuple[Candidate, tuple[Outcome, Outcome]]


Locate = Callable[[Iterable[str], str], tuple[Place, ...]]
Kind = Callable[[Candidate, tuple[Outcome, Outcome]], tuple[Any, ...]]


def _changes(asked: _Asked, differing: Sequence[Seen], locate: Locate) -> tuple[Change, ...]:
    """Differences of one kind together, each with its smallest witness."""
    voters = Voters((asked.fillers[1].document(candidate), outcomes) for candidate, outcomes in differing)

    def change_of(candidate: Candidate, outcomes: tuple[Outcome, Outcome]) -> tuple[str, str]:
        return voters.change_of(asked.fillers[1].document(candidate), outcomes)

    def kind(candidate: Candidate, outcomes: tuple[Outcome, Outcome]) -> tuple[Any, ...]:
        return (*change_of(candidate, outcomes), *_kind(candidate, outcomes))

    kinds: dict[tuple[Any, ...], list[Seen]] = {}
    for candidate, outcomes in differing:
        kinds.setdefault(kind(candidate, outcomes), []).append((candidate, outcomes))
    smallest = [min(members, key=_size) for members in kinds.values()]
    shrunk = _shrunk(asked, smallest, kind)
    found = []
    for members, (candidate, outcomes) in zip(kinds.values(), shrunk, strict=True):
        group, direction = change_of(candidate, outcomes)
        found.append(
            Change(
                group=group,
                direction=direction,
                about=_about(candidate),
                count=len(members),
                witness=_witness(candidate, outcomes, asked),
                places=locate(outcomes[0].sources ^ outcomes[1].sources, _about(candidate)),
            )
        )
    return tuple(sorted(found, key=lambda c: (GROUPS.index(c.group), -c.count, c.about, c.witness.name)))


def _kind(candidate: Candidate, outcomes: tuple[Outcome, Outcome]) -> tuple[Any, ...]:
    old, new = outcomes
    fewer = tuple(r for r in old.reasons if r not in new.reasons)
    more = tuple(r for r in new.reasons if r not in old.reasons)
    return (_about(candidate), old.verdict, new.verdict, fewer, more)


def _about(candidate: Candidate) -> str:
    """The capability of a call, the operation of anything else."""
    patched = {patch.path: patch.value for patch in candidate.patches}
    operation = value_at(candidate.base, ("operation",))
    name = patched.get(("request", "capability"), value_at(candidate.base, ("request", "capability")))
    calling = operation in {"call_tool", "resume_tool"} and isinstance(name, str)
    return f"{name}" if calling else str(operation)


def _size(seen: Seen) -> tuple[int, int, str]:
    candidate = seen[0]
    return len(candidate.patches), ("golden", "generated", "recorded").index(candidate.origin), candidate.name


def _shrunk(asked: _Asked, found: Sequence[Seen], kind: Kind) -> list[Seen]:
    """Each with as few patches as show the same difference: every subset is asked about, the smallest taken."""
    tries: list[tuple[int, Candidate]] = []
    for index, (candidate, _) in enumerate(found):
        patches = candidate.patches
        if 0 < len(patches) <= _MOST_PATCHES:
            for size in range(len(patches)):
                for subset in itertools.combinations(patches, size):
                    tries.append((index, candidate.with_patches(subset)))
        elif patches:
            tries += [(index, candidate.with_patches([*patches[:n], *patches[n + 1 :]])) for n in range(len(patches))]
    tries = tries[:_PARTS]
    outcomes = asked.outcomes([candidate for _, candidate in tries])
    best = list(found)
    for (index, candidate), both in zip(tries, outcomes, strict=True):
        if not both[0].same(both[1]) and kind(candidate, both) == kind(*found[index]):
            best[index] = min(best[index], (candidate, both), key=_size)
    return best


def _witness(candidate: Candidate, outcomes: tuple[Outcome, Outcome], asked: _Asked) -> Witness:
    return Witness(
        origin=candidate.origin if not (candidate.origin == "golden" and candidate.patches) else "generated",
        name=candidate.name,
        patches=tuple((patch.shown, patch.value) for patch in candidate.patches),
        old=outcomes[0],
        new=outcomes[1],
        old_input=asked.fillers[0].document(candidate),
        new_input=asked.fillers[1].document(candidate),
    )


__all__ = ["LIMIT", "Change", "DecisionDiff", "Witness", "decision_diff"]
