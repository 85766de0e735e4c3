"""One OPA in a container of its own: an image that holds the pinned binary and nothing else, run with no rights.

Speaks to the Docker engine through its SDK. Knows no bundle; pulls nothing from a registry.
"""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gate.errors import ToolchainError

IMAGE = "agent-policy-gate/opa"
"""Name of the image; its tag is the version of OPA."""

_STOP_TIMEOUT_S = 3
_MEMORY = "512m"
_PIDS = 128
_DOCKERFILE = b"""FROM scratch
COPY opa /opa
USER 65534:65534
ENTRYPOINT ["/opa"]
"""


class OpaContainer:
    """A container on the host's network, with a read-only root, no capabilities and no new privileges.

    It runs as the user of this process, so that a unix socket is served by whom the gate expects, and sees nothing of
    the machine but `mounts`.
    """

    def __init__(
        self,
        opa: Path,
        arguments: Sequence[str],
        *,
        readable: Sequence[Path],
        writable: Sequence[Path],
        log_file: Path,
    ) -> None:
        """Builds the image when the engine has none, and returns when the container was started.

        `readable` are the files and folders that OPA needs, `writable` where it makes its socket; each at the same
        path inside. Raises `ToolchainError`:
        `docker_unavailable`, `sidecar_not_started`.
        """
        self.exit_code: int | None = None
        self._ended = threading.Event()
        docker, errors = _docker()
        try:
            self._client = docker.from_env()
            self._client.ping()
        except errors as exc:
            raise ToolchainError(
                "no Docker engine answers", code="docker_unavailable", hint="start one, or set DOCKER_HOST"
            ) from exc
        try:
            image = ensure_image(self._client, opa)
            self._container: Any = self._client.containers.run(
                image, list(arguments), detach=True, **restrictions(readable, writable)
            )
            self._container.reload()
        except errors as exc:
            self._client.close()
            raise ToolchainError(
                "the container could not be started", code="sidecar_not_started", hint="see the engine's log"
            ) from exc
        self.pid = int(self._container.attrs["State"]["Pid"])
        self._errors = errors
        threading.Thread(target=self._follow, args=(log_file,), name="opa container", daemon=True).start()

    def wait(self, timeout_s: float | None) -> bool:
        """True when OPA has ended, at most `timeout_s` seconds from now."""
        return self._ended.wait(timeout_s)

    def stop(self) -> None:
        """Stops the container, after three seconds with force, and removes it."""
        with contextlib.suppress(*self._errors):
            self._container.stop(timeout=_STOP_TIMEOUT_S)
        self._ended.wait(_STOP_TIMEOUT_S)
        with contextlib.suppress(*self._errors):
            self._container.remove(force=True)
        self._client.close()

    def _follow(self, log_file: Path) -> None:
        """Keeps the log, and notices the end."""
        with contextlib.suppress(OSError, *self._errors), log_file.open("ab") as log:
            for chunk in self._container.logs(stream=True, follow=True):
                log.write(chunk)
                log.flush()
        with contextlib.suppress(*self._errors):
            self.exit_code = int(self._container.wait()["StatusCode"])
        self._ended.set()


def restrictions(readable: Sequence[Path], writable: Sequence[Path]) -> dict[str, Any]:
    """How the container is run, as keyword arguments of the Docker SDK; the compose file says the same."""
    return {
        "network_mode": "host",
        "read_only": True,
        "user": f"{os.geteuid()}:{os.getegid()}",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": _MEMORY,
        "pids_limit": _PIDS,
        "environment": {"GOGC": "400"},
        "labels": {"app": "agent-policy-gate"},
        "volumes": {
            **{str(path): {"bind": str(path), "mode": "ro"} for path in readable},
            **{str(path): {"bind": str(path), "mode": "rw"} for path in writable},
        },
    }


def ensure_image(client: Any, opa: Path) -> str:
    """The image around the binary `opa`, made when the engine of `client` has none; nothing is pulled."""
    # Here and not above: `python -m gate.opa` must not find its own module loaded by its package.
    from gate.opa import OPA_VERSION

    docker, _ = _docker()
    tag = f"{IMAGE}:{OPA_VERSION}"
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            _add(archive, "Dockerfile", _DOCKERFILE, 0o644)
            _add(archive, "opa", opa.read_bytes(), 0o755)
        context.seek(0)
        client.images.build(fileobj=context, custom_context=True, tag=tag, rm=True, forcerm=True)
    return tag


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))


def _docker() -> tuple[Any, tuple[type[Exception], ...]]:
    """The SDK, and what it raises; it is wanted only where containers are."""
    try:
        import docker
        import requests
    except ImportError as exc:
        raise ToolchainError(
            "the Docker SDK is not installed", code="docker_unavailable", hint="pip install docker"
        ) from exc
    return docker, (docker.errors.DockerException, requests.RequestException, OSError)
