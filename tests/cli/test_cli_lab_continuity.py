from __future__ import annotations

import hashlib
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from cli_support import run

from gate.errors import EXIT_DENIED, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE

FILES = [
    *("context-continuity.json", "context-continuity.md", "context-continuity-trace.jsonl"),
    *("context-continuity-supplement.json", "context-continuity-supplement.md"),
]


def report(*arguments: str) -> list[str]:
    return ["lab", "context-continuity", *arguments]


def test_report_is_written_twice_to_the_same_bytes(tmp_path: Path) -> None:
    runs = [run(*report("--report", str(tmp_path / name), "--no-figure")) for name in ("one", "two")]
    assert [done.exit_code for done in runs] == [EXIT_OK, EXIT_OK]
    assert runs[0].stdout.splitlines() == [str(tmp_path / "one" / name) for name in FILES]
    assert runs[0].stderr == ""
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / n).iterdir()} for n in ("one", "two"))
    assert one == two
    assert set(one) == set(FILES)


def test_json_names_every_file_with_its_digest(tmp_path: Path) -> None:
    done = run(*report("--report", str(tmp_path), "--output", "json"))
    said = json.loads(done.stdout)
    assert (done.exit_code, said["trajectory"], said["run_status"]) == (EXIT_OK, "other", "passed")
    assert (said["cases"], said["unmet_expectations"]) == (15, [])
    assert {file["path"]: file["sha256"] for file in said["files"]} == {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()
    }


def test_figure_is_left_out_and_named_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(*report("--report", str(tmp_path)))
    assert (done.exit_code, done.stderr) == (
        EXIT_OK,
        "no figure: matplotlib is not installed; install the extra `lab`\n",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    text = resources.files("gate.lab.longtask").joinpath("price-repair.jsonl").read_text("utf-8")
    path = tmp_path / "events.jsonl"
    path.write_text(text, "utf-8")
    return path


def test_run_that_repeats_refuted_work_exits_denied_and_still_reports(events: Path, tmp_path: Path) -> None:
    lines = events.read_text("utf-8").splitlines()
    event = json.loads(lines[26])
    again = {**event["carry_items"][0], "key": "repeat-rounding-attempt"}
    event["carry_items"].append(again)
    lines[26] = json.dumps(event)
    events.write_text("\n".join(lines), "utf-8")
    done = run(*report("--events", str(events), "--report", str(tmp_path / "out"), "--no-figure"))
    assert done.exit_code == EXIT_DENIED
    assert done.stderr == "run status: failed; unmet expectations: 0\n"
    assert "Run status: `failed`" in (tmp_path / "out" / FILES[1]).read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "trajectory_incomplete"),
        ("not json\n", "invalid_event_log_entry"),
        ('{"event_id": "evt-001"}\n', "invalid_event_record"),
        ('{"a": 1, "a": 2}\n', "invalid_event_log_entry"),
    ],
)
def test_events_of_another_form_are_refused_and_nothing_is_written(
    events: Path, tmp_path: Path, text: str, code: str
) -> None:
    events.write_text(text, "utf-8")
    done = run(*report("--events", str(events), "--report", str(tmp_path / "out")))
    assert (done.exit_code, done.stdout) == (EXIT_UNDECIDED, "")
    assert done.stderr.startswith(f"error: {code}: ")
    assert not (tmp_path / "out").exists()


def test_report_into_a_file_is_an_error(events: Path) -> None:
    done = run(*report("--report", str(events), "--no-figure"))
    assert done.exit_code == EXIT_UNDECIDED
    assert done.stderr.startswith("error: report_unwritable: ")


FORGETFUL = """\
import json, sys
request = json.load(sys.stdin)
latest = {item["key"]: item for event in request["events"] for item in event["carry_items"]}
seed = request["seed"]
goal = {**latest[seed["goal_key"]], "content": "Make it work."}
empty = ("acceptance_criteria", "decisions", "rejected_hypotheses", "open_issues", "verification_state")
reply = {"protocol": request["protocol"], "goal": goal, "next_intent": latest["next-intent"], **{n: [] for n in empty}}
reply["constraints"] = [latest[key] for key in seed["constraint_keys"]]
json.dump(reply, sys.stdout)
"""


def own(tmp_path: Path, code: str, *more: str) -> tuple[int, dict[str, Any]]:
    program = tmp_path / "own compactor.py"
    program.write_text(code, "utf-8")
    command = f"{sys.executable} -I '{program}'"
    done = run(*report("--report", str(tmp_path / "out"), "--no-figure", "--compactor", command, *more))
    section = json.loads((tmp_path / "out" / FILES[3]).read_text("utf-8"))["sections"][-1]
    assert section["section"] == "own compactor"
    first, second = section["rows"]
    assert {**first, "run": 2} == second
    return done.exit_code, first


def test_own_compactor_is_measured_by_statement_and_not_only_by_key(tmp_path: Path) -> None:
    code, row = own(tmp_path, FORGETFUL)
    assert code == EXIT_OK
    assert (row["refused"], row["goal"], row["constraint"], row["open_issue"]) == (None, True, 1.0, 0.0)
    # Of 12 required keys, two constraints and the next intent stand as the log has them; the goal was reworded.
    assert row["unchanged"] == 3 / 12
    assert "rewriting/content_digest_changed" in row["drift"]
    assert row["stops"] == "required_item_missing"
    assert row["decision"] == "needs_context"


def test_own_compactor_that_cannot_be_started_is_told_on_stderr(tmp_path: Path) -> None:
    done = run(*report("--report", str(tmp_path / "out"), "--no-figure", "--compactor", str(tmp_path / "none")))
    told = [f"the compactor was refused in run {number}: compactor_unavailable" for number in (1, 2)]
    assert (done.exit_code, done.stderr.splitlines()) == (EXIT_OK, told)


def test_own_compactor_that_fails_is_a_row_and_not_an_error(tmp_path: Path) -> None:
    assert own(tmp_path, "raise SystemExit(1)")[1]["refused"] == "compactor_failed"
    late = own(tmp_path, "import time; time.sleep(60)", "--compactor-deadline-ms", "300")
    assert (late[0], late[1]["refused"], late[1]["bytes_after"]) == (EXIT_OK, "compactor_timed_out", None)


@pytest.mark.parametrize("command", ["", "  ", "'unbalanced"])
def test_compactor_that_is_no_command_is_a_usage_error(tmp_path: Path, command: str) -> None:
    done = run(*report("--report", str(tmp_path / "out"), "--compactor", command))
    assert (done.exit_code, (tmp_path / "out").exists()) == (EXIT_USAGE, False)


def test_report_without_a_folder_is_a_usage_error() -> None:
    assert run(*report()).exit_code == EXIT_USAGE
