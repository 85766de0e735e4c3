"""Another process of the same host: goes on with a plan, or begins one and does not come back.

Run as `python plan_worker.py JSON`; prints what it did as one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from edge_support import PRINCIPAL, TASK, TENANT, EdgeAdapter, point_of, route, update

from gate.decision import ActionBlocked
from gate.enforcement import Gate
from gate.errors import InputError
from gate.evidence import HttpRights, Identity, Run
from gate.evidence.http_json import JsonService
from gate.records import Store


def main(asked: dict[str, Any]) -> dict[str, Any]:
    """Does what is asked and says what it came to."""
    run = Run(
        agent_id="edge-deployer-ref",
        session_id="session-edge-1",
        run_id=asked["run_id"],
        trace_id="trace-edge-1",
        identity=Identity(tenant_id=TENANT, principal_id=asked.get("principal", PRINCIPAL)),
        epoch=1,
    )
    bodies: list[str] = []
    with Store.open(asked["url"], busy_timeout_ms=30_000) as store:
        gate = Gate(point_of(Path(asked["bundle"])), store, environment="test")
        options = {
            "plan_ref": asked.get("plan_ref", "immutable-plan-42"),
            "task_ref": TASK,
            "steps": [update(version=asked.get("version", "v8")), route()],
            "adapter": EdgeAdapter(),
            "rights": HttpRights(JsonService(url=asked["rights"])),
            "reason": "The shop moves.",
        }
        enter = gate.plan if asked["act"] == "plan" else gate.resume_plan
        try:
            with enter(run, "run_change_plan", **options) as plan:
                found = list(plan.completed)
                for index in asked["steps"]:
                    with plan.step(index) as call:
                        bodies.append(call.arguments.get("worker") or call.arguments["zone"])
                        if asked.get("die_in") == index:
                            os._exit(9)
                if asked.get("die_after"):
                    os._exit(9)
        except ActionBlocked as blocked:
            codes = list(blocked.decision.codes)
            return {"verdict": str(blocked.decision.verdict), "codes": codes, "bodies": bodies}
        except InputError as wrong:
            return {"error": wrong.code, "bodies": bodies}
        return {"found": found, "settled": str(plan.settled), "bodies": bodies}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
