from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.decision import Verdict
from gate.errors import PdpError
from gate.pdp.reply import check_status, read_reply

REVISIONS = frozenset({"sample@1+aa"})
SOUND: dict[str, Any] = {
    "provenance": {"bundles": {"gate": {"revision": "sample@1+aa"}}},
    "result": {
        "verdict": "allow",
        "reasons": [
            {
                "code": "configured_allow",
                "verdict": "allow",
                "rule": "cap_210",
                "requirement": "capabilities.search_docs",
                "source": "policy.yaml#/policy/capabilities/search_docs",
                "remedy": "",
            }
        ],
        "obligations": [{"type": "record"}],
        "advice": [],
        "audit": {
            "request_id": "r-1",
            "checkpoint": "tool_execution",
            "operation": "call_tool",
            "trace_id": "t",
            "bundle_id": "b",
            "bundle_version": "1",
            "release_identity": "r",
            "contract_version": "c",
            "capability": "search_docs",
            "controls": [],
        },
    },
}


def paths(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*here, key)
        yield from paths(item, (*here, key))


def changed(path: tuple[Any, ...], *value: Any) -> bytes:
    """A sound reply with what is at `path` replaced, or taken out when no value is given."""
    body = copy.deepcopy(SOUND)
    target = body
    for key in path[:-1]:
        target = target[key]
    if value:
        target[path[-1]] = value[0]
    else:
        del target[path[-1]]
    return json.dumps(body).encode()


def refused(body: bytes) -> str:
    with pytest.raises(PdpError) as caught:
        read_reply(body, request_id="r-1", expected_revisions=REVISIONS)
    return caught.value.code


HARMLESS = {("result", "obligations", 0)}
"""The only thing whose absence leaves another sound reply: one obligation fewer is a rule's own affair."""


@pytest.mark.parametrize("path", [p for p in paths(SOUND) if p not in HARMLESS], ids=str)
def test_reply_without_any_one_part_is_refused(path: tuple[Any, ...]) -> None:
    assert refused(changed(path)).startswith("pdp_")


NULLABLE = {("result", "audit", name) for name in SOUND["result"]["audit"]} - {
    ("result", "audit", "request_id"),
    ("result", "audit", "controls"),
}
"""What a rule may have nothing to say about (`schemas/decision.schema.json`)."""


@pytest.mark.parametrize("path", [p for p in paths(SOUND) if p not in NULLABLE], ids=str)
def test_reply_with_null_in_any_place_is_refused(path: tuple[Any, ...]) -> None:
    assert refused(changed(path, None)).startswith("pdp_")


@pytest.mark.parametrize("value", [True, 1, [[]]])
@pytest.mark.parametrize("path", list(paths(SOUND)), ids=str)
def test_reply_with_a_wrong_type_in_any_place_is_refused(path: tuple[Any, ...], value: Any) -> None:
    assert refused(changed(path, value)).startswith("pdp_")


@given(st.integers(0, len(json.dumps(SOUND))))
def test_reply_cut_anywhere_is_refused(length: int) -> None:
    body = json.dumps(SOUND).encode()
    if length < len(body):
        assert refused(body[:length]) == "pdp_not_json"


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("strictest", list(Verdict))
def test_verdict_is_the_strictest_of_its_reasons_or_refused(verdict: Verdict, strictest: Verdict) -> None:
    reason = SOUND["result"]["reasons"][0]
    weaker = [v for v in Verdict if list(Verdict).index(v) >= list(Verdict).index(strictest)]
    result = {**SOUND["result"], "verdict": verdict, "reasons": [{**reason, "verdict": v} for v in weaker]}
    body = json.dumps({**SOUND, "result": result}).encode()
    if verdict is strictest:
        read = read_reply(body, request_id="r-1", expected_revisions=REVISIONS)
        assert (read.decision.verdict, read.decision.allowed) == (verdict, verdict is Verdict.ALLOW)
    else:
        assert refused(body) == "pdp_decision_inconsistent"


def test_no_status_but_200_is_let_through() -> None:
    let_through = []
    for status in range(100, 600):
        try:
            check_status(status)
        except PdpError:
            continue
        let_through.append(status)
    assert let_through == [200]
