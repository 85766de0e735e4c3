"""Patterns: what is taken means the same in OPA, and what is not taken is refused where it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from compiler_support import opa_value

from gate.compiler.predicate.pattern import PatternError, check_pattern

TAKEN = [
    "",
    "abc",
    "a|b|",
    "^git log( [a-z0-9=-]+)*$",
    "(?:ab)+?c{2,3}d{4,}e{5}",
    "[^a-z\\d_.-]",
    "[a-]",
    "[-a]",
    "\\bword\\b",
    "\\.\\*\\(\\)\\[\\]\\{\\}\\^\\$\\|\\\\\\/\\-",
    "[\\]\\[\\\\]",
    "\\t\\n\\r\\f\\s\\S\\w\\W\\d\\D",
    "(a{10}){100}",
    ".{0,1000}",
]
REFUSED = [
    ("(?i)a", 0),
    ("a(?P<x>b)", 1),
    ("(?=a)", 0),
    ("(?<!a)b", 0),
    ("(a)\\1", 3),
    ("\\pL", 0),
    ("\\Aa\\z", 0),
    ("\\x41", 0),
    ("[[:alpha:]]", 1),
    ("[]", 0),
    ("[a", 0),
    ("[z-a]", 0),
    ("[\\d-z]", 0),
    ("(a", 0),
    ("a)", 1),
    ("*a", 0),
    ("^*", 1),
    ("\\b+", 2),
    ("a**", 2),
    ("a+{2}", 2),
    ("a{2,1}", 1),
    ("a{1001}", 1),
    ("(a{100}){11}", 8),
    ("a{,3}", 1),
    ("a]", 1),
    ("a}", 1),
    ("\\", 0),
    ("é", 0),
    ("a\nb", 1),
    ("(" * 22 + ")" * 22, 21),
]


@pytest.mark.parametrize(("pattern", "offset"), REFUSED)
def test_pattern_is_refused_where_it_leaves_the_common_syntax(pattern: str, offset: int) -> None:
    with pytest.raises(PatternError) as caught:
        check_pattern(pattern)
    assert caught.value.offset == offset


@pytest.mark.opa
def test_taken_patterns_match_in_opa_as_they_do_in_python(opa_binary: Path, tmp_path: Path) -> None:
    texts = [
        "",
        "abc",
        "git log",
        "git log --oneline",
        "ababccdddd",
        "a-z",
        "x.y",
        "word",
        "a\nb",
        "0",
        "_",
        "[]\\",
        "a" * 1000,
    ]
    pairs = [(p, t) for p in TAKEN for t in texts]
    for pattern in TAKEN:
        check_pattern(pattern)
    rows = ",\n".join(f"regex.match({json.dumps(p)}, {json.dumps(t)})" for p, t in pairs)
    (tmp_path / "p.rego").write_text(f"package p\n\nrows := [{rows}]\n", "utf-8")
    # Python's `$` also matches before a last line feed; no text here ends in one.
    expected = [re.search(p.replace("\\/", "/"), t, re.ASCII) is not None for p, t in pairs]
    assert opa_value(opa_binary, "data.p.rows", tmp_path) == expected
