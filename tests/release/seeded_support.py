"""Seeded single-rule changes of the canonical bundles, and whether the diff finds each that changes a decision.

A difference that the diff reports is decided again, each side by an OPA of its own. Where it reports none, what changes
a decision is told without the diff's own inputs: by the golden cases, and by a random search around them. The diff is
asked without golden cases as inputs or as what inputs are made from; they only lend it what a host vouches for
(arguments, identity and evidence of a call that is allowed), because nothing but a case says what a source said.
"""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gate import opa
from gate.compiler import compile_bundle
from gate.documents import load_bundle
from gate.errors import BundleError
from gate.release.diff import LIMIT, Change, decision_diff
from gate.release.diff_batch import Batch
from gate.release.diff_documents import ABSENT, Candidate, Patch, leaves
from gate.release.diff_side import Side, compiled_side
from gate.release.mutants import Mutant, mutants

BUNDLES = ("support-triage", "knowledge-assistant", "incident-coordination")
GENERATED = 800
SEARCHED = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """One change, what was seen of it elsewhere, and what the diff says of it."""

    bundle: str
    mutant: Mutant
    noticed: str
    """Of one that the diff misses, `golden` or `search`, whichever saw a decision change; empty for neither."""
    change: Change | None
    """What the diff found; its smallest witness was decided again."""
    differs: bool
    """Whether the witness came out differently when each side decided it by itself."""

    @property
    def name(self) -> str:
        """Names the change among all."""
        return f"{self.bundle} {self.mutant.id}"


def seeded_changes(bundles: Path, count: int, *, seed: int) -> Iterator[Seeded]:
    """`count` changes that compile to something else, each with what became of it."""
    chance = random.Random(seed)
    binary = opa.find().path
    stock = [(name, mutant) for name in BUNDLES for mutant in mutants(load_bundle(bundles / name))]
    chance.shuffle(stock)
    bases: dict[str, Side] = {}
    done = 0
    for name, mutant in stock:
        if done == count:
            return
        if name not in bases:
            bases[name] = compiled_side(compile_bundle(bundles / name), label=name)
        side = _mutated(bundles / name, mutant, bases[name])
        if side is None or side.modules == bases[name].modules:
            continue
        done += 1
        yield _judged(name, mutant, bases[name], side, chance, binary)


def _mutated(folder: Path, mutant: Mutant, base: Side) -> Side | None:
    with tempfile.TemporaryDirectory(prefix="gate-seeded-") as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("cases", "rego"))
        text = yaml.dump(mutant.value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100_000)
        (copy / mutant.file).write_text(text, "utf-8")
        try:
            side = compiled_side(compile_bundle(copy), label="mutant")
        except BundleError:
            return None
    return dataclasses.replace(side, cases=base.cases)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _judged(name: str, mutant: Mutant, base: Side, side: Side, chance: random.Random, binary: Path) -> Seeded:
    found = decision_diff(base, side, limit=GENERATED, golden=False, binary=binary)
    if not found.changes:  # what comes first finds most, for a tenth of the time
        found = decision_diff(base, side, limit=LIMIT, golden=False, binary=binary)
    assert found.tried["golden"] == 0
    change = found.changes[0] if found.changes else None
    return Seeded(
        bundle=name,
        mutant=mutant,
        noticed="" if change else _noticed(base, side, chance, binary),
        change=change,
        differs=change is not None and _differs(change, base, side, binary),
    )


def _noticed(base: Side, side: Side, chance: random.Random, binary: Path) -> str:
    with Batch(base.modules, binary=binary) as one, Batch(side.modules, binary=binary) as two:
        facts = [{agent: batch.facts(agent) for agent in s.agents} for batch, s in ((one, base), (two, side))]
        cases = [Candidate(origin="golden", name=case.id, base=case.document) for case in base.cases]
        for origin, candidates in (("golden", cases), ("search", _search(cases, chance))):
            before, after = (
                batch.decide([c.document(known) for c in candidates])
                for batch, known in zip((one, two), facts, strict=True)
            )
            if any(not b.same(a) for b, a in zip(before, after, strict=True)):
                return origin
    return ""


def _search(cases: Sequence[Candidate], chance: random.Random) -> list[Candidate]:
    """Golden documents with one to three fields taken from other documents, or absent, or null."""
    pool: dict[tuple[str, ...], list[Any]] = {}
    for case in cases:
        for path, value in leaves(case.base):
            pool.setdefault(path, []).append(value)
    found = []
    for _ in range(SEARCHED):
        case = chance.choice(cases)
        paths = chance.sample(sorted(path for path in pool if path and path[0] != "schema_version"), 3)
        patches = [Patch(path, chance.choice([*pool[path], None, ABSENT])) for path in paths[: chance.randint(1, 3)]]
        found.append(case.with_patches(patches))
    return found


def _differs(change: Change, base: Side, side: Side, binary: Path) -> bool:
    """Each side's whole decision by an OPA of its own, one document a process, as `opa eval` says it."""
    witness = change.witness
    old, new = (
        _evaluated(s, document, binary) for s, document in ((base, witness.old_input), (side, witness.new_input))
    )
    told = [(o.verdict, o.codes) for o in (witness.old, witness.new)]
    assert [(d["verdict"], tuple(sorted({r["code"] for r in d["reasons"]}))) for d in (old, new)] == told
    return any(old[part] != new[part] for part in ("verdict", "reasons", "obligations", "advice"))


def _evaluated(side: Side, document: Any, binary: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="gate-seeded-") as scratch:
        tree = Path(scratch) / "tree"
        for path, text in side.modules.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text, "utf-8")
        arguments = ["eval", "--format", "raw", "--strict-builtin-errors", "--data", str(tree), "--stdin-input"]
        done = opa.run([*arguments, "data.gate.decision"], input=json.dumps(document), binary=binary)
    assert done.returncode == 0, done.stderr[:200]
    decision: dict[str, Any] = json.loads(done.stdout)
    return decision


def main() -> None:
    """Prints a line for each change and the figures; the number of changes and the seed are the arguments."""
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    seen, start = [], time.monotonic()
    for one in seeded_changes(Path("bundles"), count, seed=seed):
        seen.append(one)
        state = "found" if one.differs else ("MISSED" if one.noticed else "no difference seen")
        sys.stdout.write(f"{state:18} {one.noticed or '-':7} {one.name}\n")
        sys.stdout.flush()
    found, missed = sum(one.differs for one in seen), sum(bool(one.noticed) for one in seen)
    sys.stdout.write(
        f"{len(seen)} changes: {found} found with a witness that differs, {missed} missed, "
        f"{len(seen) - found - missed} that no golden case and no search sees; {time.monotonic() - start:.0f} s\n"
    )


if __name__ == "__main__":
    main()
