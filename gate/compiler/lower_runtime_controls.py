"""Runtime controls to constants: one for each field that was stated, so that a changed value is one changed rule.

Pure. A field that was left out has no constant, and no rule then finds the value that would let a call pass. Only what
is asked of every call is written out in full, apart from the rest, since a plain call should not pay for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.compiler.model import Constant, Item
from gate.documents import Bundle, RuntimeControls
from gate.documents import pointer_of as pointer

RUNTIME = "runtime-controls.yaml"

ESCALATIONS = ("classifier_uncertain", "delegate_decided", "handed_off", "session_resumed", "worker_agent")
"""All that `escalate_to_human_if` may list. Compiled to a truth for each: Rego then tests no absence from a list."""

_OF_EVERY_CALL = frozenset(
    {
        *("authorization_mode", "mcp_evidence_required", "catalog_evidence_required"),
        "verifier_contract_required_for_high_risk",
    }
)
_IN_MS = {"catalog_max_ttl_seconds": "catalog_max_ttl_ms"}
"""Fields in seconds and the constant that holds them in milliseconds: Rego compares, it does not calculate."""


def lower_runtime_controls(bundle: Bundle) -> Iterator[Item]:
    """The constants of `runtime-controls.yaml` in its order; none when the bundle has no such document."""
    controls = bundle.runtime_controls
    if controls is None:
        return
    for group, entry in bundle.documents[RUNTIME].value["runtime_controls"].items():
        typed = getattr(controls, group)
        for name in entry:
            value = _value(name, getattr(typed, name))
            if name in _OF_EVERY_CALL:
                yield _of_every_call(name, value, f"{group}.{name}", group, name)
            else:
                yield Constant(
                    name=f"{group}_controls",
                    key=_IN_MS.get(name, name),
                    value=value * 1000 if name in _IN_MS else value,
                    title=f"{group}.{name}",
                    source=_source(group, name),
                )
    yield from _left_out(controls)


def _left_out(controls: RuntimeControls) -> Iterator[Item]:
    """What is asked of every call although, or because, the document does not say so."""
    if controls.authorization is None or controls.authorization.authorization_mode is None:
        title = "authorization.authorization_mode is left out"
        yield _of_every_call("authorization_mode", "user_delegated_or_platform_owned", title)
    for group, name in (
        ("mcp", "mcp_evidence_required"),
        ("mcp", "catalog_evidence_required"),
        ("verifiers", "verifier_contract_required_for_high_risk"),
    ):
        stated = getattr(controls, group)
        if stated is None:
            yield _of_every_call(name, False, f"{group} is left out")
        elif getattr(stated, name) is None:
            yield _of_every_call(name, True, f"{group}.{name} is left out", group)
    if controls.sandbox is None:
        yield _of_every_call("sandbox_evidence_required", False, "sandbox is left out")
    else:
        yield _of_every_call("sandbox_evidence_required", True, "sandbox is stated", "sandbox")


def _of_every_call(name: str, value: Any, title: str, *at: str) -> Constant:
    return Constant(name="call_controls", key=name, value=value, title=title, source=_source(*at))


def _source(*at: str) -> str:
    return f"{RUNTIME}#{pointer('runtime_controls', *at)}"


def _value(name: str, value: Any) -> Any:
    if name == "escalate_to_human_if":
        return {condition: condition in value for condition in ESCALATIONS}
    if name == "disallowed_orchestration_patterns":
        return {capability: list(patterns) for capability, patterns in value.items()}
    if name == "sandbox_profile_contract":
        # What is left out is the stricter, and written out so that no rule has to test an absence.
        return {**value, "workspace": list(value.get("workspace", ())), "resume": value.get("resume", "fresh")}
    if name == "verifier_contracts":
        return {contract: dict(stated) for contract, stated in value.items()}
    return list(value) if isinstance(value, tuple) else value
