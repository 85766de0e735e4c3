"""The page of a bundle: what its agent may do, who approves what, what is refused, and why anyone may believe it.

Made from the documents and the compiled rules that the decisions come from; nothing is written by hand here. Decides
nothing, and writes no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gate.compiler import Compiled, assemble
from gate.compiler.model import CHECKPOINTS
from gate.documents import ApprovalContract, policies_dir
from gate.documents.releases import Ledger, load_ledger
from gate.release.docs_bounds import bounds, duration, lasting, place
from gate.release.ledger import changed_files, content_of
from gate.release.page import Block, Cell, Code, Heading, Paragraph, Table
from gate.release.rego_text import RegoText

_DECISIONS = {"allow": "runs", "approval_required": "runs when approved", "deny": "is refused"}
_HOLDS = {"deny": "is refused:", "require_approval": "needs approval:", "redact": "is redacted:", "warn": "warns:"}
"""What a control does to a call, the strictest first."""
_CORE = re.compile(r"^# title: (.+)$", re.MULTILINE)
_PACKAGE = re.compile(r"^package (gate[\w.]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of the checklist that a bundle must answer before anybody relies on it."""

    text: str
    answer: str
    """`yes`, `partly` or `no`."""
    because: Cell


def page_of(compiled: Compiled) -> list[Block]:
    """The whole page of a bundle."""
    bundle = compiled.bundle
    meta = bundle.meta
    ledger = load_ledger(bundle.folder)
    blocks: list[Block] = [
        Heading(1, f"Policy bundle {meta.bundle_id}"),
        Paragraph(
            (
                "Version",
                Code(meta.version),
                ", release identity",
                Code(meta.release_identity),
                ", contract version",
                Code(meta.contract_version),
                f", owned by {meta.owner_team}. Governs",
                *(Code(agent) for agent in meta.agent_ids),
                ". Revision",
                Code(assemble([compiled]).revision),
                ". What is not named here is refused.",
            )
        ),
        Heading(2, "Checklist"),
        Table(
            ("question", "answer", "because"),
            tuple((q.text, q.answer, q.because) for q in checklist(compiled, ledger)),
        ),
    ]
    return [
        *blocks,
        *_may(compiled),
        *_approvals(compiled),
        *_denied(compiled),
        *bounds(compiled),
        *lasting(compiled),
        *_controls(compiled),
        *_rules(compiled),
    ]


def checklist(compiled: Compiled, ledger: Ledger) -> tuple[Question, ...]:
    """The seven questions, answered from the documents."""
    return (
        _versioned(compiled, ledger),
        _linkable(compiled),
        _contracts(compiled),
        _fields(compiled),
        _linked(compiled),
        _traceable(compiled),
        _verifiers(compiled),
    )


def _versioned(compiled: Compiled, ledger: Ledger) -> Question:
    version = compiled.bundle.meta.version
    release = ledger.of(version)
    if release is None:
        return Question(
            text="Is the bundle versioned?",
            answer="partly",
            because=("it says", Code(version), ", which", Code("releases.yaml"), "does not record as released"),
        )
    changed = changed_files(content_of(compiled), release)
    if changed:
        return Question(
            text="Is the bundle versioned?",
            answer="no",
            because=("changed since version", Code(version), "was released:", *(Code(name) for name in changed)),
        )
    because: Cell = ("version", Code(version), f"was released at {release.released_at} and cannot change since")
    return Question(text="Is the bundle versioned?", answer="yes", because=because)


def _linkable(compiled: Compiled) -> Question:
    meta = compiled.bundle.meta
    change: tuple[str | Code, ...] = (
        (", carries out change", Code(meta.change_id)) if meta.change_id else (", names no change id",)
    )
    return Question(
        text="Can it be linked to releases and incidents?",
        answer="yes" if meta.change_id else "partly",
        because=("release identity", Code(meta.release_identity), *change, "; every decision carries both"),
    )


def _contracts(compiled: Compiled) -> Question:
    bundle = compiled.bundle
    controlled = {name for c in bundle.checkpoints if c.action == "require_approval" for name in c.applies_to}
    needing = [
        name
        for name, entry in bundle.policy.capabilities.items()
        if entry.decision == "approval_required" or (entry.decision == "allow" and name in controlled)
    ]
    covered = {contract.capability for contract in bundle.contracts}
    missing = [name for name in needing if name not in covered]
    return Question(
        text="Is there a machine-readable approval contract?",
        answer="no" if missing else "yes",
        because=("none for", *(Code(name) for name in missing))
        if missing
        else (f"for each of {len(needing)} capabilities that need or may need approval",),
    )


def _fields(compiled: Compiled) -> Question:
    contracts = compiled.bundle.contracts
    vague = [contract for contract in contracts if not contract.request_fields]
    return Question(
        text="Are the required request fields clear?",
        answer="no" if vague else "yes",
        because=("none in", *(Code(c.contract_id) for c in vague))
        if vague
        else ("every contract lists them" if contracts else "nothing needs an approval"),
    )


def _linked(compiled: Compiled) -> Question:
    bundle = compiled.bundle
    unlisted = [name for name in bundle.policy.capabilities if name not in bundle.capabilities]
    silent = [name for name in bundle.capabilities if name not in bundle.policy.capabilities]
    notes: list[str | Code] = ["each capability is bound by the digest of its catalog entry"]
    if unlisted:
        notes += ["; refused without being in the catalog:", *(Code(name) for name in unlisted)]
    if silent:
        notes += ["; in the catalog without a policy, so refused:", *(Code(name) for name in silent)]
    return Question(
        text="Is there a stable link between bundle and catalog?",
        answer="partly" if silent else "yes",
        because=tuple(notes),
    )


def _traceable(compiled: Compiled) -> Question:
    because: Cell = (
        "every trace event has the revision, which begins with",
        Code(f"{compiled.bundle.meta.bundle_id}@{compiled.bundle.meta.version}"),
        "; every decision's audit has version and release identity",
    )
    return Question(text="Does a trace lead to policy version and release identity?", answer="yes", because=because)


def _verifiers(compiled: Compiled) -> Question:
    bundle = compiled.bundle
    document = bundle.documents.get("runtime-controls.yaml")
    stated = {} if document is None else document.value["runtime_controls"].get("verifiers", {})
    named = [*stated.get("trusted_verifier_contracts", ()), *(c.judge for c in bundle.checkpoints if c.judge)]
    text = "Are trusted verifier contracts explicit?"
    if named:
        return Question(text=text, answer="yes", because=tuple(Code(name) for name in dict.fromkeys(named)))
    return Question(text=text, answer="no", because="none is named, so no verifier's word counts")


def _may(compiled: Compiled) -> Iterator[Block]:
    bundle = compiled.bundle
    yield Heading(2, "What the agent may do")
    rows: list[tuple[Cell, ...]] = []
    for name, entry in bundle.policy.capabilities.items():
        capability = bundle.capabilities.get(name)
        if capability is not None and entry.decision != "deny":
            rows.append(
                (
                    Code(name),
                    _DECISIONS[entry.decision],
                    Code(entry.when) if entry.when else "always",
                    _held(compiled, name),
                    f"{capability.risk_tier} risk, {capability.side_effect}",
                    (f"{capability.transport} as", Code(capability.tool_principal)),
                    (f"{capability.network_access}:", *(Code(host) for host in capability.allowed_egress)),
                    place(compiled, "policy.yaml", "policy", "capabilities", name),
                )
            )
    yield Table(("capability", "a call", "when", "unless a control", "catalog", "by", "network", "where"), tuple(rows))
    allowed = [(o, d) for o, d in bundle.policy.operations.items() if d == "allow"]
    yield Heading(3, "Other operations")
    operations = tuple(
        (Code(o), "allowed", place(compiled, "policy.yaml", "policy", "operations", o)) for o, _ in allowed
    )
    yield Table(("operation", "is", "where"), operations)
    if bundle.policy.allow_kinds:
        yield Paragraph(("Memory of these kinds may be written:", *(Code(kind) for kind in bundle.policy.allow_kinds)))


def _held(compiled: Compiled, capability: str) -> Cell:
    """The controls that hold calls of `capability` back, by what they do."""
    said: list[str | Code] = []
    for action, words in _HOLDS.items():
        codes = [
            Code(control.policy_requirement)
            for control in compiled.bundle.checkpoints
            if control.action == action
            and control.checkpoint == "tool_execution"
            and (capability in control.applies_to or control.applies_to == ("*",))
        ]
        said += [("; " if said else "") + words, *codes] if codes else []
    return tuple(said) or "none does"


def _approvals(compiled: Compiled) -> Iterator[Block]:
    bundle = compiled.bundle
    yield Heading(2, "Who approves what")
    if not bundle.contracts:
        yield Paragraph("No contract: nothing can be approved.")
        return
    rows = tuple(
        (
            Code(contract.capability),
            _who(contract),
            _people(compiled, contract),
            tuple(Code(name) for name in contract.request_fields),
            (
                f"{duration(contract.max_wait_seconds)}, then",
                Code(contract.on_expiry),
                "; when rejected",
                Code(contract.on_reject),
            ),
            place(compiled, "approvals.yaml", "approval_contracts", index),
        )
        for index, contract in enumerate(bundle.contracts)
    )
    yield Table(("capability", "needs", "who can", "request must have", "waits", "where"), rows)


def _who(contract: ApprovalContract) -> str:
    roles = " or ".join(contract.required_reviewers)
    return f"{contract.quorum} {'human' if contract.quorum == 1 else 'different humans'} with role {roles}"


def _people(compiled: Compiled, contract: ApprovalContract) -> Cell:
    people = [
        f"{reviewer.human} ({', '.join(reviewer.roles)}; key until {max(k.not_after for k in reviewer.keys)})"
        for reviewer in compiled.bundle.reviewers
        if set(reviewer.roles) & set(contract.required_reviewers) and reviewer.keys
    ]
    return "; ".join(people) or "nobody"


def _denied(compiled: Compiled) -> Iterator[Block]:
    bundle = compiled.bundle
    yield Heading(2, "What is refused")
    rows: list[tuple[Cell, ...]] = []
    for name, entry in bundle.policy.capabilities.items():
        if entry.decision == "deny":
            why = "named to be refused" + ("" if name in bundle.capabilities else ", and not in the catalog")
            rows.append((Code(name), why, place(compiled, "policy.yaml", "policy", "capabilities", name)))
    for name in bundle.capabilities:
        if name not in bundle.policy.capabilities:
            rows.append((Code(name), "no policy names it", place(compiled, "capabilities.yaml", "capabilities", name)))
    for checkpoint, operations in CHECKPOINTS.items():
        for operation in operations:
            if operation != "call_tool" and bundle.policy.operations.get(operation) != "allow":
                named = operation in bundle.policy.operations
                at: tuple[str, ...] = ("policy", "operations", *((operation,) if named else ()))
                why = f"operation at {checkpoint}, {'denied' if named else 'not named'}"
                rows.append((Code(operation), why, place(compiled, "policy.yaml", *at)))
    rows += [
        (
            Code(c.policy_requirement),
            _condition(c.predicate, c.judge),
            place(compiled, "checkpoints.yaml", "control_checkpoints", i),
        )
        for i, c in enumerate(bundle.checkpoints)
        if c.action == "deny"
    ]
    yield Table(("what", "why", "where"), tuple(rows))
    yield Paragraph("Any other capability or operation is refused too: a call needs a rule that permits it.")


def _condition(predicate: str | None, judge: str | None) -> Cell:
    if predicate is not None:
        return ("when", Code(predicate), "or when nobody can tell")
    return ("unless verifier", Code(str(judge)), "passed exactly this action")


def _controls(compiled: Compiled) -> Iterator[Block]:
    bundle = compiled.bundle
    if bundle.checkpoints:
        yield Heading(2, "Control checkpoints")
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                Code(c.policy_requirement),
                (c.checkpoint, *(Code(o) for o in c.operations)),
                tuple(Code(name) for name in c.applies_to),
                (c.action, *(Code(p) for p in c.redact)),
                _condition(c.predicate, c.judge),
                Code(c.eval_case_id),
                place(compiled, "checkpoints.yaml", "control_checkpoints", i),
            )
            for i, c in enumerate(bundle.checkpoints)
        )
        yield Table(("requirement", "at", "for", "does", "when", "shown by case", "where"), rows)
    document = bundle.documents.get("runtime-controls.yaml")
    if document is not None:
        yield Heading(2, "Runtime controls")
        settings = tuple(
            (
                section,
                Code(name),
                Code(json.dumps(value, ensure_ascii=True)),
                place(compiled, "runtime-controls.yaml", "runtime_controls", section, name),
            )
            for section, values in document.value["runtime_controls"].items()
            for name, value in values.items()
        )
        yield Table(("section", "control", "value", "where"), settings)


def _rules(compiled: Compiled) -> Iterator[Block]:
    places = json.loads(compiled.source_map)
    yield Heading(2, "Every compiled rule")
    rows = tuple(
        (
            rule.title,
            Code(rule.file),
            Code(
                f"{rule.source.partition('#')[0]}:{places[rule.source]['line']}"
                if rule.source in places
                else rule.source
            ),
        )
        for rule in RegoText.read(compiled.rego).rules
        if rule.title
    )
    yield Table(("rule", "Rego", "from"), rows)
    yield Heading(2, "Rules of every bundle")
    yield Table(("package", "what"), tuple(_core()))


def _core() -> Iterator[tuple[Cell, ...]]:
    for path in sorted((policies_dir() / "gate").rglob("*.rego")):
        if not path.name.endswith("_test.rego"):
            text = path.read_text("utf-8")
            package = _PACKAGE.search(text)
            head = text[: package.start()] if package else ""
            title = _CORE.search(head)
            if package is not None:
                yield Code(package[1]), title[1] if title else ""
