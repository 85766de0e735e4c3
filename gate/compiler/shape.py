"""The shape every Rego file here must have: the four ways in which Rego fails open, checked over `opa parse` output.

Runs over hand-written and compiled policies alike. It reads syntax only and decides nothing about a bundle's meaning:

1. a finding's body tests no badness directly: it holds `not` of a rule, a rule, or an equality on the three indexed
   input fields;
2. inside `not` stands only a reference to a rule without arguments (OPA hoists arguments, and an absent one silences);
3. the constructor of a finding gets literals only (an undefined argument erases the finding);
4. its verdict is in the closed set (an unknown one would drop out of a ranking).

Besides: only builtins on which both engines agree, no clock, no network, package path = folder path, METADATA with a
title on every package and public rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate import opa
from gate.canonical import parse
from gate.decision import Verdict
from gate.errors import Problem, ToolchainError

BUILTINS = frozenset(
    [
        *(
            "and",
            "or",
            "minus",
            "eq",
            "equal",
            "neq",
            "lt",
            "lte",
            "gt",
            "gte",
            "assign",
            "internal.member_2",
            "internal.member_3",
        ),
        *("array.concat", "concat", "count", "lower", "min", "sort", "trim_space", "union"),
        *("is_null", "is_number", "is_string", "object.get", "object.keys", "object.union"),
    ]
)
"""Every builtin the policies may use: those whose meaning the parity test holds OPA and rego-cpp to."""

_INDEXED = frozenset({("checkpoint",), ("operation",), ("request", "capability")})
_CODE = re.compile(r"\A[a-z][a-z0-9_]*\Z")
_PARSE_TIMEOUT_S = 30.0
_MAX_AST_BYTES = 512 * 1024 * 1024

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One parsed Rego file."""

    file: str
    tree: Node

    @property
    def package(self) -> str:
        """Dotted package path without the leading `data`."""
        return ".".join(str(part["value"]) for part in self.tree["package"]["path"][1:])


def read(path: Path) -> Source:
    """Parses one file with the pinned OPA; raises `ToolchainError` when it does not parse."""
    done = opa.run(["parse", str(path), "--format", "json", "--json-include", "locations"], timeout_s=_PARSE_TIMEOUT_S)
    if done.returncode != 0:
        raise ToolchainError(f"`opa parse` refused `{path}`", code="rego_unparsable")
    return Source(str(path), parse(done.stdout, max_bytes=_MAX_AST_BYTES))


def check(sources: Sequence[Source]) -> list[Problem]:
    """Every violation in `sources`, which must be all files that are loaded together."""
    functions = {
        (s.package, str(rule["head"].get("name", "")))
        for s in sources
        for rule in s.tree.get("rules", [])
        if "args" in rule["head"]
    }
    problems = [p for source in sources for p in _check_source(source, functions)]
    return sorted(problems)


def finding_codes(sources: Sequence[Source]) -> set[str]:
    """The reason codes of every finding that `sources` can raise."""
    return {
        str(rule["head"]["key"]["value"][1]["value"])
        for source in sources
        for rule in source.tree.get("rules", [])
        if _is_finding(rule) and rule["head"]["key"]["type"] == "call"
    }


def _check_source(source: Source, functions: set[tuple[str, str]]) -> Iterator[Problem]:
    imports = {
        str(i.get("alias") or i["path"]["value"][-1]["value"]): ".".join(
            str(p["value"]) for p in i["path"]["value"][1:]
        )
        for i in source.tree.get("imports", [])
    }
    yield from _check_package(source)
    for rule in source.tree.get("rules", []):
        yield from _check_metadata(source, rule)
        if _is_finding(rule):
            yield from _check_finding(source, rule)
        for node in _walk(rule):
            yield from _check_negation(source, node, imports, functions)
            yield from _check_builtin(source, node, imports, functions)


def _check_package(source: Source) -> Iterator[Problem]:
    folder = Path(source.file).parent.as_posix()
    if "/bundles/" not in f"/{folder}" and not f"/{folder}".endswith("/" + source.package.replace(".", "/")):
        yield Problem(
            source.file,
            1,
            1,
            "rego_package_path",
            f"package `{source.package}` does not stand in its own folder",
        )


def _check_metadata(source: Source, rule: Node) -> Iterator[Problem]:
    name = str(rule["head"].get("name") or rule["head"]["ref"][0]["value"])
    if name.startswith("_") or name == "findings" or rule.get("default"):
        return
    titled = any(a.get("title") for a in rule.get("annotations", []))
    if not titled and name not in _titled_names(source):
        yield _problem(source, rule, "rego_metadata", f"public rule `{name}` has no METADATA title")


def _titled_names(source: Source) -> set[str]:
    return {
        str(r["head"].get("name") or r["head"]["ref"][0]["value"])
        for r in source.tree.get("rules", [])
        if any(a.get("title") for a in r.get("annotations", []))
    }


def _is_finding(rule: Node) -> bool:
    return bool(rule["head"].get("name") == "findings" and "key" in rule["head"])


def _check_finding(source: Source, rule: Node) -> Iterator[Problem]:
    key = rule["head"]["key"]
    if key["type"] != "call":
        # The router hands on what the compiled bundle found; nobody else may let a variable through.
        if source.package != "gate.router":
            yield _problem(source, rule, "rego_finding_head", "a finding must be made by the constructor")
        return
    arguments = key["value"][1:]
    if len(arguments) != 5 or any(a["type"] != "string" for a in arguments):
        yield _problem(source, rule, "rego_finding_literals", "the constructor of a finding takes five literal strings")
        return
    code, verdict = (str(a["value"]) for a in arguments[:2])
    if not _CODE.match(code):
        yield _problem(source, rule, "rego_finding_code", f"code `{code!a}` is not snake_case")
    if verdict not in set(Verdict):
        yield _problem(source, rule, "rego_finding_verdict", f"verdict `{verdict!a}` is not in the closed set")
    for expression in rule.get("body", []):
        if not _finding_condition(expression):
            yield _problem(
                source,
                expression,
                "rego_finding_body",
                "a finding tests a rule, its negation or an indexed field only",
            )


def _finding_condition(expression: Node) -> bool:
    terms = expression["terms"]
    if isinstance(terms, list):
        return (
            len(terms) == 3
            and _operator(terms) == "equal"
            and _input_path(terms[1]) in _INDEXED
            and terms[2]["type"] == "string"
        )
    # Negations are judged by `_check_negation`; a bare `true` body is an unconditional finding.
    return bool(expression.get("negated")) or (terms.get("type") in {"var", "ref"} and not _input_path(terms))


def _check_negation(
    source: Source, node: Node, imports: Mapping[str, str], functions: set[tuple[str, str]]
) -> Iterator[Problem]:
    if not node.get("negated"):
        return
    terms = node["terms"]
    match terms:
        case {"type": "var", "value": str(name)} if (
            source.package,
            name,
        ) not in functions and name != "input":
            return
        case {
            "type": "ref",
            "value": [{"type": "var", "value": str(alias)}, {"type": "string", "value": str(name)}],
        } if alias in imports and (imports[alias], name) not in functions:
            return
    yield _problem(source, node, "rego_negation", "inside `not` may stand only a rule without arguments")


def _check_builtin(
    source: Source, node: Node, imports: Mapping[str, str], functions: set[tuple[str, str]]
) -> Iterator[Problem]:
    terms = node.get("terms") if "terms" in node else (node.get("value") if node.get("type") == "call" else None)
    if not isinstance(terms, list) or not terms or not isinstance(terms[0], Mapping):
        return
    name = _operator(terms)
    head, _, tail = name.partition(".")
    if name in BUILTINS or (source.package, name) in functions or (imports.get(head, ""), tail) in functions:
        return
    if (imports.get(head), tail) == ("gate.finding", "new"):
        return
    yield _problem(source, node, "rego_builtin", f"`{name}` is not among the builtins both engines agree on")


def _operator(terms: Sequence[Node]) -> str:
    value = terms[0].get("value")
    parts = value if isinstance(value, list) else [terms[0]]
    return ".".join(str(p["value"]) for p in parts)


def _input_path(term: Node) -> tuple[str, ...]:
    match term:
        case {"type": "ref", "value": [{"type": "var", "value": "input"}, *rest]}:
            return tuple(str(p["value"]) for p in rest)
        case {"type": "var", "value": "input"}:
            return ("",)
    return ()


def _walk(node: Any) -> Iterator[Node]:
    if isinstance(node, Mapping):
        yield node
        for key, value in node.items():
            if key not in {"location", "annotations"}:
                yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)


def _problem(source: Source, node: Node, code: str, message: str) -> Problem:
    location = node.get("location") or node.get("head", {}).get("location") or {"row": 1, "col": 1}
    return Problem(source.file, int(location["row"]), int(location["col"]), code, message)


def main(arguments: Sequence[str]) -> int:
    """Checks every `.rego` under the given folders, tests apart; prints problems and answers 1 when there are any."""
    files = sorted(f for a in arguments for f in Path(a).rglob("*.rego") if not f.name.endswith("_test.rego"))
    problems = check([read(f) for f in files])
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    sys.stderr.write(f"{len(files)} Rego files, {len(problems)} problems of shape\n")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
