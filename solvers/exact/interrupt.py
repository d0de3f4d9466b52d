"""Run native code so that Ctrl-C asks it to stop instead of being lost until it returns."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Call(threading.Thread, Generic[T]):
    def __init__(self, run: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self._run_it = run
        self.value: list[T] = []
        self.error: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self.value.append(self._run_it())
        except BaseException as error:  # carried over to the caller's thread and raised there
            self.error = error
        finally:
            self.done.set()


def interruptible(run: Callable[[], T], stop: Callable[[], None]) -> tuple[T, bool]:
    """Run `run` in a thread; on Ctrl-C call `stop` and wait for `run` to return what it has.

    Native solvers release the interpreter while they run, but Python delivers a signal only between two
    instructions of the main thread, so the main thread has to be free. Returns (value, interrupted).
    """
    call = _Call(run)
    call.start()
    interrupted = False
    # An event and not `join`: interrupted while it waits, `Thread.join` of Python 3.11 takes the thread for finished.
    while not call.done.is_set():
        try:
            call.done.wait(0.1)
        except KeyboardInterrupt:
            interrupted = True
            stop()
    if call.error is not None:
        raise call.error
    return call.value[0], interrupted


@contextmanager
def noticing_interrupts() -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C, also when the work in between swallows the `KeyboardInterrupt` and ends early.

    Outside the main thread signals belong to somebody else, and the event stays unset.
    """
    hit = threading.Event()
    before: Any = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        hit.set()
        if callable(before):
            before(number, frame)

    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:
        yield hit
        return
    try:
        yield hit
    finally:
        signal.signal(signal.SIGINT, before)
