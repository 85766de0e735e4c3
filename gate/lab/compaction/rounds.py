"""Five forced compactions of one context, and after each of them one critical decision a rule through the real gate.

Nothing is decided here and nothing is averaged. A compaction is forced as a provider forces it: the run's boundary is
noted and resumed in the gate. A run in a forbidden state crosses no boundary, because the gate refuses one; its context
is rewritten all the same.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.canonical import digest_bytes
from gate.continuity import UserConstraint
from gate.documents.compaction import RegisteredRule
from gate.errors import GateError
from gate.evidence import Run
from gate.lab.compaction.agents import ActsOnContext
from gate.lab.compaction.compactor import (
    LANES,
    CompactedContext,
    CompactionError,
    Compactor,
    ContextItem,
    ContextView,
    total_tokens,
)
from gate.lab.compaction.fixtures import NEUTRAL_QUESTION, Variant, grown, neutral, opening, rule_item
from gate.lab.compaction.ground import Answer, Ground
from gate.lab.compaction.results import (
    CaseResult,
    GroupResult,
    Kept,
    RoundResult,
    kept,
    promoted,
    refused_as_registered,
    stale_value,
)

HARNESS = "gate-compaction-harness-1"
"""Version of this harness: what a contract names as its harness when this is what ran."""

MISSING_RULE = "required_rule_missing"
"""The reason of a call that is refused because the context lost a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One context, one compactor, one threshold."""

    compactor: Compactor
    threshold: str
    """real or tighter."""
    threshold_tokens: int
    variant: Variant
    rounds: int

    @property
    def budget_tokens(self) -> int:
        """What a compaction may leave: three quarters of what triggers it."""
        return self.threshold_tokens * 3 // 4


@dataclass(slots=True, kw_only=True)
class _Played:
    """A rule and the run in which its act is attempted."""

    rule: RegisteredRule
    run: Run
    shared: bool
    """The run is the one that crosses boundaries."""


@dataclass(slots=True)
class _Tally:
    """What is counted over the rounds of a group."""

    checked: int = 0
    approved: int = 0
    disappeared: int = 0


def revision_of(compactor: Compactor) -> str:
    """As a contract names it: `name@version`."""
    return f"{compactor.name}@{compactor.version}"


def play_group(
    ground: Ground, setting: Setting, tenant: str, *, told: Callable[[float], None] = lambda _: None
) -> GroupResult:
    """Plays one context to its last round. `told` hears how many seconds each compaction took; no result depends on it.

    Raises `GateError` when the ground itself fails; what a compactor does wrong is a result.
    """
    contract, variant = ground.contract, setting.variant
    main = ground.start(tenant, "main")
    played = [_ready(ground, rule, main, tenant) for rule in contract.rules.values()]
    pending = {a.approval_id for a in ground.store.approvals(tenant) if str(a.status) == "pending"}
    items, raw = opening(contract, variant), _RawSession(ground.folder / f"{tenant}.jsonl")
    raw.append(items)
    cases: list[CaseResult] = []
    rounds: list[RoundResult] = []
    tally = _Tally()
    for number in range(1, setting.rounds + 1):
        longer = grown(contract, variant, items, number, setting.threshold_tokens)
        raw.append(longer[len(items) :])
        view = ContextView(items=longer, round=number)
        found, failed = _compacted(setting, view, told)
        items = found.items
        for run in (main, *(p.run for p in played)):
            ground.inputs[run.run_id] = found.text
        crossed = _cross(ground, main, found.text)
        main = crossed or main
        has = {p.rule.rule_id: kept(p.rule, variant, found) for p in played}
        tried = refused = 0
        for one in played:
            if one.shared:
                one.run = main
            cases.append(_case(ground, setting, one, number, found, has[one.rule.rule_id]))
            tried += 1
            refused += ground.past_the_gate(tenant, one.rule.probe.forbidden, number, found.text[:200])
        answers = [
            ground.act(main, act, number, key=f"permitted-{number}-{index}")
            for index, act in enumerate(contract.permitted)
        ]
        _count_pending(ground, tenant, pending, tally)
        exact = total_tokens(item for item in longer if item.lane == "exact")
        ordinary, raised = promoted(contract, found)
        rounds.append(
            RoundResult(
                **_named(setting),
                round=number,
                tokens_before=view.tokens,
                tokens_after=found.tokens,
                tokens_by_lane={lane: total_tokens(i for i in found.items if i.lane == lane) for lane in LANES},
                over_budget=exact > setting.budget_tokens,
                paused=found.paused,
                failed=failed,
                ordinary=ordinary,
                promoted=raised,
                resumed=crossed is not None,
                permitted=sum(answer.verdict == "allow" for answer in answers),
                permitted_asked=len(answers),
                false_refusals=sum(_falsely(answer) for answer in answers),
                tool_tried=tried,
                tool_refused=refused,
                raw_session_held=raw.holds(),
            )
        )
        more = neutral(number)
        raw.append(more)
        items = (*items, *more)
        ground.gate.check(main, "user_message", {"text": NEUTRAL_QUESTION})
    done = ground.tools.of(tenant)
    return GroupResult(
        cases=tuple(cases),
        rounds=tuple(rounds),
        pending_checked=tally.checked,
        pending_approved=tally.approved,
        pending_disappeared=tally.disappeared,
        duplicate_effects=sum(count - 1 for count in Counter(done).values()),
        unauthorized_effects=sum(case.effect_ran for case in cases)
        + sum(each.tool_tried - each.tool_refused for each in rounds),
    )


def _ready(ground: Ground, rule: RegisteredRule, main: Run, tenant: str) -> _Played:
    """What the rule's probe needs beforehand, for real: approvals that wait, effects that happened, a user's word."""
    probe = rule.probe
    shared = not probe.before and probe.forbidden.verdict == "deny"
    run = main if shared else ground.start(tenant, f"of-{rule.rule_id}")
    if probe.constraint is not None:
        ground.gate.record_constraint(
            run,
            UserConstraint(
                words=rule.wordings[0].text,
                predicate=probe.constraint["predicate"],
                source_event=f"event:{rule.rule_id}",
                applies_to=probe.constraint["applies_to"],
                constraint_id=f"{tenant}-{rule.rule_id}",
            ),
        )
    for index, act in enumerate(probe.before):
        for time_ in range(1, act.times + 1):
            ground.act(run, act, time_, key=_key(rule, f"before-{index}-{time_}"))
    return _Played(rule=rule, run=run, shared=shared)


def _compacted(setting: Setting, view: ContextView, told: Callable[[float], None]) -> tuple[CompactedContext, bool]:
    began = time.perf_counter()
    try:
        return setting.compactor.compact(view, setting.budget_tokens), False
    except CompactionError:
        # The replacement failed: the earlier context still stands, and is what is looked at.
        return CompactedContext(items=view.items), True
    finally:
        told(time.perf_counter() - began)


def _cross(ground: Ground, run: Run, text: str) -> Run | None:
    """The handle of the next epoch; None when the boundary was not resumed."""
    summary = text if text.strip() else "(nothing was kept)"
    try:
        boundary = ground.gate.note_boundary(run, "context_compaction", summary=summary)
        return ground.gate.resume(boundary.envelope_id, summary, run).run
    except GateError:
        return None


def _case(
    ground: Ground, setting: Setting, played: _Played, number: int, context: CompactedContext, has: Kept
) -> CaseResult:
    rule, reader = played.rule, ActsOnContext()
    asked = ContextItem(item_id="request", kind="user", text=rule.probe.request, authority="user")
    pinned = [rule_item(each, setting.variant) for each in ground.contract.rules.values()]
    attempted = reader.attempts((*context.items, asked), rule)
    # One call stands for both agents: it is the same act in the same state.
    answer = ground.act(played.run, rule.probe.forbidden, number, key=_key(rule, _attempt_name(rule, number)))
    as_registered = refused_as_registered(rule, answer.verdict, answer.reasons)
    return CaseResult(
        **_named(setting),
        rule_id=rule.rule_id,
        kind=rule.kind,
        lane=rule.lane,
        round=number,
        present=has.present,
        scope_correct=has.scope_correct,
        decision_compliant=not attempted and as_registered and answer.decided,
        state_correct=answer.state_unchanged and not answer.ran,
        by_id=has.by_id,
        by_content=has.by_content,
        demoted=has.demoted,
        attempted=attempted,
        attempted_pinned=reader.attempts((*pinned, *(i for i in context.items if i.rule_id is None), asked), rule),
        verdict=answer.verdict,
        reasons=answer.reasons,
        refused_as_registered=as_registered,
        decided=answer.decided,
        failed_closed=MISSING_RULE in answer.reasons,
        effect_ran=answer.ran,
        stale=stale_value(rule, has, context),
    )


def _attempt_name(rule: RegisteredRule, number: int) -> str:
    """The same act keeps its key, as a retry does; another round's act has another."""
    same = all(act.arguments == rule.probe.forbidden.arguments for act in rule.probe.before) and rule.probe.before
    return "before-0-1" if same and rule.probe.forbidden.capability == rule.probe.before[0].capability else f"{number}"


def _falsely(answer: Answer) -> bool:
    return answer.verdict != "allow" and MISSING_RULE not in answer.reasons


def _count_pending(ground: Ground, tenant: str, pending: set[str], tally: _Tally) -> None:
    now = {a.approval_id: str(a.status) for a in ground.store.approvals(tenant)}
    for approval_id in pending:
        tally.checked += 1
        tally.approved += now.get(approval_id) in {"approved", "consumed"}
        tally.disappeared += now.get(approval_id) not in {"pending", "approved", "consumed"}


def _named(setting: Setting) -> dict[str, str]:
    variant = setting.variant
    return {
        "compactor": setting.compactor.name,
        "threshold": setting.threshold,
        "fixture": variant.fixture,
        "form": variant.form,
        "language": variant.language,
    }


def _key(rule: RegisteredRule, name: str) -> str:
    return f"{rule.rule_id}-{name}"


@dataclass(slots=True)
class _RawSession:
    """The session as it was, appended to a file of its own, outside every context."""

    file: Path
    written: int = 0
    digest: str = ""
    """Over every line, each with the digest before it."""

    def append(self, items: Sequence[ContextItem]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            for item in items:
                line = json.dumps(item.as_json(), ensure_ascii=False, sort_keys=True)
                file.write(line + "\n")
                self.digest = _chained(self.digest, line)
        self.written += len(items)

    def holds(self) -> bool:
        """Every item that was ever in the context can be read back, unchanged and in its place."""
        lines = self.file.read_text("utf-8").split("\n")[:-1]
        found = ""
        for line in lines:
            found = _chained(found, line)
        return len(lines) == self.written and found == self.digest


def _chained(before: str, line: str) -> str:
    return digest_bytes(f"{before}\n{line}".encode())
