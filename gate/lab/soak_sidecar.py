"""A sidecar that is killed, paused, swapped and rolled over while threads keep asking: what they get meanwhile.

Every answer is compared with what the golden case expects. The client is never made anew. Times are reported, never
judged; run as `python -m gate.lab.soak_sidecar_sidecar BUNDLE OTHER_BUNDLE --seconds 20`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate import opa
from gate.compiler import Compiled, compile_bundle
from gate.documents import Case, load_cases
from gate.errors import GateError, PdpError, ToolchainError
from gate.pdp import BundleServer, Polling, Sidecar, SidecarDecisionPoint, VerificationKey, publish
from gate.release import build, case_document
from gate.release.signing import new_pair, read_signing_key

_TIMEOUT_MS = 2000
_GIVE_UP_S = 60.0
_LOOK_S = 0.02


@dataclass(slots=True)
class Phase:
    """What the threads got during one part of the soak."""

    name: str
    decisions: int = 0
    wrong: int = 0
    """Decisions that are not what the golden case expects: there must be none."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Calls without a decision, by code."""
    unexplained: int = 0
    """Refusals while the sidecar was there and served what is expected: there must be none."""
    away_ms: int = 0
    """How long the sidecar was away, or served another revision, as the one who did it saw it."""
    recovery_ms: int | None = None
    """From its return to the first decision; None when it was not away."""

    def report(self) -> dict[str, Any]:
        """As a JSON object."""
        fields = ("name", "decisions", "wrong", "unexplained", "away_ms", "recovery_ms")
        return {**{name: getattr(self, name) for name in fields}, "refusals": dict(self.refusals)}


@dataclass(frozen=True, slots=True)
class _Call:
    began: float
    ended: float
    refused: str
    """Code; empty for a decision."""
    wrong: bool


class _Threads:
    """Workers that ask one shared client about golden cases until told to stop."""

    def __init__(self, client: SidecarDecisionPoint, asked: Sequence[tuple[dict[str, Any], tuple[str, ...]]]) -> None:
        self._client, self._asked = client, asked
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._calls: list[_Call] = []
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        self._threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self._failure is not None:
            raise self._failure

    def taken(self) -> list[_Call]:
        with self._lock:
            calls, self._calls = self._calls, []
        return calls

    def _work(self, seed: int) -> None:
        chosen = random.Random(seed)  # noqa: S311 - which case comes next is no secret
        try:
            turn = 0
            while not self._stop.is_set():
                document, expected = chosen.choice(self._asked)
                turn += 1
                call = self._ask({**document, "request_id": f"soak-{seed}-{turn}"}, expected)
                with self._lock:
                    self._calls.append(call)
                if call.refused:
                    self._stop.wait(_LOOK_S)  # a refusal costs nothing; a decision paces the rest
        except BaseException as exc:  # noqa: BLE001 - told to the thread that waits
            self._failure = exc

    def _ask(self, document: dict[str, Any], expected: tuple[str, ...]) -> _Call:
        began = time.monotonic()
        try:
            decision = self._client.decide(document).decision
        except PdpError as exc:
            return _Call(began, time.monotonic(), exc.code, False)
        got = (str(decision.verdict), *sorted(set(decision.codes)))
        return _Call(began, time.monotonic(), "", got != expected)


def soak(bundle: Compiled, other: Compiled, *, binary: Path, seconds: float, threads: int = 8) -> list[dict[str, Any]]:
    """Runs every phase, each for about `seconds`, and reports them in order.

    The second release is `bundle` linked with `other`: another revision with the same decisions for the first bundle's
    agents. Raises `GateError` when the soak itself could not be run.
    """
    agent = bundle.bundle.meta.agent_ids[0]
    with tempfile.TemporaryDirectory(prefix="gate-soak-") as scratch:
        place = Path(scratch)
        key = new_pair(place / "soak.pem", kind="ecdsa")
        signing = read_signing_key(place / "soak.pem")
        one = build([bundle], place / "one", binary=binary, signing_key=signing, trial=True)
        two = build([bundle, other], place / "two", binary=binary, signing_key=signing, trial=True)
        publish(one.path, place / "published")
        with BundleServer(place / "published") as server:
            world = _World(binary, place, key, Polling(url=server.url, min_delay_s=1, max_delay_s=1), one.revision)
            try:
                client = world.sidecar.client(timeout_ms=_TIMEOUT_MS)
                asked = _asked(load_cases(bundle.bundle.folder), client, agent)
                workers = _Threads(client, asked)
                workers.start(threads)
                phases = [
                    _phase("steady", workers, world, seconds),
                    _phase("killed", workers, world, seconds, world.kill_and_restart),
                    _phase(
                        "paused",
                        workers,
                        world,
                        seconds,
                        lambda: world.pause(max(seconds / 2, 1.5 * _TIMEOUT_MS / 1000)),
                    ),
                    _phase(
                        "swapped",
                        workers,
                        world,
                        seconds,
                        lambda: world.swap(one.path, two.path, one.revision, two.revision, place / "published"),
                    ),
                    _phase(
                        "rolled over",
                        workers,
                        world,
                        seconds,
                        lambda: world.roll_over(client, two.path, one.revision, two.revision, place / "published"),
                    ),
                ]
                workers.stop()
                client.close()
            finally:
                world.sidecar.stop()
    return [phase.report() for phase in phases]


class _World:
    """The sidecar and whoever keeps it running; notes when it was away."""

    def __init__(self, binary: Path, place: Path, key: VerificationKey, polling: Polling, revision: str) -> None:
        self._binary, self._place, self._key, self._polling = binary, place, key, polling
        self._expected = (revision,)
        self._starts = 0
        self.away: list[tuple[float, float]] = []
        """On the monotonic clock, in seconds."""
        self.sidecar = self._start(None)

    def _start(self, token: str | None) -> Sidecar:
        self._starts += 1
        return Sidecar.start(
            opa=self._binary,
            listen=self._place / "s" / "opa.sock",
            work_dir=self._place / f"work-{self._starts}",
            token=token,
            key=self._key,
            polling=self._polling,
            revisions=self._expected,
        )

    def kill_and_restart(self) -> None:
        with self._away():
            os.kill(self.sidecar.pid, signal.SIGKILL)
            self.sidecar.wait(_GIVE_UP_S)
            self.sidecar = self._start(self.sidecar.token)

    def pause(self, seconds: float) -> None:
        with self._away():
            os.kill(self.sidecar.pid, signal.SIGSTOP)
            try:
                time.sleep(seconds)
            finally:
                os.kill(self.sidecar.pid, signal.SIGCONT)
            self._until_ready()

    def swap(self, old: Path, new: Path, old_revision: str, new_revision: str, folder: Path) -> None:
        """Another signed revision that nobody declared, and back."""
        with self._away():
            publish(new, folder)
            self._until_serving(new_revision)
            time.sleep(0.2)
            publish(old, folder)
            self._until_serving(old_revision)

    def roll_over(
        self, client: SidecarDecisionPoint, new: Path, old_revision: str, new_revision: str, folder: Path
    ) -> None:
        """Declared before, ended after: the sidecar is never away."""
        client.expect((old_revision, new_revision))
        publish(new, folder)
        self._until_serving(new_revision)
        # Answers of the old revision that are still on their way were accepted when they were asked for.
        time.sleep(2 * _TIMEOUT_MS / 1000)
        client.expect((new_revision,))
        self._expected = (new_revision,)

    @contextmanager
    def _away(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.away.append((began, time.monotonic()))

    def _until_serving(self, revision: str) -> None:
        self._until(lambda: self.sidecar.status().revision == revision)

    def _until_ready(self) -> None:
        self._until(lambda: self.sidecar.status().revision is not None)

    def _until(self, done: Any) -> None:
        give_up = time.monotonic() + _GIVE_UP_S
        while time.monotonic() < give_up:
            try:
                if done():
                    return
            except GateError:
                pass  # away is what it may be
            time.sleep(_LOOK_S)
        raise ToolchainError("the sidecar did not come back", code="sidecar_not_ready")


def _phase(name: str, workers: _Threads, world: _World, seconds: float, act: Any = None) -> Phase:
    workers.taken()
    world.away.clear()
    time.sleep(seconds / 2)
    if act is not None:
        act()
    time.sleep(seconds / 2)
    phase = Phase(name)
    calls = workers.taken()
    for call in calls:
        if call.refused:
            phase.refusals[call.refused] += 1
            phase.unexplained += not any(call.began <= end and call.ended >= start for start, end in world.away)
        else:
            phase.decisions += 1
            phase.wrong += call.wrong
    if world.away:
        start, end = world.away[-1]
        phase.away_ms = round((end - start) * 1000)
        first = min((call.ended for call in calls if not call.refused and call.ended > end), default=None)
        phase.recovery_ms = None if first is None else round((first - end) * 1000)
    return phase


def _asked(
    cases: Sequence[Case], client: SidecarDecisionPoint, agent: str
) -> list[tuple[dict[str, Any], tuple[str, ...]]]:
    facts = client.facts(agent)
    known = {
        "bundle": facts.bundle,
        "capabilities": facts.capabilities,
        "contracts": facts.contracts,
        "reviewers": facts.reviewers,
    }
    return [
        (document, (case.expect_verdict, *sorted(set(case.expect_reasons))))
        for case in cases
        if type((document := case_document(case, known)).get("request_id")) is str
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the report as JSON; 1 when a decision was wrong or a refusal unexplained."""
    parser = argparse.ArgumentParser(prog="python -m gate.lab.soak_sidecar", description=main.__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("other", type=Path, help="a second bundle, linked with the first to make another revision")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each phase")
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args(argv)
    report = soak(
        compile_bundle(options.bundle),
        compile_bundle(options.other),
        binary=opa.find().path,
        seconds=options.seconds,
        threads=options.threads,
    )
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 1 if any(phase["wrong"] or phase["unexplained"] for phase in report) else 0


if __name__ == "__main__":
    raise SystemExit(main())
