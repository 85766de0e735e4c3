"""Who may be inside the database now: one writer a process, nobody while the process forks.

Knows neither SQL nor records. A child of a fork that inherited an open SQLite file believes it holds locks
which it does not hold, and its commits can vanish; so every connection is closed before a fork, and a child
that was forked any other way is refused.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gate.errors import StoreError


class Turnstile:
    """Counts the transactions of one store in this process. Safe to share between threads."""

    def __init__(self, *, timeout_ms: int, close_connections: Callable[[], None] | None) -> None:
        self._timeout = timeout_ms / 1000
        self._close_connections = close_connections
        """None for a store in memory: closing would lose it, and no child may use a copy of it."""
        self._pid = os.getpid()
        self._condition = threading.Condition()
        self._active = 0
        self._writing = False
        self._frozen = False
        self._drained = False
        self._closed = False
        _turnstiles.add(self)

    @contextmanager
    def inside(self, *, alone: bool) -> Iterator[None]:
        """Holds a place for one transaction; at most one holder is `alone`.

        Raises `StoreError`: `store_locked` after the busy timeout, `store_unavailable` when closed or wrongly
        forked.
        """
        if os.getpid() != self._pid:
            raise StoreError(
                "the store was opened in another process",
                code="store_unavailable",
                hint="open it after the fork",
            )
        with self._condition:
            if not self._condition.wait_for(lambda: self._free(alone), self._timeout):
                raise StoreError(
                    "another thread holds the database", code="store_locked", hint="try again when it is done"
                )
            if self._closed:
                raise StoreError("the store is closed", code="store_unavailable", hint="open it again")
            self._active += 1
            self._writing = self._writing or alone
        try:
            yield
        finally:
            with self._condition:
                self._active -= 1
                if alone:
                    self._writing = False
                self._condition.notify_all()

    def close(self) -> None:
        """Lets the transactions inside finish (up to the busy timeout) and nobody in any more."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._active == 0, self._timeout)

    def _free(self, alone: bool) -> bool:
        return self._closed or (not self._frozen and not (alone and self._writing))

    def _before_fork(self) -> None:
        with self._condition:
            self._condition.wait_for(lambda: not self._frozen, self._timeout)
            self._frozen = True
            empty = self._condition.wait_for(lambda: self._active == 0, self._timeout)
        self._drained = empty and self._close_connections is not None
        if self._drained and self._close_connections is not None:
            self._close_connections()

    def _after_fork_in_parent(self) -> None:
        with self._condition:
            self._frozen = self._drained = False
            self._condition.notify_all()

    def _after_fork_in_child(self) -> None:
        self._condition = threading.Condition()
        self._active, self._writing, self._frozen = 0, False, False
        if self._drained:
            self._pid = os.getpid()
        self._drained = False


_turnstiles: weakref.WeakSet[Turnstile] = weakref.WeakSet()


def _each(step: Callable[[Turnstile], None]) -> Callable[[], None]:
    def run() -> None:
        for turnstile in tuple(_turnstiles):
            step(turnstile)

    return run


os.register_at_fork(
    before=_each(Turnstile._before_fork),
    after_in_parent=_each(Turnstile._after_fork_in_parent),
    after_in_child=_each(Turnstile._after_fork_in_child),
)
