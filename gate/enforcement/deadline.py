"""Runs a tool body under a deadline. A body that overstays is given up, not killed: Python cannot stop a thread.

Its effect is then unknown, and its late result is thrown away.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from gate.enforcement.outcome import EffectNotStarted, EffectOutcomeUnknown


def run_with_deadline(body: Callable[[], Any], timeout_seconds: int) -> Any:
    """The result of `body`, or its exception; raises `EffectOutcomeUnknown` after `timeout_seconds`.

    The body sees the caller's context variables. Raises `EffectNotStarted` when no thread could be had for it.
    """
    results: list[Any] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(body())
        except BaseException as exc:  # noqa: BLE001 - carried over to the caller's thread and raised there
            errors.append(exc)

    # A daemon: a hung tool must not keep the process from ending.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(target,), name="gate-tool", daemon=True)
    try:
        thread.start()
    except RuntimeError as exc:
        raise EffectNotStarted("no thread could be started for the tool") from exc
    thread.join(timeout_seconds)
    if errors:
        raise errors[0]
    if results:
        return results[0]
    raise EffectOutcomeUnknown(
        f"the tool did not answer within {timeout_seconds} s",
        hint="reconcile the effect before anything else",
    )
