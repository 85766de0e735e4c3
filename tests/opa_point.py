"""A real OPA as decision point of a test: starts in a third of a second, decides in a millisecond.

Tests that hold the same Rego share one process; a few stay alive. Not the sidecar client, which has suites of its own.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate import opa
from gate.errors import PdpError
from gate.pdp import Facts, Reply
from gate.pdp.query import DECISION_RULE, FACTS_RULE, encode, facts_document, request_id_of
from gate.pdp.reply import check_facts, check_reply
from gate.release.diff_engine import Engine

_ALIVE = 8


class OpaPoint:
    """A `DecisionPoint` over the pinned OPA; the same arguments as the embedded one. Threads may ask at once."""

    label = "OPA, for tests"

    def __init__(self, modules: Mapping[str, str], *, revision: str) -> None:
        self._modules = dict(modules)
        self._digest = hashlib.sha256(repr(sorted(modules.items())).encode()).hexdigest()[:16]
        self._revision = revision
        self._closed = False
        self._facts: dict[str, Facts] = {}

    def decide(self, document: Mapping[str, Any]) -> Reply:
        request_id = request_id_of(document)
        reply = self._query(DECISION_RULE, document)
        return check_reply(reply, request_id=request_id, expected_revisions=frozenset({self._revision}))

    def facts(self, agent_id: str) -> Facts:
        self._check_open()
        if agent_id not in self._facts:
            reply = self._query(FACTS_RULE, facts_document(agent_id))
            facts = check_facts(reply, expected_revisions=frozenset({self._revision}))
            if facts.bundle is None:
                return facts
            self._facts[agent_id] = facts
        return self._facts[agent_id]

    def revision(self) -> str:
        self._check_open()
        return self._revision

    def ready(self) -> bool:
        return not self._closed

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise PdpError("the decision point was closed", code="pdp_closed")

    def _query(self, query: str, document: Mapping[str, Any]) -> dict[str, Any]:
        self._check_open()
        engine = _POOL.engine(self._digest, self._modules)
        value = engine.ask(query.removeprefix("data.").replace(".", "/"), encode(document))
        reply: dict[str, Any] = {"provenance": {"bundles": {"tests": {"revision": self._revision}}}}
        return reply if value is None else {**reply, "result": value}


class _Pool:
    """The OPA processes of this test process: the least recently asked one ends when there are too many."""

    def __init__(self) -> None:
        self._inherited: list[OrderedDict[str, Engine]] = []
        self._begin()
        atexit.register(self.close)

    def engine(self, digest: str, modules: Mapping[str, str]) -> Engine:
        """The process that holds `modules`; it starts when it is asked first, and again after it was ended here."""
        if self._pid != os.getpid():
            # They belong to the process that this one was forked from, and must not be tidied up from here.
            self._inherited.append(self._engines)
            self._begin()
        with self._lock:
            if digest not in self._engines:
                if len(self._engines) == _ALIVE:
                    self._engines.popitem(last=False)[1].close()
                self._engines[digest] = Engine(self._written(digest, modules), binary=opa.find().path)
            self._engines.move_to_end(digest)
            return self._engines[digest]

    def close(self) -> None:
        if self._pid == os.getpid():
            for engine in self._engines.values():
                engine.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._folder = Path(tempfile.mkdtemp(prefix="gate-tests-"))

    def _written(self, digest: str, modules: Mapping[str, str]) -> Path:
        tree = self._folder / digest
        for name, text in modules.items():
            file = tree / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tree


_POOL = _Pool()
