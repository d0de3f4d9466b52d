"""Deadlines: shares, and Ctrl-C as an end that lets the work return what it has."""

from __future__ import annotations

import os
import signal

import pytest

from kvbound.checkers import verify
from kvbound.comparison import prove_bound
from kvbound.instances import load
from kvbound.solvers.deadline import Deadline, until_interrupted
from kvbound.solvers.progress import Progress

pytestmark = pytest.mark.usefixtures("compiled_bounds")


def test_a_share_ends_with_the_whole() -> None:
    with until_interrupted(None) as deadline:
        part = deadline.share(0.5).share(0.5, most=1000.0)
        assert not part.passed
        assert deadline.remaining is None
        os.kill(os.getpid(), signal.SIGINT)
        assert deadline.stopped
        assert part.passed
        assert deadline.remaining == 0.0
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):  # as before
        os.kill(os.getpid(), signal.SIGINT)
    assert not Deadline(10.0).passed
    assert Deadline(0.0).passed


def test_ctrl_c_keeps_the_best_bound_so_far() -> None:
    problem, told = load("jaillet:seed=0").problem, []

    def watch(event: Progress) -> None:
        if event.bound is not None and event.bound > 8136 and not told:  # more than memory prices prove
            told.append(event.bound)
            os.kill(os.getpid(), signal.SIGINT)

    proved, _ = prove_bound(problem, "sequence", time_limit=3600, seed=0, progress=watch)
    assert proved.termination == "interrupted"
    assert proved.value is not None
    assert proved.value >= told[0]
    assert proved.certificate is not None
    assert verify(problem, proved.certificate) == proved.value
