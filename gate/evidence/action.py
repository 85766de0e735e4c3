"""The frozen action: canonical bytes, digests and business key of a call, computed by the gate alone.

Pure but for a cache of compiled argument schemas. Decides nothing: whether arguments match their schema is a fact for
Rego, and a call about which too little is known gets null digests, which no rule permits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gate.canonical import canonical_bytes, digest, digest_bytes, parse
from gate.documents import argument_validator, pointer_of, tokens_of, visible
from gate.evidence.host import ABSENT, Call, Run

MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A call that can no longer change."""

    argument_bytes: bytes | None
    """Canonical bytes of the arguments; None when none were passed."""
    arguments_digest: str
    action_digest: str | None
    """Binds who acts for whom, where, what, with which arguments and under which release.

    None when the bundle does not know the capability.
    """
    intent_digest: str | None
    """The action without idempotency key and bundle version: what a rejection is remembered by."""
    standing_digest: str | None
    """The intent without what the contract lets vary: what a standing approval is for. None without such a contract."""
    business_key: str | None
    """Digest of the identifying arguments: two calls with the same one are the same effect."""
    arguments_valid: bool
    identified: bool
    """Every identifying argument resolved to a value."""

    def fresh_arguments(self) -> Any:
        """A new parse of the digested bytes, for the tool: never the caller's own mutable object."""
        return None if self.argument_bytes is None else parse(self.argument_bytes)


def freeze(
    run: Run,
    call: Call,
    *,
    bundle: Mapping[str, Any] | None,
    capability: Mapping[str, Any] | None,
    contract: Mapping[str, Any] | None = None,
    tool_definition: str | None = None,
) -> Action:
    """Freezes `call`. Raises `InputError` (`json_*`) for arguments that have no canonical form.

    `tool_definition`: digest of what the tool's server offers under that name now; another tool is another action.
    """
    argument_bytes = None if call.arguments is ABSENT else canonical_bytes(call.arguments)
    # Absent, null and {} are three actions: the first has no `value` at all.
    arguments = {"absent": True} if argument_bytes is None else {"value": parse(argument_bytes)}
    found = digest(arguments)
    if bundle is None or capability is None:
        return Action(
            argument_bytes=argument_bytes,
            arguments_digest=found,
            action_digest=None,
            intent_digest=None,
            standing_digest=None,
            business_key=None,
            arguments_valid=False,
            identified=False,
        )
    identity = run.identity
    intent = {
        "domain": "gate-intent/v1",
        "tenant_id": identity.tenant_id,
        "principal_id": identity.principal_id,
        "authorization_mode": identity.authorization_mode,
        "delegated_principal_id": identity.delegated_principal_id,
        "delegated_scope": identity.delegated_scope,
        "agent_id": run.agent_id,
        "session_id": run.session_id,
        "server": capability.get("server"),
        "capability": call.capability,
        "capability_version": capability["capability_version"],
        "tool_definition": tool_definition,
        "arguments": arguments,
        "resource": call.resource,
        "release_identity": bundle["release_identity"],
    }
    action = {
        **intent,
        "domain": "gate-action/v1",
        "idempotency_key": call.idempotency_key,
        "bundle_version": bundle["version"],
    }
    key = _business_key(call.capability, capability, arguments.get("value", MISSING))
    return Action(
        argument_bytes=argument_bytes,
        arguments_digest=found,
        action_digest=digest(action),
        intent_digest=digest(intent),
        standing_digest=_standing_digest(intent, None if contract is None else contract.get("standing")),
        business_key=key,
        arguments_valid="value" in arguments and _valid(capability, arguments["value"]),
        identified=key is not None,
    )


def _standing_digest(intent: Mapping[str, Any], terms: Mapping[str, Any] | None) -> str | None:
    """Digest of the intent as far as the contract's `terms` bind it; the terms are part of what is digested."""
    if terms is None:
        return None
    stands = {**intent, "domain": "gate-standing/v1", "terms": dict(terms)}
    if terms["scope"] == "principal":
        del stands["session_id"]
    if "value" in intent["arguments"]:
        # A copy, because the intent has been digested from the same object.
        bound = parse(canonical_bytes(intent["arguments"]["value"]))
        for pointer in terms["free_arguments"]:
            _forget(bound, pointer)
        stands["arguments"] = {"value": bound}
    return digest(stands)


def _forget(document: Any, pointer: str) -> None:
    *parents, last = tokens_of(pointer)
    node = resolve(document, pointer_of(*parents)) if parents else document
    if isinstance(node, dict):
        node.pop(last, None)


def arguments_digest(arguments: Any) -> str:
    """The digest of a call's arguments, as `freeze` computes it. Raises `InputError` (`json_*`)."""
    return digest({"absent": True} if arguments is ABSENT else {"value": parse(canonical_bytes(arguments))})


def _business_key(name: str, capability: Mapping[str, Any], arguments: Any) -> str | None:
    pointers = capability.get("identifying_arguments")
    if not isinstance(pointers, list) or not pointers:
        return None
    values = [[pointer, resolve(arguments, pointer)] for pointer in pointers]
    if any(value is MISSING or value is None for _, value in values):
        return None
    return digest({"domain": "gate-business-key/v1", "capability": name, "identified_by": values})


def resolve(document: Any, pointer: str) -> Any:
    """The value at an RFC 6901 pointer, or `MISSING`."""
    for name in tokens_of(pointer):
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isascii() and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return MISSING
    return document


def _valid(capability: Mapping[str, Any], arguments: Any) -> bool:
    schema = json.dumps(capability["arguments"], sort_keys=True)
    return bool(_validator(schema).is_valid(arguments))


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    return argument_validator(json.loads(schema))


def redacted_view(action: Action, shown: list[str]) -> dict[str, Any]:
    """What a reviewer sees: arguments at the `shown` pointers as they are, every other leaf as its digest.

    Keys are JSON pointers; values are `{"value": …}` or `{"digest": "sha256:…"}`. A text in which something hides or
    passes for something else has `"shown"` besides: the same with that escaped, and so for a pointer.
    """
    if action.argument_bytes is None:
        return {}
    return dict(_leaves("", parse(action.argument_bytes), frozenset(shown)))


def _shown(pointer: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else canonical_bytes(value).decode("utf-8")
    plain = visible(text) == text and visible(pointer) == pointer
    return {"value": value} if plain else {"value": value, "shown": visible(text)}


def _leaves(pointer: str, value: Any, shown: frozenset[str]) -> list[tuple[str, dict[str, Any]]]:
    if pointer in shown:
        return [(pointer, _shown(pointer, value))]
    if isinstance(value, dict) and value:
        return [leaf for name, item in value.items() for leaf in _leaves(pointer + pointer_of(name), item, shown)]
    if isinstance(value, list) and value:
        return [leaf for i, item in enumerate(value) for leaf in _leaves(f"{pointer}/{i}", item, shown)]
    return [(pointer, {"digest": digest_bytes(canonical_bytes(value))})]
