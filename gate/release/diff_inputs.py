"""The inputs two bundles are compared on, made from both: each predicate's boundaries, each capability, each state.

Pure, and the same every time. What changed between the two comes first, so that a limit cuts off what cannot differ.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.documents import Case, schema
from gate.release.diff_approvals import approvals
from gate.release.diff_base import EPOCH, call, in_session, operations, transitions, vouched
from gate.release.diff_boundary import OPERATIONS as BOUNDARY_OPERATIONS
from gate.release.diff_boundary import boundaries, crossings
from gate.release.diff_constants import alone, below, broken, constants, in_turn, vouching
from gate.release.diff_documents import ABSENT, Candidate, Patch, Path, value_at
from gate.release.diff_gathered import gathered
from gate.release.diff_probe import OTHER, Probe, probes, settled
from gate.release.diff_sections import GOVERNED_BY, data_group, sectioned, sections_of
from gate.release.diff_seldom import from_cache, moves
from gate.release.diff_values import Edit, data_of, edits, numbers
from gate.release.rego_text import RegoText, Rule

UNKNOWN = "capability_nobody_has"
_MOST_BASES = 3
_MOST_SESSIONS = 2
_HELPER = "_"
_APPROVED_BY = ("contracts", "approval_policy", "reviewers")
"""The data of a bundle that says who approves what."""
_HISTORY: Mapping[str, Path] = {
    **dict.fromkeys(("trajectory", "trajectory_rules"), ("evidence", "trajectory")),
    **dict.fromkeys(("compound", "compound_policy", "compound_tasks"), ("evidence", "compound_authorization")),
}
"""The evidence that data of a bundle is about, where most of what the data say is about it."""
_MOST_ASKED = 3
_MOST_OF_A_SORT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Governed:
    """One bundle on one side."""

    facts: Mapping[str, Any]
    """What it says of itself."""
    text: RegoText


@dataclass(slots=True, kw_only=True)
class Material:
    """What inputs for one agent are made from."""

    agent: str
    sides: Sequence[Governed]
    """The one or two sides that govern the agent."""
    changed: Sequence[Rule]
    """Rules of either side that the other does not have."""
    cases: Sequence[Case]
    """Golden cases of both sides about this agent."""
    golden: bool = True
    """Whether the cases are inputs, too; otherwise they only lend what the host vouches for in them."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Rego text by path, whose core policies tell which field a word is for."""
    sound: frozenset[str] = frozenset()
    """Ids of the golden cases that expect an allow."""
    _probes: list[Probe] = field(default_factory=list)
    _edits: list[Edit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sound = frozenset(case.id for case in self.cases if case.expect_verdict == "allow")
        self._edits = edits(self.changed)
        self._probes = [probe for side in self.sides for probe in probes(side.text)]

    def inputs(self) -> Iterator[Candidate]:
        """Every input worth asking about, the most telling first; without end in sight, so cut it off."""
        golden = [_golden(case) for case in self.cases] if self.golden else []
        made = self.sound_bases()
        count = sum(len(side.facts["capabilities"]) for side in self.sides)
        calls, others = made[:count], made[count:]
        bases = [*calls, *(c for c in golden if c.name in self.sound), *others]
        yield from itertools.chain(golden, calls, others, self._bare(calls))
        touched = self._touched()
        sections = [c for side in self.sides for c in self._sections(side, calls)]
        near = sections if self._edited(GOVERNED_BY) else []
        yield from near
        facts = [side.facts for side in self.sides]
        yield from in_turn([gathered(base, facts) for base in calls])
        if self._edited(_APPROVED_BY):
            yield from in_turn([self._asking(base) for base in _split(calls, touched)[0]])
        first, rest = _split(bases, touched)
        probing = {id(probe): self._tried(probe, bases) for probe in self._probes}
        # One of each in turn, so that a limit cuts off the last values of every rule and not all of some; what changed
        # itself goes before what only uses it.
        for titles in ({rule.title for rule in self.changed}, self._users()):
            mine = [probe for probe in self._probes if probe.title in titles and id(probe) in probing]
            yield from in_turn([probing.pop(id(probe)) for probe in mine])
        yield from in_turn([vouching(self._edits, base) for base in alone(bases, frozenset())])
        for at in dict.fromkeys(at for group, at in _HISTORY.items() if self._edited([group])):
            told = [base for base in first if isinstance(value_at(base.base, at), Mapping)]
            yield from in_turn([below(base, at, self._edits) for base in alone(told, frozenset())])
        if any(edit.rule.startswith("continuity[") for edit in self._edits):
            crossed = [base for base in others if value_at(base.base, ("operation",)) in BOUNDARY_OPERATIONS]
            yield from in_turn([crossings(base, numbers(self._edits)) for base in crossed])
        refused, other = _split([c for c in golden if c.name not in self.sound], touched)
        yield from in_turn([constants(self._edits, self.modules, [*first, *near], refused), self._states(first)])
        yield from in_turn(
            [
                iter(sections),
                in_turn(list(probing.values())),
                self._states(rest),
                constants(self._edits, self.modules, rest, other),
                in_turn([broken(base) for base in (*first, *golden, *rest)]),
            ]
        )

    def sound_bases(self) -> list[Candidate]:
        """The documents that all others are changes of: each as much in order as the bundle and its cases allow."""
        calls = [c for side in self.sides for c in self._calls(side)]
        return [
            *calls,
            *(c for side in self.sides[-1:] for c in self._others(side, calls)),
            *(c for side in self.sides for c in transitions(self.agent, side.facts)),
            *(c for side in self.sides for c in moves(self.agent, side.facts)),
        ]

    def _calls(self, side: Governed) -> Iterator[Candidate]:
        """A sound call of every capability."""
        for name in side.facts["capabilities"]:
            yield self._settled(call(self.agent, side.facts, name))

    def _others(self, side: Governed, calls: Sequence[Candidate]) -> Iterator[Candidate]:
        """Everything that is neither a call nor a transition."""
        for base in operations(self.agent, side.facts, next(iter(_strings(side.text, "memory_kinds")), None)):
            yield self._settled(base)
        for base in boundaries(self.agent, side.facts, _strings(side.text, "required_constraints", "continuity")):
            yield self._content(base)
        for name, entry in side.facts["capabilities"].items():
            mine = [c for c in calls if value_at(c.base, ("request", "capability")) == name]
            if entry.get("transport") == "mcp" and mine:
                yield from_cache(mine[0], entry["server"])
                break
        # One that asks for an approval and one that does not.
        asking = [value_at(c.base, ("state", "approval")) is not None for c in calls]
        for wanted in (True, False):
            for base in [c for c, asks in zip(calls, asking, strict=True) if asks == wanted][:_MOST_SESSIONS]:
                yield from in_session(base)

    def _sections(self, side: Governed, calls: Sequence[Candidate]) -> Iterator[Candidate]:
        """A call of each sort with everything that a host could state of it besides."""
        permitted = {name for name, said in data_group(side.text, "decisions").items() if said != "deny"}
        sorts: dict[tuple[bool, Any], list[Candidate]] = {}
        for base in calls:
            name = value_at(base.base, ("request", "capability"))
            if name in permitted & side.facts["capabilities"].keys():
                asks = value_at(base.base, ("state", "approval")) is not None
                sorts.setdefault((asks, side.facts["capabilities"][name].get("mode")), []).append(base)
        for base in itertools.chain.from_iterable(found[:_MOST_OF_A_SORT] for found in sorts.values()):
            found = sections_of(self.agent, side.facts, side.text, base)
            yield from sectioned(base, found, side.facts.get("evidence", {}))

    def _asking(self, base: Candidate) -> Iterator[Candidate]:
        """`base` without its approval, in each way in which a control wants one."""
        if value_at(base.base, ("state", "approval")) is None:
            return
        bare = base.with_patches([*base.patches, Patch(("state", "approval"), None)])
        for probe in self._probes:
            if probe.head == "demands" and _bound(probe, [bare]):
                for path in sorted(probe.comparisons):
                    for value in (*probe.values(path, bare)[:_MOST_ASKED], ABSENT):
                        yield bare.with_patches([*bare.patches, Patch(path, value)])

    def _edited(self, groups: Sequence[str]) -> bool:
        """Whether the two sides disagree on data called so."""
        return any(edit.rule.partition("[")[0] in groups for edit in self._edits)

    def _settled(self, base: Candidate) -> Candidate:
        """`base` with what a case vouches for, else under values that the bundle's own controls are content with."""
        lent = vouched(base, self.cases)
        return lent if lent is not base else self._content(base)

    def _content(self, base: Candidate) -> Candidate:
        checkpoint, operation = (value_at(base.base, (name,)) for name in ("checkpoint", "operation"))
        mine = [
            probe
            for probe in self._probes
            if probe.checkpoint == checkpoint
            and probe.operation in (None, operation)
            and probe.capability in (None, value_at(base.base, ("request", "capability")))
        ]
        return settled(base, (patch for probe in mine for patch in probe.sound)) if mine else base

    def _bare(self, calls: Sequence[Candidate]) -> Iterator[Candidate]:
        """Each call without its approval, one of what is named to be refused, and one that nobody knows."""
        for base in calls:
            yield base.with_patches([*base.patches, Patch(("state", "approval"), None)])
        named = {
            rule.bound["request.capability"]
            for side in self.sides
            for rule in side.text.rules
            if "request.capability" in rule.bound
        }
        unlisted = sorted(named - {str(value_at(c.base, ("request", "capability"))) for c in calls})
        for base in calls[:1]:
            for name in (*unlisted, UNKNOWN):
                yield base.with_patches([*base.patches, Patch(("request", "capability"), name)])
            for value in (None, ABSENT, 7):
                yield base.with_patches([*base.patches, Patch(("request", "capability"), value)])

    def _touched(self) -> frozenset[str]:
        """Capabilities and operations that a changed rule is about; empty when it may be any."""
        found: set[str] = set()
        for edit in self._edits:
            if not edit.key:
                return frozenset()
            found.add(edit.key)
        for rule in self.changed:
            if not rule.name.startswith(_HELPER):  # whoever uses it is asked about through its probe
                found |= {name for at in ("request.capability", "operation") if (name := rule.bound.get(at))}
        return frozenset(found)

    def _users(self) -> set[str]:
        """Titles of the rules that use a helper rule which changed."""
        helpers = {rule.name for rule in self.changed if not rule.title}
        return (
            {
                rule.title
                for side in self.sides
                for rule in side.text.rules
                if rule.title and any(one.name in helpers for one in side.text.reached(rule))
            }
            if helpers
            else set()
        )

    def _tried(self, probe: Probe, bases: Sequence[Candidate]) -> Iterator[Candidate]:
        for base in _bound(probe, bases):
            yield from probe.tried_on(base)
            if value_at(base.base, ("state", "approval")) is not None:
                bare = base.with_patches([*base.patches, Patch(("state", "approval"), None)])
                yield from probe.tried_on(bare)

    def _states(self, bases: Sequence[Candidate]) -> Iterator[Candidate]:
        yield from in_turn([self._states_of(base) for base in bases])

    def _states_of(self, base: Candidate) -> Iterator[Candidate]:
        """Approvals, votes, effects, runs, identities and roles, each by itself."""

        def one(path: str, *values: Any) -> Iterator[Candidate]:
            for value in values:
                yield base.with_patches([*base.patches, Patch(tuple(path.split(".")), value)])

        operation = value_at(base.base, ("operation",))
        if operation in {"call_tool", "resume_tool"}:
            yield from approvals(base, self.agent, [side.facts for side in self.sides])
        if operation in BOUNDARY_OPERATIONS:
            yield from crossings(base)
        if operation == "memory_write":
            kinds = [kind for side in self.sides for kind in _strings(side.text, "memory_kinds")]
            yield from one("request.memory_kind", *dict.fromkeys(kinds), OTHER, None, ABSENT, 7)
        for section in _sections(base):
            yield from one(f"evidence.{section}", None, ABSENT)
        if operation == "elicit":
            yield from one("evidence.session.elicits_sensitive", True, None)
        yield from one("request.idempotency_key", None, ABSENT, "", 7)
        yield from one("request.reason", None, ABSENT, "")
        yield from one("agent.role", "worker", "planner", None)
        yield from one("identity.tenant_id", None, ABSENT, "", OTHER)
        yield from one("identity.principal_id", None, ABSENT, "", OTHER)
        yield from one("state.run.status", "paused", "completed", "cancelled", "stopped", None, ABSENT)
        for status in _declared(("state", "side_effect", "status")) or _EFFECTS:
            yield from one("state.side_effect.status", status)
        for mode in ("platform_owned", "human_approved", "user_delegated"):
            mine = [Patch(("identity", "authorization_mode"), mode)]
            mine.append(Patch(("state", "run", "authorization_mode"), mode))
            yield base.with_patches([*base.patches, *mine])
        for pattern in _PATTERNS:
            worker = [Patch(("agent", "orchestration_pattern"), pattern)]
            yield base.with_patches([*base.patches, *worker])
            worker += [Patch(("agent", "role"), "worker"), Patch(("agent", "parent_agent_id"), "parent")]
            yield base.with_patches([*base.patches, *worker])
        yield from one("state.versions.capability_version", None, OTHER)
        yield from one("state.versions.bundle_version", None, OTHER)
        later = [Patch(path, EPOCH + 1) for path in (("trace", "epoch"), ("state", "run", "epoch"))]
        yield base.with_patches([*base.patches, *later])
        if isinstance(value_at(base.base, ("state", "approval")), Mapping):
            yield base.with_patches([*base.patches, *later, Patch(("state", "approval", "epoch"), EPOCH + 1)])
        yield from one("evidence.arguments.valid", False, None, ABSENT)
        yield from one("evidence.arguments.identified", False, None)


_EFFECTS = (
    *("in_flight", "side_effect_committed", "side_effect_unknown", "partial_side_effect", "failed_before_effect"),
    *("not_started", "no-such-status"),
)
_PATTERNS = (
    *("prompt_chaining", "routing", "parallelization", "orchestrator_workers", "evaluator_optimizer", "handoff"),
    *("autonomous", None, 7),
)


_ABOUT: tuple[Path, ...] = (
    ("operation",),
    ("request", "capability"),
    ("state", "approval", "capability"),
    ("state", "side_effect", "capability"),
)


def _sections(base: Candidate) -> list[str]:
    """What the host vouches for, apart from what is vouched for of every call."""
    stated = value_at(base.base, ("evidence",))
    return sorted(set(stated) - {"arguments"}) if isinstance(stated, Mapping) else []


def _golden(case: Case) -> Candidate:
    return Candidate(origin="golden", name=case.id, base=case.document)


def _split(bases: Sequence[Candidate], touched: frozenset[str]) -> tuple[list[Candidate], list[Candidate]]:
    """The documents that a change is about, and the others; all of them first when it may be about any."""
    if not touched:
        return list(bases), []
    about = [{str(value_at(base.base, path)) for path in _ABOUT} for base in bases]
    first = [base for base, names in zip(bases, about, strict=True) if names & touched]
    if not first:  # what changed is no capability or operation, such as a reviewer
        return list(bases), []
    return first, [base for base in bases if base not in first]


def _bound(probe: Probe, bases: Sequence[Candidate]) -> list[Candidate]:
    """The documents that the rule looks at, golden ones among them."""
    fitting = [
        base
        for base in bases
        if value_at(base.base, ("checkpoint",)) == probe.checkpoint
        and probe.operation in (None, value_at(base.base, ("operation",)))
        and probe.capability in (None, value_at(base.base, ("request", "capability")))
    ]
    golden = [base for base in fitting if base.origin == "golden"]
    made = [base for base in fitting if base.origin != "golden"]
    return [*golden[: _MOST_BASES - 1], *made[:_MOST_BASES]][:_MOST_BASES]


def _strings(text: RegoText, name: str, document: str = "bundle") -> list[str]:
    """The words that a bundle's data of that name lists under `name`."""
    for rule in text.rules:
        if rule.name in (document, f"{document}[{json.dumps(name)}]"):
            stated = data_of(rule)
            value = None if stated is None else stated[0]
            found = value.get(name, []) if isinstance(value, Mapping) else value
            return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
    return []


def _declared(path: Path) -> tuple[Any, ...]:
    node: Any = schema("input")
    for part in path:
        node = node.get("properties", {}).get(part, {})
    return tuple(node.get("enum", ()))
