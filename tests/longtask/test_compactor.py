from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from longtask_support import artifact, event, item, seed, trajectory

from gate.longtask.artifact import CompactionArtifact
from gate.longtask.canonical_form import digest, plain
from gate.longtask.compactor import PROTOCOL, CallableCompactor, CommandCompactor, Compactor
from gate.longtask.drift import from_log
from gate.longtask.events import LongTaskError
from gate.longtask.vocabulary import Sensitivity

GROUPS = (
    *("acceptance_criteria", "constraints", "decisions", "rejected_hypotheses", "open_issues"),
    "verification_state",
)

HONEST = """\
import json, sys
request = json.load(sys.stdin)
latest = {item["key"]: item for event in request["events"] for item in event["carry_items"]}
seed = request["seed"]
fields = {
    "acceptance_criteria": "acceptance_keys", "constraints": "constraint_keys", "decisions": "decision_keys",
    "rejected_hypotheses": "rejected_hypothesis_keys", "open_issues": "open_issue_keys",
    "verification_state": "verification_keys",
}
reply = {name: [latest[key] for key in seed[field]] for name, field in fields.items()}
reply.update(protocol=request["protocol"], goal=latest[seed["goal_key"]], next_intent=latest["next-intent"])
json.dump(reply, sys.stdout)
"""


def reply(**changes: Any) -> dict[str, Any]:
    made = artifact()
    sound = {
        "protocol": PROTOCOL,
        "goal": plain(made.goal),
        "next_intent": plain(made.next_intent),
        **{name: plain(getattr(made, name)) for name in GROUPS},
    }
    return {**sound, **changes}


def own(function: Compactor, **changes: Any) -> CallableCompactor:
    return CallableCompactor(name="own", version="1", function=function, **changes)


def command(code: str, **changes: Any) -> CommandCompactor:
    return CommandCompactor(name="own", version="1", command=(sys.executable, "-I", "-c", code), **changes)


def made_by(compactor: CallableCompactor | CommandCompactor) -> CompactionArtifact:
    found = compactor.prepare(trajectory(), seed()).artifact
    assert found is not None
    return found


def refused(compactor: CallableCompactor | CommandCompactor) -> str:
    with pytest.raises(LongTaskError) as caught:
        compactor.prepare(trajectory(), seed())
    return caught.value.code


def test_callable_and_command_that_say_the_same_make_the_same_artifact() -> None:
    one, two = made_by(own(lambda _: reply())), made_by(command(HONEST))
    assert one == two
    assert from_log(one, trajectory(), seed()) == ()
    assert (one.items, one.evidence_locators) == (artifact().items, artifact().evidence_locators)
    assert (one.source_event_range, one.source_digest) == ((1, 5), digest(trajectory()))


def test_output_says_who_made_it_and_how_large_it_is() -> None:
    output = own(lambda _: reply()).prepare(trajectory(), seed())
    assert (output.strategy, output.dropped_event_ids) == ("own-1", ())
    assert output.serialized_bytes_after < output.serialized_bytes_before
    assert output.visible_keys == {one.key for one in artifact().items}


def test_two_replies_or_two_versions_never_share_an_id() -> None:
    first = made_by(own(lambda _: reply()))
    other = made_by(own(lambda _: reply(decisions=[])))
    newer = made_by(CallableCompactor(name="own", version="2", function=lambda _: reply()))
    assert len({first.artifact_id, other.artifact_id, newer.artifact_id, artifact().artifact_id}) == 4


def test_callable_gets_a_copy_that_it_may_change() -> None:
    seen: list[Mapping[str, Any]] = []

    def function(request: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(dict(request))
        request["events"].clear()
        return reply()

    assert made_by(own(function)).source_digest == digest(trajectory())
    assert (seen[0]["protocol"], seen[0]["run_id"], seen[0]["seed"]["goal_key"]) == (PROTOCOL, "run-tiny", "goal")


def test_what_a_compactor_says_is_kept_for_the_drift_check_to_find() -> None:
    raised = {**plain(artifact().constraints[0]), "authority": "system"}
    (found,) = from_log(made_by(own(lambda _: reply(constraints=[raised]))), trajectory(), seed())
    assert (found.code, found.before, found.after) == ("authority_raised", "user", "system")


def test_secret_is_not_handed_to_a_compactor() -> None:
    called: list[object] = []

    def function(request: Mapping[str, Any]) -> Mapping[str, Any]:
        called.append(request)
        return reply()

    secret = event(6, item("token", sensitivity=Sensitivity.SECRET, source_event_ids=("e6",)))
    with pytest.raises(LongTaskError) as caught:
        own(function).prepare((*trajectory(), secret), seed())
    assert (caught.value.code, called) == ("secret_event_payload", [])


@pytest.mark.parametrize(
    ("events", "code"), [((), "compaction_requires_events"), (trajectory()[::-1], "unordered_compaction_events")]
)
def test_events_are_checked_before_anything_is_started(events: Any, code: str) -> None:
    with pytest.raises(LongTaskError) as caught:
        command("raise SystemExit(9)").prepare(events, seed())
    assert caught.value.code == code


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        "a fluent paragraph",
        {},
        reply(protocol="gate-compactor/v2"),
        reply(protocol=None),
        reply(constraints=None),
        reply(constraints={}),
        reply(open_issues="none"),
        reply(artifact_id="cmp-mine"),
        {name: value for name, value in reply().items() if name != "open_issues"},
        {name: value for name, value in reply().items() if name != "next_intent"},
        {"protocol": object()},
    ],
)
def test_reply_of_another_form_is_refused(said: Any) -> None:
    assert refused(own(lambda _: said)) == "compactor_reply_invalid"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"goal": None}, "invalid_event_record"),
        ({"goal": {"key": "goal"}}, "invalid_event_record"),
        ({"constraints": [None]}, "invalid_event_record"),
        ({"goal": {**plain(artifact().goal), "authority": "user"}}, "non_instruction_authority"),
        ({"goal": {**plain(artifact().goal), "source_event_ids": []}}, "carry_item_without_source"),
        ({"decisions": [plain(artifact().goal)]}, "duplicate_carry_item_key"),
    ],
)
def test_reply_with_a_broken_item_is_refused_with_the_rule(changes: dict[str, Any], code: str) -> None:
    assert refused(own(lambda _: reply(**changes))) == code


def test_error_of_a_callable_is_told_without_its_text() -> None:
    def function(_: Mapping[str, Any]) -> Mapping[str, Any]:
        raise RuntimeError("hunter2")

    with pytest.raises(LongTaskError) as caught:
        own(function).prepare(trajectory(), seed())
    assert caught.value.code == "compactor_failed"
    assert "hunter2" not in caught.value.message
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_callable_past_its_deadline_is_not_waited_for() -> None:
    assert refused(own(lambda _: time.sleep(30) or reply(), deadline_ms=50)) == "compactor_timed_out"


def test_reply_over_the_limit_is_refused() -> None:
    big = reply(goal={**plain(artifact().goal), "content": "x" * 5000})
    assert refused(own(lambda _: big, max_reply_bytes=4000)) == "compactor_reply_too_large"
    assert refused(command("print('x' * 100_000)", max_reply_bytes=4000)) == "compactor_reply_too_large"


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("raise SystemExit(3)", "compactor_failed"),
        (HONEST + "raise SystemExit(1)", "compactor_failed"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "compactor_failed"),
        ("", "compactor_reply_invalid"),
        ("print('{}')", "compactor_reply_invalid"),
        ('print(\'{"goal": 1, "goal": 2}\')', "compactor_reply_invalid"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "compactor_reply_invalid"),
        (HONEST + "print('and more')", "compactor_reply_invalid"),
        (
            HONEST.replace("json.dump(reply", "reply['goal']['trust'] = float('nan'); json.dump(reply"),
            "compactor_reply_invalid",
        ),
    ],
)
def test_command_that_fails_or_says_something_else_is_refused(code: str, wanted: str) -> None:
    assert refused(command(code)) == wanted


def test_command_that_never_reads_its_input_cannot_block() -> None:
    assert refused(command("print('[]')")) == "compactor_reply_invalid"


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(60)",
        "import sys, time; sys.stdout.close(); time.sleep(60)",
        # A child that keeps stdout open must not outlive the deadline either.
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])",
        "import time\nwhile True: print('x', flush=True); time.sleep(0.05)",
    ],
)
def test_command_past_its_deadline_is_ended(code: str) -> None:
    assert refused(command(code, deadline_ms=500)) == "compactor_timed_out"


def test_what_a_command_started_is_ended_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    child = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    assert refused(command(code, deadline_ms=3000)) == "compactor_timed_out"
    pid = int(mark.read_text())
    for _ in range(100):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        if stat.rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the command's child is still there")


def test_command_sees_only_the_environment_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_TOKEN", "hunter2")
    probe = "import os\nraise SystemExit(4 if 'GATE_TOKEN' in os.environ else 0)\n"
    assert refused(command(probe)) == "compactor_reply_invalid"
    given = {"PATH": os.environ["PATH"], "GATE_TOKEN": "x"}
    assert refused(command(probe, environment=given)) == "compactor_failed"


@pytest.mark.parametrize("name", ["no-such-program-anywhere", "/", "with\0nul"])
def test_command_that_cannot_be_started_is_unavailable(name: str) -> None:
    assert refused(CommandCompactor(name="own", version="1", command=(name,))) == "compactor_unavailable"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"command": ()}, "compactor_command_missing"),
        ({"command": ("",)}, "compactor_command_missing"),
        ({"name": " "}, "compactor_unnamed"),
        ({"version": ""}, "compactor_unnamed"),
        ({"deadline_ms": 0}, "compactor_limit_invalid"),
        ({"deadline_ms": 1.5}, "compactor_limit_invalid"),
        ({"max_reply_bytes": True}, "compactor_limit_invalid"),
    ],
)
def test_compactor_that_is_set_up_wrongly_is_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(LongTaskError) as caught:
        CommandCompactor(**{"name": "own", "version": "1", "command": ("true",), **changes})
    assert caught.value.code == code
