"""What every suite shares: the pinned OPA, and the folder of the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import opa
from gate.errors import ToolchainError


@pytest.fixture(scope="session")
def opa_binary() -> Path:
    """The pinned OPA; a test that needs it fails without it, because a skipped proof proves nothing."""
    try:
        return opa.find().path
    except ToolchainError as exc:
        pytest.fail(f"{exc.message}; {exc.hint}")


@pytest.fixture(scope="session")
def repo() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent
