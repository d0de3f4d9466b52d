"""A compiled kernel on several threads: one chunk of the work on each.

numba's own parallel loops wake a pool that waits at a barrier, which costs tens of milliseconds per call where other
processes want the cores as well. A kernel that releases Python's lock (`nogil=True`) needs no barrier: the chunks go
to threads that sleep until they are called, and on a busy machine they merely run one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numba


class _Threads:
    """The pool, made when it is first wanted, and how many threads may run at once."""

    def __init__(self) -> None:
        self.most: int | None = None
        self.pool: ThreadPoolExecutor | None = None

    def forget(self) -> None:
        """In a forked child: the threads of the pool have stayed with the parent."""
        self.pool = None


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.forget)


def threads() -> int:
    """How many threads kernels use at most: NUMBA_NUM_THREADS, which is the number of cores unless set."""
    available: int = numba.config.NUMBA_NUM_THREADS
    return available if _threads.most is None else min(available, _threads.most)


def limit_threads(most: int) -> None:
    """Let kernels use `most` ≥ 1 threads at most, in this process and from now on."""
    _threads.most = most


def in_chunks(kernel: Callable[..., Any], chunks: int, *arguments: Any, alone: bool = False) -> list[Any]:
    """Return [kernel(chunk, chunks, *arguments) for chunk in range(chunks)].

    The results do not depend on the number of threads, provided that chunks write to places of their own.

    Parameters
    ----------
    kernel
        Compiled with `nogil=True`.
    alone
        Stay on this thread: waking another one costs about 0.1 ms.
    """
    if alone or chunks == 1 or threads() == 1:
        return [kernel(chunk, chunks, *arguments) for chunk in range(chunks)]
    if _threads.pool is None:
        _threads.pool = ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS, "kvbound")
    elsewhere = [_threads.pool.submit(kernel, chunk, chunks, *arguments) for chunk in range(1, chunks)]
    try:
        here = kernel(0, chunks, *arguments)
    finally:
        # Also on Ctrl-C: nobody may write to the arrays any more when the caller gets them back.
        wait(elsewhere)
    return [here, *(chunk.result() for chunk in elsewhere)]
