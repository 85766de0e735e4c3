"""What a decision point's answer must look like before anybody may act on it.

Pure: no network, no clock. Fills no gap with a default, and never quotes the body, which can hold a
caller's input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import fastjsonschema

from gate import canonical
from gate.decision import Decision, Verdict
from gate.errors import InputError, PdpError
from gate.pdp.protocol import Facts, Reply

MAX_REPLY_BYTES = canonical.MAX_DOCUMENT_BYTES
"""Limit of one decision in bytes."""

MAX_FACTS_BYTES = 16 * 1_048_576
"""Limit of the facts of one bundle in bytes: ten thousand catalog entries with argument schemas fit."""

_RANK = {verdict: rank for rank, verdict in enumerate(Verdict)}
_STATUS = {400: "pdp_bad_request", 401: "pdp_unauthorized", 403: "pdp_unauthorized", 404: "pdp_not_found"}
_FACTS_KEYS = frozenset(
    {"bundle", "capabilities", "contracts", "reviewers", "show_arguments", "evidence", "trajectory", "plans"}
)
_BUNDLE_KEYS = frozenset({"bundle_id", "version", "release_identity", "contract_version"})


def check_status(status: int) -> None:
    """Returns for 200 only; raises `PdpError` with a code for each kind of refusal otherwise."""
    if status == 200:
        return
    code = _STATUS.get(status)
    if code is None:
        family = status // 100
        code = "pdp_redirected" if family == 3 else "pdp_server_error" if family == 5 else "pdp_http_status"
    raise PdpError(f"the decision point answered with HTTP status {status}", code=code)


def read_reply(body: bytes, *, request_id: str, expected_revisions: frozenset[str]) -> Reply:
    """The decision in `body`, as OPA sends it, after every check; raises `PdpError` with a `pdp_*` code."""
    return check_reply(_parse(body, MAX_REPLY_BYTES), request_id=request_id, expected_revisions=expected_revisions)


def check_reply(reply: Any, *, request_id: str, expected_revisions: frozenset[str]) -> Reply:
    """As `read_reply`, for a reply that was parsed strictly already."""
    result = _result(reply)
    _check_decision(result)
    revision = _revision(reply, expected_revisions)
    if result["audit"]["request_id"] != request_id:
        raise PdpError("the decision is about another request", code="pdp_request_id_mismatch")
    decision = Decision.from_result(result, revision=revision)
    strictest = min((_RANK[reason.verdict] for reason in decision.reasons), default=None)
    # Strictest of all reasons being `allow` is also what makes an allow without a permitting rule impossible.
    if strictest != _RANK[decision.verdict]:
        raise PdpError("the verdict does not follow from its reasons", code="pdp_decision_inconsistent")
    return Reply(decision, revision)


def read_facts(body: bytes, *, expected_revisions: frozenset[str]) -> Facts:
    """The facts in `body` after every check; raises `PdpError` with a `pdp_*` code."""
    return check_facts(_parse(body, MAX_FACTS_BYTES), expected_revisions=expected_revisions)


def check_facts(reply: Any, *, expected_revisions: frozenset[str]) -> Facts:
    """As `read_facts`, for a reply that was parsed strictly already."""
    result = _result(reply)
    _exactly(result, _FACTS_KEYS)
    bundle = result["bundle"]
    if bundle is not None:
        if type(bundle) is not dict:
            raise _invalid()
        _exactly(bundle, _BUNDLE_KEYS)
        for name, value in bundle.items():
            absent_contract = name == "contract_version" and value is None
            if not absent_contract and not (type(value) is str and value):
                raise _invalid()
    for section in ("capabilities", "contracts", "reviewers", "evidence", "trajectory", "plans"):
        _check_section(result[section], dict)
    _check_section(result["show_arguments"], list)
    for pointers in result["show_arguments"].values():
        if not all(type(pointer) is str for pointer in pointers):
            raise _invalid()
    return Facts(
        revision=_revision(reply, expected_revisions),
        bundle=None if bundle is None else MappingProxyType(bundle),
        capabilities=MappingProxyType(result["capabilities"]),
        contracts=MappingProxyType(result["contracts"]),
        reviewers=MappingProxyType(result["reviewers"]),
        show_arguments=MappingProxyType(result["show_arguments"]),
        evidence=MappingProxyType(result["evidence"]),
        trajectory=MappingProxyType(result["trajectory"]),
        plans=MappingProxyType(result["plans"]),
    )


def _parse(body: bytes, limit: int) -> Any:
    try:
        return canonical.parse(body, max_bytes=limit)
    except InputError as exc:
        if exc.code == "json_too_large":
            raise PdpError(f"the reply is over {limit} bytes", code="pdp_reply_too_large") from exc
        if exc.code in {"json_malformed", "json_not_utf8"}:
            raise PdpError("the reply is not JSON", code="pdp_not_json") from exc
        # Duplicate keys, NaN, unsafe integers: two readers could take two decisions out of it.
        raise PdpError("the reply is JSON with more than one reading", code="pdp_json_ambiguous") from exc


def _result(reply: Any) -> dict[str, Any]:
    if type(reply) is not dict:
        raise PdpError("the reply is JSON but not an object", code="pdp_result_not_object")
    if "result" not in reply:
        raise PdpError("the decision is undefined in the served bundle", code="pdp_result_undefined")
    result = reply["result"]
    if result is None:
        raise PdpError("the decision is null", code="pdp_result_null")
    if type(result) is not dict:
        raise PdpError("the decision is not an object", code="pdp_result_not_object")
    return result


def _revision(reply: Mapping[str, Any], expected: frozenset[str]) -> str:
    provenance = reply.get("provenance")
    bundles = provenance.get("bundles") if type(provenance) is dict else None
    if type(bundles) is not dict or not bundles:
        raise PdpError("the reply does not say which bundle it came from", code="pdp_provenance_missing")
    if len(bundles) > 1:
        raise PdpError("the reply names more than one bundle", code="pdp_provenance_ambiguous")
    (entry,) = bundles.values()
    revision = entry.get("revision") if type(entry) is dict else None
    if type(revision) is not str or not revision:
        raise PdpError("the reply does not say which bundle it came from", code="pdp_provenance_missing")
    if revision not in expected:
        raise PdpError(
            "the decision point serves another revision than the one pinned",
            code="pdp_revision_unexpected",
            hint="serve the pinned bundle, or pin the revision that is served",
        )
    return revision


def _check_decision(result: dict[str, Any]) -> None:
    try:
        _decision_validator()(result)
    except fastjsonschema.JsonSchemaValueException as exc:
        # `from None`: the exception carries the whole value, which must not reach a traceback.
        raise _by_rule(exc) from None


def _by_rule(exc: fastjsonschema.JsonSchemaValueException) -> PdpError:
    if exc.rule == "required":
        return PdpError("the decision lacks a field", code="pdp_result_incomplete")
    if exc.rule == "additionalProperties":
        return PdpError("the decision has a field nobody declared", code="pdp_result_unexpected_field")
    if str(exc.name).endswith("verdict"):
        return PdpError("the verdict is not in the closed set", code="pdp_verdict_unknown")
    return _invalid()


def _invalid() -> PdpError:
    return PdpError("the reply does not match its schema", code="pdp_result_invalid")


@cache
def _decision_validator() -> Callable[[Any], Any]:
    from gate.documents.resources import (
        schema,
    )  # a lookup in files, wanted once and only by who reads replies

    validator: Callable[[Any], Any] = fastjsonschema.compile(schema("decision"), use_default=False)
    return validator


def _exactly(value: Mapping[str, Any], keys: frozenset[str]) -> None:
    if keys - value.keys():
        raise PdpError("the facts lack a field", code="pdp_result_incomplete")
    if value.keys() - keys:
        raise PdpError("the facts have a field nobody declared", code="pdp_result_unexpected_field")


def _check_section(section: Any, kind: type) -> None:
    if type(section) is not dict or not all(type(item) is kind for item in section.values()):
        raise _invalid()
