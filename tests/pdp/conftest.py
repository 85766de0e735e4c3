"""A sample bundle, the pinned OPA, and documents to ask about."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gate import opa
from gate.errors import ToolchainError
from gate.pdp import Sidecar

REGO = Path(__file__).parent / "rego"


@pytest.fixture(scope="session")
def opa_binary() -> Path:
    try:
        return opa.find().path
    except ToolchainError as exc:
        pytest.fail(f"{exc.message}; {exc.hint}")


@pytest.fixture(scope="session")
def modules() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(REGO.glob("*.rego"))}


@pytest.fixture(scope="session")
def build(opa_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds the sample bundle as the given revision."""

    def build(revision: str, *, roots: tuple[str, ...] = ("gate",)) -> Path:
        folder = tmp_path_factory.mktemp("bundle")
        shutil.copytree(REGO, folder / "gate")
        manifest = {"revision": revision, "roots": list(roots)}
        (folder / ".manifest").write_text(json.dumps(manifest), encoding="utf-8")
        tarball = folder.parent / f"{folder.name}.tar.gz"
        done = opa.run(["build", "-b", ".", "-o", str(tarball)], cwd=folder, binary=opa_binary)
        assert (done.returncode, done.stderr) == (0, "")
        return tarball

    return build


@pytest.fixture(scope="session")
def tarball(build: Callable[..., Path]) -> Path:
    return build("sample@1+aa")


@pytest.fixture(scope="module", params=["tcp", "unix"])
def sidecar(
    request: pytest.FixtureRequest, tarball: Path, opa_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sidecar]:
    folder = tmp_path_factory.mktemp("sidecar")
    listen = "tcp" if request.param == "tcp" else folder / "s" / "opa.sock"
    with Sidecar.start(tarball=tarball, opa=opa_binary, listen=listen, work_dir=folder / "work") as running:
        yield running


@pytest.fixture
def ask() -> Callable[..., dict[str, Any]]:
    """A document about one capability."""

    def ask(capability: str, *, request_id: str = "r-1") -> dict[str, Any]:
        return {
            "request_id": request_id,
            "checkpoint": "tool_execution",
            "operation": "call_tool",
            "request": {"capability": capability},
        }

    return ask
