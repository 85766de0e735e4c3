from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from release_support import fresh_copy, pair

from gate.canonical import digest_bytes
from gate.compiler import Compiled, compile_bundle
from gate.errors import InputError, ToolchainError
from gate.pdp import VerificationKey, verify_bundle
from gate.release import Built, build, provenance
from gate.release.provenance import Provenance, attest, check_provenance, git_revision, provenance_path
from gate.release.signing import new_pair, read_signing_key

pytestmark = pytest.mark.opa


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    repo = Path(__file__).parents[2]
    return compile_bundle(fresh_copy(repo, tmp_path_factory.mktemp("signed") / "support-triage"))


def code(call: Callable[[], Any]) -> str:
    with pytest.raises((InputError, ToolchainError)) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize(("kind", "algorithm"), [("rsa", "RS256"), ("ecdsa", "ES256")])
def test_pair_signs_what_its_public_part_verifies_and_nothing_else(tmp_path: Path, kind: str, algorithm: str) -> None:
    signing, public = pair(tmp_path, kind=kind)
    assert (public.key_id, public.algorithm, signing.public) == ("release", algorithm, public)
    signature = signing.sign(b"message")
    assert public.verify(b"message", signature)
    assert not public.verify(b"another", signature)
    assert not public.verify(b"message", signature[:-1])
    assert not public.verify(b"message", b"")
    assert (tmp_path / "release.pem").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in repr(signing) + repr(public)


def test_keys_are_not_overwritten(tmp_path: Path) -> None:
    new_pair(tmp_path / "a.pem", kind="ecdsa")
    before = (tmp_path / "a.pem").read_bytes(), (tmp_path / "a.pub").read_bytes()
    assert code(lambda: new_pair(tmp_path / "a.pem", kind="ecdsa")) == "key_file_exists"
    (tmp_path / "a.pub").unlink()
    assert code(lambda: new_pair(tmp_path / "a.pem", kind="ecdsa")) == "key_file_exists"
    assert ((tmp_path / "a.pem").read_bytes(), (tmp_path / "a.pub").exists()) == (before[0], False)


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [
        (None, 0o600, "key_file_unreadable"),
        (b"", 0o600, "key_file_malformed"),
        (b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", 0o600, "key_file_malformed"),
        (b"anything", 0o640, "key_file_exposed"),
    ],
)
def test_signing_key_that_is_none_is_refused_and_not_quoted(
    tmp_path: Path, content: bytes | None, mode: int, expected: str
) -> None:
    path = tmp_path / "k.pem"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(InputError) as caught:
        read_signing_key(path)
    assert caught.value.code == expected
    assert "secret" not in str(caught.value)
    assert "c2VjcmV0" not in str(caught.value)


def test_private_key_is_no_verification_key_and_a_wrong_name_no_id(tmp_path: Path) -> None:
    new_pair(tmp_path / "a.pem", kind="rsa")
    assert code(lambda: VerificationKey.read(tmp_path / "a.pem")) == "verification_key_unfit"
    assert code(lambda: VerificationKey.read(tmp_path / "none.pub")) == "verification_key_unreadable"
    assert code(lambda: VerificationKey.read(tmp_path / "a.pub", key_id="1 2")) == "verification_key_unfit"
    # What could not be verified with must not be signed with either.
    assert code(lambda: read_signing_key(tmp_path / "a.pem", key_id="")) == "verification_key_unfit"


@pytest.mark.parametrize(
    ("name", "expected"),
    [(".", "key_file_unwritable"), ("a.pub", "key_file_unwritable"), ("my key.pem", "verification_key_unfit")],
)
def test_key_file_whose_name_gives_no_pair_or_no_id_is_refused_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert code(lambda: new_pair(Path(name), kind="rsa")) == expected
    assert list(tmp_path.iterdir()) == []


def test_build_signed_with_rsa_is_the_same_each_time_and_with_ecdsa_verifies(
    compiled: Compiled, opa_binary: Path, tmp_path: Path
) -> None:
    rsa, _ = pair(tmp_path, "rsa")
    one, two = (build([compiled], tmp_path / n, binary=opa_binary, signing_key=rsa, trial=True) for n in "ab")
    assert one.path.read_bytes() == two.path.read_bytes()
    assert (
        attest(one, [compiled], signing_key=rsa).read_bytes() == attest(two, [compiled], signing_key=rsa).read_bytes()
    )
    ecdsa, public = pair(tmp_path, "ecdsa", kind="ecdsa")
    three = build([compiled], tmp_path / "c", binary=opa_binary, signing_key=ecdsa, trial=True)
    verify_bundle(three.path, public)
    assert three.revision == one.revision


@pytest.fixture
def built(compiled: Compiled, opa_binary: Path, tmp_path: Path) -> Built:
    signing, _ = pair(tmp_path)
    made = build([compiled], tmp_path / "dist", binary=opa_binary, signing_key=signing, trial=True)
    attest(made, [compiled], signing_key=signing)
    return made


def test_provenance_signed_with_the_pinned_key_is_read_whole(built: Built, tmp_path: Path) -> None:
    public = VerificationKey.read(tmp_path / "release.pub")
    found = check_provenance(built.path, revision=built.revision, key=public)
    assert found == Provenance(
        revision=built.revision,
        opa_version="1.22.3",
        compiler_version=found.compiler_version,
        git_revision=None,
        signed=True,
    )
    assert not check_provenance(built.path, revision=built.revision).signed


def test_provenance_of_a_build_in_git_says_the_commit_and_whether_it_was_clean(
    repo: Path, opa_binary: Path, tmp_path: Path
) -> None:
    shipped = compile_bundle(repo / "bundles" / "support-triage")
    made = build([shipped], tmp_path / "dist", binary=opa_binary, trial=True)
    attest(made, [shipped])
    commit = check_provenance(made.path, revision=made.revision).git_revision
    assert commit is None or len(commit.removesuffix("-dirty")) == 40


def test_git_revision_is_dirty_for_uncommitted_core_policies_of_the_same_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "policies_dir", lambda: tmp_path / "policies")
    for file in ("bundles/one/bundle.yaml", "policies/main.rego"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("as it was\n", "utf-8")
    for arguments in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True)
    head = provenance.git(tmp_path, "rev-parse", "HEAD")
    assert git_revision(tmp_path / "bundles/one") == head
    (tmp_path / "README").write_text("not built of\n", "utf-8")
    assert git_revision(tmp_path / "bundles/one") == head
    (tmp_path / "policies/main.rego").write_text("changed\n", "utf-8")
    assert git_revision(tmp_path / "bundles/one") == f"{head}-dirty"


def _reworded(path: Path) -> None:
    envelope = json.loads(path.read_bytes())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicate"]["runDetails"]["builder"]["version"]["git"] = "0" * 40
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    path.write_text(json.dumps(envelope), "utf-8")


def _bare(path: Path) -> None:
    path.write_bytes(base64.b64decode(json.loads(path.read_bytes())["payload"]))


def _changed(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}), "utf-8")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda path: path.unlink(), "provenance_missing"),
        (lambda path: path.write_bytes(b"{"), "provenance_malformed"),
        (lambda path: path.write_bytes(b"[]"), "provenance_unsigned"),
        (_bare, "provenance_unsigned"),
        (_reworded, "provenance_signature_invalid"),
        (lambda path: _changed(path, signatures=[]), "provenance_signature_invalid"),
        (lambda path: _changed(path, signatures=[{"keyid": "other", "sig": "AA=="}]), "provenance_signature_invalid"),
        (lambda path: _changed(path, payloadType="text/plain"), "provenance_signature_invalid"),
        (lambda path: _changed(path, payload=7), "provenance_signature_invalid"),
    ],
)
def test_provenance_that_the_pinned_key_did_not_sign_is_refused(
    built: Built, tmp_path: Path, spoil: Callable[[Path], object], expected: str
) -> None:
    spoil(provenance_path(built.path))
    public = VerificationKey.read(tmp_path / "release.pub")
    assert code(lambda: check_provenance(built.path, revision=built.revision, key=public)) == expected


def test_provenance_of_another_key_tarball_or_revision_is_refused(built: Built, tmp_path: Path) -> None:
    other = new_pair(tmp_path / "other.pem", kind="rsa")
    public = VerificationKey.read(tmp_path / "release.pub")
    assert (
        code(lambda: check_provenance(built.path, revision=built.revision, key=other)) == "provenance_signature_invalid"
    )
    assert code(lambda: check_provenance(built.path, revision="x@1", key=public)) == "provenance_mismatch"
    built.path.write_bytes(built.path.read_bytes() + b"\0")
    assert code(lambda: check_provenance(built.path, revision=built.revision, key=public)) == "provenance_mismatch"


def test_provenance_without_a_key_must_still_be_about_the_tarball(
    compiled: Compiled, opa_binary: Path, tmp_path: Path
) -> None:
    made = build([compiled], tmp_path / "plain", binary=opa_binary, trial=True)
    path = attest(made, [compiled])
    document = json.loads(path.read_bytes())
    assert document["subject"] == [
        {"name": made.path.name, "digest": {"sha256": digest_bytes(made.path.read_bytes()).removeprefix("sha256:")}}
    ]
    assert str(tmp_path) not in path.read_text("utf-8")
    _changed(path, subject=[{"name": made.path.name, "digest": {"sha256": "0" * 64}}])
    assert code(lambda: check_provenance(made.path, revision=made.revision)) == "provenance_mismatch"
    _changed(path, predicateType="other")
    assert code(lambda: check_provenance(made.path, revision=made.revision)) == "provenance_malformed"
    _changed(path, predicate=None)
    assert code(lambda: check_provenance(made.path, revision=made.revision)) == "provenance_malformed"
