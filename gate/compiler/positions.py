"""Names of the governed documents, and where in them something stands, for the hint of a problem elsewhere.

Pure.
"""

from __future__ import annotations

from gate.documents import Bundle, Document
from gate.documents import pointer_of as pointer

POLICY, CATALOG, APPROVALS, REVIEWERS, BUNDLE = (
    "policy.yaml",
    "capabilities.yaml",
    "approvals.yaml",
    "reviewers.yaml",
    "bundle.yaml",
)


def at(document: Document, *parts: str | int, key: bool = False) -> str:
    """`file:line:col` of the value (or key) at the pointer made of `parts`."""
    line, column = document.position(pointer(*parts), key=key)
    return f"{document.file}:{line}:{column}"


def listed_at(bundle: Bundle, name: str, key: str) -> str:
    """Position of the list `key` in a document that the bundle may not have."""
    document = bundle.documents.get(name)
    return f"{bundle.folder / name}, which is not there" if document is None else at(document, key, key=True)
