from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler_support import DOCUMENTS, call, compiled, edited, opa_value, point_of, put

from gate import opa
from gate.compiler import SOURCE_MAP, Compiled, assemble, compile_bundle, differences, write
from gate.compiler import compile as compile_module
from gate.compiler.compile import CompiledUnwritableError
from gate.compiler.lower import MAX_RULES_PER_FILE
from gate.documents import load, opa_schema, schema
from gate.errors import BundleError, Problem


def folder_state(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changed_lines(old: str, new: str) -> list[tuple[str, str]]:
    left, right = old.splitlines(), new.splitlines()
    assert len(left) == len(right)
    return [(a, b) for a, b in zip(left, right, strict=True) if a != b]


@pytest.fixture(scope="session")
def opa_schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "input.json").write_text(json.dumps(opa_schema.opa_schema(schema("input"))), encoding="utf-8")
    return folder


def assert_opa_is_content(binary: Path, schemas: Path, repo: Path, rego: Path) -> None:
    """`opa fmt` would change nothing, and `opa check --strict` with the schema finds nothing."""
    formatted = opa.run(["fmt", "--list", str(rego)], binary=binary)
    assert (formatted.returncode, formatted.stdout, formatted.stderr) == (0, "", "")
    checked = opa.run(["check", "--strict", "--schema", str(schemas), str(repo / "policies"), str(rego)], binary=binary)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_checked_in_rego_of_the_shipped_bundle_is_what_its_yaml_compiles_to(repo: Path) -> None:
    assert differences(compile_bundle(repo / "bundles" / "support-triage")) == []


@pytest.mark.opa
def test_compiled_rego_pleases_opa_fmt_and_strict_check(
    opa_binary: Path, opa_schemas: Path, repo: Path, tmp_path: Path
) -> None:
    bundle = compiled(tmp_path / "triage")
    write(bundle)
    assert_opa_is_content(opa_binary, opa_schemas, repo, tmp_path / "triage" / "rego")


@pytest.mark.opa
def test_misspelt_input_field_is_an_error_to_the_same_strict_check(
    opa_binary: Path, opa_schemas: Path, repo: Path, tmp_path: Path
) -> None:
    write(compiled(tmp_path / "triage"))
    policy = tmp_path / "triage" / "rego" / "policy.rego"
    policy.write_text(policy.read_text().replace("input.operation", "input.operatoin"), encoding="utf-8")
    checked = opa.run(
        ["check", "--strict", "--schema", str(opa_schemas), str(repo / "policies"), str(policy.parent)],
        binary=opa_binary,
    )
    assert checked.returncode != 0
    assert "undefined ref: input.operatoin" in checked.stderr


def test_same_yaml_gives_the_same_bytes_whatever_the_folder_above(tmp_path: Path) -> None:
    one, two = compiled(tmp_path / "a" / "triage"), compiled(tmp_path / "b" / "triage")
    assert one.files == two.files
    assert all(text.isascii() and text.endswith("\n") for text in one.files.values())
    assert not any(str(tmp_path) in text for text in one.files.values())


def test_comment_in_the_yaml_changes_the_source_map_only(tmp_path: Path) -> None:
    before = compiled(tmp_path / "a" / "triage")
    after = compiled(
        tmp_path / "b" / "triage", ("policy.yaml", "  operations:\n", "  # one\n  # two\n\n  operations:\n")
    )
    assert after.rego == before.rego
    places = json.loads(before.source_map)
    moved = json.loads(after.source_map)
    assert {name for name in places if places[name] != moved[name]} == {
        "policy.yaml#/policy/operations/run_start",
        "policy.yaml#/policy/operations/emit",
        *(f"policy.yaml#/policy/capabilities/{name}" for name in ("search_docs", "create_ticket", "run_shell")),
    }
    assert moved["policy.yaml#/policy/operations/emit"] == {"line": 10, "column": 5}


def test_source_map_points_every_source_of_the_rego_at_its_line(tmp_path: Path) -> None:
    bundle = compiled(tmp_path / "triage")
    places = json.loads(bundle.source_map)
    stated = {s for text in bundle.rego.values() for s in re.findall(r'#   source: "([^"]+)"', text)}
    assert places.keys() == stated
    for source, place in places.items():
        file, _, pointer = source.partition("#")
        line = DOCUMENTS[file].splitlines()[place["line"] - 1][place["column"] - 1 :]
        last = pointer.rsplit("/", 1)[1]
        assert line.startswith(("contract_id:", "id:") if last == "0" else f"{last}:"), source


# Issue 2, last sentence: change a rule in YAML, see the Rego change, watch the decision change.
def test_allow_made_deny_changes_exactly_that_rule_and_its_decision(tmp_path: Path) -> None:
    before = compiled(tmp_path / "a" / "triage")
    after = compiled(
        tmp_path / "b" / "triage",
        ("policy.yaml", "    search_docs:\n      decision: allow\n", "    search_docs:\n      decision: deny\n"),
    )
    assert {name for name in before.files if before.files[name] != after.files[name]} == {"policy.rego"}
    changed = changed_lines(before.rego["policy.rego"], after.rego["policy.rego"])
    origin = '"capabilities.search_docs", "policy.yaml#/policy/capabilities/search_docs") if {'
    assert [pair for pair in changed if pair[0].startswith("findings")] == [
        (
            f'findings contains finding.new("configured_allow", "allow", "cap_110", {origin}',
            f'findings contains finding.new("configured_deny", "deny", "cap_410", {origin}',
        )
    ]
    assert [pair for pair in changed if "search_docs" not in pair[0] or "search_docs" not in pair[1]] == []
    decisions = [point_of(one).decide(call(one, "search_docs")).decision for one in (before, after)]
    assert [(str(d.verdict), d.codes) for d in decisions] == [
        ("allow", ("configured_allow",)),
        ("deny", ("configured_deny",)),
    ]
    others = [point_of(one).decide(call(one, "run_shell")).decision for one in (before, after)]
    assert [(str(d.verdict), d.codes) for d in others] == [("deny", ("configured_deny",))] * 2


@pytest.mark.parametrize(
    ("edit", "capability", "expected"),
    [
        (
            ("policy.yaml", "require_tenant: true", "require_tenant: false"),
            "search_docs",
            ("allow", "configured_allow"),
        ),
        (("policy.yaml", "    run_shell:\n      decision: deny\n", ""), "run_shell", ("deny", "capability_unknown")),
        (
            ("policy.yaml", "allow_kinds: [validated_fact]", "allow_kinds: [session_summary]"),
            "search_docs",
            ("allow", "configured_allow"),
        ),
    ],
)
def test_edit_of_the_yaml_decides_as_it_says(
    tmp_path: Path, edit: tuple[str, str, str], capability: str, expected: tuple[str, str]
) -> None:
    bundle = compiled(tmp_path / "triage", edit)
    decision = point_of(bundle).decide(call(bundle, capability)).decision
    assert (str(decision.verdict), *decision.codes) == expected


def test_precheck_that_is_switched_off_compiles_to_no_rule(tmp_path: Path) -> None:
    bundle = compiled(
        tmp_path / "triage",
        ("policy.yaml", "require_tenant: true", "require_tenant: false"),
        ("policy.yaml", "deny_if_principal_missing: true", "deny_if_principal_missing: false"),
    )
    assert "run_001" not in bundle.rego["policy.rego"]
    assert "run_002" not in bundle.rego["policy.rego"]


def test_key_is_needed_for_a_write_that_does_not_say_otherwise(tmp_path: Path) -> None:
    bundle = compiled(tmp_path / "triage", ("capabilities.yaml", "    idempotency_key_required: true\n", ""))
    facts = point_of(bundle).facts("support-triage-ref")
    assert {n: c["idempotency_key_required"] for n, c in facts.capabilities.items()} == {
        "search_docs": False,
        "create_ticket": True,
    }


def _many(count: int) -> dict[str, str]:
    """The documents with `count` read-only capabilities more, decided in turn: allow, deny."""
    catalog, policy = [], []
    for number in range(count):
        catalog.append(
            f"  cap_{number:04}:\n    owner: o\n    mode: read\n    side_effect: none\n    transport: local\n"
            f"    tool_principal: p\n    risk_tier: low\n    network_access: restricted\n    allowed_egress: [x]\n"
            f"    timeout_seconds: 5\n    approval: none\n    arguments:\n      type: object\n"
            f"      additionalProperties: false\n      properties: {{}}\n"
        )
        policy.append(f"    cap_{number:04}:\n      decision: {'deny' if number % 2 else 'allow'}\n")
    return edited(
        ("capabilities.yaml", DOCUMENTS["capabilities.yaml"], DOCUMENTS["capabilities.yaml"] + "".join(catalog)),
        ("policy.yaml", "    search_docs:\n", "".join(policy) + "    search_docs:\n"),
    )


@pytest.mark.opa
def test_six_hundred_capabilities_are_split_and_each_decides_as_configured(
    opa_binary: Path, opa_schemas: Path, repo: Path, tmp_path: Path
) -> None:
    bundle = compile_bundle(put(tmp_path / "triage", _many(600)))
    write(bundle)
    rego = tmp_path / "triage" / "rego"
    assert {"catalog_001.rego", "catalog_002.rego", "catalog_003.rego", "policy_001.rego"} <= bundle.rego.keys()
    assert not {"catalog.rego", "policy.rego"} & bundle.rego.keys()
    assert max(text.count("# METADATA\n") for text in bundle.rego.values()) == MAX_RULES_PER_FILE
    assert_opa_is_content(opa_binary, opa_schemas, repo, rego)
    agents = tmp_path / "agents.rego"
    agents.write_text(assemble([bundle]).modules["gate/agents/agents.rego"], encoding="utf-8")
    document = call(bundle, "search_docs")
    # One evaluation of the whole decision for each capability, inside one `opa eval`.
    probe = tmp_path / "probe.rego"
    probe.write_text(
        "package probe\n\nbase := " + json.dumps(document) + "\n\n"
        "asked[name] := [decision.verdict, [r.code | some r in decision.reasons]] if {\n"
        "\tsome name, entry in data.gate.bundles.triage.catalog\n"
        '\tstartswith(name, "cap_")\n'
        '\tstated := object.union(base, {"request": {"capability": name},'
        ' "state": {"versions": {"capability_version": entry.capability_version}},'
        ' "evidence": {"arguments": {"schema_digest": entry.arguments_digest}}})\n'
        "\tdecision := data.gate.decision with input as stated\n}\n",
        encoding="utf-8",
    )
    seen = opa_value(opa_binary, "data.probe.asked", repo / "policies" / "gate", *rego.glob("*.rego"), agents, probe)
    assert seen == {
        f"cap_{n:04}": ["deny", ["configured_deny"]] if n % 2 else ["allow", ["configured_allow"]] for n in range(600)
    }


# --- nothing in a document can become Rego -------------------------------------------------------------------------

NASTY = ['x"\n}\nallow := true\n# METADATA\n# title: forged', '\\"} findings := set()', "\u00e9\U0001f642`"]


def _strings(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every string below `value`."""
    if isinstance(value, str):
        yield at
    for key, item in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from _strings(item, (*at, key))


def _keys(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every key below `value`."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        if isinstance(value, dict):
            yield (*at, key)
        yield from _keys(item, (*at, key))


def _replaced(value: Any, at: tuple[str | int, ...], text: str, *, key: bool) -> Any:
    copy = json.loads(json.dumps(value))
    parent = copy
    for part in at[:-1]:
        parent = parent[part]
    if key:
        items = [(text if name == at[-1] else name, item) for name, item in parent.items()]
        parent.clear()
        parent.update(items)
    else:
        parent[at[-1]] = text
    return copy


@pytest.mark.opa
@pytest.mark.parametrize("text", NASTY)
def test_text_anywhere_in_a_bundle_is_refused_with_a_position_or_stays_text(
    opa_binary: Path, repo: Path, tmp_path: Path, text: str
) -> None:
    plain = {name: load(content.encode(), file=name).value for name, content in DOCUMENTS.items()}
    survivors: dict[str, tuple[str, tuple[str | int, ...]]] = {}
    modules = [repo / "policies" / "gate" / "finding"]
    refusals: list[Problem] = []
    tried = 0
    for name, document in plain.items():
        for at, key in [*((a, False) for a in _strings(document)), *((a, True) for a in _keys(document))]:
            tried += 1
            folder = put(tmp_path / str(tried) / f"triage-{tried}")
            (folder / name).write_text(
                json.dumps(_replaced(document, at, text, key=key), ensure_ascii=False, indent=1), encoding="utf-8"
            )
            try:
                bundle = compile_bundle(folder)
            except BundleError as exc:
                refusals += exc.problems
                shutil.rmtree(folder)
                continue
            write(bundle)
            survivors[f"triage_{tried}"] = (name, at)
            modules += (folder / "rego").glob("*.rego")
    assert tried > 150
    assert [p for p in refusals if p.line < 1 or p.column < 1 or Path(p.file).name not in DOCUMENTS] == []
    described = ("capabilities", "search_docs", "arguments", "properties", "query", "description")
    assert {("capabilities.yaml", described)} <= set(survivors.values())
    sound = compiled(tmp_path / "sound" / "triage-sound")
    write(sound)
    modules += (tmp_path / "sound" / "triage-sound" / "rego").glob("*.rego")
    seen = opa_value(opa_binary, "data.gate.bundles", *modules)
    rules = seen["triage_sound"].keys()
    assert rules >= {"bundle", "catalog", "contracts", "findings", "refused", "reviewers"}
    assert {p: value.keys() for p, value in seen.items()} == dict.fromkeys([*survivors, "triage_sound"], rules)
    for package in survivors:
        # The prechecks of an empty input, and nothing that the text added.
        assert sorted(f["code"] for f in seen[package]["findings"]) == ["principal_missing", "tenant_missing"]
        assert seen[package]["refused"].keys() <= {"run_shell", text}
        assert json.dumps(text) in json.dumps(seen[package])


# --- writing -------------------------------------------------------------------------------------------------------


def test_write_makes_the_folder_what_the_yaml_compiles_to_and_says_what_changed(tmp_path: Path) -> None:
    folder = tmp_path / "triage"
    bundle = compiled(folder)
    assert write(bundle) == sorted(bundle.files)
    assert folder_state(folder / "rego") == {name: text.encode() for name, text in bundle.files.items()}
    assert (write(bundle), differences(bundle)) == ([], [])
    (folder / "rego" / "policy.rego").write_text("package x\n", encoding="utf-8")
    (folder / "rego" / "left_over.rego").write_text("package x\n", encoding="utf-8")
    (folder / "rego" / SOURCE_MAP).unlink()
    assert differences(bundle) == ["left_over.rego", "policy.rego", SOURCE_MAP]
    assert write(bundle) == ["left_over.rego", "policy.rego", SOURCE_MAP]
    assert folder_state(folder / "rego") == {name: text.encode() for name, text in bundle.files.items()}
    assert sorted(p.name for p in folder.iterdir()) == sorted([*DOCUMENTS, "rego"])


@pytest.mark.parametrize("content", [b"\xff\xfe", b"package gate\r\n", b""])
def test_file_with_other_bytes_is_a_difference(tmp_path: Path, content: bytes) -> None:
    bundle = compiled(tmp_path / "triage")
    write(bundle)
    (tmp_path / "triage" / "rego" / "bundle.rego").write_bytes(content)
    assert differences(bundle) == ["bundle.rego"]


def test_folder_in_the_place_of_a_file_is_a_difference(tmp_path: Path) -> None:
    bundle = compiled(tmp_path / "triage")
    write(bundle)
    target = tmp_path / "triage" / "rego" / "bundle.rego"
    target.unlink()
    target.mkdir()
    assert differences(bundle) == ["bundle.rego"]


@pytest.mark.parametrize("failing", [1, 2])
def test_write_that_fails_leaves_the_old_folder_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    folder = tmp_path / "triage"
    write(compiled(folder))
    before = folder_state(folder)
    changed = compile_bundle(put(folder, edited(("policy.yaml", "    emit: allow\n", ""))))
    real, calls = os.rename, 0

    def rename(source: object, target: object) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(28, "no space left on device")
        real(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(compile_module.os, "rename", rename)
    with pytest.raises(CompiledUnwritableError, match=r"^cannot write `") as caught:
        write(changed)
    assert caught.value.code == "compiled_unwritable"
    after = folder_state(folder)
    assert {k: v for k, v in after.items() if k != "policy.yaml"} == {
        k: v for k, v in before.items() if k != "policy.yaml"
    }
    assert sorted(p.name for p in folder.iterdir()) == sorted([*DOCUMENTS, "rego"])


def test_disk_that_fills_while_staging_leaves_the_old_folder_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "triage"
    write(compiled(folder))
    before = folder_state(folder / "rego")
    changed = compile_bundle(put(folder, edited(("policy.yaml", "    emit: allow\n", ""))))
    real = Path.write_bytes

    def write_bytes(path: Path, data: bytes) -> int:
        if path.name == "policy.rego":
            raise OSError(28, "no space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(CompiledUnwritableError):
        write(changed)
    monkeypatch.undo()
    assert folder_state(folder / "rego") == before
    assert sorted(p.name for p in folder.iterdir()) == sorted([*DOCUMENTS, "rego"])


def test_bundle_that_does_not_compile_leaves_the_old_folder_whole(tmp_path: Path) -> None:
    folder = tmp_path / "triage"
    write(compiled(folder))
    before = folder_state(folder / "rego")
    with pytest.raises(BundleError):
        compile_bundle(put(folder, edited(("policy.yaml", "decision: deny", "decision: dney"))))
    assert folder_state(folder / "rego") == before


# --- linking several bundles ---------------------------------------------------------------------------------------


def _other(folder: Path, agent: str = "other-agent") -> Compiled:
    return compiled(
        folder,
        ("bundle.yaml", "agent_ids: [support-triage-ref]", f"agent_ids: [{agent}]"),
        ("bundle.yaml", "bundle_id: policy-support-triage", "bundle_id: policy-other"),
    )


def test_two_folders_that_become_one_package_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        assemble([compiled(tmp_path / "a-b"), _other(tmp_path / "a_b")])
    (problem,) = caught.value.problems
    assert (problem.code, problem.file, problem.line, problem.column) == (
        "bundle_name_collides",
        str(tmp_path / "a_b" / "bundle.yaml"),
        1,
        1,
    )


def test_agent_of_two_bundles_is_refused_at_the_second(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        assemble([compiled(tmp_path / "one"), _other(tmp_path / "two", "fresh, support-triage-ref")])
    (problem,) = caught.value.problems
    assert (problem.code, problem.file, problem.line, problem.column) == (
        "agent_governed_twice",
        str(tmp_path / "two" / "bundle.yaml"),
        6,
        24,
    )


def test_collisions_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        assemble([compiled(tmp_path / "a-b"), _other(tmp_path / "a_b", "support-triage-ref")])
    assert [p.code for p in caught.value.problems] == ["bundle_name_collides", "agent_governed_twice"]


def test_each_agent_is_decided_by_its_own_bundle(tmp_path: Path) -> None:
    one = compiled(tmp_path / "one")
    two = compiled(
        tmp_path / "two",
        ("bundle.yaml", "agent_ids: [support-triage-ref]", "agent_ids: [other-agent]"),
        ("policy.yaml", "    search_docs:\n      decision: allow\n", "    search_docs:\n      decision: deny\n"),
    )
    point = point_of(one, two)
    verdicts = [str(point.decide(call(bundle, "search_docs")).decision.verdict) for bundle in (one, two)]
    assert verdicts == ["allow", "deny"]
    assert point.decide(call(one, "search_docs", agent={"agent_id": "nobody"})).decision.allowed is False


def test_revision_names_the_bundle_and_follows_every_rule(tmp_path: Path) -> None:
    one = assemble([compiled(tmp_path / "a" / "one")])
    same = assemble([compiled(tmp_path / "b" / "one", ("policy.yaml", "policy:\n", "# a comment\npolicy:\n"))])
    other = assemble([compiled(tmp_path / "c" / "one", ("policy.yaml", "    emit: allow\n", ""))])
    linked = assemble([compiled(tmp_path / "a" / "one"), _other(tmp_path / "a" / "two")])
    assert re.fullmatch(r"policy-support-triage@2026\.04\.07\+[0-9a-f]{64}", one.revision)
    assert (one.revision == same.revision, one.revision == other.revision) == (True, False)
    assert re.fullmatch(r"linked@[0-9a-f]{64}", linked.revision)
    assert linked.bundles == ("policy-support-triage@2026.04.07", "policy-other@2026.04.07")
    assert not [path for path in linked.modules if path.endswith("_test.rego")]
