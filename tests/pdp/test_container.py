"""The sidecar as a container, on a real Docker engine."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml
from docker_support import engine
from signing_support import built, new_key

from gate.errors import PdpError, ToolchainError
from gate.opa import OPA_VERSION
from gate.pdp import Sidecar, SidecarDecisionPoint, VerificationKey
from gate.pdp.container import IMAGE, ensure_image
from gate.pdp.sidecar_files import Serving, prepare, token_path

pytestmark = pytest.mark.opa

Ask = Callable[..., dict[str, Any]]
COMPOSE = Path(__file__).parent / "sidecar-compose.yaml"


@pytest.fixture(scope="module")
def docker_url() -> Iterator[str]:
    with engine() as url:
        yield url


@pytest.fixture
def client(docker_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("DOCKER_HOST", docker_url)
    with contextlib.closing(docker.from_env()) as found:
        yield found


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, opa_binary: Path) -> tuple[VerificationKey, Path]:
    folder = tmp_path_factory.mktemp("signed")
    return new_key(folder), built(folder, "2.0", binary=opa_binary)


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_container_has_no_rights_and_gives_the_same_decisions(
    client: Any, signed: tuple[VerificationKey, Path], opa_binary: Path, tmp_path: Path, ask: Ask, kind: str
) -> None:
    key, tarball = signed
    listen: Any = "tcp" if kind == "tcp" else tmp_path / "s" / "o"
    settings: dict[str, Any] = {"opa": opa_binary, "docker": True, "startup_timeout_s": 60}
    with Sidecar.start(tarball=tarball, listen=listen, work_dir=tmp_path / "w", key=key, **settings) as sidecar:
        point = sidecar.client(timeout_ms=10_000)
        verdicts = [str(point.decide(ask(name)).decision.verdict) for name in ("search_docs", "run_shell")]
        point.close()
        (container,) = (c for c in client.containers.list() if c.attrs["State"]["Pid"] == sidecar.pid)
        host = container.attrs["HostConfig"]
        seen = Path(f"/proc/{sidecar.pid}/status").read_text("ascii")
    assert verdicts == ["allow", "deny"]
    assert (host["ReadonlyRootfs"], host["CapDrop"], host["SecurityOpt"], host["NetworkMode"]) == (
        True,
        ["ALL"],
        ["no-new-privileges:true"],
        "host",
    )
    assert container.attrs["Config"]["User"] == f"{os.geteuid()}:{os.getegid()}"
    assert (re.findall(r"NoNewPrivs:\t(\d)", seen), re.findall(r"CapEff:\t0*(\w)", seen)) == (["1"], ["0"])
    assert {(m["Destination"], m["RW"]) for m in container.attrs["Mounts"]} == {
        (str(tmp_path / "w"), False),
        *([(str(tmp_path / "s"), True)] if kind == "unix" else []),
    }
    assert not sidecar.running
    assert client.containers.list(all=True, filters={"label": "app=agent-policy-gate"}) == []


def test_image_holds_the_pinned_binary_and_nothing_else(client: Any, opa_binary: Path) -> None:
    tag = ensure_image(client, opa_binary)
    assert tag == f"{IMAGE}:{OPA_VERSION}"
    image = client.images.get(tag)
    assert len(image.attrs["RootFS"]["Layers"]) == 1
    assert (image.attrs["Config"]["Entrypoint"], image.attrs["Config"]["User"]) == (["/opa"], "65534:65534")


def test_container_that_is_killed_refuses_and_a_new_one_answers_the_same_client(
    client: Any, signed: tuple[VerificationKey, Path], opa_binary: Path, tmp_path: Path, ask: Ask
) -> None:
    key, tarball = signed
    settings: dict[str, Any] = {"tarball": tarball, "key": key, "opa": opa_binary, "docker": True}
    settings["startup_timeout_s"] = 60
    first = Sidecar.start(**settings, listen=tmp_path / "s" / "o", work_dir=tmp_path / "w")
    point = first.client(timeout_ms=10_000)
    assert point.decide(ask("search_docs")).decision.allowed
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait(30)
    with pytest.raises(PdpError) as caught:
        point.decide(ask("search_docs"))
    assert caught.value.code == "pdp_unreachable"
    first.stop()
    with Sidecar.start(**settings, listen=tmp_path / "s" / "o", work_dir=tmp_path / "w", token=first.token):
        assert point.decide(ask("search_docs")).decision.allowed
    point.close()


def test_container_that_cannot_start_says_so_and_leaves_nothing(
    client: Any, signed: tuple[VerificationKey, Path], opa_binary: Path, tmp_path: Path
) -> None:
    other = new_key(tmp_path)
    with pytest.raises(ToolchainError) as caught:
        Sidecar.start(tarball=signed[1], opa=opa_binary, listen="tcp", work_dir=tmp_path / "w", key=other, docker=True)
    assert caught.value.code == "bundle_signature_invalid"
    assert client.containers.list(all=True) == []


def test_no_engine_is_an_error_with_a_code(
    signed: tuple[VerificationKey, Path], opa_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(ToolchainError) as caught:
        Sidecar.start(
            tarball=signed[1], key=signed[0], opa=opa_binary, listen="tcp", work_dir=tmp_path / "w", docker=True
        )
    assert caught.value.code == "docker_unavailable"


def test_compose_file_runs_what_was_prepared(
    client: Any, signed: tuple[VerificationKey, Path], opa_binary: Path, tmp_path: Path, ask: Ask
) -> None:
    """Read as `docker compose` reads it, and started through the SDK with exactly what it says."""
    key, tarball = signed
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    serving = Serving(tarball=tarball, revisions=("sample@2.0",), key=key, minimum={"sample": "2.0"})
    told = prepare(tmp_path / "sidecar", serving, token="token", inside=Path("/sidecar"), address=f"127.0.0.1:{port}")
    environment = {
        "GATE_UID": str(os.geteuid()),
        "GATE_GID": str(os.getegid()),
        "GATE_SIDECAR": str(tmp_path / "sidecar"),
    }
    service = yaml.safe_load(string.Template(COMPOSE.read_text("utf-8")).substitute(environment))["services"]["opa"]
    command = [f"--addr=127.0.0.1:{port}" if word.startswith("--addr=") else word for word in service["command"]]
    assert {word for word in told if word.startswith("/sidecar/")} == {
        word.rpartition("=")[2] for word in command if "/sidecar/" in word
    }
    assert service.pop("image") == ensure_image(client, opa_binary)
    assert service.pop("restart") == "unless-stopped"
    service.pop("command")
    container = client.containers.run(f"{IMAGE}:{OPA_VERSION}", command, detach=True, **service)
    point = SidecarDecisionPoint(
        url=f"http://127.0.0.1:{port}",
        token=token_path(tmp_path / "sidecar").read_text("ascii").strip(),
        expected_revisions=("sample@2.0",),
        timeout_ms=10_000,
    )
    try:
        for _ in range(300):
            if point.ready():
                break
            container.reload()
        assert point.decide(ask("search_docs")).decision.allowed
        assert not point.decide(ask("run_shell")).decision.allowed
    finally:
        point.close()
        container.remove(force=True)
