from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from trajectory_support import published

from gate.errors import InputError
from gate.lab.longtask import experiments
from gate.lab.longtask.beside import measure
from gate.lab.longtask.cases import Material
from gate.lab.longtask.fork_story import fork_with_two_subagents
from gate.lab.longtask.hostile import _ORDER, _SECRET, _SHAPED, hostile_output
from gate.lab.longtask.memory_candidates import FOUR, Statement, Surface, missing_for_memory, surfaces
from gate.lab.longtask.schema_reset import reset_after_schema_change
from gate.lab.longtask.scripted_policy import RepairDecision, VisibleSemanticState, decide
from gate.lab.longtask.supplement import Expectation, Section, Supplement, Value
from gate.lab.longtask.trajectory import load
from gate.lab.longtask.variations import run_tests_ablation, third_generation, window_sweep


@pytest.fixture(scope="module")
def material() -> Material:
    return experiments.material(load())


def by(section: Section, column: str) -> dict[Value, dict[str, Value]]:
    return {row[column]: dict(row) for row in section.rows}


def unmet(section: Section) -> list[str]:
    return [one.statement for one in section.expectations if not one.held]


def test_all_sections_are_there_and_everything_expected_came_out() -> None:
    supplement = measure(load())
    assert [section.name for section in supplement.sections] == [
        "run-tests ablation",
        "window sweep",
        "third drift generation",
        "hostile tool output and planted secret",
        "reset after a schema change",
        "fork with two subagents",
        "memory candidates",
    ]
    assert supplement.unmet == ()


def test_published_trajectory_bears_out_the_same_expectations(repo: Path) -> None:
    assert measure(published(repo)).unmet == ()


def test_two_measurements_write_the_same_bytes_without_secret_order_or_path(tmp_path: Path) -> None:
    files = [[path.read_bytes() for path in measure(load()).write(tmp_path / name)] for name in ("one", "two")]
    assert files[0] == files[1]
    text = b"".join(files[0]).decode()
    assert not any(part in text for part in (_SECRET, _ORDER, _SHAPED, "planted-", "gate-fork", str(tmp_path)))


def test_unmet_expectation_fails_the_supplement() -> None:
    section = Section(name="s", about="a", rows=({"x": None},), expectations=(Expectation("it holds", False),))
    supplement = Supplement((section,))
    assert supplement.unmet == ("it holds",)
    assert json.loads(supplement.as_json())["run_status"] == "failed"
    assert "- [ ] it holds" in supplement.as_markdown()
    assert "| — |" in supplement.as_markdown()


def test_supplement_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        Supplement(()).write(tmp_path / "file")
    assert caught.value.code == "report_unwritable"


# --- ablation, sweep, generations ----------------------------------------------------------------------------------


def test_ablation_of_the_opening_story_repeats_the_rounding_attempt(material: Material) -> None:
    rows = {(row["next_step"], row["hidden"]): row["decision"] for row in run_tests_ablation(material).rows}
    hidden = "legacy-test-failing, rounding-only-rejected"
    assert rows["run-tests", hidden] == "repeat_rounding_attempt"
    assert rows["apply-compatible-patch", hidden] == "needs_context"
    assert rows["run-tests", ""] == "apply_legacy_compatible_patch"


def test_ablation_over_a_policy_that_repeats_nothing_is_not_borne_out(material: Material) -> None:
    def careful(state: VisibleSemanticState) -> RepairDecision:
        return decide(dataclasses.replace(state, checkpoint_next_step="apply-compatible-patch"))

    assert len(unmet(run_tests_ablation(dataclasses.replace(material, policy=careful)))) == 1


def test_sweep_finds_the_first_window_with_the_signature(material: Material) -> None:
    rows = by(window_sweep(material), "keep_events")
    assert list(rows) == list(range(25))
    assert [size for size, row in rows.items() if row["negative_constraint"] == 1.0] == [23, 24]
    assert (rows[8]["bytes_after"], rows[8]["constraint"], rows[8]["decision"]) == (
        4375,
        0.5,
        "unsafe_signature_change",
    )
    assert rows[24]["bytes_after"] == 12117
    assert (rows[23]["acceptance"], rows[23]["decision"]) == (2 / 3, "apply_legacy_compatible_patch")


def test_sweep_of_the_published_trajectory_has_the_published_window(repo: Path) -> None:
    rows = by(window_sweep(experiments.material(published(repo))), "keep_events")
    assert rows[8]["bytes_after"] == 4337


def test_third_generation_of_each_chain(material: Material) -> None:
    rows = {(row["chain"], row["generation"]): row for row in third_generation(material).rows}
    assert [rows["from the last summary", n]["bytes"] for n in (1, 2, 3)] == [877, 16, 16]
    assert [rows["from the last summary", n]["drift"] for n in (1, 2, 3)] == [None] * 3
    assert [rows["from the log", n]["drift"] for n in (1, 2, 3)] == [""] * 3
    assert rows["from the last artifact", 2]["stops"] == ""
    assert rows["from the last artifact", 3]["stops"] == (
        "open_issue_closed_without_verification, required_item_missing"
    )
    assert "verification_changed_without_event" in str(rows["from the last artifact", 3]["drift"])


# --- attack, reset, fork, memory -----------------------------------------------------------------------------------


def test_hostile_order_and_secret_by_path(material: Material) -> None:
    rows = by(hostile_output(material), "path")
    packet = rows["packet of the latter"]
    assert (packet["order"], packet["order_marks"]) == ("selected_as_data", 0)
    assert (packet["labelled_secret"], packet["shaped_secret"], packet["unlabelled_secret"]) == (False, False, True)
    assert packet["secret_in_trace"] is False
    assert rows["own compactor, honest"]["drift"] == ""
    assert rows["own compactor, labelled secret"]["refused"] == "secret_event_payload"
    assert rows["own compactor, secret by its shape"]["refused"] == "secret_event_payload"
    assert rows["append all"]["shaped_secret"] is True
    assert rows["own compactor, obeys the text"]["order_authority"] == "user"
    assert rows["structured, tool outputs declared too"]["labelled_secret"] is True


def test_reset_goes_on_over_the_same_schema_only() -> None:
    rows = by(reset_after_schema_change(), "variant")
    assert {str(name): (row["resumed"], row["reason"]) for name, row in rows.items()} == {
        "nothing changed": (True, None),
        "specification edited": (False, "locator_stale"),
        "specification gone": (False, "locator_missing"),
        "schema changed": (False, "stale_workspace_digest"),
        "hand-over without the way back": (False, "missing_required_carry_items"),
        "observed again, new hand-over": (True, None),
    }


def test_fork_brings_back_what_was_verified_again_only(material: Material) -> None:
    section = fork_with_two_subagents(material)
    assert [(row["state"], row["reason"]) for row in section.rows] == [
        ("passed", None),
        ("failed", None),
        (None, "checkpoint_run_mismatch"),
        (None, "artifact_source_range_mismatch"),
        ("stale", None),
        ("stale", "stale_workspace_digest"),
        ("passed", None),
    ]
    assert unmet(section) == []


def test_the_four_statements_are_placed_by_their_facts() -> None:
    assert [surfaces(one) for one in FOUR] == [
        (Surface.ARTIFACT,),
        (Surface.WORKING_SET, Surface.ARTIFACT),
        (Surface.WORKSPACE, Surface.ARTIFACT),
        (Surface.WORKING_SET,),
    ]
    assert surfaces(Statement(name="nothing is known of it")) == (Surface.NOWHERE,)
    assert surfaces(Statement(name="next step", says_where_to_go_on=True)) == (Surface.RUN_CHECKPOINT,)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({}, ()),
        ({"consent": False}, ("consent",)),
        ({"owner": ""}, ("owner",)),
        ({"scoped": False}, ("scope",)),
        ({"expires": False}, ("expiry",)),
        ({"verified": False}, ("verified",)),
        ({"useful_after_task": False}, ("useful after the task",)),
        ({"external_product": True}, ("no other owner of record",)),
    ],
)
def test_memory_candidate_lacks_nothing(change: dict[str, bool | str], missing: tuple[str, ...]) -> None:
    whole = Statement(
        name="a preference",
        useful_after_task=True,
        owner="user",
        consent=True,
        scoped=True,
        expires=True,
        verified=True,
    )
    one = dataclasses.replace(whole, **change)  # type: ignore[arg-type]
    assert missing_for_memory(one) == missing
    assert (Surface.MEMORY_CANDIDATE in surfaces(one)) is (not missing)
