"""Strict YAML: what is read, what is refused, and where each problem is put."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.canonical import MAX_DEPTH, MAX_SAFE_INTEGER
from gate.documents.yaml_source import Document, load
from gate.documents.yaml_text import MAX_YAML_BYTES
from gate.errors import BundleError, Problem


def problems(text: str | bytes) -> list[str]:
    """`line:column code` of everything wrong with `text`, in the order of the report."""
    with pytest.raises(BundleError) as caught:
        load(text, file="f.yaml")
    assert {problem.file for problem in caught.value.problems} == {"f.yaml"}
    return [f"{p.line}:{p.column} {p.code}" for p in caught.value.problems]


def only_problem(text: str | bytes) -> Any:
    with pytest.raises(BundleError) as caught:
        load(text, file="f.yaml")
    (problem,) = caught.value.problems
    return problem


def test_load_plain_values_gives_json_types() -> None:
    text = """
a: text with spaces
b: true
c: false
d: null
e: 0
f: -17
g: 1.5
h: -2.5e-3
i: 1e5
j: [one, 2, "3"]
k: {x: 'y', z: "w"}
l: |
  two
  lines
m: ""
o: 9007199254740991
"""
    assert load(text, file="f").value == {
        "a": "text with spaces",
        "b": True,
        "c": False,
        "d": None,
        "e": 0,
        "f": -17,
        "g": 1.5,
        "h": -0.0025,
        "i": 100000.0,
        "j": ["one", 2, "3"],
        "k": {"x": "y", "z": "w"},
        "l": "two\nlines\n",
        "m": "",
        "o": 9007199254740991,
    }


@pytest.mark.parametrize(
    "text",
    ["1.2.3", "2026.04.07", "10.0.0.1", "release-2026-04-07-canary", "2026-04-07 canary", "a:b", "no-reply", "once",
     "x_1", "_1", "nanny", "v1.10", "/queue", "100%", "5m", "1,000", "0.1.", "on/off", "e5"],
)  # fmt: skip
def test_load_plain_text_that_every_reader_keeps_stays_text(text: str) -> None:
    assert load(f"a: {text}", file="f").value == {"a": text}
    assert yaml.safe_load(f"a: {text}") == {"a": text}


# G2: whatever YAML 1.1 turns into something else is refused unquoted, and says what it would have become.
@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        *((word, "the boolean true") for word in ("yes", "Yes", "YES", "on", "On", "ON", "y", "Y", "True", "TRUE")),
        *((word, "the boolean false") for word in ("no", "No", "NO", "off", "OFF", "n", "N", "False", "FALSE")),
        ("22:30", "the number 1350"),
        ("1:30:00", "the number 5400"),
        ("-1:30", "the number -90"),
        ("12:30.5", "a base-60 number"),
        ("0777", "the number 511"),
        ("0o17", "the number 15"),
        ("08", "a number or text, depending on the reader"),
        ("00", "the number 0"),
        ("0x1F", "the number 31"),
        ("0b11", "the number 3"),
        ("1_000", "the number 1000"),
        ("1_0.5", "the number 10.5"),
        ("+1", "the number 1"),
        ("+1.5", "the number 1.5"),
        ("01.5", "the number 1.5"),
        ("1.", "the number 1"),
        (".5", "the number 0.5"),
        ("-.5", "the number -0.5"),
        ("1.e5", "the number 100000"),
        ("+1e999", "a number"),
        ("0x_", "a number"),
        ("0" + "_" * 30 + "7", "a number or text, depending on the reader"),
        ("2026-12-01", "a date or time"),
        ("2026-1-1", "a date or time"),
        ("2026-12-01T10:00:00Z", "a date or time"),
        ("2026-12-01 10:00:00 +02:00", "a date or time"),
        (".nan", "a number that is not finite"),
        (".NaN", "a number that is not finite"),
        ("NaN", "a number that is not finite"),
        (".inf", "a number that is not finite"),
        ("-.inf", "a number that is not finite"),
        ("Infinity", "a number that is not finite"),
        ("1e999", "infinity"),
        ("1e-999", "zero"),
        ("<<", "a merge key"),
        ("=", "a default-value key"),
    ],
)
def test_g2_unquoted_yaml_surprise_is_refused_with_quote_it(text: str, becomes: str) -> None:
    problem = only_problem(f"a: {text}")
    assert (problem.line, problem.column, problem.code) == (1, 4, "yaml_quote_it")
    assert problem.message == f"`{text}` is not quoted and would be read as {becomes}"
    assert problem.hint == "quote it"
    assert load(f"a: '{text}'", file="f").value == {"a": text}


@pytest.mark.parametrize("text", ["9007199254740992", "-9007199254740992", "1" * 5000, "1e300", "0." + "1" * 100])
def test_g2_number_that_would_lose_digits_is_refused_with_quote_it(text: str) -> None:
    problem = only_problem(f"a: {text}")
    assert (problem.line, problem.column, problem.code, problem.hint) == (1, 4, "yaml_quote_it", "quote it")


@pytest.mark.parametrize(("text", "code"), [("~", "yaml_null_spelling"), ("Null", "yaml_null_spelling"),
                                            ("NULL", "yaml_null_spelling"), ("", "yaml_empty_value")])  # fmt: skip
def test_null_in_any_spelling_but_null_is_refused(text: str, code: str) -> None:
    assert only_problem(f"a: {text}\nb: 1").code == code


@pytest.mark.parametrize("key", ["on", "NO", "y", "22:30", "2026-12-01", "0777", "1_000"])
def test_g2_unquoted_key_that_would_not_stay_text_is_refused_with_quote_it(key: str) -> None:
    problem = only_problem(f"{key}: 1")
    assert (problem.line, problem.column, problem.code, problem.hint) == (1, 1, "yaml_quote_it", "quote it")
    assert load(f"'{key}': 1", file="f").value == {key: 1}


@pytest.mark.parametrize("key", ["1", "1.5", "true", "null", "~", "[a]", "{a: b}"])
def test_key_that_is_not_a_string_is_refused_and_the_rest_is_still_read(key: str) -> None:
    assert problems(f"{key}: 1\nb: NO") == ["1:1 yaml_key_not_string", "2:4 yaml_quote_it"]


# G1: the report names both places, whatever the values are.
@pytest.mark.parametrize(
    "text", ["rules: {}\nother: 1\nrules: {}", 'rules: 1\n\n"rules": 1', "{rules: 1,\n\n rules: 2}"]
)
def test_g1_duplicate_key_is_refused_with_the_line_of_the_first(text: str) -> None:
    problem = only_problem(text)
    assert (problem.line, problem.code) == (3, "yaml_duplicate_key")
    assert problem.message == "key `rules` is already on line 1"


def test_g1_decision_deny_then_allow_in_a_nested_mapping_is_refused() -> None:
    assert problems("p:\n  decision: deny\n  decision: allow\n") == ["3:3 yaml_duplicate_key"]


def test_f3_duplicate_keys_in_json_text_are_refused() -> None:
    assert problems('{"effect":"deny","effect":"allow"}') == ["1:18 yaml_duplicate_key"]


def test_same_key_in_different_mappings_is_no_duplicate() -> None:
    assert load("a: {x: 1}\nb: {x: 1}\nc: [{x: 1}, {x: 2}]", file="f").value["c"] == [{"x": 1}, {"x": 2}]


# G3
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1", ["1:4 yaml_anchor"]),
        ("a: &x {b: 1}", ["1:4 yaml_anchor"]),
        ("a: &x [1]", ["1:4 yaml_anchor"]),
        ("&x a: 1", ["1:1 yaml_anchor"]),
        ("a: *x", ["1:4 yaml_alias"]),
        ("*x : 1", ["1:1 yaml_alias"]),
        ("a: &x {b: 1}\nc: *x", ["1:4 yaml_anchor", "2:4 yaml_alias"]),
        ("a: &x {b: 1}\nc:\n  <<: *x", ["1:4 yaml_anchor", "3:3 yaml_merge_key", "3:7 yaml_alias"]),
        ("<<: {b: 1}", ["1:1 yaml_merge_key"]),
        ("a: !!python/object/apply:os.system [echo]", ["1:4 yaml_tag"]),
        ("a: !x 1", ["1:4 yaml_tag"]),
        ("a: ! 1", ["1:4 yaml_tag"]),
        ("a: !!str 1", ["1:4 yaml_tag"]),
        ("a: !undefined!x 1", ["1:4 yaml_tag"]),
        ("!!map {a: 1}", ["1:1 yaml_tag"]),
        ("a: !!set {b, c}", ["1:4 yaml_tag", "1:12 yaml_empty_value", "1:15 yaml_empty_value"]),
        ("%YAML 1.1\n---\na: 1", ["1:1 yaml_directive"]),
        ("%TAG ! tag:x,2026:\n---\na: 1", ["1:1 yaml_directive"]),
        ("a: 1\n---\nb: 2", ["2:1 yaml_several_documents"]),
        ("a: 1\n---\n", ["2:1 yaml_several_documents"]),
        ("\ufeffa: 1", ["1:1 yaml_bom"]),
        ("a: x\ufeffy", ["1:5 yaml_bom"]),
        ("a:\n\tb: 1", ["2:1 yaml_tab"]),
        ("a: \t1", ["1:4 yaml_tab"]),
        ("a: b\tc", ["1:5 yaml_tab"]),
        ("a: 1\t\t# x", ["1:5 yaml_tab"]),
        ("a: |\n  x\ty", ["2:4 yaml_tab"]),
        ("a: |\n  # x\ty", ["2:6 yaml_tab"]),
    ],
)
def test_g3_yaml_machinery_is_refused_at_its_place(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_g3_billion_laughs_is_refused_without_being_expanded() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    found = problems("\n".join(lines))
    assert found[:2] == ["1:5 yaml_anchor", "2:5 yaml_anchor"]
    assert len(found) == 40 + 2 * 39


def test_tab_inside_quotes_or_a_comment_is_kept() -> None:
    assert load("a: 'x\ty' # c\td\nb: \"u\tv\"\n# \t\n", file="f").value == {"a": "x\ty", "b": "u\tv"}


def test_all_problems_of_one_file_are_reported_together() -> None:
    text = "\ufeffa: NO\nb:\n\tc: ~\n\td: &x 1\n\td: *x\ne: \x00\né: !t 1\nf: [1, 1_0]\n"
    assert problems(text) == [
        "1:1 yaml_bom",
        "1:4 yaml_quote_it",
        "3:1 yaml_tab",
        "3:5 yaml_null_spelling",
        "4:1 yaml_tab",
        "4:5 yaml_anchor",
        "5:1 yaml_tab",
        "5:2 yaml_duplicate_key",
        "5:5 yaml_alias",
        "6:4 yaml_control_character",
        "7:1 yaml_key_not_ascii",
        "7:4 yaml_tag",
        "8:8 yaml_quote_it",
    ]


def test_problems_before_a_syntax_error_are_reported_with_it() -> None:
    assert problems("a: NO\nb:\n\tc: 1\nd: [1\ne: 2\n\tf: 3\n") == [
        "1:4 yaml_quote_it",
        "3:1 yaml_tab",
        "5:2 yaml_syntax",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b: c", ["1:5 yaml_syntax"]),
        ("a: 'x", ["1:6 yaml_syntax"]),
        ("a: @x", ["1:4 yaml_syntax"]),
        ('a: "\\q"', ["1:6 yaml_syntax"]),
        ('a: "\\UFFFFFFFF"', ["1:7 yaml_syntax"]),
        ("a: 1\n b: 2", ["2:3 yaml_syntax"]),
        ("a: [1, 2", ["1:9 yaml_syntax"]),
        ("%YAML " + "9" * 5000 + ".1\n---\na: 1", ["1:7 yaml_syntax"]),
    ],
)
def test_syntax_error_has_its_position(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1:1 yaml_empty"]),
        ("# only a comment\n", ["1:1 yaml_empty"]),
        ("---\n", ["1:1 yaml_empty"]),
        ("- a", ["1:1 yaml_root_not_mapping"]),
        ("[a: NO]", ["1:1 yaml_root_not_mapping", "1:5 yaml_quote_it"]),
        ("text", ["1:1 yaml_root_not_mapping"]),
        ("\n'text'", ["2:1 yaml_root_not_mapping"]),
        ("null", ["1:1 yaml_root_not_mapping"]),
        ("3", ["1:1 yaml_root_not_mapping"]),
    ],
)
def test_document_that_is_no_mapping_is_refused(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_empty_mapping_is_a_mapping() -> None:
    assert load("{}", file="f").value == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a: \xff", ["1:4 yaml_not_utf8"]),
        (b"a: \xc3\xa9\nb: \xc3", ["2:4 yaml_not_utf8"]),
        ("a: 1".encode("utf-16"), ["1:1 yaml_not_utf8"]),
        ("a: \ud800", ["1:4 yaml_not_utf8"]),
        ("a: x\x00y", ["1:5 yaml_control_character"]),
        ("a: 'x\x1b[0m'", ["1:6 yaml_control_character"]),
        ("a: x\x7f", ["1:5 yaml_control_character"]),
        ("a: x\x85y", ["1:5 yaml_control_character"]),
        ("a: x\u2028y", ["1:5 yaml_control_character"]),
        ("a: x\u202ey", ["1:5 yaml_control_character"]),
        ("a: x\uffff", ["1:5 yaml_control_character"]),
        ("a: x\ry", ["1:5 yaml_control_character"]),
        ('a: "\\x00"', ["1:4 yaml_control_character"]),
        ('a: "\\e[0m"', ["1:4 yaml_control_character"]),
        ('"a\\nb": 1', ["1:1 yaml_control_character"]),
        ('a: "\\ud83d\\ude00"', ["1:4 yaml_surrogate"]),
        ("\u0430pproval: 1", ["1:1 yaml_key_not_ascii"]),
        ('"caf\\u00e9": 1', ["1:1 yaml_key_not_ascii"]),
    ],
)
def test_character_that_has_no_place_is_refused(text: str | bytes, expected: list[str]) -> None:
    assert problems(text) == expected


def test_text_outside_ascii_is_kept_as_it_is_in_values() -> None:
    assert load('a: Zoë 😀\nb: "e\\u0301 \\u202e"', file="f").value == {"a": "Zoë 😀", "b": "e\u0301 \u202e"}


def test_windows_line_ends_keep_values_and_positions() -> None:
    assert load("a: x\r\nb: z\r\n", file="f").value == {"a": "x", "b": "z"}
    assert problems("a: 1\r\nb: NO\r\n") == ["2:4 yaml_quote_it"]


def test_document_over_the_size_limit_is_refused_and_one_at_it_is_read() -> None:
    at_limit = "a: 1\n# ".ljust(MAX_YAML_BYTES, "x")
    assert load(at_limit, file="f").value == {"a": 1}
    assert problems(at_limit + "x") == ["1:1 yaml_too_large"]
    assert problems(("a: é\n" * (MAX_YAML_BYTES // 6 + 1)).encode()) == ["1:1 yaml_too_large"]


def test_document_over_the_depth_limit_is_refused_and_one_at_it_is_read() -> None:
    def nested(depth: int) -> str:
        return "a: " + "[" * (depth - 1) + "]" * (depth - 1)

    assert load(nested(MAX_DEPTH), file="f").value["a"] != []
    assert problems(nested(MAX_DEPTH + 1)) == ["1:67 yaml_too_deep"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "{? "])
def test_hundred_thousand_levels_are_refused_without_a_stack_overflow(opening: str) -> None:
    assert any(problem.endswith("yaml_too_deep") for problem in problems("r:\n " + opening * 100_000))


def test_position_of_values_and_keys_by_pointer() -> None:
    document = load("a:\n  b~/c: [1, {d: 2}]\n  'e': text\n", file="dir/f.yaml")
    assert document.position("") == (1, 1)
    assert document.position("/a") == (2, 3)
    assert document.position("/a", key=True) == (1, 1)
    assert document.position("/a/b~0~1c") == (2, 9)
    assert document.position("/a/b~0~1c", key=True) == (2, 3)
    assert document.position("/a/b~0~1c/0") == (2, 10)
    assert document.position("/a/b~0~1c/1/d") == (2, 17)
    assert document.position("/a/b~0~1c/1/d", key=True) == (2, 14)
    assert document.position("/a/e") == (3, 8)


@pytest.mark.parametrize("pointer", ["/a/x", "/a/x/y/z", "/a/~2", "/a/"])
def test_position_of_unknown_pointer_is_that_of_the_nearest_ancestor(pointer: str) -> None:
    document = load("z: 1\na:\n  b: 1\n", file="f")
    assert (document.position(pointer), document.position(pointer, key=True)) == ((3, 3), (2, 1))


def test_problem_of_a_document_carries_its_file_and_position() -> None:
    problem = load("a:\n  b: 1\n", file="dir/f.yaml").problem("/a/b", "some_code", "it is wrong", "fix it", key=True)
    assert str(problem) == "dir/f.yaml:2:3: some_code: it is wrong"
    assert problem.hint == "fix it"


_KEYS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=12)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(_KEYS, _VALUES, max_size=5),
    st.booleans(),
    st.sampled_from([None, 0, 2]),
    st.sampled_from([(", ", ": "), (",", ":")]),
)
def test_json_text_is_read_equal_or_refused_never_differently(
    value: dict[str, Any], ascii_only: bool, indent: int | None, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    try:
        loaded = load(text, file="f").value
    except BundleError:
        return
    assert json.dumps(loaded, sort_keys=True) == json.dumps(value, sort_keys=True)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(_KEYS, st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20), max_size=5))
def test_json_text_of_printable_ascii_strings_is_never_refused(value: dict[str, str]) -> None:
    assert load(json.dumps(value), file="f").value == value


_YAML_PIECES = st.sampled_from(
    ["a", "b", ": ", ":", "- ", "\n", "\n  ", "\n\t", "\t", "[", "]", "{", "}", ", ", "'", '"', "#", " # ", "|\n ",
     ">", "&x ", "*x", "!t ", "!!", "<<", "%", "---\n", "...\n", "? ", "NO", "1", "~", "é", "\\", "\\x", "\r", "\x00",
     "\ufeff", "@", "`", "0777", "\ud800", "\\U0011"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(_YAML_PIECES, max_size=30).map("".join) | st.text(max_size=60) | st.binary(max_size=60))
def test_arbitrary_text_raises_nothing_but_bundle_error_at_a_place_in_the_file(text: str | bytes) -> None:
    try:
        value = load(text, file="f").value
    except BundleError as exc:
        found = exc.problems
    else:
        assert value == yaml.safe_load(text)
        return
    lines = text.count("\n" if isinstance(text, str) else b"\n") + 2
    assert found
    assert [p for p in found if not (1 <= p.line <= lines and p.column >= 1 and p.code and p.message)] == []


_SCALAR_PIECES = st.text("0123456789+-._:eExXoObBTZtnyaNfiAI~=< ", min_size=1, max_size=14)


@settings(max_examples=500, deadline=None)
@given(_SCALAR_PIECES)
def test_plain_scalar_is_never_read_as_another_text_than_pyyaml_reads(text: str) -> None:
    source = f"a: {text}"
    try:
        value = load(source, file="f").value
    except BundleError:
        return
    if isinstance(value.get("a"), str):
        assert yaml.safe_load(source) == value


_WHOLE = """\
# A comment: with a colon
bundle: {id: "a \\"quoted\\" text", 'of': [b, c], "none": null}
rules:
- id: first-rule
  when:
    all:
    - {field: x.y, operator: ">=", value: -1.5e3}
  note: |
    two lines
      and more
  folded: >-
    one
    line
- plain text of
  two lines
empty: []
"""


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_document_means_the_same_whichever_scanner_reads_it(data: st.DataObject) -> None:
    text = _WHOLE
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(_YAML_PIECES) + text[at + data.draw(st.integers(0, 2)) :]
    with pytest.MonkeyPatch.context() as patch:
        quick = _read(text)
        patch.setattr(yaml, "__with_libyaml__", False)
        assert quick == _read(text)


def _read(text: str) -> Document | list[Problem]:
    try:
        return load(text, file="f")
    except BundleError as exc:
        return list(exc.problems)


@pytest.mark.parametrize("text", ["a: [b?c, d]\n", "a: [b\t\tc]\n", "a: {b? c: d}\n", "a: >#b\n  c\n"])
def test_text_that_only_libyaml_takes_is_refused(text: str) -> None:
    assert list(yaml.load(text, Loader=yaml.CSafeLoader)) == ["a"]
    assert isinstance(_read(text), list)
