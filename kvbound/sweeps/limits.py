"""Limits on a cell, kept from outside: a process beside the worker runs it and is killed when it goes too far.

The process (`kvbound.sweeps.runner`) lives on from cell to cell, so a limit costs a millisecond, not an import; only
after a kill a new one is started. It is a plain child, not one of `multiprocessing`: workers of Dask are daemons, which
may have none of those, and a fork of a worker with threads is not safe.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from kvbound.sweeps.cell import Outcome
from kvbound.sweeps.store import now
from kvbound.sweeps.task import Task

#: Seconds between two looks at the memory of a cell.
_LOOK = 0.02
#: Seconds for starting a process and loading (after an installation: compiling) what a method needs.
_START = 900.0


class Runner:
    """The process that runs limited cells, one after the other."""

    def __init__(self) -> None:
        self._pipe: Connection
        self._pipe, theirs = Pipe()
        command = [sys.executable, "-m", "kvbound.sweeps.runner", str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL)
        theirs.close()
        self._expect("ready")

    def run(self, task: Task) -> Outcome | None:
        """Run one cell within its limits."""
        self._pipe.send(task)
        self._expect("started")  # loading and compiling are not the cell's
        started, begin = now(), time.monotonic()
        while not self._pipe.poll(self._wait(task, begin)):
            seconds = time.monotonic() - begin
            if task.seconds is not None and seconds >= task.seconds:
                return self._over("timeout", f"stopped at the limit of {task.seconds:g} s", started, seconds)
            held = resident_megabytes(self._process.pid)
            if task.megabytes is not None and held is not None and held > task.megabytes:
                text = f"stopped at {held:,.0f} MB of memory, the limit is {task.megabytes:,} MB"
                return self._over("memory", text, started, seconds)
        outcome = self._pipe.recv()
        assert outcome is None or isinstance(outcome, Outcome)
        return outcome

    def _wait(self, task: Task, begin: float) -> float:
        left = 1.0 if task.seconds is None else max(0.0, task.seconds - (time.monotonic() - begin))
        return min(left, 1.0 if task.megabytes is None else _LOOK)

    def _over(self, status: str, text: str, started: str, seconds: float) -> Outcome:
        self.kill()
        return Outcome(
            "timeout" if status == "timeout" else "memory",
            error=text,
            seconds=seconds,
            started=started,
            finished=now(),
            host=socket.gethostname(),
        )

    def _expect(self, word: str) -> None:
        if not self._pipe.poll(_START):
            raise EOFError
        if self._pipe.recv() != word:
            raise EOFError

    @property
    def alive(self) -> bool:
        """Whether it can run another cell."""
        return self._process.poll() is None

    def fits(self, megabytes: int | None) -> bool:
        """Whether earlier cells have left enough room below a memory limit."""
        held = resident_megabytes(self._process.pid)
        return megabytes is None or held is None or self._fresh or held < 0.5 * megabytes

    _fresh = True

    def used(self) -> None:
        """Say that a cell has run."""
        self._fresh = False

    def kill(self) -> int:
        """End it, whatever it is doing; return its exit code."""
        self._pipe.close()
        self._process.kill()
        return self._process.wait()

    def ending(self) -> str:
        """How a process that broke off has ended, in words."""
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            code = self.kill()
        if code >= 0:
            return f"the process of the cell ended with exit code {code}"
        name = signal.Signals(-code).name
        hint = "; perhaps the machine ran out of memory" if -code == signal.SIGKILL else ""
        return f"the process of the cell was ended by {name}{hint}"


_here = threading.local()  # a worker of Dask may run cells in several threads


def run_limited(task: Task) -> Outcome | None:
    """Run a cell in the process beside this worker, within the limits of the task."""
    begin, started = time.monotonic(), now()
    runner: Runner | None = getattr(_here, "runner", None)
    if runner is not None and (not runner.alive or not runner.fits(task.megabytes)):
        runner.kill()
        runner = None
    try:
        if runner is None:
            runner = _here.runner = Runner()
        outcome = runner.run(task)
        runner.used()
        return outcome
    except (EOFError, OSError):
        text = "the process of the cell could not be started" if runner is None else runner.ending()
        _here.runner = None
        seconds = time.monotonic() - begin
        return Outcome(
            "failed", error=text, seconds=seconds, started=started, finished=now(), host=socket.gethostname()
        )


def resident_megabytes(pid: int) -> float | None:
    """Resident memory of a process in megabytes (10⁶ bytes); None when the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError, ValueError):
        pass
    try:  # macOS
        done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(done.stdout) * 1024 / 1e6
    except (OSError, ValueError):
        return None
