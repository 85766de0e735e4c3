"""Texts that operators of the reference runtime know, to the letter, by the condition that produces each.

One table. It must not decide what is wrong, only how it is said; what is wrong stays in the problem's code, and our own
words, which say more, go into its hint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from gate.documents.wording import quoted

ANY_KEY, ANY_ITEM = "*", "#"
"""In a path of the table: whatever key, whatever index."""

ROOT, LIST_ROOT = "root", "list at root"
NOT_MAPPING, NOT_LIST, NOT_STRING, NOT_BOOLEAN, NOT_INTEGER = "object", "array", "string", "boolean", "integer"
MISSING, BLANK, UNSUPPORTED, DUPLICATE, TOO_SMALL = "missing", "blank", "unsupported", "duplicate", "too small"
EMPTY_LIST = "empty list"
KEY_NOT_STRING, KEY_BLANK, KEY_DUPLICATE = "key not string", "key blank", "key duplicate"

_KEYWORDS = {
    "required": MISSING,
    "enum": UNSUPPORTED,
    "pattern": UNSUPPORTED,
    "uniqueItems": DUPLICATE,
    "minimum": TOO_SMALL,
    "minItems": EMPTY_LIST,
    "propertyNames": KEY_BLANK,
}
_BLANKABLE = {"enum", "pattern", "minLength", "propertyNames"}

_Row = tuple[str, str, str, str]
"""Document, path, condition, text. `{name}` is what the last `*` of the path stands for, `{value}` the value."""


def _mapping(document: str, config: str, root: str) -> Iterator[_Row]:
    yield document, "", ROOT, f"{config} must be a mapping"
    yield document, root, NOT_MAPPING, f"'{root}' must be a mapping"
    yield document, root, MISSING, f"'{root}' must be a mapping"


def _names(document: str, path: str, kind: str) -> Iterator[_Row]:
    yield document, path, KEY_NOT_STRING, f"{kind} names must be strings"
    yield document, path, KEY_BLANK, f"{kind} name must not be empty"
    yield document, path, KEY_DUPLICATE, f"{kind} names must be unique"


def _entries(document: str, path: str, listed: str, label: str) -> Iterator[_Row]:
    yield document, path, NOT_LIST, f"'{listed}' must be a list"
    yield document, f"{path}/#", NOT_STRING, f"{label} entries must be strings"
    yield document, f"{path}/#", BLANK, f"{label} entries must not be empty"
    yield document, f"{path}/#", DUPLICATE, f"{label} entries must be unique"


def _text(document: str, path: str, said: str, *, blank: str = "is required") -> Iterator[_Row]:
    yield document, path, NOT_STRING, f"{said} must be a string"
    yield document, path, MISSING, f"{said} is required"
    yield document, path, BLANK, f"{said} {blank}"


def _policy() -> Iterator[_Row]:
    file, names = "policy.yaml", "policy/capabilities/*"
    yield from _mapping(file, "Policy config", "policy")
    for section in ("run_precheck", "capabilities", "memory_write", "execution"):
        yield file, f"policy/{section}", NOT_MAPPING, f"'{section}' must be a mapping"
    for flag in ("require_tenant", "deny_if_principal_missing"):
        yield file, f"policy/run_precheck/{flag}", NOT_BOOLEAN, f"'run_precheck.{flag}' must be a boolean"
    yield from _entries(file, "policy/memory_write/allow_kinds", "allow_kinds", "memory_write.allow_kinds")
    network = "allow_network_access"
    yield from _entries(file, f"policy/execution/{network}", network, f"execution.{network}")
    yield from _names(file, names, "Policy capability")
    yield file, names, NOT_MAPPING, "Policy for capability {name!r} must be a mapping"
    yield file, f"{names}/decision", NOT_STRING, "Policy decision must be a string"
    yield file, f"{names}/decision", BLANK, "Policy decision must not be empty"
    yield file, f"{names}/decision", UNSUPPORTED, "Policy decision is not supported: {value}"
    yield file, f"{names}/approver", NOT_STRING, "Policy approver must be a string"
    yield file, f"{names}/approver", BLANK, "Policy approver must not be empty: {name}"
    # The older texts speak of the decision's action; here `action` is the word of control checkpoints.
    action = "control_checkpoints/#/action"
    yield "checkpoints.yaml", action, NOT_STRING, "Policy action must be a string"
    yield "checkpoints.yaml", action, UNSUPPORTED, "Policy action is not supported: {value}"


def _catalog() -> Iterator[_Row]:
    file, spec, label = "capabilities.yaml", "capabilities/*", "capabilities.{name}"
    yield from _mapping(file, "Capability catalog config", "capabilities")
    yield from _names(file, spec, "Capability")
    yield file, spec, NOT_MAPPING, "Capability spec for {name!r} must be a mapping"
    strings = ("owner", "mode", "side_effect", "transport", "tool_principal", "risk_tier", "network_access")
    for key in strings:
        yield from _text(file, f"{spec}/{key}", f"{label}.{key}")
    yield from _text(file, f"{spec}/approval", f"{label}.approval", blank="must not be empty")
    yield file, f"{spec}/approval", UNSUPPORTED, f"{label}.approval is not supported: {{value}}"
    yield file, f"{spec}/timeout_seconds", NOT_INTEGER, f"'{label}.timeout_seconds' must be an integer"
    yield file, f"{spec}/timeout_seconds", TOO_SMALL, f"{label}.timeout_seconds must be positive"
    flag = "idempotency_key_required"
    yield file, f"{spec}/{flag}", NOT_BOOLEAN, f"'{label}.{flag}' must be a boolean"
    yield from _entries(file, f"{spec}/allowed_egress", "allowed_egress", "allowed_egress")


def _agent() -> Iterator[_Row]:
    file = "agent.yaml"
    yield from _mapping(file, "Agent identity config", "agent")
    # Whoever writes a bare list has written the inventory without the agent.
    yield file, "", LIST_ROOT, "Agent inventory config must be a mapping"
    for key in ("id", "display_name", "owner_team", "runtime_principal"):
        yield from _text(file, f"agent/{key}", f"agent.{key}")
    approved = "approved_capabilities"
    yield from _entries(file, f"agent/{approved}", approved, approved)
    yield file, f"agent/{approved}", MISSING, f"'{approved}' must be a list"


def _approvals() -> Iterator[_Row]:
    file, delegated = "approvals.yaml", "delegated_authorization"
    yield file, "", ROOT, "Approval policy config must be a mapping"
    yield file, "approvals", NOT_MAPPING, "'approvals' must be a mapping"
    yield from _text(file, "approvals/default_reviewer", "approvals.default_reviewer")
    sla = "approvals.escalation_sla_minutes"
    yield file, "approvals/escalation_sla_minutes", NOT_INTEGER, f"{sla} must be an integer"
    yield file, "approvals/escalation_sla_minutes", MISSING, f"{sla} must be an integer"
    yield file, "approvals/escalation_sla_minutes", TOO_SMALL, f"{sla} must be positive"
    yield file, f"approvals/{delegated}", NOT_MAPPING, f"approvals.{delegated} must be a mapping"
    for flag in ("require_principal_binding", "require_scope_visibility"):
        yield file, f"approvals/{delegated}/{flag}", NOT_BOOLEAN, f"{delegated}.{flag} must be a boolean"
    contract = "approval_contracts/#"
    for key in ("contract_id", "capability", "risk_tier", "bundle_version", "release_identity", "on_reject"):
        yield file, f"{contract}/{key}", NOT_STRING, f"Approval field must be a string: {key}"
        yield file, f"{contract}/{key}", MISSING, f"Approval field is required: {key}"
        yield file, f"{contract}/{key}", BLANK, f"Approval field is required: {key}"
    yield file, f"{contract}/allowed_decisions/#", UNSUPPORTED, "Approval decision is not supported: {value}"


def _controls() -> Iterator[_Row]:
    file = "controls.yaml"
    yield from _mapping(file, "Controls policy config", "controls")
    for key in ("require", "block_if", "required_approval_roles"):
        yield from _entries(file, f"controls/{key}", f"controls.{key}", f"controls.{key}")


def _runtime_controls() -> Iterator[_Row]:
    file, root = "runtime-controls.yaml", "runtime_controls"
    yield file, "", ROOT, f"{root} config must be a mapping"
    yield file, root, NOT_MAPPING, f"{root} config must be a mapping"
    yield file, f"{root}/*", NOT_MAPPING, f"{root}.{{name}} config must be a mapping"
    profile = f"{root}/sandbox/sandbox_profile_contract"
    yield file, profile, NOT_MAPPING, f"{root}.sandbox_profile config must be a mapping"


def _envelope() -> Iterator[_Row]:
    file, root = "envelope.yaml", "continuity_envelope"
    yield file, "", ROOT, "Continuity envelope must be ContinuityEnvelope"
    yield file, root, NOT_MAPPING, "Continuity envelope must be ContinuityEnvelope"
    action = (
        *("capability_name", "capability_version", "approval_id", "action_digest", "approval_expires_at"),
        *("idempotency_key", "side_effect_status"),
    )
    always = (
        *("schema_version", "envelope_id", "session_id", "source_trace_id", "tenant_id", "principal_id"),
        *("authorization_mode", "policy_version", "checkpoint_ref"),
    )
    of_action = [(f"{root}/{key}", key) for key in action] + [(f"{root}/actions/#/{key}", key) for key in action]
    of_run = [(f"{root}/{key}", key) for key in (*always, "summary_sha256")]
    delegated = [(f"{root}/{key}", key) for key in ("delegated_principal_id", "delegated_scope")]
    for place, key in (*of_run, *of_action, *delegated):
        yield file, place, NOT_STRING, f"Continuity field must be a string: {key}"
    for place, key in (*of_run, *of_action):
        yield file, place, BLANK, f"Continuity field is required: {key}"
    needed = ("capability_name", "capability_version", "action_digest", "side_effect_status")
    for place in (*(f"{root}/{key}" for key in always), *(f"{root}/actions/#/{key}" for key in needed)):
        yield file, place, MISSING, f"Continuity field is required: {place.rpartition('/')[2]}"
    effect = "Continuity side-effect status is not supported: {value}"
    yield file, f"{root}/side_effect_status", UNSUPPORTED, effect
    yield file, f"{root}/actions/#/side_effect_status", UNSUPPORTED, effect
    yield file, f"{root}/schema_version", UNSUPPORTED, "Continuity schema version is not supported: {value}"
    yield file, f"{root}/authorization_mode", UNSUPPORTED, "Continuity authorization mode is not supported: {value}"
    yield file, f"{root}/summary_sha256", UNSUPPORTED, "Continuity summary digest must use sha256"
    flag = f"{root}/requires_reauthorization"
    yield file, flag, NOT_BOOLEAN, "Continuity reauthorization flag must be a boolean"


def _trajectory() -> Iterator[_Row]:
    file, root, rule = "trajectory.yaml", "trajectory", "trajectory/rules/#"
    yield file, "", ROOT, "Trajectory policy must be TrajectoryPolicy"
    yield file, root, NOT_MAPPING, "Trajectory policy must be TrajectoryPolicy"
    yield file, f"{root}/rules", NOT_LIST, "Trajectory rules must be a tuple"
    yield file, f"{root}/rules", EMPTY_LIST, "Trajectory policy must contain at least one rule"
    yield file, rule, NOT_MAPPING, "Trajectory rules entries must be trajectory rule objects"
    yield file, f"{rule}/kind", UNSUPPORTED, "Trajectory field is not supported: kind={value}"
    identifiers = ("rule_id", "fingerprint_name", "counter_name", "predecessor")
    for path, key in (
        *((f"{root}/{key}", key) for key in ("policy_id", "policy_version")),
        *((f"{rule}/{key}", key) for key in (*identifiers, "kind", "approval_scope", "limit")),
    ):
        yield file, path, NOT_STRING, f"Trajectory field must be a string: {key}"
        yield file, path, BLANK, f"Trajectory field is required: {key}"
        if key in ("policy_id", "policy_version", "rule_id", "kind"):
            # Whether a rule needs another field is a question of its kind, which the reader answers.
            yield file, path, MISSING, f"Trajectory field is required: {key}"
        if key in ("policy_id", "policy_version", *identifiers):
            yield file, path, UNSUPPORTED, f"Trajectory identifier is invalid: {key}"


_SECTIONS = (_trajectory, _policy, _catalog, _agent, _approvals, _controls, _runtime_controls, _envelope)
ROWS: tuple[_Row, ...] = tuple(row for section in _SECTIONS for row in section())
"""Every text of the table."""

_TABLE: Mapping[tuple[str, str], tuple[tuple[tuple[str, ...], str], ...]] = {
    key: tuple((tuple(path.split("/")) if path else (), text) for f, path, c, text in ROWS if (f, c) == key)
    for key in {(file, condition) for file, _, condition, _ in ROWS}
}


def condition_of(keyword: str, wanted: Any, value: Any) -> str:
    """The table's word for a breach of the schema's `keyword`, of which it says `wanted`, by `value`."""
    if keyword == "type":
        return wanted if isinstance(wanted, str) else ""
    if keyword in _BLANKABLE and isinstance(value, str) and not value.strip():
        return KEY_BLANK if keyword == "propertyNames" else BLANK
    return "" if keyword == "propertyNames" else _KEYWORDS.get(keyword, "")


def seed_text(file: str, path: tuple[str | int, ...], condition: str, value: Any = None) -> str | None:
    """The known text for `condition` at `path` of the document `file`, or None when there is none."""
    for pattern, text in _TABLE.get((PurePath(file).name, condition), ()):
        if len(pattern) == len(path) and all(map(_fits, pattern, path)):
            names = [token for part, token in zip(pattern, path, strict=True) if part == ANY_KEY]
            return text.format(name=_shown(names[-1]) if names else "", value=_shown(value))
    return None


def _shown(word: Any) -> str:
    """The word on one line, without what a terminal would act on."""
    return quoted(word)[1:-1]


def _fits(part: str, token: str | int) -> bool:
    if part == ANY_ITEM:
        return isinstance(token, int)
    return isinstance(token, str) and part in (ANY_KEY, token)
