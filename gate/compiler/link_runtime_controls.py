"""What `runtime-controls.yaml` must say of the rest of the bundle: names that exist, and no field without effect.

Pure. A field that could change no decision as the bundle stands is refused, because its author believes it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gate.documents import Bundle, Document, OrchestrationControls, RoutingControls, RuntimeControls, SessionControls
from gate.documents import pointer_of as pointer
from gate.errors import Problem

RUNTIME = "runtime-controls.yaml"
_ROOT = "runtime_controls"

_SESSION_OPERATIONS = (
    ("resume_policy", "refuse", "resume_tool"),
    ("progress_event_policy", "refuse", "progress"),
    ("elicitation_policy", "refuse", "elicit"),
)
"""Field, the value that refuses, and the operation that policy.yaml must permit for any other."""


def link_runtime_controls(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of `runtime-controls.yaml` with the rest of the bundle."""
    controls = bundle.runtime_controls
    if controls is not None:
        for check in _CHECKS:
            yield from check(bundle, bundle.documents[RUNTIME], controls)


def _sessions(bundle: Bundle, document: Document, controls: RuntimeControls) -> Iterator[Problem]:
    sessions = controls.sessions
    if sessions is None:
        return
    yield from _session_fields(document, sessions)
    for name, refusing, operation in _SESSION_OPERATIONS:
        value = getattr(sessions, name)
        if value not in {None, refusing} and bundle.policy.operations.get(operation) != "allow":
            message = f"`{name}` lets nothing happen, because policy.yaml does not allow operation `{operation}`"
            yield _idle(document, "sessions", name, message, f"allow `{operation}` or write `{refusing}`")


def _session_fields(document: Document, sessions: SessionControls) -> Iterator[Problem]:
    if sessions.capability_session_mode != "stateful":
        for name in ("resume_policy", "on_session_expiry", "progress_event_policy", "elicitation_policy"):
            if getattr(sessions, name) not in {None, "refuse"}:
                message = f"`{name}` has no effect, because without stateful sessions everything about them is refused"
                yield _idle(document, "sessions", name, message, "set capability_session_mode to stateful")
    if sessions.reinit_requires_approval is not None and sessions.on_session_expiry != "reinitialize":
        message = "`reinit_requires_approval` has no effect, because no expired session may be replaced"
        yield _idle(document, "sessions", "reinit_requires_approval", message, "set on_session_expiry to reinitialize")


def _routing(bundle: Bundle, document: Document, controls: RuntimeControls) -> Iterator[Problem]:
    routing = controls.routing
    if routing is None or routing.approval_delegate is None:
        return
    if not _accepts_delegates(routing) and not any(contract.delegation for contract in bundle.contracts):
        message = "`approval_delegate` has no effect, because `approval_mode` accepts no delegate"
        yield _idle(document, "routing", "approval_delegate", message, "set approval_mode to human_or_delegate")
    if not any(routing.approval_delegate in reviewer.roles for reviewer in bundle.reviewers):
        yield document.problem(
            pointer(_ROOT, "routing", "approval_delegate"),
            "reviewer_role_unheld",
            f"no reviewer holds role `{routing.approval_delegate}`",
            "give the role to somebody in reviewers.yaml",
        )


def _accepts_delegates(routing: RoutingControls) -> bool:
    return routing.approval_mode in {"human_or_delegate", "human_delegate_or_classifier"}


def _patterns(bundle: Bundle, document: Document, controls: RuntimeControls) -> Iterator[Problem]:
    orchestration = controls.orchestration
    if orchestration is None:
        return
    allowed = orchestration.allowed_orchestration_patterns or ()
    for name, patterns in (orchestration.disallowed_orchestration_patterns or {}).items():
        here = ("orchestration", "disallowed_orchestration_patterns", name)
        if name not in bundle.capabilities:
            yield _unknown(document, name, *here)
        for index, pattern in enumerate(patterns):
            if pattern not in allowed:
                message = f"`{pattern}` is allowed to no capability, so disallowing it to `{name}` has no effect"
                yield _idle(document, *here, index, message, "see allowed_orchestration_patterns")


def _workers(bundle: Bundle, document: Document, controls: RuntimeControls) -> Iterator[Problem]:
    orchestration = controls.orchestration
    if orchestration is None:
        return
    subset = orchestration.worker_capability_subset or ()
    for index, name in enumerate(subset):
        here = ("orchestration", "worker_capability_subset", index)
        if name not in bundle.capabilities:
            yield _unknown(document, name, *here)
        elif name in bundle.policy.capabilities and bundle.policy.capabilities[name].decision == "deny":
            yield _idle(document, *here, f"`{name}` is denied to everybody, so workers cannot call it", "drop it")
    yield from _worker_fields(bundle, document, orchestration, subset)


def _worker_fields(
    bundle: Bundle, document: Document, orchestration: OrchestrationControls, subset: tuple[str, ...]
) -> Iterator[Problem]:
    if orchestration.worker_inheritance_policy not in {None, "denied"} and not subset:
        message = "`worker_inheritance_policy` has no effect, because a worker may call nothing"
        yield _idle(document, "orchestration", "worker_inheritance_policy", message, "state worker_capability_subset")
    claimed = [
        name
        for name in subset
        if name in bundle.capabilities
        and (bundle.capabilities[name].mode == "write" or bundle.capabilities[name].approval != "none")
    ]
    if orchestration.review_required_before_worker_write is not None and not claimed:
        message = "`review_required_before_worker_write` has no effect, because a worker may write nothing"
        yield _idle(
            document,
            "orchestration",
            "review_required_before_worker_write",
            message,
            "list a capability that writes in worker_capability_subset",
        )


def _verifiers(bundle: Bundle, document: Document, controls: RuntimeControls) -> Iterator[Problem]:
    verifiers = controls.verifiers
    if verifiers is None or verifiers.verifier_contracts is None:
        return
    trusted = verifiers.trusted_verifier_contracts or ()
    keys = bundle.documents["policy.yaml"].value["policy"].get("evidence", {}).get("verifier", {})
    for name in trusted:
        if name not in verifiers.verifier_contracts:
            message = f"contract `{name}` is trusted, but nothing says which contract that is, so it never counts"
            yield _idle(document, "verifiers", "verifier_contracts", message, f"state `{name}` there")
    for name, contract in verifiers.verifier_contracts.items():
        if name not in trusted:
            message = f"contract `{name}` has no effect, because trusted_verifier_contracts does not list it"
            yield _idle(document, "verifiers", "verifier_contracts", message, "list it or remove it")
        if contract["key_id"] not in keys.get("signature_keys", {}):
            message = f"key `{contract['key_id']}` is not one of evidence.verifier.signature_keys in policy.yaml"
            yield _idle(document, "verifiers", "verifier_contracts", message, "add the verifier's public key there")


def _idle(document: Document, *rest: str | int) -> Problem:
    *at, message, hint = rest
    return document.problem(pointer(_ROOT, *at), "runtime_control_without_effect", str(message), str(hint), key=True)


def _unknown(document: Document, name: str, *at: str | int) -> Problem:
    message = f"`{name}` is not in the catalog"
    return document.problem(pointer(_ROOT, *at), "capability_unknown", message, "see capabilities.yaml", key=True)


_CHECKS: tuple[Callable[[Bundle, Document, RuntimeControls], Iterator[Problem]], ...] = (
    _sessions,
    _routing,
    _patterns,
    _workers,
    _verifiers,
)
