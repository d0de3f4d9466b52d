"""Run native code so that Ctrl-C asks it to stop instead of being lost until it returns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class _Call(threading.Thread, Generic[T]):
    def __init__(self, run: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self._run_it = run
        self.value: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value.append(self._run_it())
        except BaseException as error:  # carried over to the caller's thread and raised there
            self.error = error


def interruptible(run: Callable[[], T], stop: Callable[[], None]) -> tuple[T, bool]:
    """Run `run` in a thread; on Ctrl-C call `stop` and wait for `run` to return what it has.

    Native solvers release the interpreter while they run, but Python delivers a signal only between two
    instructions of the main thread, so the main thread has to be free. Returns (value, interrupted).
    """
    call = _Call(run)
    call.start()
    interrupted = False
    while call.is_alive():
        try:
            call.join(0.1)
        except KeyboardInterrupt:
            interrupted = True
            stop()
    if call.error is not None:
        raise call.error
    return call.value[0], interrupted
