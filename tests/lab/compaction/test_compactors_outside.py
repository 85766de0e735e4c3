from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from compactor_support import CONTEXT, NOISE, RULE, RULE_ZH, endpoint

from gate.errors import InputError
from gate.lab.compaction.compactor import CompactedContext, CompactionError, ContextView
from gate.lab.compaction.compactors import (
    CallableCompactor,
    CommandCompactor,
    HttpCompactor,
    RecordedCompactor,
    Recorder,
    Structured,
    chosen,
)

FIRST_TWO = "import json,sys; d=json.load(sys.stdin); print(json.dumps({'items': d['items'][:2]}))"


def command(program: str, **limits: Any) -> CommandCompactor:
    return CommandCompactor(name="command", version="1", command=(sys.executable, "-c", program), **limits)


def failure(compactor: Any, context: ContextView = CONTEXT) -> str:
    with pytest.raises(CompactionError) as failed:
        compactor.compact(context, 100)
    assert RULE.text not in str(failed.value) + failed.value.hint
    return failed.value.code


def test_command_gets_context_and_budget_on_stdin_and_its_stdout_is_read() -> None:
    assert command(FIRST_TWO).compact(CONTEXT, 100) == CompactedContext(items=(RULE, RULE_ZH))
    echo = (
        "import json,sys; d=json.load(sys.stdin);"
        "print(json.dumps({'items': [], 'notes': {'b': str(d['budget_tokens']), 'r': str(d['round'])}}))"
    )
    assert command(echo).compact(CONTEXT, 100).notes == {"b": "100", "r": "1"}


@pytest.mark.parametrize(
    ("program", "limits", "code"),
    [
        ("import time; time.sleep(30)", {"timeout_seconds": 0.3}, "compaction_timed_out"),
        ("import sys; sys.exit(3)", {}, "compaction_failed"),
        ("import os; os.kill(os.getpid(), 9)", {}, "compaction_failed"),
        ("print('x' * 5000)", {"max_reply_bytes": 1000}, "compaction_too_large"),
        ("while True: print('x' * 100000)", {"max_reply_bytes": 1000}, "compaction_too_large"),
        ("", {}, "compaction_malformed"),
        ("print('{}')", {}, "compaction_malformed"),
        ("print('[]')", {}, "compaction_malformed"),
        ('print(\'{"items": [{"item_id": "a"}]}\')', {}, "compaction_malformed"),
        ('print(\'{"items": [], "paused": 1}\')', {}, "compaction_malformed"),
        (
            'print(\'{"items": [{"item_id": "a", "kind": "user", "text": "\\\\ud800"}]}\')',
            {},
            "compaction_malformed",
        ),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", {}, "compaction_malformed"),
        ("print('[' * 100000)", {}, "compaction_malformed"),
    ],
)
def test_command_that_fails_leaves_a_code_and_no_context(program: str, limits: dict[str, Any], code: str) -> None:
    assert failure(command(program, **limits)) == code


def test_command_that_cannot_be_started_is_unavailable() -> None:
    assert failure(CommandCompactor(name="x", version="1", command=("/no/such/program",))) == "compaction_unavailable"


def test_command_sees_no_secret_of_the_gate_but_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_TOKEN_FILE", "secret")
    monkeypatch.setenv("PROVIDER_KEY", "key")
    show = (
        "import json,os; found = {k: v for k, v in os.environ.items() if k[:4] in ('GATE', 'PROV')};"
        "print(json.dumps({'items': [], 'notes': found}))"
    )
    assert command(show).compact(CONTEXT, 100).notes == {}
    assert command(show, environment=("PROVIDER_KEY",)).compact(CONTEXT, 100).notes == {"PROVIDER_KEY": "key"}


def test_command_that_leaves_a_child_behind_takes_it_along(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(0.7); open({str(mark)!r}, 'w').close()"
    program = f"import subprocess,sys; subprocess.Popen([sys.executable, '-c', {child!r}]); print('{{\"items\": []}}')"
    assert command(program).compact(CONTEXT, 100).items == ()
    time.sleep(1.2)
    assert not mark.exists()


def test_http_posts_the_context_once_with_its_token_and_reads_the_answer() -> None:
    with endpoint() as (url, seen):
        compactor = HttpCompactor(name="http", version="1", url=f"{url}/good", token="t-1")
        assert compactor.compact(CONTEXT, 77) == CompactedContext(items=(RULE, RULE_ZH))
    (asked,) = seen
    assert asked["body"] == CONTEXT.as_json(77)
    assert asked["headers"]["Authorization"] == "Bearer t-1"


@pytest.mark.parametrize(
    ("path", "limits", "code"),
    [
        ("broken", {}, "compaction_failed"),
        ("redirect", {}, "compaction_failed"),
        ("garbled", {}, "compaction_malformed"),
        ("huge", {"max_reply_bytes": 1000}, "compaction_too_large"),
        ("slow", {"timeout_seconds": 0.3}, "compaction_timed_out"),
        ("drip", {"timeout_seconds": 0.5}, "compaction_timed_out"),
    ],
)
def test_http_that_fails_leaves_a_code_and_is_not_asked_again(path: str, limits: dict[str, Any], code: str) -> None:
    with endpoint() as (url, seen):
        assert failure(HttpCompactor(name="http", version="1", url=f"{url}/{path}", **limits)) == code
        assert len(seen) == 1


def test_http_that_is_down_is_unavailable() -> None:
    with endpoint() as (url, _):
        pass
    assert failure(HttpCompactor(name="http", version="1", url=url)) == "compaction_unavailable"


@pytest.mark.parametrize("url", ["ftp://host/x", "http://", "http://user@host/x", "/x"])
def test_http_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(CompactionError, match="not http or https"):
        HttpCompactor(name="http", version="1", url=url)


def test_http_token_is_not_sent_without_tls_to_another_host() -> None:
    with pytest.raises(CompactionError, match="without TLS"):
        HttpCompactor(name="http", version="1", url="http://compactor.example/x", token="t")


def test_callable_is_called_and_its_failures_are_translated() -> None:
    def broken(context: ContextView, budget: int) -> CompactedContext:
        raise KeyError(context.text)

    good = CallableCompactor(name="x", version="1", function=Structured().compact)
    assert good.compact(CONTEXT, 400) == Structured().compact(CONTEXT, 400)
    assert failure(CallableCompactor(name="x", version="1", function=broken)) == "compaction_failed"
    nothing: Any = lambda context, budget: None  # noqa: E731
    assert failure(CallableCompactor(name="x", version="1", function=nothing)) == "compaction_malformed"


def test_a_function_is_chosen_by_module_and_name_and_has_no_version_of_its_own() -> None:
    one = chosen("python:gate.lab.compaction.compactors.typed:Structured")
    assert (one.name, one.version) == ("structured", "1")
    other = chosen("python:gate.lab.compaction.compactors.harmful:softened")
    assert (other.name, other.version) == ("python:gate.lab.compaction.compactors.harmful:softened", "unknown")
    assert chosen("http://127.0.0.1:1/x").version == "unknown"
    assert chosen("http://127.0.0.1:1/x", version="2026-06").version == "2026-06"


def test_a_command_is_versioned_by_its_program_and_its_script(tmp_path: Path) -> None:
    script = tmp_path / "compactor.py"
    script.write_text(FIRST_TWO)
    spec = f"command:{sys.executable} {script}"
    before = chosen(spec)
    assert before.compact(CONTEXT, 100).items == (RULE, RULE_ZH)
    script.write_text(FIRST_TWO + " ")
    assert chosen(spec).version != before.version
    assert chosen(spec, version="7").version == "7"


def test_a_transcript_replays_what_was_recorded_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    recorder = Recorder(inner=Structured(), path=path)
    made = [recorder.compact(CONTEXT, budget) for budget in (400, 500, 400)]
    assert path.stat().st_mode & 0o077 == 0
    replayed = chosen(f"transcript:{path}")
    assert [replayed.compact(CONTEXT, budget) for budget in (400, 500)] == made[:2]
    assert replayed.name == "recorded:structured"
    assert failure(replayed) == "compaction_unrecorded"
    assert failure(replayed, ContextView(items=NOISE, round=1)) == "compaction_unrecorded"


def test_recording_over_an_earlier_transcript_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text("kept")
    with pytest.raises(InputError, match="cannot be written"):
        Recorder(inner=Structured(), path=path).compact(CONTEXT, 400)
    assert path.read_text() == "kept"


@pytest.mark.parametrize("change", ["header", "json", "reply", "contradiction", "empty", "absent", "deep"])
def test_a_transcript_that_was_spoilt_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "transcript.jsonl"
    Recorder(inner=Structured(), path=path).compact(CONTEXT, 400)
    header, line = path.read_text().splitlines()
    other = json.dumps({**json.loads(line), "reply": {"items": []}})
    spoilt = {
        "header": [line],
        "json": [header, line[:-1]],
        "reply": [header, json.dumps({"request_sha256": "x", "reply": {}})],
        "contradiction": [header, line, other],
        "empty": [header],
        "deep": [header, "[" * 100_000],
    }
    path.unlink() if change == "absent" else path.write_text("\n".join(spoilt[change]))
    with pytest.raises(InputError) as refused:
        RecordedCompactor.read(path)
    assert refused.value.code == ("transcript_unreadable" if change == "absent" else "transcript_invalid")
