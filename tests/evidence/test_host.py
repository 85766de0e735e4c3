from __future__ import annotations

from typing import Any

import pytest

from gate.errors import InputError
from gate.evidence import ABSENT, Call, Identity, Run

NAMES = {"agent_id": "a", "session_id": "s", "run_id": "r", "trace_id": "t"}
NOBODY = Identity(tenant_id=None, principal_id=None)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["", "  ", "\n", None, 5, ["a"]])
def test_run_with_a_name_that_is_blank_or_not_text_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"`{name}` must be a string that is not blank") as refused:
        Run(**{**NAMES, name: value}, identity=NOBODY)

    assert refused.value.code == "field_invalid"


def test_run_as_another_identity_keeps_its_names() -> None:
    other = Identity(tenant_id="x", principal_id="y")

    assert Run(**NAMES, identity=NOBODY).as_identity(other) == Run(**NAMES, identity=other)


@pytest.mark.parametrize("capability", ["", " ", None, 5, b"search", ["search"], {"a": 1}])
def test_call_without_a_capability_name_is_refused(capability: Any) -> None:
    with pytest.raises(InputError, match="`capability` must be a string that is not blank"):
        Call(capability=capability)


@pytest.mark.parametrize("name", ["idempotency_key", "reason", "resource", "approval_id"])
@pytest.mark.parametrize("value", [5, b"x", True, ["x"], {}])
def test_call_with_a_field_that_is_not_text_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"`{name}` must be a string"):
        Call(capability="search", **{name: value})


def test_call_without_arguments_is_not_a_call_with_null() -> None:
    assert Call(capability="search").arguments is ABSENT
    assert Call(capability="search") != Call(capability="search", arguments=None)
