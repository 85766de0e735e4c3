from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import gate
from gate.errors import BundleError, GateError, Problem

_CODE = re.compile(r"\A[a-z][a-z0-9_]*\Z")


def _modules() -> list[ModuleType]:
    names = [m.name for m in pkgutil.walk_packages(gate.__path__, "gate.") if not m.name.endswith("__main__")]
    return [gate, *map(importlib.import_module, names)]


def _exceptions() -> dict[str, type[BaseException]]:
    return {
        f"{cls.__module__}.{cls.__qualname__}": cls
        for module in _modules()
        for cls in vars(module).values()
        if inspect.isclass(cls) and issubclass(cls, BaseException) and cls.__module__.split(".")[0] == "gate"
    }


def test_every_exception_of_the_package_descends_from_the_root() -> None:
    found = _exceptions()
    assert {"gate.errors.GateError", "gate.decision.ActionBlocked", "gate.compiler.literal.CompileError"} <= set(found)
    assert [name for name, cls in found.items() if not issubclass(cls, GateError)] == []


def test_every_error_class_has_a_snake_case_code_and_never_exits_zero() -> None:
    classes = [cls for cls in _exceptions().values() if issubclass(cls, GateError)]
    assert [cls for cls in classes if not _CODE.match(cls.code) or cls.exit_code not in {1, 2, 3, 4, 5}] == []


def _stated_codes() -> set[tuple[str, str]]:
    """Every literal `code=` of a call or of a class in the package, with its file."""
    found: set[tuple[str, str]] = set()
    for path in sorted(Path(gate.__path__[0]).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [getattr(t, "id", "") for t in node.targets] if isinstance(node, ast.Assign) else []
            value = node.value if "code" in names or (isinstance(node, ast.keyword) and node.arg == "code") else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add((path.name, value.value))
    return found


def test_every_code_stated_in_the_package_is_snake_case() -> None:
    codes = _stated_codes()
    assert ("errors.py", "bundle_invalid") in codes
    assert [at for at in sorted(codes) if not _CODE.match(at[1])] == []


def test_error_keeps_message_hint_and_code_apart() -> None:
    error = GateError("`x` is wrong", code="x_wrong", hint="write y")
    assert (str(error), error.message, error.hint, error.code, error.exit_code) == (
        "`x` is wrong",
        "`x` is wrong",
        "write y",
        "x_wrong",
        1,
    )
    assert GateError.code == "gate_error"


def test_bundle_error_sorts_its_problems_by_position_and_keeps_each_once() -> None:
    first = Problem("a.yaml", 2, 1, "x", "m")
    second = Problem("a.yaml", 10, 1, "x", "m")
    third = Problem("b.yaml", 1, 1, "x", "m")
    error = BundleError([third, second, first, second])
    assert (error.problems, str(error), error.exit_code) == (
        (first, second, third),
        "3 problems found in the bundle",
        5,
    )
    assert str(BundleError([first])) == "1 problem found in the bundle"


def test_problem_reads_as_an_editor_can_jump_to_it() -> None:
    assert str(Problem("p/policy.yaml", 3, 5, "x_wrong", "it is wrong", "hint")) == (
        "p/policy.yaml:3:5: x_wrong: it is wrong"
    )


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    assert [m.__name__ for m in _modules() if not (m.__doc__ or "").strip()] == []
