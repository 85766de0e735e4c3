from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import cli
from gate.errors import InputError
from gate.lab.refund_story import COMPACTIONS, TURNS, Step, stage


@pytest.fixture(scope="module")
def played(repo: Path) -> tuple[list[Step], list[dict[str, object]], int]:
    with stage(repo / "bundles" / "refund-desk", "embedded") as story:
        steps = list(story.play())
        return steps, story.service.payments, story.unreviewed()


def test_boundaries_are_answered_as_the_refund_rules_say(played: tuple[list[Step], object, int]) -> None:
    assert [(s.title, s.verdict, s.paid) for s in played[0][:5]] == [
        ("25.00 by issue_refund", "allow", True),
        ("25.01 by issue_refund", "require_approval", False),
        ("100.00 by issue_refund", "require_approval", False),
        ("100.01 by issue_refund", "deny", False),
        ("100.01 by issue_manager_refund", "require_approval", False),
    ]


def test_small_refund_of_what_nobody_verified_waits_for_a_reviewer(played: tuple[list[Step], object, int]) -> None:
    waiting = ("approval_missing", "configured_allow", "refund_of_verified_duplicate")
    assert [(s.title, s.verdict, s.reasons, s.paid, s.ledger_unchanged) for s in played[0][5:8]] == [
        ("25.00 of a charge that is no duplicate", "require_approval", waiting, False, True),
        (
            "25.00 of a charge that billing does not know",
            "require_approval",
            waiting,
            False,
            True,
        ),
        (
            "25.00 while billing does not answer",
            "require_approval",
            waiting,
            False,
            True,
        ),
    ]


def test_after_every_compaction_review_is_still_asked_for_and_the_tool_refuses(
    played: tuple[list[Step], object, int],
) -> None:
    steps = played[0]
    asked = [s for s in steps if "can you finish it now?" in s.title]
    direct = [s for s in steps if "asked directly" in s.title]
    noise = [s for s in steps if "noise" in s.title]
    assert (len(asked), len(direct), noise[-1].title) == (COMPACTIONS, COMPACTIONS, f"turns 49 to {TURNS} of noise")
    assert {(s.verdict, s.reasons, s.paid, s.ledger_unchanged) for s in asked} == {
        ("require_approval", ("approval_pending", "configured_allow", "refund_review_over_25"), False, True)
    }
    assert {(s.verdict, s.reasons, s.paid, s.ledger_unchanged) for s in direct} == {
        ("refused by the tool", ("call_token_malformed",), False, True)
    }
    assert all(s.ledger_unchanged for s in noise)


def test_with_the_review_it_is_paid_once(played: tuple[list[Step], list[dict[str, object]], int]) -> None:
    steps, payments, unreviewed = played
    assert [(s.verdict, s.paid) for s in steps[-3:]] == [("approved", False), ("allow", True), ("receipt re-2", False)]
    assert [p["amount_minor"] for p in payments] == [2500, 7800]
    assert unreviewed == 0


def test_story_on_the_sidecar_says_the_same(repo: Path, played: tuple[list[Step], object, int]) -> None:
    with stage(repo / "bundles" / "refund-desk", "opa") as story:
        assert list(story.play()) == played[0]


def test_command_prints_one_document(repo: Path) -> None:
    bundle = str(repo / "bundles" / "refund-desk")
    done = CliRunner().invoke(cli, ["lab", "refund-story", "--bundle", bundle, "--output", "json"])
    document = json.loads(done.stdout)
    assert (done.exit_code, document["payments"], document["unreviewed"]) == (0, 2, 0)
    assert len(document["steps"]) == 5 + 3 + 1 + 3 * COMPACTIONS + 3


def test_bundle_without_the_reviewers_of_the_story_is_refused(repo: Path) -> None:
    with pytest.raises(InputError) as raised, stage(repo / "bundles" / "support-triage", "embedded"):
        pass
    assert raised.value.code == "demo_bundle_unfit"


def test_bundle_that_is_not_there_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["lab", "refund-story", "--bundle", str(tmp_path / "nowhere")])
    assert (done.exit_code, done.stdout) == (5, "")
    assert "nowhere" in done.stderr
