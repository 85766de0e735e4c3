"""What no rule can tell apart is proven, and nothing else is."""

from __future__ import annotations

import pytest

from gate.release.mutants_same import indistinct
from gate.release.rego_text import RegoText, Rule

CORE = {
    "gate/mcp/mcp.rego": '_may if router.mcp_controls.handling == "approve"\n\n# handling is said here',
}


def rules(text: str) -> tuple[Rule, ...]:
    return RegoText.read({"x.rego": text}).rules


def told(before: str, after: str, core: dict[str, str] | None = None, own: str = "") -> bool:
    head = "package gate.bundles.x\n\n"
    changed = [*rules(head + before), *rules(head + after)]
    return indistinct(changed, CORE if core is None else core, RegoText.read({"x.rego": head + own}))


DENY, REFUSE, APPROVE = (f'mcp_controls["handling"] := "{word}"' for word in ("deny", "refuse", "approve"))


def test_values_that_a_rule_compares_with_neither_of_are_indistinct_and_so_is_a_value_left_out() -> None:
    assert (told(DENY, REFUSE), told(DENY, "")) == (True, True)


def test_value_that_a_rule_compares_with_is_told_apart() -> None:
    assert (told(DENY, APPROVE), told(APPROVE, "")) == (False, False)


@pytest.mark.parametrize(
    "rule",
    [
        "_may if router.mcp_controls[name] == 1",
        "_may := router.mcp_controls.handling",
        '_may if object.get(router.mcp_controls, "handling", "") != "x"',
        "_may if input.evidence.mcp.kind in router.mcp_controls.handling",
        "_may if router.mcp_controls.handling != router.other",
    ],
)
def test_value_that_is_read_in_any_other_way_is_not_proven_indistinct(rule: str) -> None:
    assert told(DENY, REFUSE, {"gate/a.rego": rule}) is False


def test_value_that_the_bundle_itself_reads_is_not_proven_indistinct() -> None:
    assert told(DENY, REFUSE, own="_may if mcp_controls.handling != 1") is False


def test_rule_that_is_more_than_data_is_not_proven_indistinct() -> None:
    assert told('_may if input.operation == "emit"', "") is False


def test_nothing_changed_is_no_proof() -> None:
    assert told("", "") is False


LOW, MEDIUM, HIGH = (f'catalog["a"] := {{"risk_tier": "{word}", "mode": "read"}}' for word in ("low", "medium", "high"))
TIERS = {"gate/a.rego": '_calm if router.capability.risk_tier in {"low", "medium"}'}


def test_values_that_a_rule_lets_pass_alike_are_indistinct() -> None:
    assert (told(LOW, MEDIUM, TIERS), told(LOW, HIGH, TIERS)) == (True, False)
    assert told(LOW, 'catalog["a"] := {"mode": "read"}', TIERS) is False


@pytest.mark.parametrize(("stated", "same"), [('["low", "high"]', True), ('["low"]', False), ('"low"', False)])
def test_values_are_held_against_a_list_of_the_bundle_that_did_not_change(stated: str, same: bool) -> None:
    core = {"gate/a.rego": "_calm if router.capability.risk_tier in router.bundle.tiers"}
    envelope = f'bundle := {{"tiers": {stated}}}'
    assert told(LOW, HIGH, core, own=envelope) is same
    assert told(f"{LOW}\n\n{envelope}", f'{HIGH}\n\nbundle := {{"tiers": []}}', core, own=envelope) is False


def test_field_of_the_document_by_the_same_name_is_another_field() -> None:
    read = "_calm := input.state.risk_tier.status"
    assert told(LOW, HIGH, {"gate/a.rego": read}) is True
    assert told(LOW, HIGH, {"gate/a.rego": "_calm := catalog[input.request.capability].risk_tier"}) is False


def test_value_left_out_is_indistinct_from_the_default_of_its_only_reader() -> None:
    core = {"gate/a.rego": 'default _how := "deny"\n\n_how := router.mcp_controls.handling'}
    assert (told(DENY, "", core), told(REFUSE, "", core), told(DENY, REFUSE, core)) == (True, False, False)


@pytest.mark.parametrize(
    ("own", "same"),
    [("", True), ('call_controls["wanted"] := false', True), ('call_controls["wanted"] := true', False)],
)
def test_one_way_in_which_a_rule_holds_is_no_matter_while_another_holds_on_both_sides(own: str, same: bool) -> None:
    core = {
        "gate/a.rego": '_calm if router.call_controls.wanted == false\n\n_calm if router.capability.risk_tier == "low"',
        "gate/router/router.rego": 'default call_controls := {\n\t"wanted": false,\n}',
    }
    assert told(LOW, HIGH, core, own=own) is same
    assert told(f"{LOW}\n\n{own}", f'{HIGH}\n\ncall_controls["wanted"] := true', core, own=own) is False


def test_version_that_follows_from_the_text_is_no_difference_by_itself() -> None:
    entry = 'catalog["a"] := {{"capability_version": "{}", "arguments_digest": "{}"}}'
    assert told(entry.format("v1", "d1"), entry.format("v2", "d1")) is True
    assert told(entry.format("v1", "d1"), entry.format("v2", "d2")) is False


@pytest.mark.parametrize(("record", "same"), [("null", True), ('{"posture": "pilot"}', False)])
def test_digest_that_a_record_is_held_against_is_no_difference_while_there_is_none(record: str, same: bool) -> None:
    core = {"gate/a.rego": "_current if router.compaction.record.digests.tools == router.compaction.digests.tools"}
    own = f'compaction["record"] := {record}'
    sides = [f'compaction["digests"] := {{"tools": "sha256:{digit}"}}' for digit in "12"]
    assert told(*sides, core, own=own) is same
    assert told(f"{sides[0]}\n\n{own}", f'{sides[1]}\n\ncompaction["record"] := {{"x": 1}}', core, own=own) is False


def test_entries_of_a_list_that_swap_what_they_say_are_no_proof() -> None:
    stated = 'x["required"] := [{"scope": ["a"]}, {"scope": ["a", "b"]}]'
    swapped = 'x["required"] := [{"scope": ["a", "b"]}, {"scope": ["a"]}]'
    digests = [f'y["d"] := {{"capability_version": "{digit}"}}' for digit in "12"]
    assert told(f"{stated}\n\n{digests[0]}", f"{swapped}\n\n{digests[1]}", {}) is False
