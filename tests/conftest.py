"""What every suite shares: the pinned OPA, and the folder of the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings

from gate import opa
from gate.errors import ToolchainError

# A machine that is busy with something else has found no fault.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


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


@pytest.fixture(scope="session", autouse=True)
def _json_of_every_command_fits_its_schema() -> Iterator[None]:
    """Whatever JSON any test makes a command print is held against the schema of that command."""
    invoke = CliRunner.invoke

    def checked(self: CliRunner, command: Any, args: Any = None, *more: Any, **options: Any) -> Result:
        result = invoke(self, command, args, *more, **options)
        words = [] if args is None else [args] if isinstance(args, str) else list(args)
        # Imported late: most suites run no command.
        if words and command is import_module("gate.cli").cli:
            found = import_module("output_schemas").faults(words, options.get("env") or {}, result.stdout)
            assert found == []
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CliRunner, "invoke", checked)
        yield
