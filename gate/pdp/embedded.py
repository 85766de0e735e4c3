"""The decision point inside the process: the same Rego on rego-cpp. NOT FOR PRODUCTION.

For a first run, notebooks and unit tests. The interpreter shares memory with the code it judges, its cost
grows with the number of rules, it has no deadline, and it reads some values otherwise than OPA does. It must
not be taken for a fallback: nothing in this package ever picks it by itself on a call's way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gate import canonical
from gate.errors import InputError, PdpError, ToolchainError
from gate.pdp.protocol import Facts, Reply
from gate.pdp.query import DECISION_RULE, FACTS_RULE, encode, facts_document, request_id_of
from gate.pdp.reply import MAX_FACTS_BYTES, check_facts, check_reply

if TYPE_CHECKING:
    import regopy


class EmbeddedDecisionPoint:
    """A `DecisionPoint` for trying things out; not for production. Threads take turns."""

    label = "embedded, not for production"

    def __init__(self, modules: Mapping[str, str], *, revision: str) -> None:
        """`modules`: Rego text by file name; `revision`: what its decisions are said to come from.

        Raises `ToolchainError` when `regopy` is missing, `PdpError` with code `pdp_bundle_invalid` for Rego
        that it does not take.
        """
        self._modules = dict(modules)
        self._revision = revision
        self._closed = False
        self._facts: dict[str, Facts] = {}
        self._compiled: regopy.Bundle | None
        self._start()

    def decide(self, document: Mapping[str, Any]) -> Reply:
        """The decision about `document`; raises `PdpError`, code `pdp_*`, when there is none to trust."""
        request_id = request_id_of(document)
        reply = self._query(DECISION_RULE, document)
        return check_reply(reply, request_id=request_id, expected_revisions=frozenset({self._revision}))

    def facts(self, agent_id: str) -> Facts:
        """The facts of the bundle that governs `agent_id`, kept; not to be changed."""
        self._check_open()
        if agent_id in self._facts:
            return self._facts[agent_id]
        reply = self._query(FACTS_RULE, facts_document(agent_id))
        facts = check_facts(reply, expected_revisions=frozenset({self._revision}))
        if facts.bundle is not None:  # agents that nobody governs are without number
            self._facts[agent_id] = facts
        return facts

    def revision(self) -> str:
        """The revision given to the constructor."""
        self._check_open()
        return self._revision

    def ready(self) -> bool:
        """True until closed."""
        return not self._closed

    def close(self) -> None:
        """Frees the interpreter; later calls raise `PdpError` with code `pdp_closed`."""
        with self._lock:
            self._closed = True
            self._compiled = None

    def _check_open(self) -> None:
        if self._closed:
            raise PdpError("the decision point was closed", code="pdp_closed")

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._rego = _interpreter(self._modules)
        # Compiled once, for both questions: `query` compiles the policies again at every call.
        self._compiled = None

    def _query(self, query: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """The reply OPA would have sent, made of what the interpreter printed."""
        self._check_open()
        if self._pid != os.getpid():
            # Another thread may have held the lock, or been inside the interpreter, when this process was
            # forked.
            self._start()
        # As JSON text, which rego-cpp reads as a term. Not `set_input`: that keeps strings raw, so that a
        # quote in one breaks out of it in the output (seen on 1.5.2). Escaped to ASCII as the compiler
        # escapes its literals, because rego-cpp compares strings in their escaped form.
        term = encode(document, ascii_only=True).decode("ascii")
        with self._lock:
            try:
                self._rego.set_input_term(term)
                if self._compiled is None:
                    self._compiled = self._rego.build(None, [_path(DECISION_RULE), _path(FACTS_RULE)])
                output = self._rego.query_bundle_entrypoint(self._compiled, _path(query))
                text = str(output) if output.ok() else None
            except Exception as exc:  # RegoError, ValueError and what ctypes raises
                raise PdpError("the embedded engine failed", code="pdp_server_error") from exc
        if text is None:
            raise PdpError("the embedded engine failed", code="pdp_server_error")
        reply: dict[str, Any] = {"provenance": {"bundles": {"embedded": {"revision": self._revision}}}}
        if text != "undefined":
            reply["result"] = _only_expression(text)
        return reply


def _path(rule: str) -> str:
    return rule.removeprefix("data.").replace(".", "/")


def _interpreter(modules: Mapping[str, str]) -> regopy.Interpreter:
    try:
        import regopy
    except ImportError as exc:
        raise ToolchainError(
            "the embedded decision point needs `regopy`", hint="pip install 'agent-policy-gate[embedded]'"
        ) from exc
    rego = regopy.Interpreter()
    rego.strict_built_in_errors = True
    try:
        for name, text in modules.items():
            rego.add_module(name, text)
    except Exception as exc:
        raise PdpError("the embedded engine does not take this Rego", code="pdp_bundle_invalid") from exc
    return rego


def _only_expression(text: str) -> Any:
    try:
        output = canonical.parse(text, max_bytes=MAX_FACTS_BYTES)
    except InputError as exc:
        raise PdpError("the embedded engine did not answer in JSON", code="pdp_not_json") from exc
    if type(output) is not dict or output.keys() != {"expressions"}:
        raise PdpError("the embedded engine did not answer one value", code="pdp_result_invalid")
    expressions = output["expressions"]
    if type(expressions) is not list or len(expressions) != 1:
        raise PdpError("the embedded engine did not answer one value", code="pdp_result_invalid")
    return expressions[0]
