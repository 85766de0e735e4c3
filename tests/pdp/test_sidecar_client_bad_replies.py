"""Every way a decision point can answer badly (CASES E1, E8, F3): a refusal, each with its own code."""

from __future__ import annotations

import contextlib
import copy
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from gate.errors import PdpError
from gate.pdp import SidecarDecisionPoint

REVISION = "sample@1+aa"
DOCUMENT = {"request_id": "r-1", "request": {"capability": "search_docs", "arguments": {"q": "s3cret"}}}

Behaviour = Callable[[socket.socket], None]


def reply(**changes: Any) -> dict[str, Any]:
    """A sound allow; `result` and `provenance` are replaced whole, anything else is a field of the result."""
    body = {
        "provenance": {"version": "1", "bundles": {"gate": {"revision": REVISION}}},
        "result": {
            "verdict": "allow",
            "reasons": [reason("allow")],
            "obligations": [],
            "advice": [],
            "audit": {
                "request_id": "r-1",
                "checkpoint": "tool_execution",
                "operation": "call_tool",
                "trace_id": None,
                "bundle_id": "sample",
                "bundle_version": "1",
                "release_identity": "sample-release",
                "contract_version": None,
                "capability": "search_docs",
                "controls": [],
            },
        },
    }
    for name, value in changes.items():
        body[name] = value
        if name not in {"result", "provenance"}:
            body["result"][name] = body.pop(name)
    return copy.deepcopy(body)


def reason(verdict: Any) -> dict[str, Any]:
    return {
        "code": "a_reason",
        "verdict": verdict,
        "rule": "r",
        "requirement": "",
        "source": "",
        "remedy": "",
    }


def without(path: str) -> dict[str, Any]:
    """A sound allow with one field of its result taken out."""
    body = reply()
    *parents, last = path.split(".")
    target = body["result"]
    for name in parents:
        target = target[0] if name == "0" else target[name]
    del target[last]
    return body


def bundles(*revisions: Any) -> dict[str, Any]:
    named = {f"b{i}": {"revision": r} for i, r in enumerate(revisions)}
    return reply(provenance={"version": "1", "bundles": named})


def audit(**changes: Any) -> dict[str, Any]:
    return reply(audit={**reply()["result"]["audit"], **changes})


def http(body: Any, *, status: str = "200 OK", headers: str = "", length: int | None = None) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = len(content) if length is None else length
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {size}\r\n\r\n".encode() + content


def sends(data: bytes) -> Behaviour:
    """Answers with `data` and hangs up."""

    def behave(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(data)

    return behave


def drips(head: bytes, drop: bytes) -> Behaviour:
    """Sends `head` and then one drop after another, each well inside any timeout of a single read."""

    def behave(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(head)
        for _ in range(600):
            connection.sendall(drop)
            threading.Event().wait(0.02)

    return behave


def hangs(connection: socket.socket) -> None:
    """Reads what comes and never answers, until the client goes away."""
    while connection.recv(65_536):
        pass


def hangs_up(connection: socket.socket) -> None:
    """Accepts and closes without a word."""


def closes_its_half(connection: socket.socket) -> None:
    """Says that it will send nothing, and goes on listening."""
    read_request(connection)
    connection.shutdown(socket.SHUT_WR)
    hangs(connection)


def resets(connection: socket.socket) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65_536)
        if not chunk:
            return data
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    size = next((int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")), 0)
    while len(body) < size:
        body += connection.recv(65_536)
    return data


@dataclass
class Server:
    """A listener that treats its connections by turns as the behaviours say, the last one for ever after."""

    behaviours: tuple[Behaviour, ...]
    connections: int = 0

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                behave = self.behaviours[min(self.connections, len(self.behaviours) - 1)]
                self.connections += 1
                self.open.append(connection)
                threading.Thread(target=self._one, args=(connection, behave), daemon=True).start()

    def _one(self, connection: socket.socket, behave: Behaviour) -> None:
        with contextlib.suppress(OSError), connection:
            behave(connection)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def serving(*behaviours: Behaviour) -> Iterator[Server]:
    server = Server(behaviours)
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def client_of(url: str, *, timeout_ms: int = 10_000) -> Iterator[SidecarDecisionPoint]:
    client = SidecarDecisionPoint(url=url, expected_revisions=(REVISION,), token="t", timeout_ms=timeout_ms)
    try:
        yield client
    finally:
        client.close()


def refusal(client: SidecarDecisionPoint) -> PdpError:
    with pytest.raises(PdpError) as caught:
        client.decide(DOCUMENT)
    return caught.value


SOUND = http(reply())
CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

BAD_REPLIES: list[tuple[str, str, Behaviour]] = [
    # what OPA says when there is no decision
    ("undefined", "pdp_result_undefined", sends(http({}))),
    ("undefined with provenance", "pdp_result_undefined", sends(http({"provenance": reply()["provenance"]}))),
    ("null", "pdp_result_null", sends(http(reply(result=None)))),
    ("empty object", "pdp_result_incomplete", sends(http(reply(result={})))),
    ("true", "pdp_result_not_object", sends(http(reply(result=True)))),
    ("the word", "pdp_result_not_object", sends(http(reply(result="allow")))),
    ("list of one decision", "pdp_result_not_object", sends(http(reply(result=[reply()["result"]])))),
    ("reply is a list", "pdp_result_not_object", sends(http([reply()]))),
    ("reply is null", "pdp_result_not_object", sends(http(b"null"))),
    # a decision of another shape
    ("field called decision", "pdp_result_incomplete", sends(http(reply(result={"decision": "ALLOW"})))),
    ("decision in a list", "pdp_result_incomplete", sends(http(reply(result={"decision": ["allow"]})))),
    ("verdict alone", "pdp_result_incomplete", sends(http(reply(result={"verdict": "allow"})))),
    ("no reasons", "pdp_result_incomplete", sends(http(without("reasons")))),
    ("no obligations", "pdp_result_incomplete", sends(http(without("obligations")))),
    ("no audit", "pdp_result_incomplete", sends(http(without("audit")))),
    ("no request id", "pdp_result_incomplete", sends(http(without("audit.request_id")))),
    ("reason without verdict", "pdp_result_incomplete", sends(http(without("reasons.0.verdict")))),
    ("field nobody declared", "pdp_result_unexpected_field", sends(http(reply(allow=True)))),
    ("undeclared field in audit", "pdp_result_unexpected_field", sends(http(audit(allowed=True)))),
    ("shouted verdict", "pdp_verdict_unknown", sends(http(reply(verdict="ALLOW")))),
    ("padded verdict", "pdp_verdict_unknown", sends(http(reply(verdict="allow\n")))),
    ("verdict by summary", "pdp_verdict_unknown", sends(http(reply(verdict="authorized_by_summary")))),
    ("verdict true", "pdp_verdict_unknown", sends(http(reply(verdict=True)))),
    ("verdict in a list", "pdp_verdict_unknown", sends(http(reply(verdict=["allow"])))),
    ("verdict null", "pdp_verdict_unknown", sends(http(reply(verdict=None)))),
    ("unknown word in a reason", "pdp_verdict_unknown", sends(http(reply(reasons=[reason("permit")])))),
    ("reasons are an object", "pdp_result_invalid", sends(http(reply(reasons={"0": reason("allow")})))),
    ("obligation is a word", "pdp_result_invalid", sends(http(reply(obligations=["redact"])))),
    ("request id is a number", "pdp_result_invalid", sends(http(audit(request_id=1)))),
    # a decision that contradicts itself
    ("allow for no reason", "pdp_decision_inconsistent", sends(http(reply(reasons=[])))),
    ("deny for no reason", "pdp_decision_inconsistent", sends(http(reply(verdict="deny", reasons=[])))),
    (
        "allow beside a denying reason",
        "pdp_decision_inconsistent",
        sends(http(reply(reasons=[reason("allow"), reason("deny")]))),
    ),
    ("allow that only denies", "pdp_decision_inconsistent", sends(http(reply(reasons=[reason("deny")])))),
    ("stricter than its reasons", "pdp_decision_inconsistent", sends(http(reply(verdict="deny")))),
    # a decision from elsewhere
    ("another request", "pdp_request_id_mismatch", sends(http(audit(request_id="r-2")))),
    ("request id null", "pdp_request_id_mismatch", sends(http(audit(request_id=None)))),
    ("another revision", "pdp_revision_unexpected", sends(http(bundles("sample@2+bb")))),
    ("revision with a tail", "pdp_revision_unexpected", sends(http(bundles(REVISION + " ")))),
    ("two bundles", "pdp_provenance_ambiguous", sends(http(bundles(REVISION, "other@1+cc")))),
    ("the bundle twice", "pdp_provenance_ambiguous", sends(http(bundles(REVISION, REVISION)))),
    ("no bundle", "pdp_provenance_missing", sends(http(bundles()))),
    ("revision empty", "pdp_provenance_missing", sends(http(bundles("")))),
    ("revision a list", "pdp_provenance_missing", sends(http(bundles([REVISION])))),
    ("no provenance", "pdp_provenance_missing", sends(http({"result": reply()["result"]}))),
    ("provenance null", "pdp_provenance_missing", sends(http(reply(provenance=None)))),
    ("bundles a list", "pdp_provenance_missing", sends(http(reply(provenance={"bundles": [REVISION]})))),
    # no JSON, or JSON with two readings
    ("html", "pdp_not_json", sends(http(b"<html><body>allow</body></html>"))),
    ("empty body", "pdp_not_json", sends(http(b""))),
    ("half of the JSON", "pdp_not_json", sends(http(json.dumps(reply()).encode()[:-20]))),
    ("two documents", "pdp_not_json", sends(http(json.dumps(reply()).encode() * 2))),
    ("not UTF-8", "pdp_not_json", sends(http(b'{"result":"\xff"}'))),
    (
        "verdict twice",
        "pdp_json_ambiguous",
        sends(http(json.dumps(reply()).replace('"verdict"', '"verdict": "deny", "verdict"', 1).encode())),
    ),
    ("result twice", "pdp_json_ambiguous", sends(http(b'{"result":{},' + json.dumps(reply()).encode()[1:]))),
    ("NaN", "pdp_json_ambiguous", sends(http(b'{"result":NaN}'))),
    ("too deep", "pdp_json_ambiguous", sends(http(b'{"result":' + b"[" * 100 + b"]" * 100 + b"}"))),
    ("far too deep", "pdp_json_ambiguous", sends(http(b'{"result":' + b"[" * 200_000))),
    # another status, whatever the body says
    ("400", "pdp_bad_request", sends(http(reply(), status="400 Bad Request"))),
    ("401", "pdp_unauthorized", sends(http(reply(), status="401 Unauthorized"))),
    ("403", "pdp_unauthorized", sends(http(reply(), status="403 Forbidden"))),
    ("404", "pdp_not_found", sends(http(reply(), status="404 Not Found"))),
    ("500", "pdp_server_error", sends(http(reply(), status="500 Internal Server Error"))),
    ("503", "pdp_server_error", sends(http(reply(), status="503 Service Unavailable"))),
    ("429", "pdp_http_status", sends(http(reply(), status="429 Too Many Requests"))),
    ("201", "pdp_http_status", sends(http(reply(), status="201 Created"))),
    ("204", "pdp_http_status", sends(http(b"", status="204 No Content"))),
    # too large, or cut
    ("10 MB", "pdp_reply_too_large", sends(http(b" " * 10_000_000 + json.dumps(reply()).encode()))),
    ("10 MB announced", "pdp_reply_too_large", sends(http(b"", length=10_000_000))),
    (
        "10 MB in chunks",
        "pdp_reply_too_large",
        sends(CHUNKED.encode() + (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 160 + b"0\r\n\r\n"),
    ),
    ("body cut", "pdp_reply_truncated", sends(SOUND[:-30])),
    (
        "chunk cut",
        "pdp_reply_truncated",
        sends(CHUNKED.encode() + b"ff\r\n" + json.dumps(reply()).encode()[:99]),
    ),
    (
        "last chunk missing",
        "pdp_reply_truncated",
        sends(f"{CHUNKED}{len(json.dumps(reply())):x}\r\n{json.dumps(reply())}\r\n".encode()),
    ),
    ("no length", "pdp_reply_truncated", sends(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(reply()).encode())),
    ("two lengths", "pdp_reply_truncated", sends(http(reply(), headers="Content-Length: 5\r\n"))),
    (
        "length and chunks",
        "pdp_reply_truncated",
        sends(http(b"0\r\n\r\n", headers="Transfer-Encoding: chunked\r\n")),
    ),
    ("negative length", "pdp_reply_truncated", sends(http(reply(), length=-1))),
    # no HTTP
    ("another protocol", "pdp_not_http", sends(b"SSH-2.0-OpenSSH_9.2\r\n")),
    ("endless header line", "pdp_not_http", sends(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000)),
    ("many headers", "pdp_not_http", sends(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 1000)),
    # nobody there, or not any more
    ("hangs up", "pdp_connection_lost", hangs_up),
    ("half-closed", "pdp_connection_lost", closes_its_half),
    ("reset", "pdp_connection_lost", resets),
]


@pytest.mark.parametrize(("code", "behave"), [pytest.param(c, b, id=n) for n, c, b in BAD_REPLIES])
def test_bad_reply_is_refused_with_its_own_code_and_without_its_text(code: str, behave: Behaviour) -> None:
    with serving(behave) as server, client_of(server.url) as client:
        error = refusal(client)
        # The question is never asked twice; who is not let in looks, once, whether the status says why.
        assert (error.code, server.connections) == (code, 2 if code == "pdp_unauthorized" else 1)
        assert not [word for word in ("s3cret", "html", "summary", "SSH") if word in f"{error} {error.hint}"]


@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(hangs, id="never answers"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\n", b"X-Drip: 1\r\n"), id="header by header"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\nX-Drip: ", b"1"), id="header byte by byte"),
        pytest.param(drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="continue for ever"),
        pytest.param(drips(http(b"", length=100_000), b" "), id="body byte by byte"),
        pytest.param(drips(CHUNKED.encode(), b"1\r\n \r\n"), id="chunk by chunk"),
    ],
)
def test_slow_server_is_refused_at_the_deadline_of_the_whole_call(behave: Behaviour) -> None:
    with serving(behave) as server, client_of(server.url, timeout_ms=300) as client:
        assert refusal(client).code == "pdp_timeout"


def test_dead_port_is_unreachable() -> None:
    with serving(hangs) as server:
        url = server.url
    with client_of(url) as client:
        assert refusal(client).code == "pdp_unreachable"
        assert client.ready() is False


def test_absent_socket_is_unreachable(tmp_path: Any) -> None:
    with client_of(f"unix://{tmp_path}/absent.sock") as client:
        assert refusal(client).code == "pdp_unreachable"


def test_backlog_that_nobody_accepts_is_a_timeout(tmp_path: Any) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen(0)
    with listener, client_of(f"unix://{tmp_path}/s", timeout_ms=200) as client:
        assert refusal(client).code == "pdp_timeout"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_redirect_is_refused_and_not_followed(status: str) -> None:
    with serving(sends(SOUND)) as elsewhere:
        answer = http(reply(), status=status, headers=f"Location: {elsewhere.url}/\r\n")
        with serving(sends(answer)) as server, client_of(server.url) as client:
            assert refusal(client).code == "pdp_redirected"
        assert elsewhere.connections == 0


def test_sound_reply_is_read_so_that_the_table_means_something() -> None:
    with serving(sends(SOUND)) as server, client_of(server.url) as client:
        read = client.decide(DOCUMENT)
    assert (read.decision.as_dict(), read.revision, read.decision.allowed) == (
        reply()["result"],
        REVISION,
        True,
    )


@pytest.mark.parametrize("bad", [sends(http({})), hangs_up, sends(SOUND[:-30]), resets])
def test_client_works_again_after_a_bad_reply(bad: Behaviour) -> None:
    with serving(bad, sends(SOUND)) as server, client_of(server.url) as client:
        refusal(client)
        assert client.decide(DOCUMENT).decision.allowed
        assert server.connections == 2


def test_late_answer_to_a_call_that_timed_out_is_never_read_as_the_next_answer() -> None:
    go_on = threading.Event()

    def late(connection: socket.socket) -> None:
        read_request(connection)
        go_on.wait(10)
        connection.sendall(SOUND)
        hangs(connection)

    with serving(late, sends(http(audit(request_id="r-9")))) as server:
        with client_of(server.url, timeout_ms=200) as client:
            assert refusal(client).code == "pdp_timeout"
            go_on.set()
            assert refusal(client).code == "pdp_request_id_mismatch"
        assert server.connections == 2


def test_idle_connection_closed_by_a_restart_is_replaced_before_anything_is_sent() -> None:
    idle = threading.Event()

    def answers_once(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(SOUND)
        connection.shutdown(socket.SHUT_RDWR)
        idle.set()

    with serving(answers_once, sends(SOUND)) as server, client_of(server.url) as client:
        assert client.decide(DOCUMENT).decision.allowed
        assert idle.wait(10)
        assert client.decide(DOCUMENT).decision.allowed
        assert server.connections == 2


def test_bytes_nobody_asked_for_are_never_read_as_an_answer() -> None:
    sent = threading.Event()

    def talks_too_much(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(SOUND)
        threading.Event().wait(0.1)
        connection.sendall(SOUND)
        sent.set()
        hangs(connection)

    with serving(talks_too_much, sends(http({}))) as server, client_of(server.url) as client:
        assert client.decide(DOCUMENT).decision.allowed
        assert sent.wait(10)
        assert refusal(client).code == "pdp_result_undefined"
        assert server.connections == 2


def test_request_lost_after_it_was_sent_is_not_sent_again() -> None:
    requests: list[bytes] = []

    def loses_the_second(connection: socket.socket) -> None:
        requests.append(read_request(connection))
        connection.sendall(SOUND)
        requests.append(read_request(connection))

    with serving(loses_the_second) as server, client_of(server.url) as client:
        assert client.decide(DOCUMENT).decision.allowed
        assert refusal(client).code == "pdp_connection_lost"
        assert (len(requests), server.connections) == (2, 1)


def test_kept_connection_serves_many_calls() -> None:
    def answers(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(SOUND)

    with serving(answers) as server, client_of(server.url) as client:
        assert [client.decide(DOCUMENT).decision.allowed for _ in range(5)] == [True] * 5
        assert server.connections == 1


def test_close_ends_a_call_of_another_thread() -> None:
    waiting = threading.Event()

    def silent(connection: socket.socket) -> None:
        read_request(connection)
        waiting.set()
        hangs(connection)

    codes: list[str] = []
    with serving(silent) as server, client_of(server.url, timeout_ms=60_000) as client:
        caller = threading.Thread(target=lambda: codes.append(refusal(client).code))
        caller.start()
        assert waiting.wait(10)
        client.close()
        caller.join(20)
    assert codes == ["pdp_closed"]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({**DOCUMENT, "now_ms": float("nan")}, "pdp_document_invalid"),
        ({**DOCUMENT, "now_ms": float("inf")}, "pdp_document_invalid"),
        ({**DOCUMENT, "request": {"text": "\ud800"}}, "pdp_document_invalid"),
        ({**DOCUMENT, "request": {"text": object()}}, "pdp_document_invalid"),
        ({**DOCUMENT, "request": {"text": "x" * 1_048_576}}, "pdp_document_too_large"),
        ({}, "pdp_document_invalid"),
        ({"request_id": None}, "pdp_document_invalid"),
        ({"request_id": ""}, "pdp_document_invalid"),
        ({"request_id": 1}, "pdp_document_invalid"),
    ],
)
def test_document_that_cannot_be_asked_about_is_refused_before_anything_is_sent(
    document: dict[str, Any], code: str
) -> None:
    with serving(sends(SOUND)) as server, client_of(server.url) as client:
        with pytest.raises(PdpError) as caught:
            client.decide(document)
        assert (caught.value.code, server.connections) == (code, 0)


FACTS = {
    "bundle": {"bundle_id": "b", "version": "1", "release_identity": "r", "contract_version": "c"},
    "capabilities": {"search_docs": {"version": "1"}},
    "contracts": {},
    "reviewers": {},
    "show_arguments": {"search_docs": ["/q"]},
    "evidence": {},
    "trajectory": {},
    "plans": {},
}


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        ("pdp_result_null", None),
        ("pdp_result_not_object", []),
        ("pdp_result_incomplete", {}),
        *(("pdp_result_incomplete", {k: v for k, v in FACTS.items() if k != name}) for name in FACTS),
        ("pdp_result_unexpected_field", {**FACTS, "allow": True}),
        ("pdp_result_incomplete", {**FACTS, "bundle": {"bundle_id": "b"}}),
        ("pdp_result_unexpected_field", {**FACTS, "bundle": {**FACTS["bundle"], "x": ""}}),
        ("pdp_result_invalid", {**FACTS, "bundle": "b"}),
        ("pdp_result_invalid", {**FACTS, "bundle": {**FACTS["bundle"], "version": None}}),
        ("pdp_result_invalid", {**FACTS, "bundle": {**FACTS["bundle"], "version": ""}}),
        ("pdp_result_invalid", {**FACTS, "capabilities": []}),
        ("pdp_result_invalid", {**FACTS, "capabilities": {"search_docs": None}}),
        ("pdp_result_invalid", {**FACTS, "contracts": None}),
        ("pdp_result_invalid", {**FACTS, "reviewers": {"ann": "key"}}),
        ("pdp_result_invalid", {**FACTS, "show_arguments": {"search_docs": [1]}}),
        ("pdp_result_invalid", {**FACTS, "show_arguments": {"search_docs": {"/q": True}}}),
    ],
)
def test_bad_facts_are_refused_each_with_its_code(code: str, facts: Any) -> None:
    with serving(sends(http(reply(result=facts)))) as server, client_of(server.url) as client:
        with pytest.raises(PdpError) as caught:
            client.facts("a")
        assert caught.value.code == code


def test_facts_larger_than_a_decision_may_be_are_read() -> None:
    large = {**FACTS, "capabilities": {f"tool_{i}": {"description": "x" * 900} for i in range(2000)}}
    with serving(sends(http(reply(result=large)))) as server, client_of(server.url) as client:
        assert len(client.facts("a").capabilities) == 2000


def test_facts_of_another_revision_are_refused() -> None:
    body = {**bundles("sample@2+bb"), "result": FACTS}
    with serving(sends(http(body))) as server, client_of(server.url) as client:
        with pytest.raises(PdpError) as caught:
            client.facts("a")
        assert caught.value.code == "pdp_revision_unexpected"
