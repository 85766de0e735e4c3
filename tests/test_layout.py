from __future__ import annotations

import ast
import fnmatch
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate import opa
from gate.compiler import compile_bundle, lower, shape
from gate.compiler.parsed import Source, read
from gate.documents import schema

# DESIGN 4, from the top to the bottom: a room imports from rooms that stand after it.
ROOMS = [
    *("cli", "integrations", "lab", "enforcement", "continuity", "longtask", "release", "evidence", "pdp", "records"),
    *("compiler", "documents"),
]
BOTTOM = {"opa", "decision", "canonical", "trace", "errors"}
"""Modules below every room; they import `errors` and, to hash, `canonical` only."""

MAX_LINES = 400

TOP_LEVEL = {
    *("pyproject.toml", "policies", "schemas", "gate", "bundles", "tests", "Makefile", "README.md", "LICENSE"),
    *("CHANGELOG.md", ".gitignore", ".ci", ".regal", ".github", ".pre-commit-hooks.yaml"),
}


@pytest.fixture(scope="session")
def package(repo: Path) -> Path:
    return repo / "gate"


def modules(package: Path) -> Iterator[tuple[str, Path]]:
    """Dotted name and file of every module, the package's own `__init__` apart."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name != "gate":
            yield name, path


def imported(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every module of `gate` that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.split(".")[0] == "gate")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            if node.module == "gate":
                yield from ((node.lineno, f"gate.{a.name}") for a in node.names)
            elif (node.module or "").startswith("gate."):
                yield node.lineno, str(node.module)


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_every_module_is_in_a_room_of_the_design_or_at_the_bottom(package: Path) -> None:
    assert {room(name) for name, _ in modules(package)} <= {*ROOMS, *BOTTOM}


def test_rooms_import_downwards_only(package: Path) -> None:
    rank = {name: index for index, name in enumerate(ROOMS)}
    wrong = []
    for name, path in modules(package):
        own = room(name)
        for line, target in imported(path, name):
            other = room(target)
            if other == own or other in BOTTOM:
                continue
            if own in BOTTOM or rank.get(other, -1) <= rank[own]:
                wrong.append(f"{path.relative_to(package.parent)}:{line}: {name} imports {target}")
    assert wrong == []


def test_bottom_modules_import_nothing_above_them(package: Path) -> None:
    allowed = {
        "errors": set(),
        "canonical": {"errors"},
        "decision": {"errors"},
        "trace": {"errors"},
        "opa": {"errors", "canonical"},
    }
    seen = {
        room(name): {room(target) for _, target in imported(path, name)}
        for name, path in modules(package)
        if room(name) in BOTTOM
    }
    assert {name: targets - allowed[name] for name, targets in seen.items()} == {name: set() for name in BOTTOM}


def test_inits_of_rooms_only_re_export(package: Path) -> None:
    wrong = []
    for path in sorted(package.glob("*/**/__init__.py")):
        body = ast.parse(path.read_text("utf-8")).body
        for node in body[1:]:
            is_all = isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["__all__"]
            if not (is_all or isinstance(node, ast.ImportFrom)):
                wrong.append(f"{path.relative_to(package.parent)}:{node.lineno}")
    # The command line's `__init__` is its entry point: it holds the group that the commands hang on.
    assert [w for w in wrong if not w.startswith("gate/cli/")] == []


def test_modules_stay_under_four_hundred_lines(package: Path) -> None:
    sizes = {
        str(path.relative_to(package.parent)): len(path.read_text("utf-8").splitlines()) for _, path in modules(package)
    }
    assert {name: size for name, size in sizes.items() if size >= MAX_LINES} == {}


def test_every_module_starts_with_one_sentence_and_future_annotations(package: Path) -> None:
    wrong = []
    for name, path in modules(package):
        tree = ast.parse(path.read_text("utf-8"))
        futures = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
        if not ast.get_docstring(tree) or (len(tree.body) > 1 and not futures):
            wrong.append(name)
    assert wrong == []


def test_top_level_holds_only_what_the_design_lists(repo: Path) -> None:
    ignored = [line.rstrip("/") for line in (repo / ".gitignore").read_text("utf-8").split()]
    there = {entry.name for entry in repo.iterdir() if entry.name != ".git"}
    assert {n for n in there if not any(fnmatch.fnmatch(n, pattern) for pattern in ignored)} - TOP_LEVEL == set()


def test_no_file_names_this_machine(repo: Path) -> None:
    wrong = []
    for folder in ("gate", "policies", "schemas", "bundles"):
        for path in (repo / folder).rglob("*"):
            if path.suffix in {".py", ".rego", ".yaml", ".json"} and re.search(
                r"/(?:root|work|tmp|home)/\w", path.read_text("utf-8")
            ):
                wrong.append(str(path.relative_to(repo)))
    assert wrong == []


# --- what the policies say beside what Python says -----------------------------------------------------------------


@pytest.fixture(scope="session")
def policies(repo: Path) -> list[Source]:
    return [read(f) for f in sorted((repo / "policies").rglob("*.rego")) if not f.name.endswith("_test.rego")]


@pytest.fixture(scope="session")
def remedies(repo: Path, opa_binary: Path) -> set[str]:
    done = opa.run(
        ["eval", "--format", "json", "-d", str(repo / "policies" / "gate" / "finding"), "data.gate.finding.remedies"],
        binary=opa_binary,
    )
    return set(json.loads(done.stdout)["result"][0]["expressions"][0]["value"])


def compiled_codes() -> set[str]:
    """Codes of the findings that the compiler writes of itself; a control's code is its requirement's name."""
    tree = ast.parse(Path(lower.__file__).read_text("utf-8"))
    literals = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    stated = {"operation_allowed", "operation_denied", "tenant_missing", "principal_missing", "when_not_met"}
    decided = {code for code, _, _ in lower._DECISIONS.values()}
    assert stated <= literals
    return stated | decided


PERMITTING = {"operation_allowed", "configured_allow", "configured_with_approval"}
"""Codes of findings that permit: there is nothing to remedy."""


@pytest.mark.opa
def test_every_code_has_a_remedy_and_every_remedy_a_code(policies: list[Source], remedies: set[str]) -> None:
    codes = (shape.finding_codes(policies) | compiled_codes()) - PERMITTING
    assert {"without a remedy": codes - remedies, "without a finding": remedies - codes} == {
        "without a remedy": set(),
        "without a finding": set(),
    }


@pytest.mark.opa
def test_codes_the_compiler_writes_are_those_in_the_shipped_rego(repo: Path, policies: list[Source]) -> None:
    for folder in sorted((repo / "bundles").iterdir()):
        bundle = compile_bundle(folder)
        controls = {c.policy_requirement for c in bundle.bundle.checkpoints}
        sources = [read(f) for f in sorted((folder / "rego").glob("*.rego"))]
        written = shape.finding_codes([*policies, *sources]) - shape.finding_codes(policies)
        assert written - controls <= compiled_codes(), folder.name


@pytest.mark.opa
def test_operations_of_each_checkpoint_are_the_same_in_rego_and_in_python(repo: Path, opa_binary: Path) -> None:
    files = [repo / "policies" / "gate" / name for name in ("identity/identity.rego", "finding")]
    data = [part for file in files for part in ("-d", str(file))]
    done = opa.run(["eval", "--format", "json", *data, "data.gate.identity._operations"], binary=opa_binary)
    stated = json.loads(done.stdout)["result"][0]["expressions"][0]["value"]
    assert {c: sorted(o) for c, o in stated.items()} == {c: sorted(o) for c, o in lower.CHECKPOINTS.items()}


def test_operations_of_the_policy_schema_are_every_operation_but_call_tool() -> None:
    stated = schema("policy")["properties"]["policy"]["properties"]["operations"]["properties"]
    assert set(stated) == {o for operations in lower.CHECKPOINTS.values() for o in operations} - {"call_tool"}
