"""Last pass: modules to Rego text that `opa fmt` would leave as it is.

Pure. Dispatches on node type; an unknown node raises. The same modules give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gate.compiler.literal import RESERVED, CompileError, identifier, literal, prose
from gate.compiler.model import (
    AllStrings,
    Compares,
    CompiledBundle,
    Condition,
    Constant,
    EntryRule,
    Equals,
    FindingRule,
    Holds,
    Is,
    Item,
    Matches,
    Member,
    Module,
    NotHolds,
    OperandRule,
    Ref,
    ResultRule,
    StatedRule,
    TruthRule,
    UnknownRule,
)

_PLAIN = re.compile(r"\A[A-Za-z_][A-Za-z0-9_]*\Z")
NOTICE = "Compiled by `gate compile`; change the YAML, not this file."


def emit(bundle: CompiledBundle) -> dict[str, str]:
    """Rego text by file name."""
    package = f"gate.bundles.{identifier(bundle.package)}"
    return {module.file: emit_module(module, package) for module in bundle.modules}


def emit_module(module: Module, package: str) -> str:
    """The text of one module."""
    if module.documents_package:
        head = f"# METADATA\n# title: {prose(module.title)}\n# description: {prose(NOTICE)}\n"
    else:
        # Before the package, a plain comment: METADATA of a package may stand in one of its files only.
        head = f"# {prose(module.title)}. {NOTICE}\n\n"
    blocks = [f"{head}package {package}"]
    imports = ("import data.gate.evidence.known", _reads_evidence), ("import data.gate.finding", _is_finding)
    needed = [line for line, wanted in imports if any(wanted(item) for item in module.items)]
    if needed:
        blocks.append("\n".join(needed))
    blocks.extend(_item(item) for item in module.items)
    return "\n\n".join(blocks) + "\n"


def _is_finding(item: Item) -> bool:
    return isinstance(item, FindingRule)


def _reads_evidence(item: Item) -> bool:
    return isinstance(item, OperandRule) and item.base == "evidence"


def _item(item: Item) -> str:
    match item:
        case FindingRule():
            return _finding(item)
        case StatedRule():
            return _stated(item)
        case OperandRule():
            return _operand(item)
        case TruthRule():
            return "\n\n".join(f"_{identifier(item.name)} if {_body(clause)}" for clause in item.clauses)
        case ResultRule():
            return _result(item)
        case UnknownRule():
            return f"_{identifier(item.name)} contains {literal(item.label)} if not _{identifier(item.typed)}"
        case EntryRule():
            return _entry(item)
        case Constant():
            return _constant(item)
    raise CompileError(f"no Rego form for `{type(item).__name__}`")


def _metadata(title: str, source: str) -> str:
    return f"# METADATA\n# title: {prose(title)}\n# custom:\n#   source: {prose(source)}\n"


def _finding(rule: FindingRule) -> str:
    arguments = ", ".join(literal(a) for a in (rule.code, rule.verdict, rule.rule_id, rule.requirement, rule.source))
    head = f"{identifier(rule.head)} contains finding.new({arguments}) if "
    if not rule.conditions:
        raise CompileError(f"rule `{rule.rule_id}` has no condition and would always hold")
    return _metadata(rule.title, rule.source) + head + _body(rule.conditions)


def _body(conditions: tuple[Condition, ...]) -> str:
    lines = [_condition(c) for c in conditions]
    return lines[0] if len(lines) == 1 else "{\n" + "".join(f"\t{line}\n" for line in lines) + "}"


def _condition(condition: Condition) -> str:
    match condition:
        case Equals():
            return f"input.{_path(condition.path)} == {literal(condition.value)}"
        case Holds():
            return f"_{identifier(condition.rule)}"
        case NotHolds():
            return f"not _{identifier(condition.rule)}"
        case Is():
            return f"{_TYPE_CHECKS[condition.builtin]}(_{identifier(condition.operand)})"
        case AllStrings():
            operand = f"_{identifier(condition.operand)}"
            return f"count([x | some x in {operand}; is_string(x)]) == count({operand})"
        case Compares():
            return f"{_side(condition.left)} {_OPERATORS[condition.op]} {_side(condition.right)}"
        case Matches():
            return f"regex.match({literal(condition.pattern)}, _{identifier(condition.operand)})"
    raise CompileError(f"no Rego form for `{type(condition).__name__}`")


_TYPE_CHECKS = {name: name for name in ("is_number", "is_string", "is_boolean", "is_array", "is_null")}
_OPERATORS = {op: op for op in ("==", "!=", "<", "<=", ">", ">=", "in")}


def _side(side: Any) -> str:
    return f"_{identifier(side.rule)}" if isinstance(side, Ref) else literal(side)


def _operand(rule: OperandRule) -> str:
    name = f"_{identifier(rule.name)}"
    bases = {"input": "input", "catalog": "catalog[input.request.capability]", "evidence": "known.section"}
    base = bases[rule.base]
    # Total: an absent value is null, which no type check lets through.
    return f"default {name} := null\n\n{name} := {base}{_steps(rule.path)}"


def _result(rule: ResultRule) -> str:
    # False first, as most controls are of most calls: then nothing else is looked at. At most one of the two holds.
    cases = ((rule.false, "false"), (rule.true, "true"))
    chain = "\n\nelse := ".join(f"{literal(word)} if _{identifier(truth)}" for truth, word in cases)
    return f'_{identifier(rule.name)} := {chain}\n\nelse := "unknown"'


def _entry(rule: EntryRule) -> str:
    fields = ", ".join(f"{literal(key)}: {_member(value)}" for key, value in rule.fields)
    head = f"{identifier(rule.name)} contains {{{fields}}} if "
    return _metadata(rule.title, rule.source) + head + _body(rule.conditions)


def _member(value: Any) -> str:
    if not isinstance(value, Member):
        return literal(value)
    return f"_{identifier(value.rule)}" if value.rule is not None else f"input{_steps(value.path)}"


def _steps(path: tuple[str, ...]) -> str:
    """A reference below a document. Plain names are dotted, as `opa fmt` writes them; anything else is a string key."""
    return "".join(f".{part}" if _PLAIN.match(part) and part not in RESERVED else f"[{literal(part)}]" for part in path)


def _stated(rule: StatedRule) -> str:
    path = f"input.{_path(rule.path)}"
    return f'_{identifier(rule.name)} if {{\n\tis_string({path})\n\ttrim_space({path}) != ""\n}}'


def _constant(constant: Constant) -> str:
    head = identifier(constant.name)
    if constant.key is not None:
        head += f"[{literal(constant.key)}]"
    return _metadata(constant.title, constant.source) + f"{head} := {_term(constant.value)}"


def _term(value: Any) -> str:
    # One field a line, so that a changed field is a changed line in review.
    if isinstance(value, Mapping) and value:
        fields = "".join(f"\t{literal(key)}: {literal(item)},\n" for key, item in value.items())
        return "{\n" + fields + "}"
    return literal(value)


def _path(path: tuple[str, ...]) -> str:
    return ".".join(identifier(part) for part in path)
