"""The life of an OPA sidecar, a local process or a container: configured, started, found ready, stopped.

Serves one built bundle, or follows where they are published, and lets nobody without the token ask anything but the
gate's questions. Never restarts OPA by itself, and never reads what it prints.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol

from gate.documents.releases import is_version
from gate.errors import PdpError, ToolchainError
from gate.pdp.address import listening_at
from gate.pdp.container import OpaContainer
from gate.pdp.manifest import manifest_revision, require_versions
from gate.pdp.process import OpaProcess
from gate.pdp.sidecar_client import SidecarDecisionPoint
from gate.pdp.sidecar_files import Serving, Tls, arguments, copied, private_folder, write_files
from gate.pdp.signature import VerificationKey, require_unsigned, verify_bundle
from gate.pdp.status import SidecarStatus
from gate.pdp.watching import Polling

_STARTUP_TIMEOUT_S = 30.0
_POLL_S = 0.02


class Runner(Protocol):
    """One running OPA: a process, or a container."""

    pid: int
    exit_code: int | None

    def wait(self, timeout_s: float | None) -> bool:
        """True when OPA has ended, at most `timeout_s` seconds from now."""

    def stop(self) -> None:
        """Ends OPA; nothing when it has ended."""


class Sidecar:
    """A running OPA that serves one bundle. A context manager; made by `start`."""

    def __init__(
        self,
        *,
        url: str,
        token: str,
        revision: str,
        runner: Runner,
        log_file: Path,
        ca_file: Path | None = None,
        diagnostics_url: str | None = None,
    ) -> None:
        self.url = url
        """For `SidecarDecisionPoint`: `http://127.0.0.1:PORT` or `unix:///path`."""
        self.revision = revision
        """What OPA was seen to serve first: what the tarball's manifest says, or the first that was expected."""
        self.token = token
        """The bearer token; a secret."""
        self.log_file = log_file
        """Where OPA's own output goes: readable by its owner only, never the user's terminal."""
        self.ca_file = ca_file
        """What the gate pins when the sidecar speaks TLS."""
        self.diagnostics_url = diagnostics_url
        """Where health and metrics are read, without a token; None when nowhere."""
        self._runner = runner

    @classmethod
    def start(
        cls,
        *,
        tarball: Path | str | None = None,
        opa: Path,
        listen: Literal["tcp"] | Path,
        work_dir: Path,
        token: str | None = None,
        port: int = 0,
        startup_timeout_s: float = _STARTUP_TIMEOUT_S,
        key: VerificationKey | None = None,
        minimum: Mapping[str, str] | None = None,
        polling: Polling | None = None,
        revisions: Iterable[str] = (),
        tls: Tls | None = None,
        diagnostics_port: int | None = None,
        docker: bool = False,
    ) -> Sidecar:
        """Starts OPA and returns when it answers at the expected revision.

        `tarball` is loaded once: one that changes later is served by the next start. With `polling` OPA follows new
        bundles instead, and `revisions` says which to expect first. `listen`: `"tcp"` for 127.0.0.1 at `port` (0: a
        free one), or the path of a unix socket in a directory that is ours alone. `work_dir`: private directory for
        configuration and log. `token`: generated when None. `key`: whose signature every bundle must bear, checked
        here and by OPA. `minimum`: version by bundle id, below which nothing is served. `docker`: OPA runs in a
        container. Raises `ToolchainError` when a bundle is refused, when something is at the address already, and
        when OPA exits early or does not become ready in `startup_timeout_s` seconds.
        """
        if not all(map(is_version, (minimum or {}).values())):
            raise ToolchainError("a minimum that is no version bounds nothing", code="sidecar_misconfigured")
        source = None if tarball is None else Path(tarball).absolute()
        if (source is None) == (polling is None):
            raise ToolchainError("a sidecar serves either a tarball or what it follows", code="sidecar_misconfigured")
        expected = tuple(revisions)
        if source is not None:
            expected = (checked_revision(source, key, minimum or {}),)
        elif not expected or key is None:
            raise ToolchainError(
                "a sidecar that follows bundles needs the key they are signed with, and the first revision to expect",
                code="sidecar_misconfigured",
            )
        if tls is not None and isinstance(listen, Path):
            raise ToolchainError("a unix socket has no use for TLS", code="sidecar_misconfigured")
        folder = private_folder(work_dir.absolute())
        secret = secrets.token_urlsafe(32) if token is None else token
        address = listening_at(listen, port)
        url = address if isinstance(listen, Path) else f"{'http' if tls is None else 'https'}://{address}"
        diagnostics = None if diagnostics_port is None else listening_at("tcp", diagnostics_port)
        serving = Serving(
            tarball=source,
            revisions=expected,
            polling=polling,
            key=key,
            minimum=dict(minimum or {}),
            diagnostics=diagnostics is not None,
        )
        # A container sees the working folder only.
        served = copied(source, folder) if docker and source is not None else source
        write_files(folder, serving, token=secret, tarball=served)
        pair = None if tls is None else (tls.cert_file.absolute(), tls.key_file.absolute())
        asked = arguments(folder, address, diagnostics=diagnostics, tls=pair)
        runner: Runner
        if docker:
            readable = [folder, *(pair or ())]
            if polling is not None and polling.token_file is not None:
                readable.append(polling.token_file.absolute())
            writable = [listen.absolute().parent] if isinstance(listen, Path) else []
            runner = OpaContainer(opa, asked, readable=readable, writable=writable, log_file=folder / "opa.log")
        else:
            runner = OpaProcess([str(opa), *asked], folder=folder, log_file=folder / "opa.log")
        sidecar = cls(
            url=url,
            token=secret,
            revision=expected[0],
            runner=runner,
            log_file=folder / "opa.log",
            ca_file=None if tls is None else tls.ca_file,
            diagnostics_url=None if diagnostics is None else f"http://{diagnostics}",
        )
        try:
            sidecar._wait_until_ready(startup_timeout_s, expected)
        except BaseException:
            sidecar.stop()
            raise
        return sidecar

    @property
    def pid(self) -> int:
        """Process id of OPA, as this machine sees it."""
        return self._runner.pid

    @property
    def running(self) -> bool:
        """False once OPA has ended, for whatever reason."""
        return not self._runner.wait(0)

    def client(self, **settings: Any) -> SidecarDecisionPoint:
        """A decision point that asks this sidecar and accepts its revision only; `settings` are passed on."""
        return SidecarDecisionPoint(
            **{
                "url": self.url,
                "token": self.token,
                "expected_revisions": (self.revision,),
                "ca_file": self.ca_file,
                **settings,
            }
        )

    def status(self) -> SidecarStatus:
        """What OPA says of its bundle; raises `PdpError`."""
        client = self.client()
        try:
            return client.status()
        finally:
            client.close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """True when OPA has ended, at most `timeout_s` seconds from now."""
        return self._runner.wait(timeout_s)

    def stop(self) -> None:
        """Ends OPA: SIGTERM, then SIGKILL after three seconds. Harmless when it has ended already."""
        self._runner.stop()

    def __enter__(self) -> Sidecar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_until_ready(self, timeout_s: float, expected: tuple[str, ...]) -> None:
        deadline = time.monotonic() + timeout_s
        client = self.client(expected_revisions=expected)
        try:
            while not client.ready():
                if self._runner.wait(_POLL_S):
                    raise ToolchainError(
                        f"opa ended with exit code {self._runner.exit_code} before it was ready",
                        code="sidecar_not_started",
                        hint=f"see `{self.log_file}`",
                    )
                refused = _refused(client)
                if refused is not None:
                    raise ToolchainError("opa refused the bundle", code=refused, hint=f"see `{self.log_file}`")
                if time.monotonic() > deadline:
                    raise ToolchainError(
                        f"opa was not ready with the bundle after {timeout_s:g} s: {_why_not(client)}",
                        code="sidecar_not_ready",
                        hint=f"see `{self.log_file}`",
                    )
            self.revision = client.revision()
        finally:
            client.close()


def checked_revision(tarball: Path, key: VerificationKey | None, minimum: Mapping[str, str]) -> str:
    """The revision of `tarball`, once it has passed whatever is asked of it; raises `ToolchainError`."""
    if key is not None:
        verify_bundle(tarball, key)
    else:
        require_unsigned(tarball)
    revision = manifest_revision(tarball)
    if minimum:
        require_versions(tarball, minimum)
    return revision


def _refused(client: SidecarDecisionPoint) -> str | None:
    """Why OPA does not activate its bundle, when it says so."""
    try:
        status = client.status()
    except PdpError:
        return None
    return status.error if status.revision is None else None


def _why_not(client: SidecarDecisionPoint) -> str:
    try:
        client.revision()
    except PdpError as exc:
        return exc.code
    return "its bundles are not active"
