"""What OPA is started with: its configuration, the sidecar's own policies, and the arguments that name them.

Writes private files and nothing else. The bearer token is in none of them, and no bundle can change any of them: its
only root is `gate`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.documents import policies_dir
from gate.documents.releases import version_order
from gate.errors import ToolchainError
from gate.pdp.signature import VerificationKey
from gate.pdp.watching import Polling

POLICIES = ("authz", "log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Certificate and key the sidecar serves with, and the CA file the gate pins; only for TCP."""

    cert_file: Path
    key_file: Path
    ca_file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a sidecar serves, and what it refuses to."""

    tarball: Path | None
    """Loaded once; None when `polling` says where bundles come from."""
    revisions: tuple[str, ...]
    """The only revisions answered about; of no effect on OPA while `polling`, where the gate pins them."""
    polling: Polling | None = None
    key: VerificationKey | None = None
    """Whose signature a bundle must bear; None accepts an unsigned one."""
    minimum: Mapping[str, str] = field(default_factory=dict)
    """Version by bundle id: one below is not answered about, whoever signed it."""
    diagnostics: bool = False
    """Health and metrics need no token."""


def write_files(folder: Path, serving: Serving, *, token: str, tarball: Path | None) -> None:
    """Fills the private `folder`; `tarball` is where OPA itself finds the bundle. Raises `ToolchainError`."""
    write_private(folder / "config.json", json.dumps(_config(serving, tarball), indent=2))
    write_private(folder / "settings.json", json.dumps({"sidecar": _settings(serving, token)}, indent=2))
    for name in POLICIES:
        try:
            text = (policies_dir() / "system" / name / f"{name}.rego").read_text("utf-8")
        except OSError as exc:
            raise ToolchainError(f"the sidecar's policy `{name}` cannot be read", hint="reinstall the package") from exc
        write_private(folder / f"{name}.rego", text)
    write_private(folder / "opa.log", "")


def arguments(folder: Path, address: str, *, diagnostics: str | None, tls: tuple[Path, Path] | None) -> list[str]:
    """What comes after `opa`, with the files of `write_files` at `folder` and `tls` as certificate and key."""
    return [
        *("run", "--server", "--addr", address, "--unix-socket-perm", "0600"),
        *(() if diagnostics is None else ("--diagnostic-addr", diagnostics)),
        *(() if tls is None else ("--tls-cert-file", str(tls[0]), "--tls-private-key-file", str(tls[1]))),
        *("--authentication", "token", "--authorization", "basic"),
        *("--config-file", str(folder / "config.json")),
        *("--log-level", "error", "--skip-version-check", "--shutdown-grace-period", "2"),
        *(str(folder / f"{name}.rego") for name in POLICIES),
        str(folder / "settings.json"),
    ]


def prepare(
    folder: Path, serving: Serving, *, token: str, inside: Path, address: str, diagnostics: str | None = None
) -> list[str]:
    """Fills `folder` with all that an OPA started by somebody else needs, the tarball among it.

    `inside` is where that OPA will see the folder, such as the path of a volume in a container; `address` is what it
    shall listen on, `diagnostics` where health and metrics need no token when `serving` says so. The token, which OPA
    has no need of, goes beside the folder. Returns the arguments to start it with. Raises `ToolchainError`.
    """
    private_folder(folder)
    tarball = None if serving.tarball is None else inside / copied(serving.tarball, folder).name
    write_files(folder, serving, token=token, tarball=tarball)
    (folder / "opa.log").unlink(missing_ok=True)  # whoever starts OPA keeps its output
    write_private(token_path(folder), token + "\n")
    return arguments(inside, address, diagnostics=diagnostics, tls=None)


def token_path(folder: Path) -> Path:
    """Where `prepare` leaves the token for `folder`: for clients, out of OPA's sight."""
    return folder.with_name(f"{folder.name}.token")


def copied(tarball: Path, folder: Path) -> Path:
    """A copy of `tarball` in `folder`, as `bundle.tar.gz`; raises `ToolchainError`."""
    try:
        return Path(shutil.copyfile(tarball, folder / "bundle.tar.gz"))
    except OSError as exc:
        raise ToolchainError(f"`{folder}` cannot be written") from exc


def _config(serving: Serving, tarball: Path | None) -> dict[str, Any]:
    bundle: dict[str, Any] = {"persist": False}
    config: dict[str, Any] = {
        "bundles": {"gate": bundle},
        "labels": {"app": "agent-policy-gate"},
        # To OPA's own output, with what `policies/system/log` erases erased.
        "decision_logs": {"console": True},
        # Its only use here is that `/v1/status` answers; nothing is scraped unless diagnostics are on.
        "status": {"prometheus": True},
    }
    if serving.polling is not None:
        polling = serving.polling
        service: dict[str, Any] = {"url": polling.service}
        if polling.token_file is not None:
            service["credentials"] = {"bearer": {"token_path": str(polling.token_file.absolute())}}
        config["services"] = {"bundles": service}
        delays = {"min_delay_seconds": polling.min_delay_s, "max_delay_seconds": polling.max_delay_s}
        bundle |= {"service": "bundles", "resource": polling.resource, "polling": delays}
    elif tarball is not None:
        bundle["resource"] = tarball.as_uri()
    if serving.key is not None:
        config["keys"] = {serving.key.key_id: {"algorithm": serving.key.algorithm, "key": serving.key.pem}}
        # Without the id OPA would take whichever key the bundle itself names.
        bundle["signing"] = {"keyid": serving.key.key_id}
    return config


def _settings(serving: Serving, token: str) -> dict[str, Any]:
    return {
        "token_sha256": hashlib.sha256(token.encode("utf-8")).hexdigest(),
        "revisions": list(serving.revisions) if serving.polling is None else [],
        "diagnostics": serving.diagnostics,
        "follow": serving.polling is not None,
        "minimum": {name: list(version_order(version)) for name, version in serving.minimum.items()},
    }


def write_private(path: Path, text: str) -> None:
    """Makes `path` anew with mode 0600; raises `ToolchainError`."""
    try:
        path.unlink(missing_ok=True)  # a link or a file somebody else holds open is replaced, not written through
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as exc:
        raise ToolchainError(f"`{path}` cannot be written") from exc


def private_folder(folder: Path) -> Path:
    """`folder`, made when it is not there, and nobody else's; raises `ToolchainError`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stat = folder.stat()
    except OSError as exc:
        raise ToolchainError(f"`{folder}` cannot be made") from exc
    if stat.st_uid != os.geteuid() or stat.st_mode & 0o077:
        raise ToolchainError(f"`{folder}` is open to other users", hint=f"chmod 700 '{folder}'")
    return folder
