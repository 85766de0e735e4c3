from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from signing_support import built, members, new_key, repacked

from gate.errors import PdpError, ToolchainError
from gate.pdp import Sidecar, VerificationKey, require_versions, verify_bundle
from gate.pdp.sidecar_files import Serving, private_folder, write_files
from gate.pdp.sidecar_files import arguments as opa_arguments

pytestmark = pytest.mark.opa


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("signed")


@pytest.fixture(scope="module")
def key(folder: Path) -> VerificationKey:
    return new_key(folder)


@pytest.fixture(scope="module")
def tarball(folder: Path, key: VerificationKey, opa_binary: Path) -> Path:
    return built(folder, "2.0", binary=opa_binary)


def _tampered(tarball: Path) -> Path:
    main = next(name for name in members(tarball) if name.endswith("main.rego"))
    return repacked(tarball, {main: members(tarball)[main] + b"\n# one comment more\n"})


def _renamed(tarball: Path) -> Path:
    manifest = json.loads(members(tarball)["/.manifest"])
    return repacked(tarball, {"/.manifest": json.dumps({**manifest, "revision": "sample@3.0"}).encode()})


def _cut(tarball: Path) -> Path:
    target = tarball.with_name("cut.tar.gz")
    target.write_bytes(tarball.read_bytes()[:-200])
    return target


def _unsigned_claims(tarball: Path) -> Path:
    """The signature with the algorithm `none`, as a forger would try first."""
    token = json.loads(members(tarball)["/.signatures.json"])["signatures"][0]
    head = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    forged = {"signatures": [f"{head}.{token.split('.')[1]}."]}
    return repacked(tarball, {"/.signatures.json": json.dumps(forged).encode()})


SPOILT: list[tuple[Callable[[Path], Path], str]] = [
    (_tampered, "bundle_tampered"),
    (_renamed, "bundle_tampered"),
    (lambda t: repacked(t, {"/gate/more.rego": b"package gate.more\n"}), "bundle_tampered"),
    (lambda t: repacked(t, {"/.signatures.json": None}), "bundle_unsigned"),
    (lambda t: repacked(t, {"/.signatures.json": b'{"signatures":[]}'}), "bundle_signature_invalid"),
    (lambda t: repacked(t, {"/.signatures.json": b"{"}), "bundle_signature_invalid"),
    (_unsigned_claims, "bundle_signature_invalid"),
    (_cut, "bundle_unreadable"),
]
NAMES = ["rule changed", "revision changed", "file added", "unsigned", "no signature", "no json", "alg none", "cut"]


def test_signed_bundle_is_verified_and_served(
    tarball: Path, key: VerificationKey, opa_binary: Path, tmp_path: Path
) -> None:
    verify_bundle(tarball, key)
    with Sidecar.start(
        tarball=tarball, opa=opa_binary, listen=tmp_path / "s" / "o", work_dir=tmp_path / "w", key=key
    ) as sidecar:
        assert sidecar.status().revision == sidecar.revision == "sample@2.0"
    config = json.loads((tmp_path / "w" / "config.json").read_text("utf-8"))
    assert config["bundles"]["gate"]["signing"] == {"keyid": "release"}
    assert config["keys"] == {"release": {"algorithm": "ES256", "key": key.pem}}


@pytest.mark.parametrize(("spoil", "code"), SPOILT, ids=NAMES)
def test_gate_refuses_a_bundle_that_is_not_what_was_signed(
    tarball: Path, key: VerificationKey, spoil: Callable[[Path], Path], code: str
) -> None:
    with pytest.raises(ToolchainError) as caught:
        verify_bundle(spoil(tarball), key)
    assert caught.value.code == code


def test_gate_refuses_the_signature_of_another_key_and_of_another_id(
    tarball: Path, key: VerificationKey, tmp_path: Path
) -> None:
    for other in (replace(new_key(tmp_path, "release"), key_id="release"), replace(key, key_id="other")):
        with pytest.raises(ToolchainError) as caught:
            verify_bundle(tarball, other)
        assert caught.value.code == "bundle_signature_invalid"


@pytest.mark.parametrize("where", range(8))
def test_one_bit_changed_anywhere_is_refused(tarball: Path, key: VerificationKey, tmp_path: Path, where: int) -> None:
    data = bytearray(tarball.read_bytes())
    data[200 + where * (len(data) - 400) // 8] ^= 1
    spoilt = tmp_path / "bit.tar.gz"
    spoilt.write_bytes(data)
    with pytest.raises(ToolchainError) as caught:
        verify_bundle(spoilt, key)
    assert caught.value.code in {code for _, code in SPOILT}


def _by_opa_alone(tarball: Path, key: VerificationKey, opa_binary: Path, place: Path) -> str:
    """The code OPA's own refusal comes to when nobody looked at the bundle before it."""
    folder = private_folder(place / "w")
    write_files(folder, Serving(tarball=tarball, revisions=("sample@2.0",), key=key), token="token", tarball=tarball)
    from gate.pdp import SidecarDecisionPoint
    from gate.pdp.process import OpaProcess

    url = f"unix://{private_folder(place / 's')}/o"
    process = OpaProcess(
        [str(opa_binary), *opa_arguments(folder, url, diagnostics=None, tls=None)],
        folder=folder,
        log_file=folder / "opa.log",
    )
    client = SidecarDecisionPoint(url=url, token="token", expected_revisions=("sample@2.0",), timeout_ms=5000)
    try:
        for _ in range(400):
            try:
                status = client.status()
            except PdpError:
                status = None
            if status is not None and status.error is not None:
                assert (status.revision, client.ready()) == (None, False)
                with pytest.raises(PdpError) as caught:
                    client.facts("governed")
                assert caught.value.code == "pdp_not_ready"
                return status.error
            process.wait(0.05)
        return "served"
    finally:
        client.close()
        process.stop()


@pytest.mark.parametrize(
    ("spoil", "code"), [SPOILT[i] for i in (0, 2, 3, 6, 7)], ids=[NAMES[i] for i in (0, 2, 3, 6, 7)]
)
def test_opa_refuses_it_too_when_nobody_looked_before(
    tarball: Path, key: VerificationKey, opa_binary: Path, tmp_path: Path, spoil: Callable[[Path], Path], code: str
) -> None:
    assert _by_opa_alone(spoil(tarball), key, opa_binary, tmp_path) == code


def test_opa_refuses_the_signature_of_another_key(tarball: Path, opa_binary: Path, tmp_path: Path) -> None:
    other = new_key(tmp_path, "release")
    assert _by_opa_alone(tarball, other, opa_binary, tmp_path) == "bundle_signature_invalid"


@pytest.mark.parametrize(
    ("minimum", "code"),
    [
        ({}, None),
        ({"sample": "2.0"}, None),
        ({"sample": "1.9"}, None),
        ({"sample": "2.0.1"}, "bundle_rolled_back"),
        ({"sample": "10.0"}, "bundle_rolled_back"),
        ({"another": "1.0"}, "bundle_rolled_back"),
    ],
)
def test_version_below_the_pinned_minimum_is_refused(tarball: Path, minimum: dict[str, str], code: str | None) -> None:
    if code is None:
        require_versions(tarball, minimum)
        return
    with pytest.raises(ToolchainError) as caught:
        require_versions(tarball, minimum)
    assert caught.value.code == code


def test_sidecar_with_a_minimum_above_the_bundle_does_not_start(
    tarball: Path, key: VerificationKey, opa_binary: Path, tmp_path: Path
) -> None:
    with pytest.raises(ToolchainError) as caught:
        Sidecar.start(
            tarball=tarball,
            opa=opa_binary,
            listen=tmp_path / "s" / "o",
            work_dir=tmp_path / "w",
            key=key,
            minimum={"sample": "2.1"},
        )
    assert caught.value.code == "bundle_rolled_back"
    assert not (tmp_path / "w").exists()


def test_signed_bundle_is_not_served_unchecked(tarball: Path, opa_binary: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError) as caught:
        Sidecar.start(tarball=tarball, opa=opa_binary, listen=tmp_path / "s" / "o", work_dir=tmp_path / "w")
    assert caught.value.code == "verification_key_missing"
