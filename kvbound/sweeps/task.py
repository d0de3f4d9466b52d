"""What travels to a worker and back: a cell with its instance as bytes, so that a worker needs no file of ours."""

from __future__ import annotations

import functools
import os
import signal
import socket
import threading
import time
import traceback
from dataclasses import dataclass, replace

from kvbound import __version__
from kvbound.models.errors import KvboundError
from kvbound.models.problem import Problem
from kvbound.sweeps.cell import Cell, Outcome
from kvbound.sweeps.content import unpack_problem
from kvbound.sweeps.store import now


@dataclass(frozen=True, slots=True)
class Instance:
    """A stored instance: what `unpack_problem` takes."""

    n: int
    requests: bytes
    fleet: str
    name: str
    origin: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """A cell on its way.

    Parameters
    ----------
    cell, attempts
        What runs, for which time.
    instance
        What it runs on.
    code
        Text of the policy file that the method names, or None.
    seconds, megabytes
        Limits on the cell, or None.
    isolate
        Run in a process of its own even without limits: an earlier attempt may have killed its worker.
    sweeper
        Process id of the sweep.
    """

    cell: Cell
    attempts: int
    instance: Instance
    code: str | None
    seconds: float | None = None
    megabytes: int | None = None
    isolate: bool = False
    sweeper: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A cell on its way back; no outcome means that Ctrl-C reached it."""

    cell: Cell
    attempts: int
    outcome: Outcome | None


def run_task(task: Task) -> Finished:
    """Run a cell on a worker: in this process, or with limits in one beside it that can be killed."""
    if os.getpid() != task.sweeper and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the sweep, which ends its workers itself
    if os.getppid() == task.sweeper:
        end_with_parent()
    if task.seconds is None and task.megabytes is None and not task.isolate:
        return Finished(task.cell, task.attempts, perform(task))
    from kvbound.sweeps.limits import run_limited

    return Finished(task.cell, task.attempts, run_limited(task))


@functools.cache
def end_with_parent() -> None:
    """From now on this process ends within seconds of its parent: one that is killed cannot tell us to."""
    parent = os.getppid()

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def perform(task: Task) -> Outcome | None:
    """Run a cell here and now; whatever goes wrong becomes its outcome. None: interrupted."""
    started, begin = now(), time.perf_counter()
    outcome = _attempt(task)
    if outcome is None:
        return None
    seconds = time.perf_counter() - begin
    return replace(outcome, seconds=seconds, started=started, finished=now(), host=socket.gethostname())


def _attempt(task: Task) -> Outcome | None:
    if task.cell.version != __version__:
        message = f"the worker {socket.gethostname()} has kvbound {__version__}, the sweep {task.cell.version}"
        return Outcome("failed", error=f"{message}; install the same version everywhere")
    from kvbound.models.threads import limit_threads
    from kvbound.sweeps.work import Interrupted, run_cell

    limit_threads(1)  # a cell has one core, and sums in one order: the same figures everywhere
    try:
        return run_cell(_problem(task.instance), task.cell, task.code)
    except (Interrupted, KeyboardInterrupt):
        return None
    except KvboundError as error:
        return Outcome("failed", error=f"{type(error).__name__}: {error}")
    except MemoryError:
        return Outcome("memory", error="there was not enough memory on the worker")
    except Exception as error:  # one cell must not end a sweep of thousands; the error is kept in its row
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        return Outcome("failed", error=f"internal error, please report: {type(error).__name__}: {error} ({where})")


@functools.lru_cache(maxsize=8)
def _problem(instance: Instance) -> Problem:
    """Cells of one instance follow one another: unpack it once."""
    return unpack_problem(instance.n, instance.requests, instance.fleet, instance.name, instance.origin)
