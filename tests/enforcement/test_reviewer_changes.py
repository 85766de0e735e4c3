"""A reviewer who is removed, or whose key is rotated, while a run goes on: the bundle is rebuilt and served anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from enforcement_support import KEYS, TENANT, World, bundle_copy, key_of, open_world, point_of

from gate.compiler import compile_bundle, write
from gate.pdp import DecisionPoint, Facts, Reply
from gate.records import generate_key

NEW_KEYS = generate_key()


class Served:
    """A decision point whose bundle is replaced while the gate runs, as a sidecar's is."""

    def __init__(self, bundle: Path) -> None:
        self.bundle = bundle
        self._point: DecisionPoint = point_of(compile_bundle(bundle))

    def edit(self, change: Callable[[str], str]) -> None:
        """Rewrites reviewers.yaml, compiles and serves the result."""
        file = self.bundle / "reviewers.yaml"
        before = file.read_text("utf-8")
        file.write_text(change(before), "utf-8")
        assert file.read_text("utf-8") != before
        compiled = compile_bundle(self.bundle)
        write(compiled)
        self._point = point_of(compiled)

    def decide(self, document: Mapping[str, Any]) -> Reply:
        return self._point.decide(document)

    def facts(self, agent_id: str) -> Facts:
        return self._point.facts(agent_id)

    def revision(self) -> str:
        return self._point.revision()

    def ready(self) -> bool:
        return self._point.ready()

    def close(self) -> None:
        self._point.close()


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(bundle_copy("plain", tmp_path))


@pytest.fixture
def world(served: Served, tmp_path: Path) -> World:
    return open_world(served, tmp_path)


def removed(text: str) -> str:
    """Without mira."""
    return re.sub(r"  - id: mira\n(?:    .*\n)+", "", text)


def rotated(text: str) -> str:
    """Mira has another key under another id."""
    return text.replace("mira-key\n", "mira-key-2\n").replace(KEYS["mira"][1], NEW_KEYS[1])


def replaced(text: str) -> str:
    """Mira has another key under the old id."""
    return text.replace(KEYS["mira"][1], NEW_KEYS[1])


def demoted(text: str) -> str:
    """Mira is no manager any more."""
    return re.sub(r"(  - id: mira\n    human: .*\n    roles: )\[manager\]", r"\1[viewer]", text)


def run_out(text: str) -> str:
    """Mira's key was only good until yesterday."""
    return re.sub(r"(key_id: mira-key\n(?:.*\n){2}        not_after: )\"2098", r'\1"2021', text)


CHANGES = {
    removed: "approval_reviewer_invalid",
    rotated: "approval_reviewer_invalid",
    replaced: "approval_signature_invalid",
    demoted: "approval_reviewer_invalid",
    run_out: "approval_reviewer_invalid",
}


@pytest.mark.parametrize(("change", "code"), CHANGES.items(), ids=[change.__name__ for change in CHANGES])
def test_approval_of_a_reviewer_who_was_changed_since_is_worth_nothing(
    served: Served, world: World, change: Callable[[str], str], code: str
) -> None:
    world.approved()
    served.edit(change)
    outcome = world.attempt()
    assert outcome.verdict in ("require_approval", "deny")
    assert (outcome.ran, code in outcome.codes) == (False, True)
    assert world.store.effects(TENANT) == []


@pytest.mark.parametrize(("change", "code"), CHANGES.items(), ids=[change.__name__ for change in CHANGES])
def test_vote_of_a_reviewer_who_was_changed_since_the_request_is_refused(
    served: Served, world: World, change: Callable[[str], str], code: str
) -> None:
    approval = world.ask()
    vote = world.gate.reviews.sign(approval, decision="approved", key=key_of("mira"))
    served.edit(change)
    handed = world.hand_in(approval, vote)
    assert (handed.verdict, code in handed.codes) == ("deny", True)


def test_change_of_another_reviewer_changes_nothing(served: Served, world: World) -> None:
    world.approved()
    served.edit(lambda text: re.sub(r"  - id: otto\n(?:    .*\n)+", "", text))
    assert world.attempt().verdict == "allow"


def test_reviewer_who_was_removed_and_is_listed_again_counts_again(served: Served, world: World) -> None:
    world.approved()
    kept = (served.bundle / "reviewers.yaml").read_text("utf-8")
    served.edit(removed)
    assert not world.attempt().ran
    served.edit(lambda _: kept)
    assert world.attempt().verdict == "allow"


def test_after_the_removal_another_manager_revokes_and_approves_anew(served: Served, world: World) -> None:
    old = world.approved()
    served.edit(removed)
    assert not world.attempt().ran
    vote = world.gate.reviews.sign(old, decision="revoked", key=key_of("otto"))
    assert str(world.gate.reviews.revoke(TENANT, old.approval_id, vote, reviewer="otto").status) == "revoked"
    fresh = world.ask()
    assert fresh.approval_id != old.approval_id
    world.vote(fresh, "otto")
    assert (world.attempt().verdict, world.runs) == ("allow", 1)
