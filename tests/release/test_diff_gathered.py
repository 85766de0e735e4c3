"""What the gate gathers by the bundle is a difference where two bundles differ in it, though no rule reads it."""

from __future__ import annotations

import copy
import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from gate.release.diff_base import call
from gate.release.diff_batch import Batch
from gate.release.diff_change import change_of
from gate.release.diff_documents import Candidate, value_at
from gate.release.diff_gathered import gathered, instances
from gate.release.diff_inputs import Governed, Material
from gate.release.diff_rego import rego_diff
from gate.release.diff_settled import STANDING
from gate.release.diff_side import load_side
from gate.release.rego_text import RegoText

PAY: dict[str, Any] = {
    "mode": "write",
    "identifying_arguments": ["/charge"],
    "arguments": {
        "type": "object",
        "additionalProperties": False,
        "required": ["charge", "amount"],
        "properties": {
            "charge": {"type": "string", "minLength": 1, "maxLength": 9},
            "amount": {"type": "integer", "minimum": 1, "maximum": 10},
        },
    },
}


def facts(**changes: Any) -> dict[str, Any]:
    entry = {**copy.deepcopy(PAY), **changes}
    return {"capabilities": {"pay": entry}, "contracts": {}, "reviewers": {}, "bundle": {}}


def stated(candidate: Candidate, side: dict[str, Any], *path: str) -> Any:
    return value_at(candidate.document({"a": side}), path)


def made(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Candidate]:
    return {one.name: one for one in gathered(call("a", old, "pay"), [old, new])}


def test_calls_of_capabilities_that_both_sides_take_alike_are_not_made() -> None:
    assert made(facts(), facts(mode="read")) == {}


def test_argument_beyond_the_bound_of_one_side_is_valid_on_the_other_alone() -> None:
    old, new = facts(), facts()
    new["capabilities"]["pay"]["arguments"]["properties"]["amount"]["maximum"] = 20
    found = made(old, new)
    at = ("evidence", "arguments", "valid")
    told = {name: (stated(one, old, *at), stated(one, new, *at)) for name, one in found.items()}
    assert {name for name, (one, two) in told.items() if one != two} == {
        "call pay with amount 11",
        "call pay with amount 19",
        "call pay with amount 20",
    }
    assert told["call pay with amount 21"] == (False, False)
    assert told["call pay with no amount"] == (False, False)
    assert stated(found["call pay with amount 11"], new, "request", "arguments") == {"charge": "sample", "amount": 11}


def test_call_after_a_like_one_is_the_same_effect_only_where_what_identifies_it_is_the_same() -> None:
    old, new = facts(), facts(identifying_arguments=["/charge", "/amount"])
    again = made(old, new)["call pay after one and with amount 2"]
    status = ("state", "side_effect", "status")
    assert [stated(again, side, *status) for side in (old, new)] == ["side_effect_committed", "not_started"]
    without = made(old, new)["call pay after one and with no amount"]
    assert [stated(without, side, "evidence", "arguments", "identified") for side in (old, new)] == [True, False]


def test_approval_that_stands_covers_what_its_contract_leaves_free() -> None:
    contract = {"contract_id": "c", "contract_digest": "sha256:c", "required_reviewers": ["lead"], "quorum": 1}
    contract["runtime_controls"] = {}
    key = {"not_before_ms": 0, "not_after_ms": 1 << 50}
    lead = {"human": "Mia", "roles": ["lead"], "keys": {"k": key}}
    sides = []
    for free in ([], ["/amount"]):
        standing = {"max_uses": 3, "valid_seconds": 60, "scope": "session", "free_arguments": free}
        sides.append({**facts(), "contracts": {"pay": {**contract, "standing": standing}}, "reviewers": {"mia": lead}})
    found = {one.name: one for one in gathered(call("a", sides[0], "pay"), sides)}
    told = {
        name: [stated(one, side, "digests", "standing_digest") == STANDING for side in sides]
        for name, one in found.items()
    }
    assert told == {
        'call pay under what stands and with charge "samply"': [False, False],
        "call pay under what stands and with no charge": [False, False],
        "call pay under what stands and with amount 2": [False, True],
        "call pay under what stands and with amount 0": [False, True],
        "call pay under what stands and with no amount": [False, True],
    }


def test_capability_that_only_one_side_has_is_no_valid_call_on_the_other() -> None:
    old = facts()
    old["capabilities"] = {}
    one = next(iter(gathered(call("a", facts(), "pay"), [facts(), facts(identifying_arguments=[])])))
    assert stated(one, old, "evidence", "arguments", "valid") is False


def test_instances_of_a_nested_schema_stay_within_its_depth() -> None:
    schema: dict[str, Any] = {"enum": ["a"]}
    for _ in range(9):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    assert 0 < len(list(instances(schema, {}))) < 100


FIRST = 600
NEWLY_ALLOWED = ("call search_docs with limit 51", "call create_ticket in a sandbox with secrets")
EDITS = [
    ("capabilities.yaml", "limit: {type: integer, minimum: 1, maximum: 50}", "limit: {type: integer, minimum: 1}"),
    ("runtime-controls.yaml", "      secrets: none", "      secrets: brokered"),
]


@pytest.mark.opa
def test_call_within_what_only_the_new_bundle_takes_is_newly_allowed(
    repo: Path, tmp_path: Path, opa_binary: Path
) -> None:
    folder = Path(shutil.copytree(repo / "bundles" / "support-triage", tmp_path / "support-triage"))
    for file, before, after in EDITS:
        text = (folder / file).read_text("utf-8")
        assert before in text
        (folder / file).write_text(text.replace(before, after), "utf-8")
    sides = [load_side(repo / "bundles" / "support-triage"), load_side(folder)]
    ((agent, package),) = sides[0].agents.items()
    with Batch(sides[0].modules, binary=opa_binary) as one, Batch(sides[1].modules, binary=opa_binary) as two:
        known = [batch.facts(agent) for batch in (one, two)]
        governed = [Governed(facts=k, text=RegoText.read(s.rego(package))) for k, s in zip(known, sides, strict=True)]
        changed = rego_diff(*sides).changed[package]
        inputs = Material(agent=agent, sides=governed, changed=changed, cases=sides[0].cases, golden=False).inputs()
        found = [c for c in itertools.islice(inputs, FIRST) if c.name in NEWLY_ALLOWED and not c.patches]
        outcomes = [
            batch.decide([c.document({agent: k}) for c in found]) for batch, k in zip((one, two), known, strict=True)
        ]
    told = {c.name: change_of(*both) for c, *both in zip(found, *outcomes, strict=True)}
    assert told == dict.fromkeys(NEWLY_ALLOWED, ("newly_allowed", "loosens"))
