"""Small changes to the YAML of a bundle, one at a time: what a tired author or a careless merge would leave behind.

Pure. Each document is walked along its schema, so that a field added there is changed here without anyone thinking of
it. What no decision looks at (names, owners' teams, audit fields, the schema of arguments) is left alone.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.documents import Bundle, Document, pointer_of, schema

_SCHEMAS = {
    "policy.yaml": "policy",
    "capabilities.yaml": "capabilities",
    "approvals.yaml": "approvals",
    "reviewers.yaml": "reviewers",
    "agent.yaml": "agent",
    "checkpoints.yaml": "checkpoints",
    "runtime-controls.yaml": "runtime-controls",
    "continuity.yaml": "continuity",
    "trajectory.yaml": "trajectory",
    "compound.yaml": "compound",
    "compaction.yaml": "compaction",
}
# What the gate's own Python acts on, or a person reads, without the policies deciding by it.
_LEFT_ALONE = (
    re.compile(r"/capabilities/[^/]+/(arguments|identifying_arguments|timeout_seconds)\b"),
    re.compile(r"/(audit_fields|control_version|eval_case_id|observed_signal|display_name|owner_team|contract_id)\b"),
    re.compile(r"/approval_contracts/\d+/(risk_tier|bundle_version|release_identity|request_fields/\d+)\Z"),
    re.compile(r"/reviewers/\d+/(id|human)\Z|/keys/\d+/"),
    re.compile(r"/policy/capabilities/[^/]+/approver\Z|/escalation_sla_minutes\Z"),
    re.compile(r"/(checkpoint|policy_requirement|rule_id)\Z"),
    # What is kept of an event, and the word by which an audit calls a missing right.
    re.compile(r"/trajectory/observe/[^/]+/(fingerprints|counters)\b|/compound_authorization/reasons\b"),
    re.compile(r"/compaction_release/(product_job|retention_lanes|permitted_tasks|high_impact_tasks|decision/owner)\b"),
    re.compile(
        r"/compaction_release/rules/[^/]+/(kind|consequence|source_authority|precision|wordings|probe|enforced_by)\b"
    ),
)
# Of a contract whose compactions nobody measured; what the record is held against has a say once there is one.
_SAY_UNMEASURED = re.compile(
    r"/compaction_release(/runtime/(model|harness|compactor|compactor_version)|/rules/[^/]+(/(scope|valid_\w+)\b.*)?"
    r"|/invariants/(required_rule_ids\b.*|fail_closed_on_missing_rule))?"
)
_SWAPPED = {
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "and": ("or",),
    "or": ("and",),
}
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|==|!=|<=|>=|<|>|\b(?:and|or|not|in|matches)\b|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change to one document."""

    file: str
    pointer: str
    """Where it was made, a JSON pointer into the file."""
    kind: str
    """`drop`, `flip`, `move`, `widen`, `swap` or `rename`."""
    what: str
    """The change in words."""
    value: Mapping[str, Any] = field(repr=False)
    """The whole document after it."""

    @property
    def id(self) -> str:
        """Names the mutant among those of its bundle."""
        return f"{self.file}#{self.pointer} {self.what}"


def mutants(bundle: Bundle) -> Iterator[Mutant]:
    """Every small change of `bundle`, in the order of its documents."""
    for file, name in _SCHEMAS.items():
        document = bundle.documents.get(file)
        if document is not None:
            changes = _Changes(bundle, document)
            for at, kind, what, value in changes.below((), document.value, schema(name)):
                pointer = pointer_of(*at)
                if not any(rule.search(pointer) for rule in _LEFT_ALONE) and not _without_say(bundle, at):
                    yield Mutant(
                        file=file, pointer=pointer, kind=kind, what=what, value=_with(document.value, at, value)
                    )


def _without_say(bundle: Bundle, at: At) -> bool:
    """Whether no decision depends on the place in this bundle, though it may in another.

    What writes is claimed in the ledger, and a claim needs its key, whatever the catalog says of keys; the flag of a
    write is read by `gate check-controls` alone. Without a record of compactions every call after one is refused.
    """
    if at[:1] == ("compaction_release",):
        return bundle.compaction_record is None and not _SAY_UNMEASURED.fullmatch(pointer_of(*at))
    if at[:1] == ("capabilities",) and at[2:] == ("idempotency_key_required",):
        entry = bundle.capabilities[str(at[1])]
        return entry.mode != "read" or entry.side_effect != "none"
    return False


At = tuple[str | int, ...]
_GONE = object()
Changed = tuple[At, str, str, Any]


class _Changes:
    def __init__(self, bundle: Bundle, document: Document) -> None:
        self._document = document
        roles = {role for reviewer in bundle.reviewers for role in reviewer.roles}
        capabilities = set(bundle.capabilities)
        # What a list of names could be widened by: the names the bundle has for such things.
        self._names = {
            "required_reviewers": roles,
            "roles": roles,
            "approved_capabilities": capabilities,
            "applies_to": capabilities,
            "worker_capability_subset": capabilities,
            # A class that nothing in the catalog has would let nothing through.
            "allow_network_access": {entry.network_access for entry in bundle.capabilities.values()},
        }

    def below(self, at: At, value: Any, declared: Any) -> Iterator[Changed]:
        """Changes of `value` and of everything inside it."""
        node = declared if isinstance(declared, Mapping) else {}
        if isinstance(value, Mapping):
            yield from self._mapping(at, value, node)
        elif isinstance(value, list):
            yield from self._list(at, value, node)
        else:
            yield from self._scalar(at, value, node)

    def _mapping(self, at: At, value: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Changed]:
        required, properties = node.get("required", ()), node.get("properties", {})
        for key, inner in value.items():
            where = (*at, key)
            if at and key not in required:
                yield where, "drop", f"drop {key}", _GONE
            yield from self.below(where, inner, properties.get(key, node.get("additionalProperties", {})))

    def _list(self, at: At, value: list[Any], node: Mapping[str, Any]) -> Iterator[Changed]:
        items = node.get("items", {})
        for index, item in enumerate(value):
            yield (*at, index), "drop", f"drop {_named(item)}", _GONE
            # One item of a list of constants changed is one dropped and another added, which both are tried.
            if not isinstance(item, str):
                yield from self.below((*at, index), item, items)
        if all(isinstance(item, str) for item in value) and at:
            name = str(at[-1])
            more = sorted(self._names[name]) if name in self._names else items.get("enum", ())
            for word in [word for word in more if word not in value][:3]:
                yield at, "widen", f"add {word}", [*value, word]

    def _scalar(self, at: At, value: Any, node: Mapping[str, Any]) -> Iterator[Changed]:
        name = at[-1] if at else ""
        if isinstance(value, bool):
            yield at, "flip", f"{str(value).lower()} becomes {str(not value).lower()}", not value
        elif isinstance(value, int):
            for moved in (value + 1, value - 1):
                yield at, "move", f"{value} becomes {moved}", moved
        elif isinstance(value, str) and node.get("enum"):
            for other in node["enum"]:
                if other != value:
                    yield at, "flip", f"{value} becomes {other}", other
        elif name in {"predicate", "when"} and isinstance(value, str):
            for what, text in predicate_mutants(value):
                yield at, "swap", what, text
        elif isinstance(value, str):
            yield at, "rename", f"{value} becomes {value}-other", f"{value}-other"


def predicate_mutants(text: str) -> Iterator[tuple[str, str]]:
    """Each operator swapped, each number moved by one, each constant changed, each `not` left out."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        for what, other in _replacements(token):
            changed = text[: match.start()] + other + text[match.end() :]
            yield what, re.sub(r"  +", " ", changed).strip()


def _replacements(token: str) -> Sequence[tuple[str, str]]:
    if token in _SWAPPED:
        return [(f"{token} becomes {other}", other) for other in _SWAPPED[token]]
    if token == "not":  # noqa: S105 - a word of the language
        return [("drop not", "")]
    if token.startswith('"'):
        return [(f"{token} becomes another constant", f'{token[:-1]}x"')]
    if token[0] in "-0123456789" and "." not in token:
        return [(f"{token} becomes {int(token) + step}", str(int(token) + step)) for step in (1, -1)]
    return []


def _named(item: Any) -> str:
    if isinstance(item, Mapping):
        for key in ("policy_requirement", "contract_id", "id", "key_id"):
            if key in item:
                return str(item[key])
        return "an entry"
    return str(item)


def _with(document: Mapping[str, Any], at: At, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(dict(document))
    place: Any = made
    for part in at[:-1]:
        place = place[part]
    if value is _GONE:
        del place[at[-1]]
    else:
        place[at[-1]] = value
    return made
