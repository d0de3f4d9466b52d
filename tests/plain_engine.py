"""Execution under uncertain lengths, step by step in plain Python: slow, obviously right, no code of ours inside.

It follows docs/policies.md, "Execution and uncertainty", sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Callable


def plain_execute(
    requests: list[tuple[int, int, int]],
    assumed: list[int],
    rank: list[int],
    memory: list[int],
    batch: list[int | None],
    evict: str,
    queue: str,
    plan: Callable[[list[int], list[int]], list[int]] | None = None,
) -> list[tuple[int, int, int, int]]:
    """Return the attempts (request, worker, start, end) in the order in which they began.

    `requests` are (prompt, output, arrival) triples; `plan` maps the waiting requests and all lengths to a batch.
    """
    n = len(requests)
    length = list(assumed)
    running: dict[int, tuple[int, int]] = {}  # request -> (worker, start)
    log: list[list[int]] = []
    line: dict[int, int] = {}
    waiting: set[int] = set()
    batch_planned: list[int] = []
    done = 0
    step = 0
    while done < n:
        changed = False
        # 1. What has made all its tokens is complete.
        for j, (_, start) in sorted(running.items()):
            if step - start == requests[j][1]:
                del running[j]
                done += 1
                changed = True
            elif step - start == length[j]:
                changed = True  # outlives its length from here on
        # 2. Workers that would overflow in the next step evict.
        for g in range(len(memory)):
            while sum(requests[j][0] + step + 1 - k for j, (w, k) in running.items() if w == g) > memory[g]:
                mine = [j for j, (w, _) in running.items() if w == g]
                j = choose(mine, requests, running, length, rank, memory[g], evict, step)
                start = running.pop(j)[1]
                log[line[j]][3] = step
                made = step - start
                outgrown = requests[j][0] + made + 1 > memory[g]
                length[j] = max(length[j], made + 1 if outgrown else made)
                waiting.add(j)
                changed = True
        # 3. Arrivals.
        for j in range(n):
            if requests[j][2] == step:
                waiting.add(j)
                changed = True
        if changed:
            batch_planned = []
        # 4. Starts, strictly in order.
        while waiting:
            if queue == "plan":
                if not batch_planned:
                    assert plan is not None
                    batch_planned = list(plan(sorted(waiting), length))
                head = batch_planned[0]
            else:
                head = min(waiting, key=lambda j: rank[j] if queue == "order" else (length[j], j))
            worker = next(
                (g for g in range(len(memory)) if fits(head, g, step, requests, running, length, memory[g], batch[g])),
                None,
            )
            if worker is None:
                break
            waiting.remove(head)
            if queue == "plan":
                batch_planned.pop(0)
            running[head] = worker, step
            line[head] = len(log)
            log.append([head, worker, step, step + requests[head][1]])
        step += 1
        assert step < 100_000, "no end"
    return [tuple(attempt) for attempt in log]  # type: ignore[misc]


def choose(mine, requests, running, length, rank, memory, evict, step):  # type: ignore[no-untyped-def]
    """Who is evicted: one too large for the worker by itself, else the youngest or the one of least current bound."""
    for j in mine:
        if requests[j][0] + step + 1 - running[j][1] > memory:
            return j

    def key(j):  # type: ignore[no-untyped-def]
        start = running[j][1]
        age = step - start
        bound = age + 1 if age >= length[j] else length[j]
        return ((bound,) if evict == "bound" else ()) + (-start, -rank[j])

    return min(mine, key=key)


def fits(head, g, step, requests, running, length, memory, cap):  # type: ignore[no-untyped-def]
    """Whether `head` started now keeps memory and batch in every coming step, all lengths being what is assumed."""
    ends = {j: max(k + length[j], step + 1) for j, (w, k) in running.items() if w == g}
    starts = {j: running[j][1] for j in ends}
    ends[head], starts[head] = step + length[head], step
    for t in range(step + 1, max(ends.values()) + 1):
        active = [j for j in ends if ends[j] >= t]
        if sum(requests[j][0] + t - starts[j] for j in active) > memory:
            return False
        if cap is not None and len(active) > cap:
            return False
    return True
