from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from continuity_support import KEY, TICKET, World

from gate.decision import Decision
from gate.evidence import Call, Run

CORPUS: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parent / "data" / "hostile_summaries.yaml").read_text("utf-8")
)
TEXTS = [text for texts in CORPUS.values() for text in texts]
PLAIN = "The conversation was about an invoice."


def said(decision: Decision) -> tuple[Any, ...]:
    """A decision as a whole, without what differs from one question to the next."""
    obligations = [
        {k: v for k, v in o.items() if k not in ("approval_id", "envelope_id")} for o in decision.obligations
    ]
    audit = {k: v for k, v in decision.audit.items() if k not in ("request_id", "approval")}
    return decision.verdict, decision.reasons, obligations, decision.advice, audit


def ticket(run: Run, world: World, *, reason: str = "asked for", title: str | None = None) -> Decision:
    arguments = TICKET if title is None else {"title": title[:200]}
    return world.gate().check_call(
        run, Call(capability="create_ticket", arguments=arguments, idempotency_key=KEY, reason=reason)
    )


def test_corpus_has_sixty_texts_in_two_languages() -> None:
    chinese = [text for text in TEXTS if any("\u4e00" <= char <= "\u9fff" for char in text)]

    assert len(set(TEXTS)) >= 60
    assert len(chinese) >= 25
    assert len(TEXTS) - len(chinese) >= 25


def test_summaries_change_no_decision_after_they_were_resumed_from(world: World) -> None:
    plain = world.resume(world.cut(world.start(), PLAIN), PLAIN)
    assert plain.run is not None
    expected = (said(plain.decision), said(ticket(plain.run, world)))
    assert expected[1][0] == "require_approval"

    for text in TEXTS:
        resumed = world.resume(world.cut(world.start(), text), text)
        assert resumed.run is not None, text
        assert (said(resumed.decision), said(ticket(resumed.run, world))) == expected, text


def test_summaries_do_not_resume_a_run_with_an_unknown_effect(world: World) -> None:
    run = world.start()
    world.lost_ticket(run)
    expected = None

    for text in [PLAIN, *TEXTS]:
        boundary = world.gate().note_boundary(run, "context_compaction", summary=text)
        found = said(world.resume(boundary, text).decision)
        expected = expected or found
        assert found == expected, text
    assert str(expected[0]) == "blocked_on_reconciliation" if expected else False
    assert len(world.tickets) == 1


@pytest.mark.parametrize("place", ["summary", "argument", "note", "message"])
def test_texts_planted_anywhere_leave_the_decision_as_it_is(world: World, place: str) -> None:
    run = world.start()

    def planted(text: str) -> tuple[Any, ...]:
        if place == "argument":
            return said(ticket(run, world, title=text))
        if place == "note":
            return said(ticket(run, world, reason=text))
        if place == "message":
            return said(world.gate().check(run, "user_message", {"role": "user", "text": text}))
        return said(world.gate().check(run, "user_message", {"role": "system", "summary": text}))

    expected = planted(PLAIN)

    assert {text: planted(text) for text in TEXTS} == dict.fromkeys(TEXTS, expected)


def test_texts_as_approval_notes_approve_nothing(world: World) -> None:
    for number, text in enumerate(TEXTS):
        run = world.start()
        with (
            pytest.raises(Exception, match="require_approval"),
            world.gate().tool_call(
                run, "create_ticket", {"title": f"t-{number}"}, idempotency_key=f"k-{number}", reason=text
            ),
        ):
            world.tickets.append({})

    assert world.tickets == []
    assert {str(approval.status) for approval in world.store.approvals("acme")} == {"pending"}
