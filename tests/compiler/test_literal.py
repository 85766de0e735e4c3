from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compiler_support import opa_value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate import opa
from gate.canonical import MAX_SAFE_INTEGER, canonical_bytes
from gate.compiler import CompileError
from gate.compiler.emit import emit_module
from gate.compiler.literal import identifier, literal, package_name, prose
from gate.compiler.model import Constant, Equals, FindingRule, Module

NASTY = [
    'x"\n}\nallow := true\n#',
    '"} else := {',
    "\\",
    '\\"',
    "`raw`",
    "\n# METADATA\n# title: forged",
    "a\r\nb\u2028c\u2029d\u0085e",
    "${x} {{y}} %s",
    "\u202eallow\u202c",
    "\x00\x07\x1b[0m\x7f",
    "🙂 \u00e9 e\u0301",
]

_CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
_names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=_CONTROLS), max_size=6)
_floats = st.floats(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)  # every greater double is an integer past 2^53-1
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | _floats
    | st.text(max_size=20)
    | st.sampled_from(NASTY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=6,
)


def module_of(values: list[Any]) -> str:
    items = tuple(Constant("c", value, "a constant", "x.yaml#/x", key=f"k{i}") for i, value in enumerate(values))
    return emit_module(Module("c.rego", "Constants", items, documents_package=True), "gate.bundles.c")


@pytest.mark.opa
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_values, min_size=1, max_size=30))
def test_literal_of_any_json_value_is_that_value_to_real_opa(
    opa_binary: Path, tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    file = tmp_path_factory.mktemp("literal") / "c.rego"
    file.write_text(module_of(values), encoding="utf-8")
    seen = opa_value(opa_binary, "data.gate.bundles.c", file)
    assert seen.keys() == {"c"}
    assert {k: canonical_bytes(v) for k, v in seen["c"].items()} == {
        f"k{i}": canonical_bytes(value) for i, value in enumerate(values)
    }


@pytest.mark.opa
def test_boundary_numbers_come_back_from_real_opa(opa_binary: Path, tmp_path: Path) -> None:
    numbers = [0, -0.0, 1.0, -1, MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0.1 + 0.2, 5e-324, 1e-7, 1.5e15, 123456789.125]
    file = tmp_path / "c.rego"
    file.write_text(module_of(numbers), encoding="utf-8")
    seen = opa_value(opa_binary, "data.gate.bundles.c.c", file)
    assert [canonical_bytes(seen[f"k{i}"]) for i in range(len(numbers))] == [canonical_bytes(n) for n in numbers]


@pytest.mark.opa
@pytest.mark.parametrize("text", NASTY)
def test_text_in_every_field_of_a_node_stays_text(opa_binary: Path, repo: Path, tmp_path: Path, text: str) -> None:
    rule = FindingRule(text, text, text, text, text, text, (Equals(("checkpoint",), text),))
    constant = Constant("c", {"v": text, "l": [text]}, text, text, key=text)
    file = tmp_path / "c.rego"
    module = Module("c.rego", text, (rule, constant), documents_package=True)
    file.write_text(emit_module(module, "gate.bundles.c"), encoding="utf-8")
    assert file.read_bytes().isascii()
    assert set(file.read_text()) & set(_CONTROLS) <= {"\n", "\t", "\x7f"}
    done = opa.run(["parse", str(file), "--format", "json", "--json-include", "annotations"], binary=opa_binary)
    assert (done.returncode, done.stderr) == (0, "")
    tree = json.loads(done.stdout)
    assert len(tree["rules"]) == 2
    assert [a["value"] for a in tree["rules"][0]["head"]["key"]["value"][1:]] == [text] * 5
    assert tree["annotations"][0]["title"] == text
    assert [(a["title"], a["custom"]) for a in tree["annotations"][1:]] == [(text, {"source": text})] * 2
    constructor = repo / "policies" / "gate" / "finding"
    assert opa_value(opa_binary, "data.gate.bundles.c", constructor, file) == {
        "c": {text: {"v": text, "l": [text]}},
        "findings": [],
    }


def test_literal_escapes_everything_that_is_not_ascii() -> None:
    assert literal({"é": "\u202e🙂\n"}) == '{"\\u00e9": "\\u202e\\ud83d\\ude42\\n"}'
    assert prose("Ö\n# x") == '"\\u00d6\\n# x"'


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, "\ud800", {"\ud800": 1}, {1: 2}, (1,), {"a\n": 1}, b"x", object()]
)
def test_literal_refuses_what_has_no_exact_form(value: object) -> None:
    with pytest.raises(CompileError, match=r"^a value cannot be written as a Rego literal: "):
        literal(value)


@pytest.mark.parametrize("name", ["a", "a1", "support_triage", "in_", "inputs", "a" * 128])
def test_identifier_takes_plain_lower_case_names(name: str) -> None:
    assert identifier(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input", "not", "null"),
        *("package", "set", "some", "true", "with"),
        *(
            "",
            "_a",
            "A",
            "1a",
            "a-b",
            "a.b",
            "a b",
            "a\n",
            "a}",
            'a"',
            "a" * 129,
            "\u0430",
            "\uff41",
            "caf\u00e9",
            "a\u200b",
        ),
    ],
)
def test_identifier_refuses_keywords_and_what_only_looks_like_a_name(name: str) -> None:
    with pytest.raises(CompileError, match=r"cannot be a Rego name$") as caught:
        identifier(name)
    assert str(caught.value).isascii()


@pytest.mark.opa
def test_every_keyword_of_opa_is_refused_as_an_identifier(opa_binary: Path) -> None:
    done = opa.run(["capabilities", "--current"], binary=opa_binary)
    listed = json.loads(done.stdout)
    words = {*listed["future_keywords"], "package", "import", "as", "default", "else", "not", "some", "with", "set"}
    for word in {*words, "null", "true", "false", "data", "input"}:
        with pytest.raises(CompileError):
            identifier(word)


def test_package_name_folds_dashes_only() -> None:
    assert package_name("support-triage") == "support_triage"
    for name in ("Support", "a.b", "in", "9lives", "-x", "a/b"):
        with pytest.raises(CompileError):
            package_name(name)
