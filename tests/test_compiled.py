"""Compiled code is stored under names: two compilations under one name would be loaded for each other."""

from __future__ import annotations

import importlib
from collections import defaultdict
from pathlib import Path

from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).resolve().parents[1]


def compiled():
    """Every compiled function of the compiled layers, once."""
    found = {}
    for layer in ("models", "solvers", "reductions"):
        for path in sorted((ROOT / layer).rglob("*.py")):
            if "njit" in path.read_text(encoding="utf-8"):
                module = importlib.import_module(".".join(("kvbound", *path.relative_to(ROOT).with_suffix("").parts)))
                found |= {id(v): v for v in vars(module).values() if isinstance(v, Dispatcher)}
    return list(found.values())


def test_no_two_compiled_functions_share_a_place_in_the_cache():
    places = defaultdict(list)
    for function in compiled():
        f = function.py_func
        places[f.__module__, f.__qualname__, f.__code__.co_firstlineno].append(function)
    shared = {place: len(functions) for place, functions in places.items() if len(functions) > 1}
    assert len(places) > 30
    assert shared == {}


def test_no_kernel_waits_at_a_barrier_of_numbas_own_threads():
    """They cost tens of milliseconds per call on a busy machine; `kvbound.models.threads` does not."""
    assert [f.py_func.__qualname__ for f in compiled() if f.targetoptions.get("parallel")] == []
