"""The fleet loop of the bid-price router: to the next decision, one decision, and on."""

from __future__ import annotations

from numba import njit

from kvbound.solvers.engine.state import ARRIVAL, ARRIVED, ASSUMED, BY_ARRIVAL, COUNT, NEVER, NOW, PROMPT, USED, WAKE
from kvbound.solvers.engine.workers import evict, overflows, settle, victim, wake_time
from kvbound.solvers.routers.admission import admit, force
from kvbound.solvers.routers.learning import add_up, learn, look_ahead, normaliser_of, observe, shift
from kvbound.solvers.routers.loop import next_arrival
from kvbound.solvers.routers.prices import ADMITTED, DECISIONS, FILLED, HALVINGS, LAST, SUM_OUTPUT, WAITS

#: Why `next_decision` came back: all done, a decision is due, the log is too short for all that wait.
DONE, DECIDE, LOG_FULL = range(3)


@njit(cache=True)
def _wait(pr, j):  # type: ignore[no-untyped-def]
    pr.waiting[pr.at[WAITS]] = j
    pr.at[WAITS] += 1


@njit(cache=True)
def arrive(st, pr, now):  # type: ignore[no-untyped-def]
    """Let everything that has arrived by `now` wait, and remember its column."""
    while next_arrival(st) <= now:
        j = st.job[BY_ARRIVAL, st.clock[ARRIVED]]
        st.clock[ARRIVED] += 1
        observe(pr, st.job[PROMPT, j], st.job[ASSUMED, j], st.job[ARRIVAL, j])
        _wait(pr, j)


@njit(cache=True)
def next_decision(st, pr, period, fresh):  # type: ignore[no-untyped-def]
    """Go on to the next step at which something waits and something may have changed.

    `fresh`: arrivals up to the present step may not have been seen yet, so it may be the step itself.
    """
    now = st.clock[NOW]
    while True:
        if fresh:
            arrive(st, pr, now)
            st.clock[NOW] = now
            if pr.at[WAITS] > 0:
                return LOG_FULL if st.clock[USED] + pr.at[WAITS] > st.log.shape[1] else DECIDE
        fresh = True
        following = next_arrival(st)
        if pr.at[WAITS] > 0:
            following = min(following, now + period)
        for g in range(len(st.worker)):
            following = min(following, st.worker[g, WAKE])
        if following == NEVER:
            return DONE
        now = following
        for g in range(len(st.worker)):
            if st.worker[g, WAKE] > now:
                continue
            settle(st, g, now)
            while overflows(st, g, now):
                _wait(pr, evict(st, g, victim(st, g, now, True), now))
            st.worker[g, WAKE] = wake_time(st, g, True)


@njit(cache=True)
def _running(st):  # type: ignore[no-untyped-def]
    total = 0
    for g in range(len(st.worker)):
        total += st.worker[g, COUNT]
    return total


@njit(cache=True)
def decide(  # type: ignore[no-untyped-def]
    st, pr, limit, steps, rate, sample, slack, gain, unit, halve, hold, order, reserve, scaled
):
    """One period of the online router: occupancy, prices, admission. `scaled` has the planning horizon in front."""
    now = st.clock[NOW]
    last = pr.table.shape[2] - 1
    passed = min(now - pr.at[LAST], last)
    if passed > 0:
        shift(pr, passed)
    pr.at[LAST] = now
    if unit <= 0:
        unit = normaliser_of(pr, scaled)
    look_ahead(st, pr, now)
    learn(st, pr, limit, now, steps, rate, sample, gain, unit, scaled)
    add_up(pr)
    waits, running = pr.at[WAITS], _running(st)
    mean_reward = unit * (pr.at[SUM_OUTPUT] / max(1, pr.at[FILLED]))
    threshold = -slack * waits / (waits + running) * mean_reward
    left = admit(st, pr, limit, now, now, threshold, hold, order, reserve, unit, scaled)
    if halve and left and pr.at[ADMITTED] == 0:
        pr.table[:] = pr.table * 0.5
        pr.at[HALVINGS] += 1
    if pr.at[ADMITTED] == 0 and running == 0:
        force(st, pr, now)
    pr.at[DECISIONS] += 1


@njit(cache=True)
def decide_fixed(st, pr, limit, hold, order, reserve, scaled):  # type: ignore[no-untyped-def]
    """One period under given prices of the steps 1..H."""
    now = st.clock[NOW]
    running = _running(st)
    admit(st, pr, limit, now, 0, 0.0, hold, order, reserve, normaliser_of(pr, scaled), scaled)
    if pr.at[ADMITTED] == 0 and running == 0:
        force(st, pr, now)
    pr.at[DECISIONS] += 1
