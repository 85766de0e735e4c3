"""A scripted model and a provider over HTTP that compacts, for the OpenAI Agents SDK."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents import Model, ModelResponse, Usage
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


class ScriptedModel(Model):
    """Says `Noted.` and keeps what it was shown; the SDK compacts of itself only after a response with an id."""

    def __init__(self, *, ids: bool = False) -> None:
        self.shown: list[str] = []
        self.ids = ids

    async def get_response(self, system_instructions: str | None, input: Any, *args: Any, **options: Any) -> Any:
        self.shown.append(f"{system_instructions}\n{json.dumps(input)}")
        said = ResponseOutputMessage(
            id=f"msg_{len(self.shown)}",
            content=[ResponseOutputText(text="Noted.", type="output_text", annotations=[])],
            role="assistant",
            status="completed",
            type="message",
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=f"resp_{len(self.shown)}" if self.ids else None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("nothing here streams")


class _Provider(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server: Any = self.server
        server.asked.append((self.path, asked))
        if server.fails:
            self.send_response(400)
            self.end_headers()
            self.wfile.write(b"{}")
            return
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "b3BhcXVl"}
        body = {"id": "resp_1", "created_at": 1, "object": "response.compaction", "output": [item], "usage": usage}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return


class Provider:
    def __init__(self, server: Any) -> None:
        self.server = server
        self.client = AsyncOpenAI(
            base_url=f"http://127.0.0.1:{server.server_address[1]}", api_key="none", max_retries=0
        )

    @property
    def asked(self) -> list[Any]:
        found: list[Any] = self.server.asked
        return found


@contextmanager
def provider(*, fails: bool = False) -> Iterator[Provider]:
    """A provider whose compaction nobody can read."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    server.daemon_threads, server.asked, server.fails = True, [], fails
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield Provider(server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
