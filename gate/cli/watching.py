"""`--watch`: reads the records again and again and shows them whenever they changed, until interrupted.

Parses nothing and decides nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import click

from gate.cli.options import Function, option

_T = TypeVar("_T")


def watch_options(function: Function) -> Function:
    """`--watch` and `--interval`, as `watch` and `interval` in seconds."""
    for one in (
        option(
            "--interval",
            type=click.FloatRange(0.1, 3600),
            default=2.0,
            show_default=True,
            envvar="GATE_WATCH_INTERVAL",
            help="Seconds between two looks with --watch.",
        ),
        click.option("--watch", is_flag=True, help="Look again until interrupted, and show what changed."),
    ):
        function = one(function)
    return function


def shown(read: Callable[[], _T], show: Callable[[_T], None], *, watch: bool, interval: float) -> None:
    """Shows what was read; with `watch` again whenever it is something else, until Ctrl-C."""
    last = read()
    show(last)
    if not watch:
        return
    try:
        while True:
            sys.stdout.flush()
            time.sleep(interval)
            found = read()
            if found != last:
                if sys.stdout.isatty():
                    click.clear()
                show(found)
                last = found
    except KeyboardInterrupt:
        # Asked for by whoever watches: the end of watching, not a failure.
        return
