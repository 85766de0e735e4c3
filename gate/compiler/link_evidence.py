"""What `policy.evidence` must say of the rest: sections that exist, capabilities that exist, keys that are keys.

Pure. A contract about a section that the gate fills itself is refused: nothing about it could be stale.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from gate.compiler.positions import CATALOG, POLICY, at
from gate.documents import Bundle, evidence_sections, schema
from gate.documents import pointer_of as pointer
from gate.documents.wording import did_you_mean
from gate.errors import Problem


def link_evidence(bundle: Bundle) -> Iterator[Problem]:
    """Every disagreement of `policy.evidence` with the schemas and the catalog."""
    document = bundle.documents[POLICY]
    sections = contractable()
    for name, contract in bundle.policy.evidence.items():
        here = ("policy", "evidence", name)
        if name not in sections:
            yield document.problem(
                pointer(*here),
                "evidence_section_unknown",
                f"`{name}` is not a section of evidence that somebody checks",
                did_you_mean(name, sorted(sections)) or "see schemas/evidence/",
                key=True,
            )
        for index, capability in enumerate(contract.required_for):
            if capability not in bundle.capabilities:
                yield document.problem(
                    pointer(*here, "required_for", index),
                    "capability_unknown",
                    f"`{capability}` is not in the catalog",
                    f"see {at(bundle.documents[CATALOG], 'capabilities', key=True)}",
                )
        for key_id, key in (contract.signature_keys or {}).items():
            if base64.b64encode(base64.b64decode(key)).decode("ascii") != key:
                yield document.problem(
                    pointer(*here, "signature_keys", key_id),
                    "key_malformed",
                    f"public key `{key_id}` is not base64 as an encoder writes it",
                )


def contractable() -> frozenset[str]:
    """Sections that say when they were checked: all but those that the gate fills itself."""
    return frozenset(
        name for name in evidence_sections() if "checked_at_ms" in schema(f"evidence/{name}")["properties"]
    )
