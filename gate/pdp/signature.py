"""Whether a bundle tarball is what the holder of a pinned key signed: every file, and nothing besides.

Reads the same `.signatures.json` that OPA verifies, and must not trust OPA to have done so. Holds public keys only.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from gate import canonical
from gate.errors import InputError, ToolchainError

SIGNATURES = ".signatures.json"
MAX_BUNDLE_BYTES = 256 * 1_048_576
"""Limit of a whole unpacked bundle in bytes."""

_STRUCTURED = frozenset({"data.json", ".manifest"})
_KEY_ID = re.compile(r"\A[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
_MIN_RSA_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationKey:
    """A public key that bundles are checked against, by the gate and by OPA."""

    key_id: str
    algorithm: str
    """`RS256`, or `ES256` for a key on the curve P-256."""
    pem: str

    def __post_init__(self) -> None:
        require_key_id(self.key_id)

    @classmethod
    def read(cls, path: Path, *, key_id: str | None = None) -> VerificationKey:
        """The public key in the PEM file `path`; its id is by default the name of the file without suffix.

        Raises `InputError`: `verification_key_unreadable`, `verification_key_unfit`.
        """
        try:
            data = path.read_bytes()
        except OSError as exc:
            raise InputError(
                f"`{path}` cannot be read", code="verification_key_unreadable", hint="`gate keys new` makes a pair"
            ) from exc
        name = path.stem if key_id is None else key_id
        return cls(key_id=name, algorithm=algorithm_of(_public_key(data)), pem=data.decode("ascii", "replace"))

    def verify(self, message: bytes, signature: bytes) -> bool:
        """True when `signature` (as JSON Web Signatures have it) of `message` was made with this key's private part."""
        key = _public_key(self.pem.encode("ascii"))
        try:
            if isinstance(key, rsa.RSAPublicKey):
                key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
            elif len(signature) == 64:
                r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
                key.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
            else:
                return False
        except InvalidSignature:
            return False
        return True


def require_key_id(key_id: str) -> None:
    """Returns when OPA and the gate both take `key_id` for one; raises `InputError`, `verification_key_unfit`."""
    if _KEY_ID.match(key_id) is None:
        raise InputError(
            f"`{key_id}` is no id of a key",
            code="verification_key_unfit",
            hint="it is a letter and then letters, digits, `_`, `.`, `-`: name the file so, or give a --key-id",
        )


def algorithm_of(key: object) -> str:
    """The one algorithm used with `key`, public or private.

    Raises `InputError`, `verification_key_unfit`, for other kinds and for RSA keys below 2048 bits.
    """
    if isinstance(key, rsa.RSAPublicKey | rsa.RSAPrivateKey) and key.key_size >= _MIN_RSA_BITS:
        return "RS256"
    if isinstance(key, ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return "ES256"
    raise InputError(
        "the key is neither RSA of at least 2048 bits nor ECDSA on P-256",
        code="verification_key_unfit",
        hint="`gate keys new` makes a pair",
    )


def verify_bundle(tarball: Path, key: VerificationKey) -> None:
    """Returns when `tarball` is what `key` signed. Raises `ToolchainError` with the code of what is wrong.

    `bundle_unreadable`: truncated or no tarball. `bundle_unsigned`. `bundle_signature_invalid`: another key, or a
    signature that is none. `bundle_tampered`: a file that is not the signed one, is missing, or was added.
    """
    files = _unpacked(tarball)
    content = files.pop(SIGNATURES, None)
    if content is None:
        raise _refused("bundle_unsigned", "has no signature", "build it with `gate build --signing-key`")
    signed = _signed_files(content, key)
    if signed.keys() != files.keys():
        raise _refused("bundle_tampered", "does not hold exactly the files that were signed")
    if any(_hash(name, data) != signed[name] for name, data in files.items()):
        raise _refused("bundle_tampered", "holds a file that is not the one that was signed")


def require_unsigned(tarball: Path) -> None:
    """Returns when `tarball` bears no signature that a missing key would leave unchecked; OPA would refuse it, too.

    Raises `ToolchainError`: `verification_key_missing`, `bundle_unreadable`.
    """
    if SIGNATURES in _unpacked(tarball):
        raise ToolchainError(
            "the bundle tarball is signed and no key was named to check it with",
            code="verification_key_missing",
            hint="name the public key: --verification-key FILE",
        )


def _signed_files(content: bytes, key: VerificationKey) -> dict[str, str]:
    invalid = _refused("bundle_signature_invalid", "has a signature that is not from the pinned key")
    try:
        document = canonical.parse(content, max_bytes=MAX_BUNDLE_BYTES)
        (token,) = document["signatures"]
        head, body, signature = token.encode("ascii").split(b".")
        header = canonical.parse(_decoded(head))
        claims = canonical.parse(_decoded(body), max_bytes=MAX_BUNDLE_BYTES)
        sound = header["alg"] == key.algorithm and claims["keyid"] == key.key_id
        if not sound or not key.verify(head + b"." + body, _decoded(signature)):
            raise invalid
        if any(entry["algorithm"] != "SHA-256" for entry in claims["files"]):
            raise invalid
        files = {str(entry["name"]): str(entry["hash"]) for entry in claims["files"]}
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as exc:
        raise invalid from exc
    if len(files) != len(claims["files"]):
        raise invalid
    return files


def _hash(name: str, data: bytes) -> str:
    if name.rpartition("/")[2] in _STRUCTURED:
        # OPA hashes what such a file says, not how it is written.
        try:
            data = canonical.canonical_bytes(canonical.parse(data, max_bytes=MAX_BUNDLE_BYTES))
        except InputError as exc:
            raise _refused("bundle_unreadable", "holds a document that is not JSON") from exc
    return hashlib.sha256(data).hexdigest()


def _unpacked(tarball: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    size = 0
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            for member in archive:
                if member.isdir():
                    continue
                name = member.name.removeprefix("./").lstrip("/")
                size += member.size
                handle = archive.extractfile(member) if member.isfile() else None
                if handle is None or name in files or size > MAX_BUNDLE_BYTES:
                    raise _refused("bundle_unreadable", "holds a link, a file twice, or too much")
                files[name] = handle.read()
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as exc:
        raise _refused("bundle_unreadable", "is not a bundle that can be read") from exc
    return files


def _decoded(part: bytes) -> bytes:
    return base64.b64decode(part + b"=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _public_key(pem: bytes) -> Any:
    try:
        return serialization.load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise InputError(
            "this is not a public key in PEM",
            code="verification_key_unfit",
            hint="use the .pub file of the pair, never the private one",
        ) from exc


def _refused(code: str, what: str, hint: str = "do not serve it") -> ToolchainError:
    return ToolchainError(f"the bundle tarball {what}", code=code, hint=hint)
