"""What stands where a sidecar is to listen is neither removed nor taken over."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Literal

import pytest

from gate.errors import ToolchainError
from gate.pdp.address import listening_at


def taken(listen: Literal["tcp"] | Path, port: int = 0) -> str:
    with pytest.raises(ToolchainError) as caught:
        listening_at(listen, port)
    return caught.value.code


def test_port_that_somebody_listens_on_is_taken_and_afterwards_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        assert taken("tcp", port) == "sidecar_address_taken"
    assert listening_at("tcp", port) == f"127.0.0.1:{port}"


@pytest.mark.parametrize("waiting", [0, 2])
def test_socket_of_a_live_sidecar_is_taken_however_slow_it_is(tmp_path: Path, waiting: int) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "opa.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(0)
        crowd = [socket.socket(socket.AF_UNIX) for _ in range(waiting)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(str(path))  # nobody accepts: the queue is full
        assert taken(path) == "sidecar_address_taken"
        for one in crowd:
            one.close()
    assert listening_at(path, 0) == f"unix://{path}"  # what a killed one leaves is no sidecar


def test_file_where_the_socket_shall_be_is_kept(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = tmp_path / "records.sqlite"
    path.write_text("worth keeping", encoding="utf-8")
    assert taken(path) == "sidecar_address_taken"
    assert path.read_text("utf-8") == "worth keeping"
