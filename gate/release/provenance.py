"""Where a tarball came from: an in-toto statement beside it, in a signed envelope when the build was signed.

Says only what was seen: inputs and tarball by digest, versions, git revision. Holds no time and no path of the
machine, so that the same build gives the same statement.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from gate import canonical
from gate.canonical import canonical_bytes, digest_bytes
from gate.compiler import Compiled, assemble
from gate.documents import policies_dir
from gate.errors import InputError, ToolchainError
from gate.opa import OPA_VERSION
from gate.pdp import VerificationKey
from gate.release.build import Built
from gate.release.ledger import content_of
from gate.release.signing import SigningKey

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
SUFFIX = ".provenance.json"

_BUILD_TYPE = "urn:agent-policy-gate:opa-bundle:v1"
_GIT_TIMEOUT_S = 10.0
_MAX_BYTES = 4 * 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """A statement that was found to be about the tarball it stands beside."""

    revision: str
    opa_version: str
    compiler_version: str
    git_revision: str | None
    """Commit the bundle was built at, with `-dirty` when it or the core policies had changes; None outside git."""
    signed: bool
    """True when the pinned key signed it."""


def provenance_path(tarball: Path) -> Path:
    """Where the provenance of `tarball` stands."""
    return tarball.with_name(tarball.name.removesuffix(".tar.gz") + SUFFIX)


def attest(built: Built, compiled: Sequence[Compiled], *, signing_key: SigningKey | None = None) -> Path:
    """Writes the provenance of `built` beside it and returns where.

    A plain statement, or a DSSE envelope around it signed with `signing_key`. Raises `ToolchainError`.
    """
    payload = canonical_bytes(statement(built, compiled))
    if signing_key is None:
        document = json.loads(payload)
    else:
        signature = signing_key.sign(_pre_authentication(payload))
        document = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(payload).decode("ascii"),
            "signatures": [{"keyid": signing_key.public.key_id, "sig": base64.b64encode(signature).decode("ascii")}],
        }
    path = provenance_path(built.path)
    try:
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as exc:
        raise ToolchainError(f"`{path}` cannot be written", code="provenance_unwritable") from exc
    return path


def statement(built: Built, compiled: Sequence[Compiled]) -> dict[str, Any]:
    """The in-toto statement: `built` as subject, every input of the build as a resolved dependency."""
    assembly = assemble(compiled)
    inputs = {
        f"bundle:{one.bundle.meta.bundle_id}/{name}": digest
        for one in compiled
        for name, digest in content_of(one).files.items()
    }
    inputs |= {f"opa:{path}": digest_bytes(text.encode("utf-8")) for path, text in assembly.modules.items()}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": built.path.name, "digest": {"sha256": _hex(built.digest)}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD_TYPE,
                "externalParameters": {"bundles": list(assembly.bundles), "revision": built.revision},
                "internalParameters": {"content_digest": assembly.content_digest},
                "resolvedDependencies": [
                    {"uri": uri, "digest": {"sha256": _hex(digest)}} for uri, digest in sorted(inputs.items())
                ],
            },
            "runDetails": {
                "builder": {
                    "id": "urn:agent-policy-gate:gate-build",
                    "version": {
                        "opa": OPA_VERSION,
                        "compiler": _compiler_version(),
                        "git": git_revision(compiled[0].bundle.folder) or "",
                    },
                }
            },
        },
    }


def check_provenance(tarball: Path, *, revision: str, key: VerificationKey | None = None) -> Provenance:
    """The provenance beside `tarball`, whose manifest says `revision`.

    With `key` only an envelope that it signed will do. Raises `ToolchainError`: `provenance_missing`,
    `provenance_malformed`, `provenance_unsigned`, `provenance_signature_invalid`, `provenance_mismatch`.
    """
    path = provenance_path(tarball)
    try:
        document = canonical.parse(path.read_bytes(), max_bytes=_MAX_BYTES)
        tarball_digest = digest_bytes(tarball.read_bytes())
    except FileNotFoundError as exc:
        raise _refused("provenance_missing", "has no provenance beside it") from exc
    except (OSError, InputError) as exc:
        raise _refused("provenance_malformed", "has a provenance that cannot be read") from exc
    if key is not None:
        document = _opened(document, key)
    elif type(document) is dict and "payload" in document:
        document = _payload(document)
    try:
        subjects = [subject["digest"]["sha256"] for subject in document["subject"]]
        definition = document["predicate"]["buildDefinition"]
        version = document["predicate"]["runDetails"]["builder"]["version"]
        stated = definition["externalParameters"]["revision"]
        kinds = (document["_type"], document["predicateType"], definition["buildType"])
        found = Provenance(
            revision=str(stated),
            opa_version=str(version["opa"]),
            compiler_version=str(version["compiler"]),
            git_revision=str(version["git"]) or None,
            signed=key is not None,
        )
    except (KeyError, TypeError) as exc:
        raise _refused("provenance_malformed", "has a provenance that lacks a field") from exc
    if kinds != (STATEMENT_TYPE, PREDICATE_TYPE, _BUILD_TYPE):
        raise _refused("provenance_malformed", "has a provenance of another kind")
    if subjects != [_hex(tarball_digest)] or stated != revision:
        raise _refused("provenance_mismatch", "is not what the provenance beside it is about")
    return found


def git_revision(folder: Path) -> str | None:
    """The commit that `folder` is at; None outside git.

    With `-dirty` when something in it, or in the core policies where they are of the same repository, is not committed.
    """
    head = git(folder, "rev-parse", "--verify", "HEAD")
    top = git(folder, "rev-parse", "--show-toplevel")
    if head is None or top is None:
        return None
    core = policies_dir().resolve()
    built_of = [".", *([str(core)] if core.is_relative_to(top) else [])]
    changes = git(folder, "status", "--porcelain", "--", *built_of)
    return head if changes == "" else f"{head}-dirty"


def git(folder: Path, *arguments: str) -> str | None:
    """What `git ARGUMENTS` prints for `folder`, stripped; None when it fails or there is no git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - whichever git the user has
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, UnicodeError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _opened(envelope: Any, key: VerificationKey) -> Any:
    if type(envelope) is not dict or "payload" not in envelope:
        raise _refused("provenance_unsigned", "has a provenance that nobody signed")
    invalid = _refused("provenance_signature_invalid", "has a provenance that is not from the pinned key")
    try:
        (entry,) = envelope["signatures"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        signature = base64.b64decode(entry["sig"], validate=True)
        sound = envelope["payloadType"] == PAYLOAD_TYPE and entry["keyid"] == key.key_id
    except (KeyError, TypeError, ValueError) as exc:
        raise invalid from exc
    if not sound or not key.verify(_pre_authentication(payload), signature):
        raise invalid
    return _payload(envelope)


def _payload(envelope: Mapping[str, Any]) -> Any:
    try:
        return canonical.parse(base64.b64decode(envelope["payload"], validate=True), max_bytes=_MAX_BYTES)
    except (InputError, TypeError, ValueError) as exc:
        raise _refused("provenance_malformed", "has a provenance that cannot be read") from exc


def _pre_authentication(payload: bytes) -> bytes:
    """What a DSSE signature is made over: type and payload, each with its length in bytes."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode("ascii"), len(payload), payload)


def _compiler_version() -> str:
    try:
        return metadata.version("agent-policy-gate")
    except metadata.PackageNotFoundError:
        return "checkout"


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _refused(code: str, what: str) -> ToolchainError:
    return ToolchainError(f"the bundle tarball {what}", code=code, hint="build it again with `gate build`")
