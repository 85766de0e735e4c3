"""The shape every Rego file here must have: the four ways in which Rego fails open, checked over `opa parse` output.

Runs over hand-written and compiled policies alike. It reads syntax only and decides nothing about a bundle's meaning:

1. a finding's body tests no badness directly: it holds `not` of a rule, a rule, or an equality on the three indexed
   input fields; nor does a helper in its place (`gate.compiler.polarity`);
2. inside `not` stands only a reference to a rule without arguments that is `true` or undefined (OPA hoists arguments,
   and an absent one silences; a default or an `else` would make the good case hold by itself);
3. the constructor of a finding gets literals only (an undefined argument erases the finding);
4. its verdict is in the closed set (an unknown one would drop out of a ranking).

A finding that permits binds checkpoint and operation, and never holds because something else does not.

Besides: only builtins on which both engines agree, no clock, no network, no `with`, no value taken for a truth,
imports of packages only, package path = folder path, METADATA with a title on every package and public rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gate.compiler.parsed import (
    CONSTRUCTOR,
    Node,
    RuleIndex,
    Source,
    call_of,
    constructor_calls,
    input_path,
    operator,
    read,
    rule_name,
    walk,
)
from gate.compiler.polarity import INDEXED, one_sided
from gate.decision import Verdict
from gate.errors import Problem

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
        *("array.concat", "concat", "count", "lower", "min", "plus", "replace", "sort"),
        *("startswith", "trim_space", "union"),
        *(
            "is_array",
            "is_boolean",
            "is_null",
            "is_number",
            "regex.match",
            "is_string",
            "object.get",
            "object.keys",
            "object.union",
        ),
    ]
)
"""Every builtin the policies may use: those whose meaning the parity test holds OPA and rego-cpp to."""

_SIDECAR = BUILTINS | {"crypto.sha256", "is_object", "object.union_n", "replace", "split", "trim_prefix"}
"""What packages under `system` may use besides: only the sidecar's OPA ever evaluates them."""

_HANDING_ON = frozenset({"gate.router", "gate.approval"})
"""Packages that hand on what the compiled bundle found, and what it demands; nobody else lets a variable through."""


_CODE = re.compile(r"\A[a-z][a-z0-9_]*\Z")


def check(sources: Sequence[Source]) -> list[Problem]:
    """Every violation in `sources`, which must be all files that are loaded together."""
    index = RuleIndex(sources)
    problems = [p for source in sources for p in _check_source(source, index)]
    titled = {s.package for s in sources if any(_says_what_it_is(a) for a in s.tree.get("annotations", []))}
    problems += [
        Problem(s.file, 1, 1, "rego_metadata", f"package `{s.package}` has no METADATA title")
        for s in sources
        if s.package not in titled
    ]
    return sorted({*problems, *one_sided(sources, index)})


def finding_codes(sources: Sequence[Source]) -> set[str]:
    """The reason codes of every finding that `sources`, all files that are loaded together, can raise."""
    index = RuleIndex(sources)
    return {
        str(arguments[0]["value"])
        for source in sources
        for rule in source.rules
        for _, arguments in constructor_calls(source, index, rule)
    }


def _check_source(source: Source, index: RuleIndex) -> Iterator[Problem]:
    yield from _check_package(source)
    yield from _check_imports(source, index)
    titled = {rule_name(r) for r in source.rules if any(a.get("title") for a in r.get("annotations", []))}
    for rule in source.rules:
        name = rule_name(rule)
        if not name.startswith("_") and name != "findings" and not rule.get("default") and name not in titled:
            yield source.problem(rule, "rego_metadata", f"public rule `{name}` has no METADATA title")
        yield from _check_finding(source, rule, index)
        for node, arguments in constructor_calls(source, index, rule):
            yield from _check_arguments(source, rule if "location" not in node else node, arguments)
        for node in walk(rule):
            yield from _check_expression(source, node, index)
            yield from _check_builtin(source, node, index)


def _says_what_it_is(annotation: Node) -> bool:
    # The one block for `subpackages` holds the schemas; the title of its package's rule is title enough.
    scope = annotation.get("scope")
    return scope == "subpackages" or (scope == "package" and bool(annotation.get("title")))


def _check_package(source: Source) -> Iterator[Problem]:
    parts = Path(source.file).resolve().parent.parts
    wanted: tuple[str, ...]
    if parts[-1] == "rego" and len(parts) > 1:
        wanted = ("gate", "bundles", parts[-2].replace("-", "_"))
    else:
        wanted = parts[-len(source.package.split(".")) :]
    if source.package != ".".join(wanted):
        message = f"package `{source.package}` does not stand in its own folder"
        yield source.problem(source.tree["package"], "rego_package_path", message)


def _check_imports(source: Source, index: RuleIndex) -> Iterator[Problem]:
    for item in source.tree.get("imports", []):
        path = [str(p["value"]) for p in item["path"]["value"]]
        if path[:2] != ["data", "gate"] or index.definitions((".".join(path[1:-1]), path[-1])):
            # A rule or a field under a short name would pass for a local rule, or for one that cannot be absent.
            yield source.problem(item["path"], "rego_import", "only packages of the gate are imported")


def _check_finding(source: Source, rule: Node, index: RuleIndex) -> Iterator[Problem]:
    head = rule["head"]
    key = head.get("key", {})
    made = key.get("type") == "call" and index.resolve(source, key["value"][0]) == (CONSTRUCTOR, True)
    if not made:
        passed_on = source.package in _HANDING_ON and key.get("type") == "var" and head.get("name") == "findings"
        if rule_name(rule) == "findings" and not passed_on:
            yield source.problem(rule, "rego_finding_head", "a finding must be made by the constructor")
        return
    body = rule.get("body", [])
    for expression in body:
        if not _finding_condition(source, expression, index):
            message = "a finding tests a rule, its negation or an indexed field only"
            yield source.problem(expression, "rego_finding_body", message)
    if key["value"][2:3] and key["value"][2].get("value") == "allow":
        bound = {input_path(e["terms"][1]) for e in body if _binds(e)}
        if not {("checkpoint",), ("operation",)} <= bound or any(e.get("negated") for e in body):
            message = "a finding that permits binds checkpoint and operation, and negates nothing"
            yield source.problem(rule, "rego_permit", message)


def _check_arguments(source: Source, node: Node, arguments: Sequence[Node]) -> Iterator[Problem]:
    if len(arguments) != 5 or any(a["type"] != "string" for a in arguments):
        yield source.problem(node, "rego_finding_literals", "the constructor of a finding takes five literal strings")
        return
    code, verdict = (str(a["value"]) for a in arguments[:2])
    if not _CODE.match(code):
        yield source.problem(node, "rego_finding_code", f"code `{code!a}` is not snake_case")
    if verdict not in set(Verdict):
        yield source.problem(node, "rego_finding_verdict", f"verdict `{verdict!a}` is not in the closed set")


def _binds(expression: Node) -> bool:
    call = call_of(expression)
    return (
        call is not None
        and len(call) == 3
        and operator(call) == "equal"
        and input_path(call[1]) in INDEXED
        and call[2]["type"] == "string"
        and not expression.get("negated")
    )


def _finding_condition(source: Source, expression: Node, index: RuleIndex) -> bool:
    if expression.get("negated"):
        return True  # judged by `_check_expression`
    terms = expression["terms"]
    return _binds(expression) or (not isinstance(terms, list) and _is_statement(source, terms, index))


def _is_statement(source: Source, term: Node, index: RuleIndex) -> bool:
    resolved = index.resolve(source, term) if "type" in term else None
    return resolved is not None and resolved[1] and index.is_statement(resolved[0])


def _check_expression(source: Source, node: Node, index: RuleIndex) -> Iterator[Problem]:
    if "terms" not in node:
        return
    terms = node["terms"]
    if node.get("with"):
        yield source.problem(node, "rego_with", "`with` decides about another document than the one that was sent")
    if node.get("negated"):
        if isinstance(terms, list) or not _is_statement(source, terms, index):
            message = "inside `not` may stand only a rule without arguments that is true or undefined"
            yield source.problem(node, "rego_negation", message)
    elif not isinstance(terms, list) and terms.get("type") in {"ref", "var"}:
        head = terms["value"][0]["value"] if terms["type"] == "ref" else terms["value"]
        # "no" and 0 are truths to Rego.
        if head != "data" and head not in source.imports and index.resolve(source, terms) is None:
            yield source.problem(node, "rego_truthy", "a value is no truth; compare it with one")


def _check_builtin(source: Source, node: Node, index: RuleIndex) -> Iterator[Problem]:
    call = call_of(node)
    if call is None:
        return
    name, resolved = operator(call), index.resolve(source, call[0])
    known = _SIDECAR if source.package.startswith("system.") else BUILTINS
    if name not in known and not (resolved is not None and resolved[1] and index.is_function(resolved[0])):
        yield source.problem(node, "rego_builtin", f"`{name}` is not among the builtins both engines agree on")


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
