"""What the bundle says of its golden cases must hold, and which names of `controls.yaml` the gate observes by itself.

Pure but for `linked_cases`, which reads the cases. Runs no case and judges no outcome; it only says which are meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gate.documents import Bundle, Case, ControlsPolicy, load_cases
from gate.documents import pointer_of as pointer
from gate.documents.wording import did_you_mean
from gate.errors import BundleError, Problem

CONTROLS, _CHECKPOINTS = "controls.yaml", "checkpoints.yaml"

APPROVAL_REQUIRED, KEY_REQUIRED = "_approval_required", "_idempotency_key_required"
EVAL_PASSED, GOLDEN_CASES, POLICY_TRACES = "_eval_passed", "golden_cases_passed", "policy_traces_present"


def observed(name: str) -> tuple[str, str]:
    """Kind and subject of a name in `controls`: how the gate observes it itself; a `signal` without subject if not."""
    if name in (GOLDEN_CASES, POLICY_TRACES):
        return name, ""
    suffixes = (APPROVAL_REQUIRED, KEY_REQUIRED, EVAL_PASSED)
    return next(((s[1:], name.removesuffix(s)) for s in suffixes if name.endswith(s) and name != s), ("signal", ""))


def cases_about(subject: str, cases: Sequence[Case]) -> list[Case]:
    """The golden cases that show `subject`: those whose id contains it as whole words."""
    return [case for case in cases if f"_{subject}_" in f"_{case.id}_".replace("-", "_")]


def linked_cases(bundle: Bundle) -> tuple[Case, ...]:
    """The golden cases of `bundle`. Raises `BundleError`, also when the bundle names a case that is not there."""
    cases = load_cases(bundle.folder)
    problems = link_cases(bundle, cases)
    if problems:
        raise BundleError(problems)
    return cases


def refers_to_cases(bundle: Bundle) -> bool:
    """Whether the bundle names golden cases, so that it cannot be judged without them."""
    controls = bundle.controls
    return bool(bundle.checkpoints) or (
        controls is not None and any(observed(n)[0] == "eval_passed" for n in (*controls.require, *controls.block_if))
    )


def link_cases(bundle: Bundle, cases: Sequence[Case]) -> list[Problem]:
    """Every golden case that the bundle names and that is not there."""
    ids = [case.id for case in cases]
    problems = [
        bundle.documents[_CHECKPOINTS].problem(
            pointer("control_checkpoints", index, "eval_case_id"),
            "eval_case_unknown",
            f"control `{control.policy_requirement}` names golden case `{control.eval_case_id}`, which is not there",
            did_you_mean(control.eval_case_id, ids) or f"write {bundle.folder}/cases/{control.eval_case_id}.yaml",
        )
        for index, control in enumerate(bundle.checkpoints)
        if control.eval_case_id not in ids
    ]
    for where, index, name in named_controls(bundle.controls):
        kind, subject = observed(name)
        if kind == "eval_passed" and not cases_about(subject, cases):
            problems.append(
                bundle.documents[CONTROLS].problem(
                    pointer("controls", where, index),
                    "eval_case_unknown",
                    f"no golden case shows `{subject}`, so `{name}` can never hold",
                    f"write a case in {bundle.folder}/cases whose id contains `{subject}`",
                )
            )
    return problems


def named_controls(controls: ControlsPolicy | None) -> Iterator[tuple[str, int, str]]:
    """Each name in `controls`, with the list it stands in and its index there."""
    if controls is not None:
        for where, names in (("require", controls.require), ("block_if", controls.block_if)):
            for index, name in enumerate(names):
                yield where, index, name
