"""One context with something in every lane, and servers and programs that compact well or badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gate.lab.compaction.compactor import ContextItem, ContextView

RULE = ContextItem(
    item_id="r1",
    kind="rule",
    text="A refund over 100.00 must be approved by a manager.",
    lane="exact",
    rule_id="refund-manager-over-100",
    scope=("issue_refund",),
    authority="policy",
)
RULE_ZH = ContextItem(
    item_id="r2",
    kind="rule",
    text="超过 100 美元的退款必须由经理批准，不得自动处理。",  # noqa: RUF001
    lane="exact",
    rule_id="refund-manager-over-100-zh",
    scope=("issue_refund",),
    authority="policy",
)
PENDING = ContextItem(
    item_id="p1",
    kind="pending",
    text="The refund of 78.00 is pending: a support reviewer has not approved it.",
    lane="exact",
    rule_id="refund-78",
    scope=("issue_refund",),
    authority="approval_store",
)
STEPS = ContextItem(
    item_id="s1",
    kind="procedure",
    text="Verify, compute, approve, execute, confirm; now at approve.",
    lane="structured",
    rule_id="refund-steps",
    scope=("issue_refund",),
    authority="policy",
)
FACT = ContextItem(item_id="f1", kind="fact", text="The balance of the account is 12.00.", lane="reload")
TASK = ContextItem(item_id="t1", kind="task", text="Help the customer with the refund.", lane="structured")
NOISE = tuple(
    ContextItem(item_id=f"n{n}", kind="tool", text=f"lookup_charge: one charge, charge {n}. Parcel on its way.")
    for n in range(40)
)
ASK = ContextItem(item_id="u1", kind="user", text="Can you finish it now?")
CONTEXT = ContextView(items=(RULE, RULE_ZH, TASK, PENDING, STEPS, FACT, *NOISE, ASK), round=1)


def ids(items: tuple[ContextItem, ...]) -> list[str]:
    return [item.item_id for item in items]


def after_rounds(compactor: Any, rounds: int, budget: int) -> tuple[ContextItem, ...]:
    """The items after so many compactions, with fresh noise and a question before each."""
    items = CONTEXT.items
    for number in range(1, rounds + 1):
        items = compactor.compact(ContextView(items=items, round=number), budget).items
        fresh = tuple(
            ContextItem(item_id=f"m{number}-{n}", kind="tool", text=f"lookup_charge: one charge, charge {n}.")
            for n in range(10)
        )
        items = (*items, *fresh, ASK)
    return items


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        seen: list[dict[str, Any]] = self.server.seen  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen.append({"headers": dict(self.headers), "body": body})
        way = self.path.strip("/")
        if way == "redirect":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
            return
        if way == "slow":
            time.sleep(1.5)
        data = b"{" if way == "garbled" else json.dumps({"items": body["items"][:2]}).encode()
        if way == "huge":
            data = b" " * 200_000
        self.send_response(500 if way == "broken" else 200)
        if way != "drip":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            for start in range(0, len(data), 8 if way == "drip" else len(data)):
                self.wfile.write(data[start : start + (8 if way == "drip" else len(data))])
                self.wfile.flush()
                if way == "drip":
                    time.sleep(0.1)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a compactor over HTTP, and what it was asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server.seen  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
