"""A bundle folder as typed documents: `bundle.yaml` and what it lists, or all problems of all files at once.

It reads files and must not write any. Whether the documents agree with each other is the linker's question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gate.documents import reading
from gate.documents.argument_schema import argument_schema_problems
from gate.documents.checkpoints import ControlCheckpoint, control_checkpoints
from gate.documents.compaction import (
    CompactionContract,
    CompactionRecord,
    compaction_contract,
    compaction_record,
)
from gate.documents.compound import CompoundPolicy, compound_policy
from gate.documents.continuity import ContinuityPolicy, continuity_policy
from gate.documents.document import Document, pointer_of
from gate.documents.files import entries, read_document
from gate.documents.governance import (
    AgentIdentity,
    ApprovalPolicy,
    ControlsPolicy,
    agent_identity,
    approval_policy,
    controls_policy,
)
from gate.documents.models import ApprovalContract, BundleMeta, Capability, PolicyDocument, Reviewer
from gate.documents.resources import schema
from gate.documents.runtime_controls import RuntimeControls, runtime_controls
from gate.documents.schema_check import schema_problems
from gate.documents.trajectory import TrajectoryPolicy, trajectory_policy
from gate.documents.wording import did_you_mean, quoted
from gate.documents.yaml_source import load
from gate.errors import BundleError, Problem

ENVELOPE = "bundle.yaml"
REQUIRED = ("policy.yaml", "capabilities.yaml")
OPTIONAL = (
    *("approvals.yaml", "reviewers.yaml", "agent.yaml"),
    *("controls.yaml", "checkpoints.yaml", "runtime-controls.yaml"),
    "continuity.yaml",
    *("trajectory.yaml", "compound.yaml"),
    *("compaction.yaml", "compaction-record.yaml"),
)
_KNOWN = (ENVELOPE, *REQUIRED, *OPTIONAL)
# The ledger is written by the release room and is no document of the policy.
_OTHERS = frozenset({"releases.yaml"})

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A governed bundle whose documents each passed strict YAML and their schema. They are not linked yet."""

    folder: Path
    """As the user gave it."""
    name: str
    """Name of the folder itself, also when it was given as `.`."""
    meta: BundleMeta
    policy: PolicyDocument
    capabilities: Mapping[str, Capability]
    """By name, in the order of the YAML."""
    contracts: tuple[ApprovalContract, ...]
    """Empty when the bundle has no `approvals.yaml`."""
    reviewers: tuple[Reviewer, ...]
    """Empty when the bundle has no `reviewers.yaml`."""
    checkpoints: tuple[ControlCheckpoint, ...]
    """Empty when the bundle has no `checkpoints.yaml`."""
    agent: AgentIdentity | None = None
    """None when the bundle has no `agent.yaml`: it then states no inventory."""
    controls: ControlsPolicy | None = None
    """None when the bundle has no `controls.yaml`."""
    approvals: ApprovalPolicy | None = None
    """Defaults of the contracts; None when `approvals.yaml` states none."""
    runtime_controls: RuntimeControls | None = None
    """None when the bundle has no `runtime-controls.yaml`."""
    continuity: ContinuityPolicy | None = None
    """None when the bundle has no `continuity.yaml`: it then adds nothing at a boundary."""
    trajectory: TrajectoryPolicy | None = None
    """None when the bundle has no `trajectory.yaml`."""
    compound: CompoundPolicy | None = None
    """None when the bundle has no `compound.yaml`."""
    compaction: CompactionContract | None = None
    """None when the bundle has no `compaction.yaml`: it then says nothing of what a compaction keeps."""
    compaction_record: CompactionRecord | None = None
    """None when nothing was measured yet."""
    documents: Mapping[str, Document] = field(repr=False)
    """By file name; every document the bundle has, `bundle.yaml` among them."""


def load_bundle(folder: Path) -> Bundle:
    """The bundle in `folder`. Raises `BundleError` with the problems of all its files together."""
    names = entries(folder, code="bundle_not_a_folder")
    problems = _misnamed(folder, names)
    documents: dict[str, Document] = {}
    sound: dict[str, Document] = {}
    for name in _KNOWN:
        if name not in names:
            continue
        try:
            documents[name] = read_document(folder / name)
        except BundleError as exc:
            problems += exc.problems
            continue
        breaches = _breaches(name, documents[name])
        problems += breaches
        if not breaches:
            sound[name] = documents[name]
    problems += _presence(folder, names, documents.get(ENVELOPE))
    return _built(folder, folder.resolve().name, documents, sound, problems)


def with_document(bundle: Bundle, file: str, text: str, *, name: str) -> Bundle:
    """`bundle` under the name `name`, with `text` for its document `file`; nothing on the disk is read.

    Raises `BundleError` as `load_bundle` does. The other documents are taken to be as sound as they were.
    """
    document = load(text, file=bundle.documents[file].file)
    if breaches := _breaches(file, document):
        raise BundleError(breaches)
    documents = {**bundle.documents, file: document}
    problems = _presence(bundle.folder, [*documents], documents[ENVELOPE])
    return _built(bundle.folder, name, documents, documents, problems)


def _breaches(name: str, document: Document) -> list[Problem]:
    found = schema_problems(document, schema(name.removesuffix(".yaml")))
    if name == "capabilities.yaml" and not found:
        found = argument_schema_problems(document)
    return found


def _built(
    folder: Path,
    called: str,
    documents: Mapping[str, Document],
    sound: Mapping[str, Document],
    problems: list[Problem],
) -> Bundle:
    """The typed bundle of `sound` documents, or every problem."""

    def build(name: str, make: Callable[[Document], _T]) -> _T | None:
        if name not in sound:
            return None
        try:
            return make(sound[name])
        except BundleError as exc:
            problems.extend(exc.problems)
            return None

    meta = build(ENVELOPE, reading.bundle_meta)
    policy = build("policy.yaml", reading.policy)
    capabilities = build("capabilities.yaml", reading.capabilities)
    contracts = build("approvals.yaml", reading.contracts)
    reviewers = build("reviewers.yaml", reading.reviewers)
    checkpoints = build("checkpoints.yaml", control_checkpoints)
    agent = build("agent.yaml", agent_identity)
    controls = build("controls.yaml", controls_policy)
    approvals = build("approvals.yaml", approval_policy)
    runtime = build("runtime-controls.yaml", runtime_controls)
    continuity = build("continuity.yaml", continuity_policy)
    trajectory = build("trajectory.yaml", trajectory_policy)
    compound = build("compound.yaml", compound_policy)
    compaction = build("compaction.yaml", compaction_contract)
    record = build("compaction-record.yaml", compaction_record)
    if problems or meta is None or policy is None or capabilities is None:
        raise BundleError(problems)
    return Bundle(
        folder=folder,
        name=called,
        meta=meta,
        policy=policy,
        capabilities=capabilities,
        contracts=contracts or (),
        reviewers=reviewers or (),
        checkpoints=checkpoints or (),
        agent=agent,
        controls=controls,
        approvals=approvals,
        runtime_controls=runtime,
        continuity=continuity,
        trajectory=trajectory,
        compound=compound,
        compaction=compaction,
        compaction_record=record,
        documents=documents,
    )


def _misnamed(folder: Path, names: list[str]) -> list[Problem]:
    """A document under a name that nothing reads would be a rule that silently does not hold."""
    problems: list[Problem] = []
    for name in names:
        if name in _KNOWN or name in _OTHERS or name.startswith("."):
            continue
        if name.lower().endswith((".yaml", ".yml")):
            message = f"{quoted(name)} is not a document of a bundle"
            hint = did_you_mean(name.lower(), _KNOWN) or "move it out of the folder"
            problems.append(Problem(str(folder / name), 1, 1, "artifact_unknown", message, hint))
    return problems


def _presence(folder: Path, names: list[str], envelope: Document | None) -> list[Problem]:
    """What `bundle.yaml` lists against what is there; as far as that can be told when it is broken."""
    problems: list[Problem] = []
    artifacts = pointer_of("bundle", "artifacts")
    if ENVELOPE not in names:
        problems.append(_required(folder, ENVELOPE))
    listed = None if envelope is None else _listed(envelope)
    for name in (*REQUIRED, *OPTIONAL):
        present = name in names
        if envelope is None or listed is None:
            if name in REQUIRED and not present:
                problems.append(_required(folder, name))
        elif name in listed and not present:
            at = pointer_of("bundle", "artifacts", listed.index(name))
            message = f"{quoted(name)} is listed but is not in the folder"
            problems.append(envelope.problem(at, "artifact_missing", message))
        elif name not in listed and present:
            message = f"{quoted(name)} is in the folder but not listed in `artifacts`"
            hint = "list it or remove it"
            problems.append(envelope.problem(artifacts, "artifact_unlisted", message, hint, key=True))
        elif name not in listed and name in REQUIRED:
            message = f"{quoted(name)} is needed and not listed in `artifacts`"
            problems.append(envelope.problem(artifacts, "artifact_required", message, key=True))
    return problems


def _required(folder: Path, name: str) -> Problem:
    return Problem(str(folder / name), 1, 1, "artifact_required", f"{quoted(name)} is needed and not there")


def _listed(envelope: Document) -> list[Any] | None:
    bundle = envelope.value.get("bundle")
    artifacts = bundle.get("artifacts") if isinstance(bundle, dict) else None
    return artifacts if isinstance(artifacts, list) else None
