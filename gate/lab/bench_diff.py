"""How long the decision diff takes: two bundles with 200 rules that differ in a handful, and ten thousand inputs.

Measured twice: where rules alone changed, which most documents can be proven not to meet, and where the version did
too, so that every document is decided on both sides. Judges no bundle.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gate import opa
from gate.lab.synthetic import VERSION, write_bundle
from gate.records import generate_key
from gate.release.diff import LIMIT, decision_diff

DIFF_BUDGET_S = 30.0
"""Of each comparison, on two cores."""
_CAPABILITIES = 20
_RULES = 200
_PREDICATES = (
    "arguments.amount > {n}",
    'arguments.order == "order-{n}"',
    'arguments.order matches "^o{n}" or arguments.amount < -{n}',
    'identity.principal_id == "user-{n}"',
)
_ACTIONS = ("deny", "require_approval", "warn")
_EDITED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """One comparison."""

    what: str
    """What the two bundles differ in."""
    rules: int
    """What the policy decides of each capability, and the controls."""
    inputs: int
    """Generated inputs."""
    changes: int
    """Ways in which decisions differ."""
    wall_s: float
    cpu_s: float
    """Of Python and of both OPA processes."""


def measure_diff(
    *, inputs: int = LIMIT, rules: int = _RULES, told: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[Comparing]:
    """Compares two synthetic bundles, first with the same version and then with another one."""
    binary = opa.ensure().path
    key = generate_key()[1]
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as folder:
        root = Path(folder)
        write = partial(write_bundle, capabilities=_CAPABILITIES, bound=rules - _CAPABILITIES, public_key=key)
        write(root / "old" / "synthetic", control=_rule)
        for what, version in (("rules", VERSION), ("rules and version", f"{VERSION}-next")):
            new = root / what / "synthetic"
            write(new, control=_edited, version=version)
            wall, cpu = time.perf_counter(), _cpu_s()
            found = decision_diff(root / "old" / "synthetic", new, limit=inputs, binary=binary, told=told)
            yield Comparing(
                what=what,
                rules=rules,
                inputs=found.tried["generated"],
                changes=len(found.changes),
                wall_s=time.perf_counter() - wall,
                cpu_s=_cpu_s() - cpu,
            )


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _rule(number: int, capability: str) -> Mapping[str, object]:
    return {
        "checkpoint": "tool_execution",
        "policy_requirement": f"requirement_{number}",
        "applies_to": [capability],
        "predicate": _PREDICATES[number % len(_PREDICATES)].format(n=number + 1),
        "action": _ACTIONS[number % len(_ACTIONS)],
        "control_version": "1.0",
        "eval_case_id": "some_case",
        "audit_fields": ["predicate_result", "action"],
    }


def _edited(number: int, capability: str) -> Mapping[str, object]:
    """A few of the rules have another threshold or constant."""
    rule = _rule(number, capability)
    if number % 37 or number > 37 * (_EDITED - 1):
        return rule
    return {**rule, "predicate": _PREDICATES[number % len(_PREDICATES)].format(n=number + 2)}
