"""The process that runs cells under limits: `python -m kvbound.sweeps.runner FD`, from `kvbound.sweeps.limits`."""

from __future__ import annotations

import functools
import os
import signal
import sys
from dataclasses import replace
from multiprocessing.connection import Connection

from kvbound.models.errors import KvboundError
from kvbound.sweeps.cell import Cell
from kvbound.sweeps.task import Task, end_with_parent, perform

#: Seconds after its time limit at which a cell ends even if nobody is left to kill it.
_GRACE = 5.0


def main(descriptor: int) -> None:
    """Serve cells from a pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the sweep
    os.dup2(2, 1)  # what solvers and users print must not look like an answer of the command
    end_with_parent()
    import kvbound.sweeps.work  # noqa: F401 - loaded before any clock starts

    pipe = Connection(descriptor)
    pipe.send("ready")
    while True:
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        _warm(task.cell.kind, task.cell.method, task.code is not None)
        pipe.send("started")
        # The kernel ends us at this alarm, even inside native code: Python has no handler to wait for.
        if task.seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, task.seconds + _GRACE)
        outcome = perform(task)
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            pipe.send(outcome)
        except (BrokenPipeError, ConnectionResetError):
            return


@functools.cache
def _warm(kind: str, method: str, own: bool) -> None:
    """Load, or compile, what a method needs; a user's rule is never called twice, and errors come when it counts."""
    import numpy as np

    from kvbound.models.fleet import Fleet
    from kvbound.models.problem import Problem
    from kvbound.models.requests import Requests
    from kvbound.solvers.exact import prepare as prepare_exact
    from kvbound.solvers.search import prepare as prepare_search
    from kvbound.sweeps.work import run_cell

    tiny = Problem(Requests(np.array([1, 2, 3]), np.array([2, 1, 2])), Fleet((8,)))
    try:
        if kind == "exact":
            prepare_exact(method)
        elif kind == "search":
            prepare_search()
        cell = Cell("", 0, {}, "", kind, "fcfs" if own else method, {"time_limit": 5.0})  # type: ignore[arg-type]
        run_cell(tiny, replace(cell, options={"moves": 10}) if kind == "search" else cell)
    except KvboundError:
        pass  # not for this instance; the cell's own is another


if __name__ == "__main__":
    main(int(sys.argv[1]))
