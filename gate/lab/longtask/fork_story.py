"""A fork with two subagents: each changes its own copy of the workspace, and what each may bring back.

Real files in a temporary folder and a real test command in each copy; nothing outside of that folder is touched. The
report holds no path of it.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gate.lab.longtask.cases import Material
from gate.lab.longtask.reference_checks import first_objection
from gate.lab.longtask.supplement import Expectation, Section, Value, listed
from gate.lab.longtask.trajectory import CURSOR, OPEN_ISSUE, checkpoint
from gate.longtask.artifact import CompactionArtifact
from gate.longtask.canonical_form import content_digest, digest
from gate.longtask.completion import Outcome, VerificationReceipt, Verified, verify
from gate.longtask.events import CarryItem, EventRecord
from gate.longtask.strategies import structured_artifact
from gate.longtask.vocabulary import (
    ContextKind,
    EventType,
    InstructionAuthority,
    RetentionPriority,
    Sensitivity,
    TrustLevel,
)

COMMAND = "python test_pricing.py"
DEADLINE_S = 60

_PRICING = """\
from decimal import Decimal

from config import normalize_config


def calculate_price(config, amount):
    config = normalize_config(config)
    return (Decimal(amount) * config["rate"]).quantize(config["precision"])
"""
_CONFIG = "def normalize_config(config):\n    return config\n"
_TEST = """\
from decimal import Decimal

from pricing import calculate_price

assert calculate_price({"rate": Decimal("1.2"), "precision": Decimal("0.01")}, 10) == Decimal("12.00")
assert calculate_price({"rate": "1.2", "precision": "0.01"}, 10) == Decimal("12.00")
"""
_MAIN = {"pricing.py": _PRICING, "config.py": _CONFIG, "test_pricing.py": _TEST}

_PATCH = {
    "config.py": "from decimal import Decimal\n\n\ndef normalize_config(config):\n"
    "    return {name: Decimal(value) for name, value in config.items()}\n"
}
"""What the first subagent writes: a small conversion."""
_REFACTORING = {
    "config.py": "from decimal import Decimal\n\n\ndef normalize_config(config):\n    return config\n",
    "pricing.py": "from decimal import Decimal\n\n\ndef calculate_price(amount, *, rate, precision):\n"
    "    return (Decimal(amount) * Decimal(rate)).quantize(Decimal(precision))\n",
}
"""What the second subagent writes: a change of the public signature."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """What a subagent hands back; candidate evidence, nothing more."""

    name: str
    changed: frozenset[str]
    workspace: str
    events: tuple[EventRecord, ...]
    receipt: VerificationReceipt
    artifact: CompactionArtifact


def fork_with_two_subagents(m: Material) -> Section:
    """Every step of the fork, from the two copies to the merged and verified main line."""
    with tempfile.TemporaryDirectory(prefix="gate-fork-") as name:
        return _played(m, Path(name))


def _played(m: Material, folder: Path) -> Section:
    main = folder / "main"
    _write(main, _MAIN)
    start = _workspace(main)
    jobs = (("a", _PATCH), ("b", _REFACTORING))
    with ThreadPoolExecutor(len(jobs)) as pool:
        branch_a, branch_b = pool.map(lambda job: _subagent(m, folder, *job), jobs)
    conflicts = branch_a.changed & branch_b.changed
    row_a, row_b = (_branch_row(one) for one in (branch_a, branch_b))
    untouched = _workspace(main) == start

    as_is = _row("a's artifact is offered to the main line", reason=_offered(m, branch_a.artifact, start))
    renamed = dataclasses.replace(branch_a.artifact, run_id=m.seed.run_id)
    posing = _row("the same under the main line's run", reason=_offered(m, renamed, start, events=branch_a.events))
    borrowed = _row(
        "a's receipt for the main line's workspace",
        state=_state(branch_a.events, branch_a.receipt, live=start).state.value,
    )

    shared = folder / "shared"
    _write(shared, _MAIN | _PATCH)
    before = _workspace(shared)
    _write(shared, _REFACTORING)
    one_folder = _row(
        "b writes into a's folder",
        reason=_offered(
            m,
            branch_a.artifact,
            _workspace(shared),
            events=branch_a.events,
            workspace=before,
            run=branch_a.artifact.run_id,
        ),
        changed=listed(conflicts),
        state=_state(branch_a.events, branch_a.receipt, live=_workspace(shared)).state.value,
    )

    _write(main, {name: (folder / "a" / name).read_text("utf-8") for name in sorted(branch_a.changed)})
    merged = _workspace(main)
    event, receipt = _verification(m, m.seed.run_id, CURSOR + 2, main, merged)
    brought = _brought_back(m, branch_a, merged)
    log = (*m.trajectory.prefix, brought, event)
    state = _state(log, receipt, live=merged)
    again = structured_artifact(log, m.seed)
    taken = _row(
        "a is merged, observed and verified on the main line",
        state=state.state.value,
        changed=listed(branch_a.changed),
        reason=_offered(m, again, merged, events=log, workspace=merged),
        trust=brought.carry_items[0].trust.value,
    )
    rows = (row_a, row_b, as_is, posing, borrowed, one_folder, taken)
    return Section(
        name="fork with two subagents",
        about="Two subagents change their own copies of the workspace at once; one of them is merged.",
        rows=rows,
        expectations=(
            Expectation("neither copy touches the main line's workspace", untouched),
            Expectation(
                "each branch verifies in its own copy, and the changed signature fails there",
                (row_a["state"], row_b["state"]) == ("passed", "failed"),
            ),
            Expectation("a file that both changed is seen as a conflict", conflicts == {"config.py"}),
            Expectation(
                "an artifact of a fork does not back the main line, under its own name or another",
                (as_is["reason"], posing["reason"]) == ("checkpoint_run_mismatch", "artifact_source_range_mismatch"),
            ),
            Expectation(
                "what passed in a copy is stale anywhere else",
                (borrowed["state"], one_folder["state"]) == ("stale", "stale"),
            ),
            Expectation(
                "merged, observed again and verified again, it passes and can be resumed",
                (taken["state"], taken["reason"]) == ("passed", None),
            ),
            Expectation("what a subagent says comes back unverified", taken["trust"] == "unverified"),
        ),
    )


def _row(step: str, **cells: Value) -> dict[str, Value]:
    return {"step": step, "changed": None, "state": None, "reason": None, "trust": None, **cells}


def _branch_row(branch: _Branch) -> dict[str, Value]:
    state = _state(branch.events, branch.receipt, live=branch.workspace)
    return _row(f"subagent {branch.name} in its own copy", changed=listed(branch.changed), state=state.state.value)


def _subagent(m: Material, folder: Path, name: str, written: Mapping[str, str]) -> _Branch:
    """Copies the workspace, changes it, runs the test; events and artifact have the branch's own run id."""
    own, run = folder / name, f"{m.seed.run_id}/fork-{name}"
    shutil.copytree(folder / "main", own)
    _write(own, written)
    workspace = _workspace(own)
    shared = tuple(_as_of(event, run, workspace) for event in m.trajectory.prefix)
    event, receipt = _verification(m, run, CURSOR + 1, own, workspace)
    events = (*shared, event)
    seed = dataclasses.replace(m.seed, run_id=run)
    return _Branch(name, frozenset(written), workspace, events, receipt, structured_artifact(events, seed))


def _as_of(event: EventRecord, run: str, workspace: str) -> EventRecord:
    """The shared history in a branch's namespace, over its workspace."""
    return dataclasses.replace(event, run_id=run, workspace_digest=workspace)


def _verification(
    m: Material, run: str, sequence: int, folder: Path, workspace: str
) -> tuple[EventRecord, VerificationReceipt]:
    status = _test(folder)
    result = Outcome.ERROR if status is None else Outcome.PASSED if status == 0 else Outcome.FAILED
    event_id = f"evt-{sequence:03d}"
    said = f"{COMMAND} ended with status {status} over this workspace."
    event = EventRecord(
        event_id=event_id,
        run_id=run,
        sequence=sequence,
        event_type=EventType.VERIFICATION,
        carry_items=(_item("fork-test-run", said, event_id, TrustLevel.VERIFIED),),
        payload_ref="test_pricing.py",
        workspace_digest=workspace,
    )
    receipt = VerificationReceipt(
        event_id=event_id,
        subjects=m.seed.open_issue_keys,
        command=COMMAND,
        result=result,
        workspace_digest=workspace,
        exit_status=status,
    )
    return event, receipt


def _test(folder: Path) -> int | None:
    """Exit status of the test in that copy; None when it did not end in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-E", "-s", "-B", "test_pricing.py"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _brought_back(m: Material, branch: _Branch, workspace: str) -> EventRecord:
    """The subagent's answer as the main line records it: an observation with its source, verified by nobody here."""
    event_id = f"evt-{CURSOR + 1:03d}"
    said = f"{branch.receipt.command} gave {branch.receipt.result} over {branch.workspace}."
    return EventRecord(
        event_id=event_id,
        run_id=m.seed.run_id,
        sequence=CURSOR + 1,
        event_type=EventType.TOOL_RESULT,
        carry_items=(_item(f"fork-{branch.name}-result", said, event_id, TrustLevel.UNVERIFIED),),
        payload_ref=f"fork://{branch.name}",
        workspace_digest=workspace,
    )


def _item(key: str, content: str, source: str, trust: TrustLevel) -> CarryItem:
    return CarryItem(
        key=key,
        kind=ContextKind.OBSERVATION,
        content=content,
        authority=InstructionAuthority.NONE,
        trust=trust,
        retention_priority=RetentionPriority.NORMAL,
        sensitivity=Sensitivity.INTERNAL,
        source_event_ids=(source,),
    )


def _offered(
    m: Material,
    artifact: CompactionArtifact,
    live: str,
    *,
    events: Sequence[EventRecord] | None = None,
    workspace: str | None = None,
    run: str | None = None,
) -> str | None:
    """What stands against resuming the main line, or the branch `run`, from that artifact."""
    point = dataclasses.replace(
        checkpoint(artifact.artifact_id, workspace or m.artifact.workspace_digest),
        run_id=run or m.seed.run_id,
        event_cursor=artifact.source_event_range[1],
    )
    source = m.trajectory.prefix if events is None else events
    return first_objection(artifact, point, live_workspace_digest=live, resolve=lambda _: source)


def _state(events: Sequence[EventRecord], receipt: VerificationReceipt, *, live: str) -> Verified:
    (found,) = verify({OPEN_ISSUE}, events=events, receipts=(receipt,), live_workspace_digest=live)
    return found


def _write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8", newline="\n")


def _workspace(folder: Path) -> str:
    """Digest of every file of the folder by name and content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest({path.relative_to(folder).as_posix(): content_digest(path.read_text("utf-8")) for path in files})
