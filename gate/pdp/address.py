"""Where a sidecar is to listen: a port or a socket that is free, in a folder that is nobody else's.

Starts nothing and connects to nobody but to see that nobody answers. OPA itself would remove whatever stands at the
path of its socket, a live sidecar's or a file.
"""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Literal

from gate.errors import ToolchainError
from gate.pdp.endpoint import MAX_SOCKET_PATH_BYTES
from gate.pdp.sidecar_files import private_folder

_CONNECT_S = 1.0


def listening_at(listen: Literal["tcp"] | Path, port: int) -> str:
    """What OPA is told to listen on: `unix:///path`, or `127.0.0.1:PORT` with a free one for 0.

    Raises `ToolchainError`, with code `sidecar_address_taken` when something is there already.
    """
    if isinstance(listen, Path):
        return f"unix://{_socket_path(listen.absolute())}"
    if port:
        _require_free(port)
    return f"127.0.0.1:{port or _free_port()}"


def _free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    # Another process can take it before OPA does; then OPA ends, and so does `Sidecar.start`.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that just ended hold no port
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as exc:
            raise _taken(f"port {port}", "use another port, or stop what listens there") from exc


def _socket_path(path: Path) -> Path:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise ToolchainError(f"the socket path is over {MAX_SOCKET_PATH_BYTES} bytes", hint="use a shorter directory")
    # OPA makes the socket and narrows its mode afterwards: only the directory closes that moment.
    private_folder(path.parent)
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return path
    except OSError as exc:
        raise ToolchainError(f"`{path}` cannot be looked at") from exc
    if not stat.S_ISSOCK(mode):
        raise _taken(f"`{path}`", "it is no socket, and OPA would remove it: name a path that is not there")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_CONNECT_S)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return path  # left behind by an OPA that was killed
        except FileNotFoundError:
            return path  # its OPA has just ended
        except OSError:
            pass  # somebody listens and is slow
    raise _taken(f"`{path}`", "another sidecar listens there: stop it, or name another socket")


def _taken(what: str, hint: str) -> ToolchainError:
    return ToolchainError(f"{what} is in use", code="sidecar_address_taken", hint=hint)
