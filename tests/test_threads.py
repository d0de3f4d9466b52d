"""Chunks on threads: the same results, side by side where there are cores, none left running, none in a fork."""

from __future__ import annotations

import os
import threading
from collections import Counter

import numba
import numpy as np
import pytest

from kvbound.instances import load
from kvbound.models import threads as module
from kvbound.models.threads import in_chunks, limit_threads, threads
from kvbound.solvers.bounds import dual as dual_module
from kvbound.solvers.bounds.lagrangian import PriceSearch
from kvbound.solvers.deadline import Deadline


@pytest.fixture(autouse=True)
def three(monkeypatch):
    """Three threads, whatever the machine and the environment say."""
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 3)
    monkeypatch.setattr(module._threads, "pool", None)
    monkeypatch.setattr(module._threads, "most", None)


def test_chunks_run_at_the_same_time_and_answer_in_order():
    together = threading.Barrier(3, timeout=20)

    def kernel(chunk, chunks, base):
        together.wait()  # passes only when all three are here
        return base + chunk, chunks

    assert in_chunks(kernel, 3, 10) == [(10, 3), (11, 3), (12, 3)]


@pytest.mark.parametrize("how", ["limited", "alone", "one core"])
def test_one_thread_does_it_all_when_told(how, monkeypatch):
    if how == "limited":
        limit_threads(1)
    if how == "one core":
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
    seen = in_chunks(lambda chunk, chunks: threading.get_ident(), 3, alone=how == "alone")
    assert Counter(seen) == {threading.get_ident(): 3}
    assert threads() == (3 if how == "alone" else 1)


def test_a_failure_comes_through_after_the_others_have_ended():
    ended = []

    def kernel(chunk, chunks):
        if chunk == 0:
            raise KeyboardInterrupt
        threading.Event().wait(0.2)
        ended.append(chunk)

    with pytest.raises(KeyboardInterrupt):
        in_chunks(kernel, 3)
    assert sorted(ended) == [1, 2]


def test_a_forked_child_has_threads_of_its_own():
    assert in_chunks(lambda chunk, chunks: chunk, 3) == [0, 1, 2]
    child = os.fork()
    if child == 0:
        fine = in_chunks(lambda chunk, chunks: chunk, 3) == [0, 1, 2]
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_dual_is_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(dual_module, "_ALONE_BELOW", 0)
    search = PriceSearch(load("jaillet:seed=3").problem, Deadline())
    search.prices = search.prices * np.random.default_rng(0).uniform(0.5, 1.5, len(search.prices))
    found = []
    for most in (1, 3):
        limit_threads(most)
        point = search.dual.evaluate(search.prices, search.mu)
        found.append((point.soft, point.hard, point.gradient.tolist(), search.dual.best_start.tolist()))
    assert found[0] == found[1]
