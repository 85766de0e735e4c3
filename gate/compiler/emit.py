"""Last pass: modules to Rego text that `opa fmt` would leave as it is.

Pure. Dispatches on node type; an unknown node raises. The same modules give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.compiler.literal import CompileError, identifier, literal, prose
from gate.compiler.model import (
    CompiledBundle,
    Condition,
    Constant,
    Equals,
    FindingRule,
    Item,
    Module,
    NotHolds,
    StatedRule,
)

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
    if any(isinstance(item, FindingRule) for item in module.items):
        blocks.append("import data.gate.finding")
    blocks.extend(_item(item) for item in module.items)
    return "\n\n".join(blocks) + "\n"


def _item(item: Item) -> str:
    match item:
        case FindingRule():
            return _finding(item)
        case StatedRule():
            return _stated(item)
        case Constant():
            return _constant(item)
    raise CompileError(f"no Rego form for `{type(item).__name__}`")


def _metadata(title: str, source: str) -> str:
    return f"# METADATA\n# title: {prose(title)}\n# custom:\n#   source: {prose(source)}\n"


def _finding(rule: FindingRule) -> str:
    arguments = ", ".join(literal(a) for a in (rule.code, rule.verdict, rule.rule_id, rule.requirement, rule.source))
    head = f"findings contains finding.new({arguments}) if "
    body = [_condition(c) for c in rule.conditions]
    if not body:
        raise CompileError(f"rule `{rule.rule_id}` has no condition and would always hold")
    text = body[0] if len(body) == 1 else "{\n" + "".join(f"\t{line}\n" for line in body) + "}"
    return _metadata(rule.title, rule.source) + head + text


def _condition(condition: Condition) -> str:
    match condition:
        case Equals():
            return f"input.{_path(condition.path)} == {literal(condition.value)}"
        case NotHolds():
            return f"not _{identifier(condition.rule)}"
    raise CompileError(f"no Rego form for `{type(condition).__name__}`")


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
