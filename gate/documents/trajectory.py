"""`trajectory.yaml` as typed values: what actions leave in a run's history, and the rules over it.

Pure data. Whether capabilities, arguments and contracts exist must not be checked here but by the linker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from gate.documents.document import Document, pointer_of
from gate.errors import BundleError, Problem

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "value_binding": ("fingerprint_name",),
    "cumulative_limit": ("counter_name", "limit"),
    "required_predecessor": ("predecessor",),
    "required_approval": ("approval_scope",),
}
"""Fields of each kind of rule beside those that every rule has."""

MAX_RULES = 200
"""How many rules one policy may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one action leaves in the history."""

    action: str
    """Name of the capability."""
    fingerprints: Mapping[str, str]
    """Name to the JSON pointer of the argument whose digest is kept."""
    counters: Mapping[str, str]
    """Name to the JSON pointer of the argument that is added up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryRule:
    """One rule over history; of the optional fields exactly those of its kind are stated."""

    rule_id: str
    kind: str
    """value_binding, cumulative_limit, required_predecessor or required_approval."""
    applies_to: tuple[str, ...]
    fingerprint_name: str | None = None
    counter_name: str | None = None
    limit: Decimal | None = None
    """Above zero, at most six decimal places; exact."""
    predecessor: str | None = None
    approval_scope: str | None = None
    """`contract_id` of an approval contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryPolicy:
    """`trajectory`: one policy over the history of a run."""

    policy_id: str
    policy_version: str
    observations: tuple[Observation, ...]
    """In the order of the YAML."""
    rules: tuple[TrajectoryRule, ...]
    """In the order they are judged."""


def trajectory_policy(document: Document) -> TrajectoryPolicy:
    """The policy that `trajectory.yaml` states.

    Raises `BundleError` for a rule id that is used twice, a field that does not belong to the rule's kind, and a limit
    of zero.
    """
    root = document.value["trajectory"]
    problems = [*_rule_problems(document, root["rules"])]
    if problems:
        raise BundleError(problems)
    return TrajectoryPolicy(
        policy_id=root["policy_id"],
        policy_version=root["policy_version"],
        observations=tuple(
            Observation(
                action=action,
                fingerprints=dict(entry.get("fingerprints", {})),
                counters=dict(entry.get("counters", {})),
            )
            for action, entry in root["observe"].items()
        ),
        rules=tuple(_rule(entry) for entry in root["rules"]),
    )


def _rule(entry: Mapping[str, str]) -> TrajectoryRule:
    return TrajectoryRule(
        rule_id=entry["rule_id"],
        kind=entry["kind"],
        applies_to=tuple(entry["applies_to"]),
        fingerprint_name=entry.get("fingerprint_name"),
        counter_name=entry.get("counter_name"),
        limit=None if "limit" not in entry else Decimal(entry["limit"]),
        predecessor=entry.get("predecessor"),
        approval_scope=entry.get("approval_scope"),
    )


def _rule_problems(document: Document, rules: list[Mapping[str, str]]) -> list[Problem]:
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for index, rule in enumerate(rules):
        here = ("trajectory", "rules", index)
        first = seen.setdefault(rule["rule_id"], index)
        if first != index:
            line = document.position(pointer_of("trajectory", "rules", first))[0]
            problems.append(
                document.problem(
                    pointer_of(*here, "rule_id"),
                    "trajectory_rule_twice",
                    "Trajectory rule IDs must be unique",
                    f"`{rule['rule_id']}` is already on line {line}",
                )
            )
        wanted = _NEEDED[rule["kind"]]
        for name in wanted:
            if name not in rule:
                message = f"Trajectory field is required: {name}"
                hint = f"a rule of kind `{rule['kind']}` states it"
                problems.append(document.problem(pointer_of(*here), "missing_key", message, hint))
        for name in sorted({field for fields in _NEEDED.values() for field in fields} - set(wanted)):
            if name in rule:
                message = f"Trajectory field is not supported: {name}={rule[name]}"
                hint = f"it means nothing in a rule of kind `{rule['kind']}`"
                problems.append(document.problem(pointer_of(*here, name), "unknown_key", message, hint, key=True))
        if "limit" in wanted and "limit" in rule and Decimal(rule["limit"]) <= 0:
            message = "Trajectory counter limit must be positive: limit"
            problems.append(document.problem(pointer_of(*here, "limit"), "schema_range", message))
    if len(rules) > MAX_RULES:
        message = f"Trajectory rules must contain at most {MAX_RULES} entries"
        problems.append(document.problem(pointer_of("trajectory", "rules"), "schema_range", message))
    return problems
