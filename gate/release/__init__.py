"""What happens to a compiled bundle: golden cases, build."""

from __future__ import annotations

from gate.release.build import BuildError, Built, build, require_checked_in
from gate.release.explain import Explanation, ReasonExplained, explain
from gate.release.golden import CaseResult, case_document, run_cases

__all__ = [
    "BuildError",
    "Built",
    "CaseResult",
    "Explanation",
    "ReasonExplained",
    "build",
    "case_document",
    "explain",
    "require_checked_in",
    "run_cases",
]
