"""Routers: all long requests on one worker, or at the head of every queue."""

from __future__ import annotations

import numpy as np

from kvbound.instances.adversarial.families.base import Family, Member, memory, triangle
from kvbound.instances.adversarial.families.fcfs import fcfs
from kvbound.instances.parameters import Parameter
from kvbound.models.requests import Requests
from kvbound.models.schedule import Schedule


def uneven(memory: int, workers: int = 2, rounds: int = 20) -> Member:
    """Rounds of one (0, M) and G − 1 × (M − 1, 1) for G workers, equal peaks: the long ones all meet on one worker → G.

    All wait at step 0 and are dispatched in turn: Round-Robin sends request i to worker i mod G. So does LOR, which
    counts requests and takes the lowest index among equals, and so does least-KV, as all peaks are M. Every request
    fills a worker, so worker 0 takes M·K steps and TEL = M·K(K + 1)/2 + (G − 1)·K(K + 1)/2. The reference spreads the
    short ones and then the long ones over all workers: Σ⌈i/G⌉ over (G − 1)K short ones, at most K steps, then M·Σ⌈i/G⌉
    over K long ones. With M, K → ∞ the ratio tends to G.
    """
    short = (workers - 1) * rounds
    one_round = np.array([[0, memory]] + [[memory - 1, 1]] * (workers - 1), dtype=np.int64)
    lengths = np.tile(one_round, (rounds, 1))
    long = lengths[:, 1] == memory if memory > 1 else np.arange(len(lengths)) % workers == 0
    start, place = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    first = np.arange(short, dtype=np.int64)
    then = np.arange(rounds, dtype=np.int64)
    # The long ones go to the workers that are free first.
    place[~long], start[~long] = first % workers, first // workers
    turn = (short + then) % workers
    steps = np.array([-(-(short - g) // workers) for g in range(workers)], dtype=np.int64)
    place[long], start[long] = turn, steps[turn] + memory * (then // workers)
    reference = int((start + lengths[:, 1]).sum())
    return Member(
        Requests(lengths[:, 0], lengths[:, 1]),
        memory,
        Schedule(start, place),
        reference,
        (memory + workers - 1) * triangle(rounds),
        workers=workers,
    )


def queues(memory: int, workers: int = 2, long: int = 2, short: int | None = None) -> Member:
    """The family `fcfs` with every request G times over: each worker's FIFO queue is an instance of it, about M/4.

    Equal requests are dispatched in turn, as all wait at step 0: by Round-Robin anyway, by LOR and least-KV since the
    queues differ by at most one request and ties go to the lowest index. So every worker does what FCFS does on its
    copy, and in the reference what the better schedule does: both TELs are G times those of `fcfs`.
    """
    one = fcfs(memory, long, short)
    assert one.policy_tel is not None
    n = len(one.requests)
    return Member(
        Requests(np.repeat(one.requests.prompt, workers), np.repeat(one.requests.output, workers)),
        memory,
        Schedule(np.repeat(one.reference.start, workers), np.tile(np.arange(workers, dtype=np.int64), n)),
        workers * one.reference_tel,
        workers * one.policy_tel,
        workers=workers,
    )


FAMILIES = (
    Family(
        "routers",
        "requests of equal peak, the long ones all in turn of one worker",
        ("round-robin", "lor", "least-kv"),
        "G (M, K → ∞)",
        (
            memory(196, 2),
            Parameter("workers", "int", 2, "workers G", 1, 1000),
            Parameter("rounds", "int", 20, "rounds K", 1, 10**5),
        ),
        uneven,
    ),
    Family(
        "routers:fifo",
        "the family fcfs for each worker's own queue",
        ("round-robin", "lor", "least-kv"),
        "≈ M/4 (L → ∞: M/√2)",
        (
            memory(196, 4),
            Parameter("workers", "int", 2, "workers G", 1, 1000),
            Parameter("long", "int", 2, "number L of long requests per worker", 1, 10**5),
            Parameter("short", "int", None, "number k of short requests per worker (default √2·M)", 1, 10**6),
        ),
        queues,
    ),
)
