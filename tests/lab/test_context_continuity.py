from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from resume_support import ORDER, resume
from trajectory_support import published

from gate.errors import InputError
from gate.lab.longtask import experiments
from gate.lab.longtask.cases import UNSUPPORTED, Group
from gate.lab.longtask.grading import ContinuityGrade, grade, integrity, post_resume, retention
from gate.lab.longtask.report import Report
from gate.lab.longtask.run import PUBLISHED, assess, groups, run
from gate.lab.longtask.scripted_policy import RepairDecision, VisibleSemanticState, decide
from gate.lab.longtask.trace_contract import REQUIRED
from gate.lab.longtask.trajectory import (
    CURSOR,
    FAILING_TEST,
    GOAL,
    OPEN_ISSUE,
    PUBLISHED_DIGEST,
    REJECTED,
    Trajectory,
    build_config,
    checkpoint,
    load,
    seed,
)
from gate.longtask.canonical_form import canonical_text, digest, plain, serialized_bytes
from gate.longtask.events import EventRecord, LongTaskError
from gate.longtask.packet import build_packet
from gate.longtask.selection import TASK_CONTRACT, candidates, select
from gate.longtask.strategies import structured_artifact

APPLY, UNSAFE = "apply_legacy_compatible_patch", "unsafe_signature_change"

CUMULATIVE = [
    *(740, 1196, 1650, 2151, 2624, 3084, 3522, 3950, 4400, 4877, 5354, 5809, 6313, 6764, 7580, 8057, 8532, 9008),
    *(9472, 9973, 10413, 10892, 11373, 12108, 12589, 13045, 13513, 13990, 14417, 14867),
]

# goal, acceptance, constraint, negative, open, rejected, locator, resume, duplicate, false completion, packet, decision
ROWS: dict[str, tuple[Any, ...]] = {
    "append-all-cursor-08": (True, 1, 1, 1, 1, 1, None, None, None, False, None, None),
    "append-all-cursor-24": (True, 1, 1, 1, 1, 1, None, None, None, False, None, APPLY),
    "sliding-window-8-events": (True, 0, 0.5, 0, 0, 1, None, None, None, False, None, UNSAFE),
    "summary-only-v1": (True, 0, 0, 0, 0, 0, None, None, None, False, None, UNSAFE),
    "structured-compaction-v1": (True, 1, 1, 1, 1, 1, 1, None, None, False, None, APPLY),
    "checkpoint-only-v1": (True, 0, 0, 0, 0, 0, None, None, None, False, None, UNSAFE),
    "rehydrated-context-v1": (True, 1, 1, 1, 1, 1, 1, True, 0, False, True, APPLY),
    "summary-generation-1": (True, 0, 0, 0, 0, 0, None, None, None, False, None, UNSAFE),
    "summary-generation-2": (True, 0, 0, 0, 0, 0, None, None, None, False, None, UNSAFE),
    "structured-regenerated-v1": (True, 1, 1, 1, 1, 1, 1, None, None, False, None, APPLY),
    "early-constraint-loss": (True, 0, 0.5, 0, 0, 1, None, None, None, False, None, UNSAFE),
    "omitted-open-failure": (True, 1, 1, 1, 0, 1, None, None, None, True, None, "injected_summary_claims_complete"),
    "workspace-digest-mismatch": (False, 0, 0, 0, 0, 0, *[None] * 3, False, None, "rejected_stale_workspace_digest"),
    "unsupported-artifact-schema": (False, 0, 0, 0, 0, 0, *[None] * 3, False, None, "rejected_artifact_schema"),
    "corrupt-artifact-source-digest": (
        *(False, 0, 0, 0, 0, 0, *[None] * 3, False, None),
        "rejected_artifact_source_digest_mismatch",
    ),
}


@pytest.fixture(scope="module")
def original(repo: Path) -> Trajectory:
    return published(repo)


@pytest.fixture(scope="module")
def own() -> Trajectory:
    return load()


@pytest.fixture(scope="module")
def measured(own: Trajectory) -> tuple[Group, ...]:
    return groups(own)


def rows(report: Report) -> dict[str, tuple[Any, ...]]:
    """Every cell of each row but the sizes, the trace contract and the claims."""
    return {
        case.variant: (
            *(value for name, value in plain(case.grade).items() if name != "trace_contract_passed"),
            case.decision_kind,
        )
        for case in report.cases
    }


def sizes(report: Report) -> dict[str, tuple[int, int]]:
    return {case.variant: (case.serialized_bytes_before, case.serialized_bytes_after) for case in report.cases}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest().upper()


# --- the published figures -----------------------------------------------------------------------------------------


def test_published_trajectory_has_its_digest_and_sizes(original: Trajectory) -> None:
    events = original.events
    assert original.published
    assert digest(events) == PUBLISHED_DIGEST
    assert digest(events[0]) == "e5f865e75696da18cdf93b5761288c6254ba9088d2c64e38d244a805c257cb4b"
    assert [serialized_bytes(events[: count + 1]) for count in range(30)] == CUMULATIVE


def test_published_artifact_checkpoint_and_packet_have_their_digests(original: Trajectory) -> None:
    artifact = structured_artifact(original.prefix, seed())
    point = checkpoint(artifact.artifact_id, artifact.workspace_digest)
    config = build_config(artifact)
    selected, _ = select(artifact, [(TASK_CONTRACT, artifact.goal)])
    built = build_packet(candidates(selected, artifact=artifact, checkpoint=point, config=config), config)
    packet = built.packet
    assert artifact.source_digest == "b189c6f263bb413cbb701a5daacf04a52ab1d2e9e249fe76b7172527c03274e0"
    assert artifact.artifact_id == "cmp-7a99a1f0ba7efc98"
    assert digest(artifact) == "ec50576b25764da45e69647f4e479a2769d4f2deb71d7b68469f00ee5f0ac48c"
    assert (serialized_bytes(artifact), len(artifact.evidence_locators)) == (7260, 15)
    assert digest(point) == "6f6b50326c9de64399fdf5312b9c7bb8447709bb9b13b6aad4f6228666ba3d50"
    assert serialized_bytes(point) == 298
    assert packet.semantic_packet_digest == "dc3a9a1b857588e71eef5c2fb16aff68f9ba343675c9292ceef8260b108828f8"
    assert (packet.budget_used, packet.selected_required_units, packet.requirement_evidence_units) == (964, 887, 887)
    assert {entry.item_id for entry in built.trace if entry.reason == "conflict_visible"} == {
        *(OPEN_ISSUE, FAILING_TEST)
    }


def test_published_rows_come_out(original: Trajectory) -> None:
    report = run(original)
    assert report.run_status == "passed"
    assert rows(report) == ROWS
    assert sizes(report) == {variant: wanted[:2] for (_, variant), wanted in PUBLISHED.items()}


def test_published_files_come_out_to_the_byte(original: Trajectory, tmp_path: Path) -> None:
    found = [hashlib.sha256(path.read_bytes()).hexdigest().upper() for path in run(original).write(tmp_path)]
    assert found == [
        "50CBBC74C8D938D619DAB131F8D37BBB8443162C1FEA74233C90FD6EB3686E5E",
        "F05FBA8F7A4EF7177EA7FE1B1FA18F8CC7528BD9D806D0FEEB1AFF86F87CE107",
        "CBCC12216DF02182D9E5B4F64A3A1B29EF9554140877E33CBC986FE69604EB96",
    ]


def test_a_changed_size_fails_the_published_run_only(original: Trajectory) -> None:
    cut = _with_case(groups(original), "summary-only-v1", serialized_bytes_after=842)
    assert assess(cut, published=True).run_status == "failed"
    assert assess(cut, published=False).run_status == "passed"


def test_own_trajectory_has_the_published_one_s_keys_kinds_and_sources(original: Trajectory, own: Trajectory) -> None:
    def shape(events: tuple[EventRecord, ...]) -> list[Any]:
        bare = plain(events)
        for event in bare:
            for item in event["carry_items"]:
                del item["content"]
        return list(bare)

    def said(events: tuple[EventRecord, ...]) -> list[str]:
        return [item.content for event in events for item in event.carry_items]

    assert shape(own.events) == shape(original.events)
    assert set(said(own.events)) & set(said(original.events)) == set()


# --- the repository's own trajectory -------------------------------------------------------------------------------


def test_own_trajectory_is_frozen(own: Trajectory) -> None:
    assert digest(own.events) == "aed00bd6af3f0a302e8ea387e189284952118fbb3f8386b5008f14299d67ef90"
    assert not own.published
    assert [event.event_id for event in own.events] == [f"evt-{number:03d}" for number in range(1, 31)]
    assert {event.workspace_digest for event in own.prefix} == {"workspace-price-v1"}
    assert {event.workspace_digest for event in own.events[26:]} == {"workspace-price-v2"}


def test_own_landmarks_stand_on_both_sides_of_the_middle(own: Trajectory) -> None:
    stated = {item.key: event.sequence for event in own.events for item in event.carry_items}
    wanted = {GOAL: 1, "public-signature": 2, "legacy-compatibility": 13, OPEN_ISSUE: 15, REJECTED: 17}
    assert {key: stated[key] for key in wanted} == wanted
    artifact = structured_artifact(own.prefix, seed())
    assert artifact.source_event_range == (1, CURSOR)
    assert {item.key for item in artifact.items} == seed().required_keys | {"preserve-decimal-path"}


def test_own_rows_lead_to_the_same_grades_and_decisions(own: Trajectory) -> None:
    report = run(own)
    assert report.run_status == "passed"
    assert rows(report) == ROWS
    assert sizes(report) == {
        "append-all-cursor-08": (3961, 3961),
        "append-all-cursor-24": (12117, 12117),
        "sliding-window-8-events": (12117, 4375),
        "summary-only-v1": (12117, 877),
        "structured-compaction-v1": (12117, 3629),
        "checkpoint-only-v1": (12117, 611),
        "rehydrated-context-v1": (12117, 3498),
        "summary-generation-1": (12117, 877),
        "summary-generation-2": (877, 16),
        "structured-regenerated-v1": (12117, 3629),
        "early-constraint-loss": (12117, 4375),
        "omitted-open-failure": (12117, 3629),
        "workspace-digest-mismatch": (12117, 3629),
        "unsupported-artifact-schema": (12117, 7322),
        "corrupt-artifact-source-digest": (12117, 7267),
    }


def test_report_has_no_score_no_date_no_path_and_no_content(own: Trajectory, tmp_path: Path) -> None:
    paths = run(own).write(tmp_path / "deep" / "er")
    text = "".join(path.read_text("utf-8") for path in paths)
    contents = [item.content for event in own.events for item in event.carry_items]
    assert [path.name for path in paths] == [
        *("context-continuity.json", "context-continuity.md", "context-continuity-trace.jsonl")
    ]
    assert not any(said in text for said in ("overall", "score", str(tmp_path), "2026", "Authorization", *contents))
    assert all(path.read_bytes().endswith(b"\n") for path in paths)


def test_null_stays_null_in_every_form(own: Trajectory) -> None:
    report = run(own)
    cases = {case["variant"]: case for case in json.loads(report.as_json())["cases"]}
    control = cases["checkpoint-only-v1"]["grade"]
    assert [control[name] for name in ("resume_correct", "duplicate_work_count", "packet_contract_passed")] == [
        None
    ] * 3
    row = next(line for line in report.as_markdown().splitlines() if "checkpoint-only-v1" in line)
    assert row.split(" | ")[11:14] == ["—", "—", "—"]
    assert all(case["sample_count"] == 1 for case in cases.values())
    assert {tuple(case["unsupported_claims"]) for case in cases.values()} == {UNSUPPORTED}


def test_trace_is_sorted_and_complete(own: Trajectory) -> None:
    lines = run(own).as_trace().splitlines()
    entries = [json.loads(line) for line in lines]
    keys = [
        *("experiment", "variant", "stage", "outcome", "item_key", "evidence_digest"),
    ]
    assert len(lines) == 51
    assert entries == sorted(entries, key=lambda entry: [entry[key] or "" for key in keys])
    assert lines == [canonical_text(entry) for entry in entries]


def test_report_that_cannot_be_written_says_so(own: Trajectory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        run(own).write(tmp_path / "file")
    assert caught.value.code == "report_unwritable"


# --- what fails a run ----------------------------------------------------------------------------------------------


def _with_case(measured: tuple[Group, ...], variant: str, /, **changes: Any) -> tuple[Group, ...]:
    return tuple(
        Group(
            tuple(dataclasses.replace(case, **changes) if case.variant == variant else case for case in group.cases),
            group.trace,
        )
        for group in measured
    )


@pytest.mark.parametrize("variant", sorted(ROWS))
@pytest.mark.parametrize(
    "change",
    [
        {"decision_kind": "something_else"},
        {"supported_claims": ()},
        {"supported_claims": ("it is the best strategy",)},
        {"variant": "renamed"},
        {"experiment": "another"},
        {"grade": ContinuityGrade(**dict.fromkeys(ContinuityGrade.__dataclass_fields__, True))},
    ],
)
def test_corrupted_row_fails_the_run(measured: tuple[Group, ...], variant: str, change: dict[str, Any]) -> None:
    assert assess(measured, published=False).run_status == "passed"
    assert assess(_with_case(measured, variant, **change), published=False).run_status == "failed"


def test_added_claim_fails_the_run(measured: tuple[Group, ...]) -> None:
    case = next(case for group in measured for case in group.cases if case.variant == "summary-only-v1")
    more = (*case.supported_claims, "summaries are bad")
    changed = _with_case(measured, "summary-only-v1", supported_claims=more)
    assert assess(changed, published=False).run_status == "failed"


def test_missing_group_and_repeated_group_fail_the_run(measured: tuple[Group, ...]) -> None:
    assert assess(measured[1:], published=False).run_status == "failed"
    assert assess((*measured, measured[0]), published=False).run_status == "failed"
    assert assess((), published=False).run_status == "failed"


@pytest.mark.parametrize(
    ("variant", "pair"), [(variant, pair) for variant, pairs in sorted(REQUIRED.items()) for pair in sorted(pairs)]
)
def test_missing_trace_pair_fails_its_case_and_the_run(
    measured: tuple[Group, ...], variant: str, pair: tuple[str, str]
) -> None:
    cut = tuple(
        Group(
            group.cases,
            tuple(entry for entry in group.trace if (entry.variant, (entry.stage, entry.outcome)) != (variant, pair)),
        )
        for group in measured
    )
    report = assess(cut, published=False)
    assert [case.variant for case in report.cases if not case.grade.trace_contract_passed] == [variant]
    assert report.run_status == "failed"


def test_every_row_has_a_trace_contract() -> None:
    assert set(REQUIRED) == set(ROWS)


# --- the fixed policy ----------------------------------------------------------------------------------------------

ALL = frozenset({GOAL, "public-signature", REJECTED, OPEN_ISSUE, FAILING_TEST})


def decided(hidden: set[str], step: str = "apply-compatible-patch", verified: bool = True) -> RepairDecision:
    return decide(
        VisibleSemanticState(
            visible_keys=ALL - hidden,
            checkpoint_next_step=step,
            verification_keys=frozenset({FAILING_TEST}) - hidden if verified else frozenset(),
        )
    )


@pytest.mark.parametrize(
    ("hidden", "step", "kind", "needed"),
    [
        (set(), "apply-compatible-patch", APPLY, set()),
        (set(), "run-tests", APPLY, set()),
        ({GOAL}, "run-tests", "needs_context", {GOAL}),
        ({"public-signature"}, "run-tests", UNSAFE, {"public-signature"}),
        ({REJECTED}, "run-tests", "repeat_rounding_attempt", {REJECTED}),
        ({REJECTED, FAILING_TEST}, "run-tests", "repeat_rounding_attempt", {REJECTED, FAILING_TEST}),
        ({REJECTED}, "apply-compatible-patch", "needs_context", {REJECTED}),
        ({OPEN_ISSUE, FAILING_TEST}, "apply-compatible-patch", "needs_context", {OPEN_ISSUE, FAILING_TEST}),
        (set(ALL), "run-tests", "needs_context", {GOAL}),
    ],
)
def test_policy_takes_the_first_rule_that_fits(hidden: set[str], step: str, kind: str, needed: set[str]) -> None:
    found = decided(hidden, step)
    assert (found.kind, found.required_keys) == (kind, frozenset(needed))


def test_policy_wants_verification_and_not_only_its_words() -> None:
    assert decided(set(), verified=False).required_keys == {FAILING_TEST}


# --- grading -------------------------------------------------------------------------------------------------------


def test_retention_of_nothing_expected_is_whole() -> None:
    assert [retention(frozenset(), frozenset()), retention(frozenset("ab"), frozenset("bc"))] == [1.0, 0.5]


def test_grade_of_nothing_visible_leaves_unmeasured_open() -> None:
    assert grade(frozenset(), seed()) == ContinuityGrade(
        goal_retained=False,
        acceptance_retention=0.0,
        constraint_retention=0.0,
        negative_constraint_retention=0.0,
        open_issue_retention=0.0,
        rejected_hypothesis_retention=0.0,
        locator_integrity=None,
        resume_correct=None,
        duplicate_work_count=None,
        false_completion=False,
        packet_contract_passed=None,
        trace_contract_passed=False,
    )


@pytest.mark.parametrize("change", [{"ref": "elsewhere"}, {"content_digest": "0" * 64}, {"workspace_digest": "w"}])
def test_locator_that_leads_elsewhere_costs_integrity(own: Trajectory, change: dict[str, str]) -> None:
    sound = structured_artifact(own.prefix, seed()).evidence_locators
    wrong = dataclasses.replace(sound[0], **change)
    assert integrity(sound, own.prefix) == 1.0
    assert integrity((wrong, *sound[1:]), own.prefix) == 14 / 15
    assert integrity((wrong,), own.prefix) == 0.0


def after(own: Trajectory) -> list[EventRecord]:
    return list(own.events[CURSOR:])


@pytest.mark.parametrize("missing", range(6))
def test_resume_with_an_event_missing_is_not_measured(own: Trajectory, missing: int) -> None:
    events = after(own)
    del events[missing]
    found = post_resume(events)
    assert (found.well_formed, found.duplicates) == (False, None)


def test_repeated_work_after_the_resume_is_counted(own: Trajectory) -> None:
    events = after(own)
    again = dataclasses.replace(own.events[6].carry_items[0], key="repeat-rounding-attempt")
    events[2] = dataclasses.replace(events[2], carry_items=(*events[2].carry_items, again))
    found = post_resume(events)
    assert (found.well_formed, found.duplicates) == (True, 1)
    report = run(Trajectory((*own.prefix, *events)))
    grade_of = next(case.grade for case in report.cases if case.variant == "rehydrated-context-v1")
    assert (grade_of.resume_correct, grade_of.duplicate_work_count) == (False, 1)
    # A row whose claim its own grade does not bear out is no passed run.
    assert report.run_status == "failed"


def test_resume_over_a_workspace_that_never_changed_is_not_the_frozen_one(own: Trajectory) -> None:
    events = [dataclasses.replace(event, workspace_digest="workspace-price-v1") for event in after(own)]
    assert post_resume(events).well_formed is False


# --- the order of the checks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "wanted"), ORDER, ids=[str(wanted) + str(n) for n, (_, wanted) in enumerate(ORDER)]
)
def test_resume_is_refused_in_the_published_order(own: Trajectory, changes: dict[str, Any], wanted: str | None) -> None:
    assert resume(own, **changes).objection() == wanted


def test_source_that_no_event_of_the_range_has_is_refused(own: Trajectory) -> None:
    artifact = structured_artifact(own.prefix, seed())
    goal = dataclasses.replace(artifact.goal, source_event_ids=("evt-025",))
    assert resume(own, goal=goal).objection() == "artifact_source_range_mismatch"


# --- loading -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines(own: Trajectory) -> list[str]:
    return [canonical_text(event) for event in own.events]


def _code(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "events.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        load(path)
    return caught.value.code


def test_trajectory_of_a_file_is_the_same(own: Trajectory, lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    assert load(path) == own


def test_broken_trajectory_is_refused_by_what_is_wrong(lines: list[str], tmp_path: Path) -> None:
    def joined(rows: list[str]) -> str:
        return "\n".join(rows) + "\n"

    assert _code(tmp_path, joined(lines[:-1])) == "trajectory_incomplete"
    assert _code(tmp_path, "") == "trajectory_incomplete"
    assert _code(tmp_path, joined([lines[1], lines[0], *lines[2:]])) == "unordered_compaction_events"
    assert _code(tmp_path, joined([*lines, lines[-1]])) == "unordered_compaction_events"
    assert _code(tmp_path, joined([*lines[:5], "", *lines[5:]])) == "invalid_event_log_entry"
    assert _code(tmp_path, joined(lines)[:-20]) == "invalid_event_log_entry"
    assert _code(tmp_path, joined(["[]", *lines[1:]])) == "invalid_event_record"
    assert _code(tmp_path, joined([line.replace("run-price-repair", "run-b") for line in lines])) == (
        "compaction_run_mismatch"
    )
    assert _code(tmp_path, b"\xff\xfe") == "trajectory_unreadable"


def test_trajectory_that_is_not_there_or_a_folder_is_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError) as caught:
            load(path)
        assert caught.value.code == "trajectory_unreadable"


def test_trajectory_over_the_size_limit_is_not_read(
    lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.lab.longtask.trajectory._MAX_BYTES", 1000)
    assert _code(tmp_path, "\n".join(lines)) == "trajectory_unreadable"


def test_trajectory_without_a_required_statement_cannot_be_measured(own: Trajectory) -> None:
    events = tuple(
        dataclasses.replace(event, carry_items=tuple(i for i in event.carry_items if i.key != "public-signature"))
        for event in own.events
    )
    with pytest.raises(LongTaskError) as caught:
        experiments.material(Trajectory(events))
    assert caught.value.code == "missing_required_carry_items"
