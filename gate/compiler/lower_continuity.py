"""`continuity.yaml` to constants, one for each field, which the guards of continuity look up.

Pure. Decides nothing: the core comparison stands in the policies and cannot be reached from here, so that whatever is
written can only add to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate.compiler.link_continuity import ADDED_STATES, CONTINUITY
from gate.compiler.model import Constant, Module
from gate.documents import Bundle, ContinuityPolicy
from gate.documents import pointer_of as pointer

COMPARED = ("role", "objective", "evidence_refs", "budget_remaining", "pending_obligations")
"""What a bundle can have compared besides the core."""


def continuity_modules(bundle: Bundle) -> Iterator[Module]:
    """One module when the bundle has the document, none otherwise."""
    if bundle.continuity is not None:
        yield Module(
            "continuity.rego", "What is added at a context boundary", tuple(_constants(bundle, bundle.continuity))
        )


def _constants(bundle: Bundle, added: ContinuityPolicy) -> Iterator[Constant]:
    stated = bundle.documents[CONTINUITY].value["continuity"]
    values: dict[str, tuple[str, Any]] = {
        # A truth for each word: Rego then tests no absence from a list.
        "compare": ("compare", {name: name in added.compare for name in COMPARED}),
        "reconfirm_approval": ("reconfirm_approval", added.reconfirm_approval),
        "max_age_ms": (
            "max_age_seconds",
            None if added.max_age_seconds is None else added.max_age_seconds * 1000,
        ),
        "max_boundaries": ("max_boundaries", added.max_boundaries),
        "forbidden_states": ("forbidden_states", {name: name in added.forbidden_states for name in ADDED_STATES}),
        "required_constraints": ("required_constraints", list(added.required_constraints)),
    }
    if added.max_steps_after_failed_compaction is not None:
        # Where it is left out the policies have a number of their own.
        field = "max_steps_after_failed_compaction"
        values[field] = (field, added.max_steps_after_failed_compaction)
    for key, (field, value) in values.items():
        given = field in stated
        yield Constant(
            name="continuity",
            key=key,
            value=value,
            title=f"continuity.{field}" if given else f"continuity.{field} is left out and adds nothing",
            source=f"{CONTINUITY}#{pointer('continuity', *([field] if given else []))}",
        )
