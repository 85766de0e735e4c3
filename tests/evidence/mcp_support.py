"""Real MCP servers of the official SDK: over streamable HTTP in this process, over stdio as a program of its own."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from mcp import StdioServerParameters
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer

PROGRAM = """
import json, sys
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer

settings = json.load(open(sys.argv[1], encoding="utf-8"))
hints = {"tools/list": CacheHint(settings["ttl_ms"], settings["scope"])} if "ttl_ms" in settings else None
server = MCPServer("docs", cache_hints=hints)
for name, description in settings["tools"].items():
    def tool(query: str) -> str:
        return query
    server.add_tool(tool, name=name, description=description)
server.run("stdio")
"""


def over_stdio(folder: Path, **settings: Any) -> StdioServerParameters:
    """A server that reads its tools from a file whenever it is started: writing the file changes them."""
    program, state = folder / "server.py", folder / "state.json"
    program.write_text(PROGRAM, "utf-8")
    state.write_text(json.dumps(settings), "utf-8")
    return StdioServerParameters(command=sys.executable, args=[str(program), str(state)])


def search(query: str) -> str:
    return query


def search_more(query: str, limit: int = 5) -> str:
    return query * limit


@contextmanager
def over_http(*, ttl_ms: int = 60_000, scope: Any = "private") -> Iterator[tuple[str, MCPServer]]:
    """A running server and its URL; `add_tool` and `remove_tool` on it change what it offers at once."""
    server = MCPServer("docs", cache_hints={"tools/list": CacheHint(ttl_ms, scope)}, log_level="CRITICAL")
    server.add_tool(search, name="search_docs", description="Searches the documentation.")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        http = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical", lifespan="on"))
        thread = threading.Thread(target=http.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 20
        while not http.started and time.monotonic() < until:
            time.sleep(0.01)
        assert http.started
        try:
            yield f"http://127.0.0.1:{port}/mcp", server
        finally:
            http.should_exit = True
            thread.join(10)
