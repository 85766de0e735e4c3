"""Which changes are tried on a bundle, and that a mutant compiles to what its YAML would."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.compiler import Compiled, compile_bundle
from gate.documents import with_document
from gate.release.mutants import mutants, predicate_mutants
from gate.release.mutants_compiled import Compiler, renamed


@pytest.fixture(scope="module")
def compiled(repo: Path) -> Compiled:
    return compile_bundle(repo / "bundles" / "support-triage")


def test_predicate_is_changed_at_each_operator_number_and_constant() -> None:
    assert list(predicate_mutants('not a and b >= 2 or c == "x"')) == [
        ("drop not", 'a and b >= 2 or c == "x"'),
        ("and becomes or", 'not a or b >= 2 or c == "x"'),
        (">= becomes >", 'not a and b > 2 or c == "x"'),
        (">= becomes <", 'not a and b < 2 or c == "x"'),
        ("2 becomes 3", 'not a and b >= 3 or c == "x"'),
        ("2 becomes 1", 'not a and b >= 1 or c == "x"'),
        ("or becomes and", 'not a and b >= 2 and c == "x"'),
        ("== becomes !=", 'not a and b >= 2 or c != "x"'),
        ('"x" becomes another constant', 'not a and b >= 2 or c == "xx"'),
    ]


def test_key_flag_of_a_write_decides_nothing_and_is_left_alone_that_of_a_read_is_changed(compiled: Compiled) -> None:
    file = "capabilities.yaml"
    text = (compiled.bundle.folder / file).read_text("utf-8")
    read = "    idempotency_key_required: true\n    tool_principal: svc-knowledge-reader\n"
    changed = text.replace("    tool_principal: svc-knowledge-reader\n", read)
    bundle = with_document(compiled.bundle, file, changed, name="x")
    assert [(m.pointer, m.what) for m in mutants(bundle) if m.pointer.endswith("/idempotency_key_required")] == [
        ("/capabilities/search_docs/idempotency_key_required", "drop idempotency_key_required"),
        ("/capabilities/search_docs/idempotency_key_required", "true becomes false"),
    ]


def test_mutant_compiles_to_what_its_yaml_would(compiled: Compiled, tmp_path: Path) -> None:
    (mutant,) = [m for m in mutants(compiled.bundle) if m.what == "86400 becomes 86401"]
    made = Compiler(compiled).compile(mutant, "m1")
    folder = Path(shutil.copytree(compiled.bundle.folder, tmp_path / "m1"))
    document = folder / "continuity.yaml"
    document.write_text(document.read_text("utf-8").replace("86400", "86401"), "utf-8")
    assert made is not None
    assert (made.package, made.rego) == ("m1", compile_bundle(folder).rego)
    assert renamed(made, compiled.package).rego != compiled.rego


def test_mutant_that_compiles_to_the_same_rego_is_the_same_and_one_that_does_not_compile_is_none(
    compiled: Compiled,
) -> None:
    compiler = Compiler(compiled)
    found = {}
    for mutant in mutants(compiled.bundle):
        if mutant.pointer.startswith("/capabilities/search_docs/network_access"):
            made = compiler.compile(mutant, "m1")
            found[mutant.what] = None if made is None else compiler.same(made)
    assert found == {
        "restricted becomes none": None,
        "restricted becomes brokered": True,
        "restricted becomes open": None,
    }
