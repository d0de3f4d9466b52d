"""The fleet of docs/routing.md, step by step in plain Python: slow, obviously right, no code of ours inside."""

from __future__ import annotations

from fractions import Fraction


def plain_route(  # type: ignore[no-untyped-def]
    requests: list[tuple[int, int, int]],
    assumed: list[int],
    memory: list[int],
    batch: list[int | None],
    rule: str,
    central: bool,
    svf: bool,
    draw: list[list[float]],
):
    """Return the attempts (request, worker, start, end) in the order in which they began.

    `requests` are (prompt, output, arrival) triples; `draw[i][j]` is the i-th random number of request j.
    """
    n, workers = len(requests), range(len(memory))
    length = list(assumed)
    rank = {j: i for i, j in enumerate(sorted(range(n), key=lambda j: (requests[j][2], j)))}
    running: dict[int, tuple[int, int]] = {}  # request -> (worker, start)
    queue: dict[int, list[int]] = {g: [] for g in workers}
    middle: list[int] = []
    log: list[list[int]] = []
    line: dict[int, int] = {}
    cursor = 0
    done = step = 0

    def key(j):  # type: ignore[no-untyped-def]
        volume = requests[j][0] * length[j] + length[j] * (length[j] + 1) // 2
        return (volume if svf else 0, rank[j])

    def load(g):  # type: ignore[no-untyped-def]
        if rule == "least-kv":
            held = sum(requests[j][0] + step - k for j, (w, k) in running.items() if w == g)
            return Fraction(held + sum(requests[j][0] + length[j] for j in queue[g]), memory[g])
        return sum(1 for w, _ in running.values() if w == g) + len(queue[g])

    def choose(j, eligible):  # type: ignore[no-untyped-def]
        nonlocal cursor
        if rule == "round-robin":
            g = next((g for g in eligible if g >= cursor), eligible[0])
            cursor = (g + 1) % len(memory)
            return g
        if rule == "random":
            return eligible[int(draw[0][j] * len(eligible))]
        if rule == "power-of-2":
            deck = list(eligible)
            for i in range(min(2, len(deck))):
                k = i + int(draw[i][j] * (len(deck) - i))
                deck[i], deck[k] = deck[k], deck[i]
            eligible = deck[:2]
        return min(eligible, key=lambda g: (load(g), g))

    def dispatch(j):  # type: ignore[no-untyped-def]
        queue[choose(j, [g for g in workers if requests[j][0] + length[j] <= memory[g]])].append(j)

    def start(j, g):  # type: ignore[no-untyped-def]
        running[j] = g, step
        line[j] = len(log)
        log.append([j, g, step, step + requests[j][1]])

    while done < n:
        for j, (_, k) in sorted(running.items()):
            if step - k == requests[j][1]:
                del running[j]
                done += 1
        for g in workers:
            while sum(requests[j][0] + step + 1 - k for j, (w, k) in running.items() if w == g) > memory[g]:
                mine = [j for j, (w, _) in running.items() if w == g]
                alone = [j for j in mine if requests[j][0] + step + 1 - running[j][1] > memory[g]]
                # The youngest: latest start, then last in order of arrival.
                j = alone[0] if alone else max(mine, key=lambda j: (running[j][1], rank[j]))
                made = step - running.pop(j)[1]
                log[line[j]][3] = step
                length[j] = max(length[j], made + 1 if alone else made)
                fits_here = requests[j][0] + length[j] <= memory[g]
                (queue[g] if not central and fits_here else middle).append(j)
        if not central:
            for j in sorted(middle, key=key):
                dispatch(j)
            middle.clear()
        for j in sorted((j for j in range(n) if requests[j][2] == step), key=rank.__getitem__):
            if central:
                middle.append(j)
            else:
                dispatch(j)
        while central and middle:
            head = min(middle, key=key)
            room = [g for g in workers if fits(head, step, requests, running, length, g, memory[g], batch[g])]
            if not room:
                break
            middle.remove(head)
            start(head, choose(head, room))
        for g in workers:
            while queue[g]:
                head = min(queue[g], key=key)
                if not fits(head, step, requests, running, length, g, memory[g], batch[g]):
                    break
                queue[g].remove(head)
                start(head, g)
        step += 1
        assert step < 100_000, "no end"
    return [tuple(attempt) for attempt in log]


def volume(prompt, output):  # type: ignore[no-untyped-def]
    """Memory-time of a request."""
    return prompt * output + output * (output + 1) // 2


def fits(head, step, requests, running, length, g, memory, cap):  # type: ignore[no-untyped-def]
    """Whether `head` started now on g keeps memory and batch in every coming step, all lengths being as predicted.

    A request that has outlived its prediction is assumed to complete in the next step.
    """
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


def plain_bid_price(  # type: ignore[no-untyped-def]
    requests: list[tuple[int, int, int]],
    assumed: list[int],
    memory: list[int],
    batch: list[int | None],
    kind: list[int],
    token_price: list[list[float]],
    slot_price: list[list[float]],
    reward,
    hold: bool,
    density: bool = False,
    reserve: int = 0,
):
    """The bid-price router under given prices of the steps 1..H, `price[kind][t]`; `reward(j, start, length)`.

    `density`: in order of density in place of margin; the window of observed columns is the last 1024 arrivals.
    """
    n, workers, horizon = len(requests), range(len(memory)), len(token_price[0]) - 1
    length = list(assumed)
    rank = {j: i for i, j in enumerate(sorted(range(n), key=lambda j: (requests[j][2], j)))}
    running: dict[int, tuple[int, int]] = {}
    waiting: list[int] = []
    log: list[list[int]] = []
    line: dict[int, int] = {}
    done = step = 0

    def margin(j, y, k):  # type: ignore[no-untyped-def]
        if k >= horizon:
            return 0.0
        steps = range(k + 1, min(k + length[j], horizon) + 1)
        price = sum(slot_price[y][t] + (requests[j][0] + t - k) * token_price[y][t] for t in steps)
        return reward(j, k, length[j]) - price

    def kinds_for(j):  # type: ignore[no-untyped-def]
        return sorted({kind[g] for g in workers if requests[j][0] + length[j] <= memory[g]})

    def start(j, g):  # type: ignore[no-untyped-def]
        waiting.remove(j)
        running[j] = g, step
        line[j] = len(log)
        log.append([j, g, step, step + requests[j][1]])

    def densities(seen, best):  # type: ignore[no-untyped-def]
        outputs = sum(assumed[j] for j in seen)
        delay = max(1, outputs // len(seen))
        tokens = sum(volume(requests[j][0], assumed[j]) for j in seen) / outputs
        unit = max(1.0, reward(None, 0, delay)) / delay
        found = {}
        for j in waiting:
            now = reward(j, step, length[j])
            then = reward(j, step + delay, length[j]) if step + delay < horizon else 0.0
            price = now - best[j] + 1e-3 * unit * volume(requests[j][0], length[j]) / tokens
            found[j] = (now - then + delay / horizon * now) / price
        return found

    def soonest(j, g):  # type: ignore[no-untyped-def]
        """First step at which j fits on g beside what runs there as predicted; see `engine.workers.earliest`."""
        if requests[j][0] + length[j] > memory[g]:
            return float("inf")
        mine = [i for i, (w, _) in running.items() if w == g]
        on_time = {i: running[i] for i in mine if running[i][1] + length[i] > step}
        late = len(mine) - len(on_time)
        cap = None if late else batch[g]
        if late and batch[g] is not None and len(mine) >= batch[g]:
            return float("inf")
        k = step
        while not fits(j, k, requests, {i: at for i, at in on_time.items() if at[1] + length[i] > k}, length, g,
                       memory[g], cap):  # fmt: skip
            k += 1
        held = sum(requests[i][0] + k + 1 - running[i][1] for i in mine)
        return k if not late or held + requests[j][0] + 1 <= memory[g] else float("inf")

    while done < n:
        for j, (_, k) in sorted(running.items()):
            if step - k == requests[j][1]:
                del running[j]
                done += 1
        for g in workers:
            while sum(requests[j][0] + step + 1 - k for j, (w, k) in running.items() if w == g) > memory[g]:
                mine = [j for j, (w, _) in running.items() if w == g]
                alone = [j for j in mine if requests[j][0] + step + 1 - running[j][1] > memory[g]]
                j = alone[0] if alone else max(mine, key=lambda j: (running[j][1], rank[j]))
                made = step - running.pop(j)[1]
                log[line[j]][3] = step
                length[j] = max(length[j], made + 1 if alone else made)
                waiting.append(j)
        waiting += [j for j in range(n) if requests[j][2] == step]
        idle, begun = not running, len(log)
        best = {j: max(margin(j, y, step) for y in kinds_for(j)) for j in waiting}
        key = best
        if density and step < horizon and waiting:
            key = densities([j for j in range(n) if requests[j][2] <= step], best)
        closed, left = set(), reserve
        for j in sorted(waiting, key=lambda j: (-key[j], rank[j])):
            if best[j] < 0:
                continue
            able = [g for g in workers if fits(j, step, requests, running, length, g, memory[g], batch[g])]
            if not set(able) - closed and left:
                left -= 1
                when = {g: soonest(j, g) for g in workers}
                if min(when.values()) < float("inf"):
                    closed.add(min(workers, key=lambda g: (when[g], g)))
                continue
            room = [
                (-margin(j, kind[g], step), Fraction(load_of(g, running, requests, step), memory[g]), g)
                for g in workers
                if g in able and g not in closed and margin(j, kind[g], step) >= 0
            ]
            if not room:
                continue
            if hold:
                gaps = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]
                later = [step + 1 + gap for gap in gaps if step + 1 + gap < horizon]
                if any(margin(j, y, k) > max(best[j], 0) for k in later for y in kinds_for(j)):
                    continue
            start(j, min(room)[2])
        if idle and len(log) == begun and waiting:
            first = min(waiting, key=rank.__getitem__)
            start(first, next(g for g in workers if requests[first][0] + length[first] <= memory[g]))
        step += 1
        assert step < 100_000, "no end"
    return [tuple(attempt) for attempt in log]


def load_of(g, running, requests, step):  # type: ignore[no-untyped-def]
    """Tokens that worker g holds at the end of this step."""
    return sum(requests[j][0] + step - k for j, (w, k) in running.items() if w == g)
