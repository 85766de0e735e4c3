"""Pairs of keys that bundles are signed with, and signatures made with them.

The private part stays in a file of its owner alone: no message, log or `repr` holds it. Verifying is `gate.pdp`'s.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from gate.errors import InputError
from gate.pdp import VerificationKey
from gate.pdp.signature import algorithm_of, require_key_id

_MAX_BYTES = 16_384
_RSA_BITS = 3072
_PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key in a file, and the public part of it."""

    path: Path
    """What `opa build --signing-key` is given."""
    public: VerificationKey
    _private: _PrivateKey = field(repr=False)

    def sign(self, message: bytes) -> bytes:
        """The signature of `message` as JSON Web Signatures have it; the same each time only with RSA."""
        if isinstance(self._private, rsa.RSAPrivateKey):
            return self._private.sign(message, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self._private.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def new_pair(path: Path, *, kind: str) -> VerificationKey:
    """Writes a new private key to `path` (mode 0600) and its public part to `path` with `.pub` for a suffix.

    `kind` is `rsa`, whose signatures are reproducible, or `ecdsa`. The id of the key is the file's name without
    suffix. Raises `InputError`: `key_file_exists`, `key_file_unwritable`, `verification_key_unfit`.
    """
    if not path.name or path.suffix == ".pub":
        hint = "name a file such as `release.pem`; the public part goes beside it as `release.pub`"
        raise InputError(f"`{path}` is no name for a private key", code="key_file_unwritable", hint=hint)
    require_key_id(path.stem)
    private: _PrivateKey
    if kind == "rsa":
        private = rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS)
    else:
        private = ec.generate_private_key(ec.SECP256R1())
    secret = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    beside = path.with_suffix(".pub")
    _create(beside, public, 0o644)
    try:
        key = VerificationKey.read(beside)
        _create(path, secret, 0o600)
    except InputError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    return key


def read_signing_key(path: Path, *, key_id: str | None = None) -> SigningKey:
    """The private key in the PEM file `path`; its id is by default the name of the file without suffix.

    Raises `InputError`: `key_file_unreadable`, `key_file_exposed` when others can read it, `key_file_malformed`.
    """
    try:
        # Not blocking: a named pipe in the place of the file must not hang the command.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"`{path}` is not a file", code="key_file_unreadable")
            if found.st_mode & 0o077:
                hint = "treat the key as known: retire it and make a new one"
                raise InputError(f"`{path}` can be read by others", code="key_file_exposed", hint=hint)
            data = file.read(_MAX_BYTES)
    except OSError as exc:
        hint = "make a key with `gate keys new`"
        raise InputError(f"`{path}` cannot be read", code="key_file_unreadable", hint=hint) from exc
    try:
        private = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The parser's own words are dropped on purpose: they could quote the key.
        raise InputError(
            f"`{path}` is not a private key in PEM without a password", code="key_file_malformed"
        ) from None
    if not isinstance(private, _PrivateKey):
        algorithm_of(private)  # raises: no other kind is fit
        raise InputError(f"`{path}` is not a key to sign with", code="key_file_malformed")
    pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    public = VerificationKey(
        key_id=path.stem if key_id is None else key_id,
        algorithm=algorithm_of(private),
        pem=pem.decode("ascii"),
    )
    return SigningKey(path=path.resolve(), public=public, _private=private)


def _create(path: Path, data: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as exc:
        hint = "choose another name; keys are not overwritten"
        raise InputError(f"`{path}` exists already", code="key_file_exists", hint=hint) from exc
    except OSError as exc:
        hint = "check that its folder exists and is yours"
        raise InputError(f"`{path}` cannot be written", code="key_file_unwritable", hint=hint) from exc
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
