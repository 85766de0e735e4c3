from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from cli_support import run
from click.testing import CliRunner

from gate.cli import COMMANDS, GateGroup, cli
from gate.decision import ActionBlocked, Decision, Reason, Verdict
from gate.errors import BundleError, GateError, InputError, Problem

Command = tuple[tuple[str, ...], click.Command, click.Context]


def _walk(names: tuple[str, ...], command: click.Command, context: click.Context) -> Iterator[Command]:
    yield names, command, context
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from _walk(
                (*names, name), child, click.Context(child, info_name=name, parent=context, **child.context_settings)
            )


ALL: list[Command] = list(_walk((), cli, click.Context(cli, info_name="gate", **cli.context_settings)))
OPTIONS = [
    (names, option, context)
    for names, command, context in ALL
    for option in command.params
    if isinstance(option, click.Option) and option.name not in ("help", "version")
]


def test_group_as_shipped_has_every_command_of_the_design() -> None:
    assert {" ".join(names) for names, _, _ in ALL} >= {
        *("init", "validate", "compile", "test", "eval", "explain", "build", "serve", "status"),
        *("approvals keygen", "approvals list", "approvals show", "approvals approve", "approvals reject"),
        *("effects list", "effects reconcile"),
    }
    assert list(cli.commands) == [command.name for command in COMMANDS]


@pytest.mark.parametrize(("names", "command"), [(n, c) for n, c, _ in ALL], ids=lambda v: str(v))
def test_every_command_has_help(names: tuple[str, ...], command: click.Command) -> None:
    shown = run(*names, "--help")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert command.help


@pytest.mark.parametrize(("names", "option", "context"), OPTIONS, ids=lambda v: str(v))
def test_every_option_has_help_and_an_environment_twin(
    names: tuple[str, ...], option: click.Option, context: click.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert option.help
    explicit = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    twin = explicit[0] if explicit else "_".join(("GATE", *names, str(option.name))).upper().replace("-", "_")
    monkeypatch.setenv(twin, "1")
    assert twin.startswith("GATE_")
    assert option.resolve_envvar_value(context) is not None


# A hook answers in the form of its framework.
@pytest.mark.parametrize("names", [n for n, c, _ in ALL if not isinstance(c, click.Group) and n[0] != "hook"], ids=str)
def test_every_command_prints_text_or_json(names: tuple[str, ...]) -> None:
    command = {n: c for n, c, _ in ALL}[names]
    output = next(p for p in command.params if p.name == "output")
    assert isinstance(output.type, click.Choice)
    assert list(output.type.choices)[:2] == ["text", "json"]


def test_output_from_the_environment_is_used(bundle: Path) -> None:
    assert run("validate", bundle, env={"GATE_OUTPUT": "json"}).stdout == '{\n  "valid": true,\n  "problems": []\n}\n'


def test_version_names_the_pinned_opa() -> None:
    assert run("--version").stdout.endswith("for OPA 1.22.3\n")


def test_unknown_command_is_a_usage_error() -> None:
    result = run("frobnicate")
    assert (result.exit_code, result.stdout) == (2, "")


def _raising(error: BaseException) -> click.Group:
    @click.group(cls=GateGroup)
    def group() -> None:
        pass

    @group.command()
    def fail() -> None:
        raise error

    return group


_DENIED = Decision(Verdict.DENY, (Reason("vote_unsigned", Verdict.DENY, "r", "", "", "sign it"),))


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (GateError("it broke"), 1, "error: gate_error: it broke\n"),
        (InputError("it is bad", code="bad", hint="mend it"), 1, "error: bad: it is bad\nhint: mend it\n"),
        (
            BundleError([Problem("b.yaml", 2, 1, "late", "is late"), Problem("a.yaml", 9, 3, "c", "is x", "fix x")]),
            5,
            "a.yaml:9:3: c: is x\n  hint: fix x\nb.yaml:2:1: late: is late\n",
        ),
        (BundleError([]), 5, "error: bundle_invalid: 0 problems found in the bundle\n"),
        (
            ActionBlocked(_DENIED),
            3,
            "error: action_blocked: deny: vote_unsigned\n  vote_unsigned (deny): sign it\n",
        ),
        (GateError("a\x1b[2Jb\u202ec"), 1, "error: gate_error: a\\u001b[2Jb\\u202ec\n"),
    ],
)
def test_error_becomes_text_and_an_exit_code(error: GateError, code: int, text: str) -> None:
    result = CliRunner().invoke(_raising(error), ["fail"], catch_exceptions=False)
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", text)


def test_interrupt_is_quiet_and_not_a_success() -> None:
    result = CliRunner().invoke(_raising(KeyboardInterrupt()), ["fail"], catch_exceptions=False)
    assert (result.exit_code, result.output) == (130, "")


def test_bug_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(_raising(ZeroDivisionError()), ["fail"], catch_exceptions=False)


def _gate(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "gate.cli", *map(str, args)]


def test_closed_pipe_is_quiet_and_not_a_success(bundle: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(_gate("validate", bundle), stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_ctrl_c_while_reading_stdin_is_quiet_and_not_a_success(bundle: Path) -> None:
    with subprocess.Popen(
        _gate("eval", bundle, "--input", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: when it has been written, the command is reading.
        process.stdin.write(b" " * 200_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_script_answers_as_the_group_does(bundle: Path) -> None:
    done = subprocess.run(_gate("validate", bundle), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{bundle} is valid\n", "")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (">&-", (0, "")),
        (">/dev/full", (1, "error: output_unwritable: the output could not be written\nhint: free some space\n")),
    ],
)
def test_output_that_is_closed_or_full_is_no_traceback(bundle: Path, output: str, expected: tuple[int, str]) -> None:
    command = [sys.executable, "-m", "gate.cli", "releases", str(bundle)]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {output}', "-", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_command_that_is_ended_leaves_no_scratch_folder(bundle: Path, tmp_path: Path, number: int) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "gate.cli", "test", str(bundle), "--engine", "opa"]
    with subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.DEVNULL,
        # Whoever runs the tests may have had the signal ignored, as `nohup` does.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        while not list(scratch.glob("*/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
    assert list(scratch.iterdir()) == []
