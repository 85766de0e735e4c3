"""What generated inputs start from is in order, so that a change of one rule shows and is not hidden by ten others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.release.diff import decision_diff
from gate.release.diff_batch import Batch, Outcome
from gate.release.diff_boundary import OPERATIONS
from gate.release.diff_documents import Candidate, value_at
from gate.release.diff_inputs import Governed, Material
from gate.release.diff_side import load_side
from gate.release.rego_text import RegoText

pytestmark = pytest.mark.opa

# A bundle that says so refuses whatever is put to it; nothing else may be wrong with a base.
GOVERNED = {
    *("no_rule_permits", "operation_denied", "capability_not_in_inventory", "session_capability_denied"),
    *("session_mode_not_allowed", "elicitation_refused", "approval_reviewer_invalid", "approval_delegate_not_allowed"),
}
# Whether a cached tool list may be used at all, and who may vouch for it, only the bundle knows.
CACHED = {"catalog_snapshot_expired", "evidence_checker_untrusted"}
PERMITTED = {"allow", "reauthorization_required"}


@pytest.fixture(
    scope="module", params=["support-triage", "knowledge-assistant", "incident-coordination"], ids=lambda name: name
)
def decided(request: pytest.FixtureRequest, repo: Path, opa_binary: Path) -> Iterator[list[tuple[Candidate, Outcome]]]:
    side = load_side(repo / "bundles" / request.param)
    with Batch(side.modules, binary=opa_binary) as batch:
        (agent,) = side.agents
        facts = {agent: batch.facts(agent)}
        text = RegoText.read(side.rego(side.agents[agent]))
        material = Material(agent=agent, sides=[Governed(facts=facts[agent], text=text)], changed=[], cases=side.cases)
        bases = material.sound_bases()
        yield list(zip(bases, batch.decide([base.document(facts) for base in bases]), strict=True))


def test_sound_base_is_permitted_or_refused_for_what_the_bundle_says(
    decided: list[tuple[Candidate, Outcome]],
) -> None:
    refused = {base.name: outcome.codes for base, outcome in decided if outcome.verdict not in PERMITTED}
    known = {name: GOVERNED | CACHED if name.endswith("from a cache") else GOVERNED for name in refused}
    assert {name: codes for name, codes in refused.items() if not known[name] & set(codes)} == {}


def test_sound_base_of_every_boundary_that_is_permitted_at_all_is_permitted(
    decided: list[tuple[Candidate, Outcome]],
) -> None:
    crossing = [(base, outcome) for base, outcome in decided if value_at(base.base, ("operation",)) in OPERATIONS]
    assert len(crossing) == 10
    wrong = {b.name: o.codes for b, o in crossing if o.verdict not in PERMITTED and "operation_denied" not in o.codes}
    assert wrong == {}


EDITS = [
    ("continuity.yaml", "max_age_seconds: 86400", "max_age_seconds: 86399"),
    ("continuity.yaml", "  max_boundaries: 50\n", ""),
    ("continuity.yaml", "[objective, evidence_refs]", "[objective]"),
    ("runtime-controls.yaml", "elicitation_policy: non_sensitive_only", "elicitation_policy: refuse"),
]


def test_diff_finds_changes_about_boundaries_and_sessions_without_golden_cases_as_inputs(
    repo: Path, tmp_path: Path, opa_binary: Path
) -> None:
    old = load_side(repo / "bundles" / "support-triage")
    folder = tmp_path / "support-triage"
    shutil.copytree(repo / "bundles" / "support-triage", folder, ignore=shutil.ignore_patterns("cases", "rego"))
    for file, before, after in EDITS:
        text = (folder / file).read_text("utf-8")
        assert before in text
        (folder / file).write_text(text.replace(before, after), "utf-8")
    diff = decision_diff(old, load_side(folder), limit=900, golden=False, binary=opa_binary)
    assert diff.tried["golden"] == 0
    assert {"rehydrate", "compact", "elicit"} <= {change.about for change in diff.changes}
