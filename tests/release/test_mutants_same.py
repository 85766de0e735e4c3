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
