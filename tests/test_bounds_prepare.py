"""Compiling must not eat a deadline: `prepare` reaches every kernel of the bounds, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kvbound.solvers.bounds import METHODS

SCRIPT = """
import gc, sys
from numba.core.dispatcher import Dispatcher
from kvbound.instances import load
from kvbound.solvers.bounds import bound, prepare
from kvbound.solvers.deadline import Deadline

def compiled():
    return {
        (d.py_func.__module__, d.py_func.__name__, str(signature))
        for d in gc.get_objects() if isinstance(d, Dispatcher) for signature in d.signatures
    }

method = sys.argv[1]
prepare(method)
before = compiled()
for source in ("tiny:n=8,seed=1", "tiny:n=9,seed=0"):
    bound(load(source).problem, method, deadline=Deadline(5.0))
print(len(before), sorted(compiled() - before))
"""


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("volume", "positional")])
def test_prepare_reaches_every_kernel(method: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, method], capture_output=True, text=True, check=True, timeout=600
    )
    number, new = done.stdout.split(maxsplit=1)
    assert int(number) >= 1
    assert new.strip() == "[]"
