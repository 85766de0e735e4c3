"""A refund service as a process of its own: pays what `verify_call` lets through, and writes each payment to a file.

Started by the tests as `python refund_service.py STORE_URL LEDGER TENANT ENVIRONMENT KEYS`; prints its port.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gate.enforcement import CallRefused, Gate
from gate.errors import GateError
from gate.records import PublicKey, Store


class NoDecisions:
    """A tool's process has no decision point, and needs none."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for `{name}`")


def main(url: str, ledger: str, tenant: str, environment: str, keys: str) -> None:
    store = Store.open(url, busy_timeout_ms=10_000)
    public = {key_id: PublicKey(public_key=key) for key_id, key in json.loads(keys).items()}
    gate = Gate(NoDecisions(), store, environment=environment, call_keys=public)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                call = gate.verify_call(
                    self.headers.get("X-Gate-Call"),
                    tenant_id=tenant,
                    capability="issue_refund",
                    arguments=body,
                    tool="refund-service",
                )
            except CallRefused as exc:
                self._answer(403, {"refused": exc.code})
                return
            except GateError as exc:
                self._answer(503, {"refused": exc.code})
                return
            with Path(ledger).open("a", encoding="utf-8") as file:
                file.write(json.dumps(call.arguments, sort_keys=True) + "\n")
            self._answer(200, {"refund": call.arguments["charge_id"], "fencing": call.fencing})

        def _answer(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing: the tests read standard output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
