"""The command line: parse, call one function, render, exit. One file a command.

Here are the group and the one place where an error becomes text. Decides nothing; a bug is not an error and is not
swallowed.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from importlib import metadata
from types import FrameType
from typing import Any

import click

from gate.cli.approvals import approvals
from gate.cli.bench import bench
from gate.cli.build import build
from gate.cli.check_controls import check_controls
from gate.cli.compaction_gate import compaction_gate
from gate.cli.compile import compile_command
from gate.cli.demo import demo
from gate.cli.diff import diff
from gate.cli.docs import docs
from gate.cli.drill import drill
from gate.cli.effects import effects
from gate.cli.eval import evaluate
from gate.cli.explain import explain
from gate.cli.forget import forget
from gate.cli.hook import hook
from gate.cli.init import init
from gate.cli.inspect_continuity import inspect_continuity
from gate.cli.keys import keys
from gate.cli.lab import lab
from gate.cli.mutate import mutate_command
from gate.cli.release import release
from gate.cli.releases import releases
from gate.cli.serve import serve
from gate.cli.status import status
from gate.cli.store import store
from gate.cli.taint import taint
from gate.cli.test import test
from gate.cli.trace import trace
from gate.cli.validate import validate
from gate.decision import ActionBlocked
from gate.documents import visible
from gate.errors import EXIT_UNDECIDED, BundleError, GateError
from gate.opa import OPA_VERSION

COMMANDS: tuple[click.Command, ...] = (
    init,
    validate,
    compile_command,
    test,
    check_controls,
    evaluate,
    explain,
    keys,
    diff,
    mutate_command,
    docs,
    releases,
    trace,
    build,
    release,
    serve,
    status,
    approvals,
    effects,
    inspect_continuity,
    hook,
    store,
    forget,
    taint,
    drill,
    demo,
    lab,
    compaction_gate,
    bench,
)
"""Every command, in the order a newcomer meets them. A new command is one import and one line here."""

_INTERRUPTED = 128 + signal.SIGINT


class GateGroup(click.Group):
    """A group in which a `GateError` of any command becomes text on stderr and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of `COMMANDS`."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except GateError as exc:
            _report(exc)
            ctx.exit(exc.exit_code)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)


def _report(error: GateError) -> None:
    lines: list[str] = []
    if isinstance(error, BundleError) and error.problems:
        for problem in error.problems:
            lines.append(str(problem))
            if problem.hint:
                lines.append(f"  hint: {problem.hint}")
    else:
        lines.append(f"error: {error.code}: {error.message}")
        if isinstance(error, ActionBlocked):
            lines += [
                f"  {reason.code} ({reason.verdict}){f': {reason.remedy}' if reason.remedy else ''}"
                for reason in error.decision.reasons
            ]
        if error.hint:
            lines.append(f"hint: {error.hint}")
    for line in lines:
        click.echo(visible(line), err=True)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    try:
        version = metadata.version("agent-policy-gate")
    except metadata.PackageNotFoundError:
        version = "from a checkout"
    click.echo(f"gate {version}, for OPA {OPA_VERSION}")
    ctx.exit()


@click.group(
    cls=GateGroup,
    context_settings={"auto_envvar_prefix": "GATE", "help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Policy as code for AI agents: governed YAML, reviewed Rego, enforced decisions.

    Results go to stdout, everything else to stderr. Exit codes: 0 allowed or ok, 1 could not decide, 2 usage, 3 denied
    or failed, 4 approval needed, 5 bundle invalid. Every option can be given as a GATE_* environment variable.
    """


for _command in COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """The entry point of the `gate` script; never returns."""
    _open_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Ended by a CI or a closed terminal: what was started and every scratch folder goes away on the way out.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _ended)
    try:
        cli(prog_name="gate")
    except OSError as exc:
        # A file that could not be written is reported where it is written; without a name it is the output.
        if exc.errno != errno.ENOSPC or exc.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still held back has nowhere to go at the end
        _report(GateError("the output could not be written", code="output_unwritable", hint="free some space"))
        raise SystemExit(EXIT_UNDECIDED) from None


def _ended(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _open_streams() -> None:
    """Opens what the caller has closed: the next file opened would otherwise take its place, a store or a key."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdin, sys.stdout, sys.stderr = (
        stream if stream is not None else open(number, mode, closefd=False)  # noqa: SIM115 - for as long as we live
        for number, (stream, mode) in enumerate(((sys.stdin, "r"), (sys.stdout, "w"), (sys.stderr, "w")))
    )
