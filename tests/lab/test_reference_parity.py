from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from resume_support import ORDER, Resume, resume

from gate import canonical, opa
from gate.lab.longtask.trajectory import load
from gate.longtask import facts
from gate.longtask.artifact import items_digest
from gate.records import TaskArtifact

_QUERY = """
x := [codes |
    some document in input.documents
    codes := {f.code | some f in data.gate.longtask.pair.findings} with input as document
]
"""


def document(one: Resume) -> dict[str, Any]:
    """The input document of that resume, as far as the rules about the pair read it."""
    artifact, point = one.artifact, one.point
    digest_now = items_digest(artifact)
    row = TaskArtifact(
        tenant_id="acme",
        artifact_id=artifact.artifact_id,
        run_id=artifact.run_id,
        namespace="main",
        first_sequence=artifact.source_event_range[0],
        last_sequence=artifact.source_event_range[1],
        schema_version=artifact.schema_version,
        digest=digest_now,
        source_digest=artifact.source_digest,
        workspace_digest=artifact.workspace_digest,
        generation=1,
        direct_source="event_log",
        generator="structured",
        generator_version="1",
        body=None,
        parent_artifact_id=None,
        parent_digest=None,
    )
    events = one.events()
    known = {event.event_id for event in events or ()}
    named = {source for item in artifact.items for source in item.source_event_ids}
    place = {"repository": "price-fixture", "target_path": "src/pricing.py"}
    return {
        "operation": "rehydrate",
        "state": {
            "run": {"run_id": point.run_id},
            "longtask": {
                "phase": "rehydrate",
                "namespace": "main",
                "checkpoint": facts.checkpoint_facts(point, artifact_digest=digest_now, intact=True),
                "artifact": facts.artifact_facts(artifact, row, digest_now=digest_now, known_ids=known),
                "source": facts.source_facts(events, run_id=point.run_id, named=named),
                "workspace_digest": one.live,
                "target": place,
                "config": place,
                "packet": {"budget_bytes": 1, "required_bytes": 1},
            },
        },
    }


@pytest.mark.opa
def test_policies_name_the_code_that_the_published_order_names(repo: Path, opa_binary: Path) -> None:
    own = load()
    resumes = [resume(own, **changes) for changes, _ in ORDER]
    asked = {"documents": [document(one) for one in resumes]}
    names = ("longtask/pair/pair.rego", "longtask/section/section.rego", "longtask/commit/commit.rego", "finding")
    policies = [repo / "policies" / "gate" / name for name in names]
    done = opa.run(
        ["eval", "--format", "json", "--stdin-input", *(p for f in policies for p in ("-d", str(f))), _QUERY],
        input=canonical.canonical_bytes(asked).decode(),
        binary=opa_binary,
    )
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)["result"][0]["bindings"]["x"]
    assert found == [[] if one.objection() is None else [one.objection()] for one in resumes]
