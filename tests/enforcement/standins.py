"""Decision points that go wrong: real answers, changed on their way, and servers that only look like OPA."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gate.decision import Decision
from gate.pdp import DecisionPoint, Facts
from gate.pdp.protocol import Reply

Change = Callable[[Decision], Decision]


@dataclass(slots=True)
class Altered:
    """A decision point whose tool-call decisions are changed after they were checked."""

    point: DecisionPoint
    change: Change = lambda decision: decision
    before: Callable[[], object] = lambda: None
    """Called when a tool call is being decided: what happens elsewhere meanwhile."""
    operations: tuple[str, ...] = ("call_tool",)

    def decide(self, document: Mapping[str, Any]) -> Reply:
        reply = self.point.decide(document)
        if document["operation"] not in self.operations:
            return reply
        self.before()
        return replace(reply, decision=self.change(reply.decision))

    def facts(self, agent_id: str) -> Facts:
        return self.point.facts(agent_id)

    def revision(self) -> str:
        return self.point.revision()

    def ready(self) -> bool:
        return self.point.ready()

    def close(self) -> None:
        """The point behind is shared."""


def obliging(kind: str, **changes: Any) -> Change:
    """Changes one obligation; `drop=True` leaves it out."""

    def change(decision: Decision) -> Decision:
        kept = []
        for obligation in decision.obligations:
            if obligation["type"] != kind:
                kept.append(obligation)
            elif "drop" not in changes:
                kept.append({**obligation, **changes})
        return replace(decision, obligations=tuple(kept))

    return change


def also_obliging(**obligation: Any) -> Change:
    """Adds an obligation."""
    return lambda decision: replace(decision, obligations=(*decision.obligations, obligation))


def about(**audit: Any) -> Change:
    """Changes what the decision says it is about."""
    return lambda decision: replace(decision, audit={**decision.audit, **audit})


@contextmanager
def looks_like_opa(point: DecisionPoint, change: Callable[[dict[str, Any]], bytes | None]) -> Iterator[tuple[str, str]]:
    """An HTTP server: url and revision. Facts are `point`'s own; `change` makes the body of each decision.

    None for a body means that the server never answers.
    """
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            body: bytes | None
            if "/facts/" in self.path:
                facts = point.facts(document["agent"]["agent_id"])
                fields = [f.name for f in dataclasses.fields(facts) if f.name != "revision"]
                result = {f: None if (v := getattr(facts, f)) is None else dict(v) for f in fields}
                body = as_opa(result, facts.revision)
            elif document["operation"] == "run_start":
                reply = point.decide(document)
                body = as_opa(reply.decision.as_dict(), reply.revision)
            else:
                body = change(document)
            if body is None:
                released.wait(60)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", point.revision()
    finally:
        released.set()
        server.shutdown()
        server.server_close()


def as_opa(result: Any, revision: str) -> bytes:
    """A reply as OPA would write it."""
    return json.dumps({"result": result, "provenance": {"bundles": {"gate": {"revision": revision}}}}).encode()
