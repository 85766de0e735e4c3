"""An envelope in a file, for people and tests that look at one: every problem at its position, then the typed value.

Reads and never writes. The gate itself loads envelopes from its records; nobody resumes from a
file.
"""

from __future__ import annotations

from pathlib import Path

from gate.continuity.envelope import ContinuityEnvelope
from gate.continuity.envelope_checks import ContinuityError
from gate.documents import Document, pointer_of, schema, schema_problems
from gate.documents.files import read_document
from gate.errors import BundleError


def load_envelope(path: Path) -> ContinuityEnvelope:
    """The envelope in the file at `path`, called `envelope.yaml` as governed documents are.

    Raises `BundleError` with every problem of the document, in the operators' own texts.
    """
    return read_envelope(read_document(path))


def read_envelope(document: Document) -> ContinuityEnvelope:
    """As `load_envelope`, for a document that was read already."""
    problems = schema_problems(document, schema("envelope"))
    if problems:
        raise BundleError(problems)
    try:
        return ContinuityEnvelope.from_seed(document.value)
    except ContinuityError as exc:
        place = pointer_of("continuity_envelope")
        raise BundleError([document.problem(place, exc.code, exc.message, exc.hint, key=True)]) from exc
