"""Compiling must not eat a time limit: `prepare` reaches every kernel that Python calls.

In a process of its own, since in this one other tests may have called the kernels before.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import importlib, pkgutil, sys
import kvbound.solvers.exact.patterns as patterns
import kvbound.solvers.exact.search as package
from kvbound.solvers.exact import SolveConfig, prepare, solve
from kvbound.instances import load

def compiled():
    modules = [importlib.import_module(f"{package.__name__}.{i.name}") for i in pkgutil.iter_modules(package.__path__)]
    return {
        (module.__name__, name, str(signature))
        for module in (*modules, patterns) for name, value in vars(module).items()
        for signature in getattr(value, "signatures", ())
    }

method = sys.argv[1]
prepare(method)
before = compiled()
for source in ("tiny:n=8,seed=1", "tiny:n=9,seed=0"):
    solve(load(source).problem, method=method, config=SolveConfig(threads=1))
print(len(before), sorted(compiled() - before))
"""


@pytest.mark.parametrize("method", ["search", "auto"])
def test_prepare_reaches_every_kernel(method: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, method], capture_output=True, text=True, check=True, timeout=600
    )
    number, new = done.stdout.split(maxsplit=1)
    assert int(number) >= 6
    assert new.strip() == "[]"
