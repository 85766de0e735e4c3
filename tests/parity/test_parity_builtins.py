"""Every builtin the policies may use, on both engines. What the engines do not agree on is listed, so that no policy
comes to depend on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import regopy

from gate import opa
from gate.compiler.shape import BUILTINS

pytestmark = pytest.mark.opa

INPUT: dict[str, Any] = {
    "t": True,
    "f": False,
    "n": None,
    "s": "abc",
    "upper": "ABC",
    "empty": "",
    "blank": " \t\r\n ",
    "padded": "  a b\n",
    "quoted": 'a"b\\c',
    "newline": "a\nb",
    "accent": "\u00e9",
    "decomposed": "e\u0301",
    "astral": "\U0001f642",
    "zero": 0,
    "one": 1,
    "onef": 1.0,
    "ten": 10,
    "nine": 9,
    "neg": -1,
    "tenth": 0.1,
    "sum": 0.1 + 0.2,
    "max": 9007199254740991,
    "now": 1775560000000,
    "list": ["b", "a", "b"],
    "none": [],
    "mixed": [1, "a", None, True],
    "numbers": [3, 1, 2],
    "object": {"a": 1, "b": None},
    "nothing": {},
    "nested": {"a": {"b": [1, {"c": 2}]}},
}

# Conditions: each holds or does not hold. Absent, null and wrong-typed values are among the operands on purpose.
CONDITIONS: dict[str, list[str]] = {
    "eq": ["x = input.one; x == 1", '[x, _, _] = input.list; x == "b"', '{"a": 1, "b": x} = input.object; is_null(x)'],
    "assign": ["x := input.one; x == 1", "x := input.missing; true", "x := input.n; is_null(x)"],
    "equal": [
        *(
            "input.one == 1",
            "input.one == 1.0",
            "input.onef == 1",
            "input.one == true",
            "input.t == 1",
            "input.zero == false",
        ),
        *(
            'input.s == "abc"',
            'input.s == "ABC"',
            'input.s == "abc "',
            "input.n == null",
            "input.f == null",
            'input.empty == ""',
        ),
        *(
            "input.missing == null",
            "input.missing == 1",
            "input.max == 9007199254740991",
            "input.max == 9007199254740990",
        ),
        *("input.tenth == 0.1", "input.sum == 0.30000000000000004", 'input.quoted == "a\\"b\\\\c"'),
        *(
            'input.newline == "a\\nb"',
            'input.accent == "\\u00e9"',
            "input.accent == input.decomposed",
            "input.ten == 1e1",
        ),
        *(
            'input.astral == "\\ud83d\\ude42"',
            "input.nothing == {}",
            "input.none == []",
            'input.list == ["b", "a", "b"]',
        ),
        *(
            "input.nested.a.b[1].c == 2",
            "input.s == input.upper",
            'input.one == "1"',
            'input.object == {"b": null, "a": 1}',
        ),
    ],
    "neq": [
        *(
            "input.one != 1",
            "input.one != 1.0",
            'input.s != "abc"',
            'input.s != "a"',
            "input.n != null",
            "input.f != null",
        ),
        *("input.missing != 1", "input.missing.deeper != null", "input.t != false", "input.accent != input.decomposed"),
    ],
    "lt": [
        *("input.one < 2", "input.nine < 10", "input.neg < 0", "input.tenth < 0.2", "input.now < 1775560000000"),
        *("input.now < 1775560000001", "input.missing < 1", "input.max < 9007199254740990", "input.tenth < 0.05"),
        *('input.s < "abd"', 'input.s < "abc"', 'input.upper < "abc"'),
    ],
    "lte": ["input.one <= 1", "input.ten <= 9", "input.neg <= -1", "input.missing <= 1"],
    "gt": ["input.ten > 9", "input.one > 1", "input.neg > -2", "input.missing > 1"],
    "gte": ["input.one >= 1", "input.nine >= 10", "input.now >= 1775560000000", "input.missing >= 1"],
    "internal.member_2": [
        *('"a" in input.list', '"A" in input.list', '"" in input.list', '"a" in input.none', '"a" in input.missing'),
        *(
            "1 in input.mixed",
            "1.0 in input.mixed",
            '"1" in input.mixed',
            "null in input.mixed",
            "false in input.mixed",
        ),
        *('input.s in {"abc", "x"}', 'input.upper in {"abc", "x"}', "input.n in {null}", 'input.missing in {"abc"}'),
        *(
            "1 in input.object",
            '"a" in input.object',
            "1 in input.nothing",
            'input.accent in {"\\u00e9"}',
            '"a" in input.s',
        ),
    ],
    "internal.member_3": [
        *('"a", 1 in input.object', '"a", 2 in input.object', '"b", null in input.object', '0, "b" in input.list'),
        *('1, "b" in input.list', '"a", 1 in input.nothing', '"a", 1 in input.missing'),
    ],
    "is_array": [
        "is_array(input.list)",
        "is_array(input.none)",
        "is_array(input.object)",
        "is_array(input.s)",
        "is_array(input.n)",
    ],
    "is_boolean": [
        "is_boolean(input.t)",
        "is_boolean(input.f)",
        "is_boolean(input.zero)",
        "is_boolean(input.n)",
        "is_boolean(input.missing)",
    ],
    "is_null": [
        "is_null(input.n)",
        "is_null(input.f)",
        "is_null(input.empty)",
        "is_null(input.missing)",
        "is_null(input.nothing)",
    ],
    "is_number": [
        *(
            "is_number(input.one)",
            "is_number(input.tenth)",
            "is_number(input.zero)",
            "is_number(input.s)",
            "is_number(input.t)",
        ),
        *("is_number(input.n)", "is_number(input.missing)", "is_number(input.list)"),
    ],
    "is_string": [
        *("is_string(input.s)", "is_string(input.empty)", "is_string(input.astral)", "is_string(input.one)"),
        *("is_string(input.n)", "is_string(input.missing)", "is_string(input.list)", "is_string(input.t)"),
    ],
    "startswith": [
        *(
            'startswith(input.s, "ab")',
            'startswith(input.s, "")',
            'startswith(input.s, "B")',
            'startswith(input.empty, "a")',
        ),
        *('startswith(input.s, "abcd")', 'startswith(input.accent, "\\u00e9")', 'startswith(input.missing, "a")'),
    ],
    "regex.match": [
        *('regex.match("^a", input.s)', 'regex.match("^b", input.s)', 'regex.match("^[a-z]{3}$", input.s)'),
        *('regex.match("^$", input.empty)', 'regex.match("b|x", input.s)', 'regex.match("^a", input.missing)'),
        *(
            'regex.match("^abc$", input.newline)',
            'regex.match("\\\\bc\\\\b", input.s)',
            'regex.match("[A-Z]", input.s)',
        ),
    ],
}

# Values: what comes out is compared, not only whether it holds.
VALUES: dict[str, list[str]] = {
    "and": ["{1, 2} & {2, 3}", "{1} & {2}", "set() & {1}", '{"a"} & {"A"}', '{x | some x in input.list} & {"a"}'],
    "or": ["{1} | {2}", "{1} | {1}", "set() | set()", '{x | some x in input.list} | {"c"}'],
    "minus": ["input.one - 2", "input.now - 1", "input.ten - input.nine", "{1, 2} - {2}", "{1} - set()"],
    "array.concat": ["array.concat(input.list, [])", "array.concat([], [])", "array.concat([1], [1, [2]])"],
    "concat": [
        'concat(" ", input.list)',
        'concat("", [])',
        'concat(" ", ["a", "", "b"])',
        'concat("\\n", ["\\"", "\\\\"])',
    ],
    "count": ["count(input.list)", "count(input.none)", "count({1, 1.0})", "count(input.object)", "count(set())"],
    "lower": [
        "lower(input.upper)",
        "lower(input.s)",
        "lower(input.empty)",
        "lower(input.quoted)",
        "lower(input.accent)",
    ],
    "min": ["min(input.numbers)", "min({3, 1})", "min({0, 5})", "min([2])", "min(input.none)"],
    "object.get": [
        *('object.get(input.object, "a", 0)', 'object.get(input.object, "b", 0)', 'object.get(input.object, "c", 0)'),
        *(
            'object.get(input.nothing, "a", "")',
            'object.get(input.nested, ["a", "b"], 0)',
            'object.get(input.nested, ["a", "x"], 0)',
        ),
    ],
    "object.keys": ["object.keys(input.object)", "object.keys(input.nothing)"],
    "object.union": [
        'object.union(input.object, {"c": 1})',
        'object.union(input.object, {"a": 2})',
        "object.union({}, {})",
    ],
    "plus": ["input.one + 2", "input.now + 1800000", "input.neg + 1", "input.zero + 0"],
    "replace": [
        *('replace(input.s, "b", "x")', 'replace(input.list[0], "b", "")', 'replace("rnrn", "rn", "m")'),
        *('replace("vvv", "vv", "w")', 'replace(input.empty, "a", "b")', 'replace("a b  c", " ", "")'),
        *('replace("a|b", "|", "l")', 'replace("a0", "1", "l")', 'replace("aaa", "a", "aa")'),
    ],
    "sort": [
        *("sort(input.list)", "sort(input.none)", 'sort(["b", "B", "a", "_", "1"])', 'sort({"b", "a"})'),
        *('sort(["x.y z", "x.y_z", "x.a z"])', 'sort(["a b c", "a b d", "a c"])'),
    ],
    "trim_space": [
        "trim_space(input.padded)",
        "trim_space(input.blank)",
        "trim_space(input.empty)",
        "trim_space(input.s)",
    ],
    "union": ["union({{1}, {2, 1}, set()})", "union(set())", 'union({{"a"}, {"b"}})'],
}

# Seen and different: expression, what OPA says, what rego-cpp says (a condition holds or not, a value, None for none).
# None of them may decide anything: names are ASCII where they are folded, operands are type-checked first.
DIFFERENT: list[tuple[str, Any, Any]] = [
    ('lower("\\u00c9")', "\u00e9", "\u00c9"),
    ('trim_space("\\u00a0a\\u3000")', "a", "\u00a0a\u3000"),
    ('count("\\u00e9")', 1, 6),
    ('sort(["a", "a b"])', ["a", "a b"], ["a b", "a"]),
    ("sort([10, 9])", [9, 10], [10, 9]),
    ("sort([1, null])", [None, 1], [1, None]),
    ('object.union({"a": {"x": 1}}, {"a": {"y": 2}})', {"a": {"x": 1, "y": 2}}, {"a": {"y": 2}}),
    ("[1 | input.zero == -0]", [1], []),
    # Rounded to 15 digits or so: money belongs into integers.
    ("[1 | input.sum == 0.3]", [], [1]),
    ("[1 | input.sum > 0.3]", [1], []),
    # Strings are compared in the escaped and quoted form they have in JSON.
    ('[1 | input.s < "abc "]', [1], []),
    ('[1 | input.accent < "z"]', [], [1]),
    ('[1 | regex.match(".", "\\n")]', [], [1]),
    ('[1 | regex.match("^.$", input.accent)]', [1], []),
    # Unlike types are ordered otherwise; every comparison stands behind type checks.
    ("[1 | input.n < 0]", [1], []),
    ("[1 | input.s < 0]", [], [1]),
]


def rego_cpp(expression: str) -> Any:
    """The value of `expression`, or None when it has none or the engine refuses."""
    engine = regopy.Interpreter()
    engine.strict_built_in_errors = True
    engine.add_module("t", f"package t\n\nr := {expression}\n")
    engine.set_input_term(json.dumps(INPUT))
    output = engine.query("data.t.r")
    text = str(output) if output.ok() else "undefined"
    return None if text in {"undefined", "{}"} or "<error>" in text else json.loads(text)["expressions"][0]


def real_opa(binary: Path, folder: Path, expressions: list[str], *, condition: bool) -> list[Any]:
    """The value of each expression, or None when it has none, from one `opa eval`."""
    form = "r[{0}] if {{ {1} }}\n" if condition else "r[{0}] := {1}\n"
    (folder / "t.rego").write_text(
        "package t\n\n" + "\n".join(form.format(i, e) for i, e in enumerate(expressions)), encoding="utf-8"
    )
    (folder / "input.json").write_text(json.dumps(INPUT), encoding="utf-8")
    done = opa.run(
        [*("eval", "--format", "json", "-d", str(folder / "t.rego"), "-i", str(folder / "input.json")), "data.t.r"],
        binary=binary,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    values = json.loads(done.stdout)["result"][0]["expressions"][0]["value"]
    return [values.get(str(i)) for i in range(len(expressions))]


def test_table_covers_every_builtin_the_policies_may_use() -> None:
    assert {*CONDITIONS, *VALUES} == BUILTINS


@pytest.mark.parametrize("builtin", CONDITIONS)
def test_both_engines_agree_whether_a_condition_holds(builtin: str, opa_binary: Path, tmp_path: Path) -> None:
    conditions = CONDITIONS[builtin]
    expected = dict(zip(conditions, real_opa(opa_binary, tmp_path, conditions, condition=True), strict=True))
    assert {c: rego_cpp(f"true if {{ {c} }}") for c in conditions} == expected
    assert set(expected.values()) <= {True, None}


@pytest.mark.parametrize("builtin", VALUES)
def test_both_engines_give_the_same_value(builtin: str, opa_binary: Path, tmp_path: Path) -> None:
    values = VALUES[builtin]
    expected = dict(zip(values, real_opa(opa_binary, tmp_path, values, condition=False), strict=True))
    assert {v: rego_cpp(v) for v in values} == expected


def test_differences_are_those_that_are_known(opa_binary: Path, tmp_path: Path) -> None:
    expressions = [d[0] for d in DIFFERENT]
    opa_says = real_opa(opa_binary, tmp_path, expressions, condition=False)
    assert list(zip(expressions, opa_says, map(rego_cpp, expressions), strict=True)) == DIFFERENT


WRONG = ["count(input.one)", "lower(input.one)", "trim_space(input.n)", "min(input.s)", "concat(input.one, input.list)"]


@pytest.mark.parametrize("expression", WRONG)
def test_wrong_type_that_no_guard_caught_gives_no_value_on_either_engine(
    expression: str, opa_binary: Path, tmp_path: Path
) -> None:
    assert real_opa(opa_binary, tmp_path, [expression], condition=False) == [None]
    assert rego_cpp(expression) is None
