"""What is asked of a decision point: the two questions, and how a document becomes a query.

Pure. Refuses what could not be answered or told apart from another's answer; builds no document itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gate.canonical import MAX_DOCUMENT_BYTES
from gate.errors import PdpError

DECISION_RULE = "data.gate.decision"
"""The one entrypoint of the policies."""

FACTS_RULE = "data.gate.facts.document"
"""What the gate reads from the served bundle before it can ask."""

# Provenance names the revision; strict mode turns a builtin that failed into an error instead of "undefined".
_PARAMETERS = "?provenance=true&strict-builtin-errors=true"
DECISION_PATH = f"/v1/data/gate/decision{_PARAMETERS}"
FACTS_PATH = f"/v1/data/gate/facts/document{_PARAMETERS}"
HEALTH_PATH = "/health?bundles"


def request_id_of(document: Mapping[str, Any]) -> str:
    """The request id a reply must echo; raises `PdpError`, `pdp_document_invalid`, when there is none."""
    request_id = document.get("request_id")
    if type(request_id) is not str or not request_id:
        raise PdpError("the document has no request id", code="pdp_document_invalid")
    return request_id


def facts_document(agent_id: str) -> dict[str, Any]:
    """The document that asks for the facts of the bundle governing `agent_id`."""
    return {"agent": {"agent_id": agent_id}}


def encode(value: Mapping[str, Any], *, ascii_only: bool = False) -> bytes:
    """`value` as JSON in UTF-8, of at most `MAX_DOCUMENT_BYTES` bytes.

    Not the canonical form, which costs more than the round trip. Raises `PdpError` with code
    `pdp_document_invalid` for what is not JSON (NaN and lone surrogates included) and
    `pdp_document_too_large`.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        body = text.encode("utf-8")
        if ascii_only and not text.isascii():
            body = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as exc:
        raise PdpError("the document is not JSON", code="pdp_document_invalid") from exc
    if len(body) > MAX_DOCUMENT_BYTES:
        raise PdpError(f"the document is over {MAX_DOCUMENT_BYTES} bytes", code="pdp_document_too_large")
    return body
