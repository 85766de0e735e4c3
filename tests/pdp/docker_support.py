"""A real Docker engine for the tests: the one that answers, or one of their own in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import docker
import pytest
import requests

_START_S = 60.0


def missing(reason: str) -> NoReturn:
    """In CI a failure, because a skipped proof proves nothing; elsewhere a skip that says why."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def answers(url: str | None = None) -> bool:
    """Whether an engine does; `url` in place of what the environment says."""
    with contextlib.suppress(docker.errors.DockerException, requests.RequestException, OSError):
        client = docker.DockerClient(base_url=url) if url else docker.from_env()
        with contextlib.closing(client):
            return bool(client.ping())
    return False


@contextlib.contextmanager
def engine() -> Iterator[str]:
    """The URL of an engine; one of our own uses no bridge and no firewall, and keeps its images in a scratch folder."""
    if answers():
        yield os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        return
    program = shutil.which("dockerd")
    if program is None or os.geteuid() != 0:
        missing("container suite not run: no Docker engine answers, and none can be started (see `make services`)")
    folder = Path(tempfile.mkdtemp(prefix="gate-docker-"))
    url = f"unix://{folder}/d.sock"
    options = ("--storage-driver=vfs", "--iptables=false", "--ip6tables=false", "--bridge=none", "--log-level=error")
    places = ("--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid", "-H", url)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, *options, *map(str, places)], stdout=log, stderr=log)
    try:
        for _ in range(int(_START_S / 0.1)):
            if answers(url) or process.poll() is not None:
                break
            threading.Event().wait(0.1)
        if not answers(url):
            missing("container suite not run: the Docker engine could not be started here")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)
