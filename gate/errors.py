"""The error tree: everything this package raises descends from `GateError`.

A deny is a value, never an error; the one exception made from a decision is `gate.decision.ActionBlocked`.
Errors neither print nor exit: `gate.cli` does both, in one place. No text here may hold a secret or an argument value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

EXIT_OK = 0
EXIT_UNDECIDED = 1
EXIT_USAGE = 2
EXIT_DENIED = 3
EXIT_APPROVAL = 4
EXIT_BUNDLE_INVALID = 5


class GateError(Exception):
    """No decision was reached; do not proceed.

    `code` is stable snake_case, `message` one lower-case sentence, `hint` what to try, `exit_code` a command's answer.
    """

    code: str = "gate_error"
    exit_code: int = EXIT_UNDECIDED

    def __init__(self, message: str, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong with a governed document, at a position an editor can jump to."""

    file: str
    line: int
    """1-based."""
    column: int
    """1-based."""
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.code}: {self.message}"


class BundleError(GateError):
    """The author's documents are wrong: every problem of every file, sorted by position."""

    code = "bundle_invalid"
    exit_code = EXIT_BUNDLE_INVALID

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        count = len(self.problems)
        super().__init__(f"{count} problem{'' if count == 1 else 's'} found in the bundle")


class InputError(GateError):
    """The caller handed over something that cannot be decided about."""

    code = "input_invalid"


class PdpError(GateError):
    """The decision point gave no decision that can be trusted. Every code starts with `pdp_`."""

    code = "pdp_error"


class EvidenceError(GateError):
    """A fact the decision needs could not be read from its system of record."""

    code = "evidence_unavailable"


class StoreError(EvidenceError):
    """The system of record could not be read or written; nothing was changed."""

    code = "store_unavailable"


class ConflictError(StoreError):
    """Somebody else changed the record first: what was decided no longer holds."""

    code = "store_conflict"


class ToolchainError(GateError):
    """The pinned OPA or another tool this package drives could not be had."""

    code = "toolchain_unavailable"
