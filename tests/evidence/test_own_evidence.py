"""What "Add your own evidence" promises: one schema, one source and one Rego folder make a section that decides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "evidence/change_freeze.schema.json",
    "title": "evidence.change_freeze",
    "description": "Whether changes are frozen now, from the calendar of changes.",
    "type": ["object", "null"],
    "additionalProperties": False,
    "required": [],
    "properties": {
        "active": {"description": "Nothing may be changed now.", "type": ["boolean", "null"]},
        "checked_by": {"description": "Stamped by the gate.", "type": ["string", "null"]},
        "checked_at_ms": {"description": "When the source looked.", "type": ["integer", "null"]},
    },
}

GUARD = """\
# METADATA
# title: Change freeze
# description: nothing is written while changes are frozen, or while nobody knows whether they are
package gate.change_freeze

import data.gate.capability
import data.gate.finding
import data.gate.router

findings contains finding.new("change_freeze_active", "deny", "gate.change_freeze", "", "") if {
	capability.calling
	not _reading
	not _open
}

_reading if router.capability.mode == "read"

_open if input.evidence.change_freeze.active == false
"""

HOST = """\
import json, sys
from pathlib import Path

from gate import ActionBlocked, EmbeddedDecisionPoint, Gate, Identity, Store
from gate.compiler import assemble, compile_bundle
from gate.lab.witnesses import Witnesses


class ChangeCalendar:
    section, checked_by = "change_freeze", "svc-change-calendar"

    def __init__(self, answer):
        self.answer = answer

    def collect(self, question):
        if isinstance(self.answer, str):
            raise RuntimeError(self.answer)
        return self.answer


bundle = Path(sys.argv[1])
witnesses = Witnesses.hired()
witnesses.introduce(bundle)
compiled = compile_bundle(bundle)
assembly = assemble([compiled])
point = EmbeddedDecisionPoint(assembly.modules, revision=assembly.revision)
ticket = {"queue": "support", "requester_id": "user-42", "title": "Broken invoice"}
said = {}
for name, answer in json.loads(sys.argv[2]).items():
    with Store.open("sqlite://") as store:
        sources = [*witnesses.sources(compiled, environment="test"), ChangeCalendar(answer)]
        gate = Gate(point, store, environment="test", evidence=sources)
        run = gate.start_run(
            agent_id="support-triage-ref",
            identity=Identity(tenant_id="t", principal_id="user-42", authorization_mode="user_delegated",
                              delegated_principal_id="user-42", delegated_scope="tickets:create"),
            session_id="s", trace_id="t",
        )
        try:
            with gate.tool_call(run, "create_ticket", ticket, idempotency_key="k", reason="It is broken."):
                said[name] = ["ran"]
        except ActionBlocked as blocked:
            said[name] = [str(blocked.decision.verdict), "change_freeze_active" in blocked.decision.codes]
print(json.dumps(said))
"""


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def tree(repo: Path, tmp_path: Path) -> Path:
    """A copy of the sources with the section added as the README says."""
    root = tmp_path / "copy"
    for name in ("gate", "policies", "schemas", "bundles/support-triage"):
        shutil.copytree(repo / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "schemas/evidence/change_freeze.schema.json").write_text(json.dumps(SCHEMA), "utf-8")
    ref = '"destination": {\n          "$ref": "evidence/destination.schema.json"\n        },'
    added = ref + '\n        "change_freeze": {"$ref": "evidence/change_freeze.schema.json"},'
    edited(root / "schemas/input.schema.json", ref, added)
    (root / "policies/gate/change_freeze").mkdir()
    (root / "policies/gate/change_freeze/change_freeze.rego").write_text(GUARD, "utf-8")
    verdict = root / "policies/gate/verdict/verdict.rego"
    edited(verdict, "import data.gate.capability\n", "import data.gate.capability\nimport data.gate.change_freeze\n")
    edited(verdict, "{evidence.raised, runtime.raised}", "{evidence.raised, runtime.raised, change_freeze.findings}")
    return root


def python(tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_section_decides_and_what_is_not_known_of_it_restricts(tree: Path) -> None:
    answers = {"open": {"active": False}, "frozen": {"active": True}, "unsaid": {}, "no_section": None}
    answers |= {"wrong_type": {"active": "no"}, "undeclared": {"active": False, "x": 1}, "broken": "out of order"}
    (tree / "host.py").write_text(HOST, "utf-8")

    said = json.loads(python(tree, "host.py", "bundles/support-triage", json.dumps(answers)))

    refused = {name: ["deny", True] for name in answers}
    assert said == refused | {"open": ["require_approval", False]}


@pytest.mark.opa
def test_own_section_is_known_to_the_strict_check_of_opa(tree: Path, opa_binary: Path) -> None:
    schemas = tree / "made"
    schemas.mkdir()
    (schemas / "input.json").write_text(python(tree, "-m", "gate.documents.opa_schema"), "utf-8")

    def check() -> tuple[int, bool]:
        done = subprocess.run(
            [opa_binary, "check", "--strict", "--schema", schemas, tree / "policies"], capture_output=True, text=True
        )
        return done.returncode, "change_freeze.activ" in done.stderr + done.stdout

    assert check() == (0, False)
    edited(tree / "policies/gate/change_freeze/change_freeze.rego", "change_freeze.active ==", "change_freeze.activ ==")
    assert check() == (1, True)
