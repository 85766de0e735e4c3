"""One rule of a set of policies, evaluated once: what is no decision and so is asked of no decision point.

Serves nothing and keeps nothing. The answer of either engine is taken only when it is one value.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate import canonical, opa
from gate.compiler import Assembly
from gate.errors import InputError, PdpError, ToolchainError
from gate.pdp.query import encode

_TIMEOUT_S = 60.0


def evaluate(assembly: Assembly, rule: str, document: Mapping[str, Any], *, binary: Path | None) -> Any:
    """The value of `rule` for the input `document`, from the OPA at `binary`, or from the embedded engine without one.

    Raises `PdpError` when there is no value to trust, `ToolchainError` when there is no engine.
    """
    if binary is None:
        return _embedded(assembly, rule, encode(document, ascii_only=True))
    return _by_opa(assembly, rule, encode(document), binary)


def _by_opa(assembly: Assembly, rule: str, evidence: bytes, binary: Path) -> Any:
    with tempfile.TemporaryDirectory(prefix="gate-controls-") as scratch:
        tree, given = Path(scratch) / "tree", Path(scratch) / "input.json"
        for path, text in assembly.modules.items():
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8"))
        given.write_bytes(evidence)
        arguments = ["eval", "--format", "json", "--strict-builtin-errors", "--data", str(tree), "--input", str(given)]
        done = opa.run([*arguments, rule], timeout_s=_TIMEOUT_S, binary=binary)
    if done.returncode != 0:
        raise PdpError("OPA could not evaluate the rule", code="pdp_server_error")
    return _value(done.stdout, "result")


def _embedded(assembly: Assembly, rule: str, evidence: bytes) -> Any:
    try:
        import regopy
    except ImportError as exc:
        hint = "pip install 'agent-policy-gate[embedded]'"
        raise ToolchainError("the embedded engine needs `regopy`", hint=hint) from exc
    try:
        rego = regopy.Interpreter()
        rego.strict_built_in_errors = True
        for name, text in assembly.modules.items():
            rego.add_module(name, text)
        rego.set_input_term(evidence.decode("ascii"))
        output = rego.query(rule)
        text = str(output) if output.ok() else ""
    except Exception as exc:  # RegoError, ValueError and what ctypes raises
        raise PdpError("the embedded engine failed", code="pdp_server_error") from exc
    return _value(text, None)


def _value(text: str, key: str | None) -> Any:
    """The one expression in what an engine printed; raises `PdpError` for anything else."""
    try:
        output = canonical.parse(text)
        results = output if key is None else output[key][0]
        (value,) = results["expressions"]
    except (InputError, KeyError, IndexError, TypeError, ValueError) as exc:
        raise PdpError("the engine did not answer one value", code="pdp_result_invalid") from exc
    return value if key is None else value["value"]
