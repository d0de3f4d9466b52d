"""The waiting requests: a binary heap by (key, index), and for plans a window of the first few beside it."""

from __future__ import annotations

from numba import njit

from kvbound.solvers.engine.state import ASSUMED, HEAPED, PLAN_AT, PLANNED, PROMPT, WINDOW


@njit(cache=True)
def _before(st, i, key, item):  # type: ignore[no-untyped-def]
    """Whether entry i of the heap comes before (key, item)."""
    return st.heap[0, i] < key or (st.heap[0, i] == key and st.heap[1, i] < item)


@njit(cache=True)
def push(st, key, item):  # type: ignore[no-untyped-def]
    """Insert into the heap."""
    i = st.clock[HEAPED]
    st.clock[HEAPED] = i + 1
    while i > 0:
        up = (i - 1) // 2
        if _before(st, up, key, item):
            break
        st.heap[0, i], st.heap[1, i] = st.heap[0, up], st.heap[1, up]
        i = up
    st.heap[0, i], st.heap[1, i] = key, item


@njit(cache=True)
def pop(st):  # type: ignore[no-untyped-def]
    """Remove and return the least of the heap."""
    least = st.heap[1, 0]
    size = st.clock[HEAPED] - 1
    st.clock[HEAPED] = size
    key, item = st.heap[0, size], st.heap[1, size]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        right = down + 1
        if right < size and _before(st, right, st.heap[0, down], st.heap[1, down]):
            down = right
        if not _before(st, down, key, item):
            break
        st.heap[0, i], st.heap[1, i] = st.heap[0, down], st.heap[1, down]
        i = down
    if size > 0:
        st.heap[0, i], st.heap[1, i] = key, item
    return least


@njit(cache=True)
def enter_window(st, j):  # type: ignore[no-untyped-def]
    """Let j wait for a plan: in the window if it is among the first by (score, index), else in the heap.

    The plan in force, if any, is void. O(window + log n).
    """
    st.clock[PLANNED] = st.clock[PLAN_AT] = 0
    score = float(st.job[ASSUMED, j]) * float(st.job[PROMPT, j] + st.job[ASSUMED, j])
    st.score[j] = score
    size = st.clock[WINDOW]
    if size < st.window.shape[1]:
        st.window[0, size] = j
        st.clock[WINDOW] = size + 1
        return
    last = 0
    for i in range(1, size):
        a, b = st.window[0, i], st.window[0, last]
        if st.score[a] > st.score[b] or (st.score[a] == st.score[b] and a > b):
            last = i
    worst = st.window[0, last]
    if score < st.score[worst] or (score == st.score[worst] and j < worst):
        st.window[0, last] = j
        j = worst
    push(st, st.score[j], j)


@njit(cache=True)
def leave_window(st, j):  # type: ignore[no-untyped-def]
    """Take j, which starts, out of the window; the first of the heap moves up."""
    size = st.clock[WINDOW]
    for i in range(size):
        if st.window[0, i] == j:
            if st.clock[HEAPED] > 0:
                st.window[0, i] = pop(st)
            else:
                st.window[0, i] = st.window[0, size - 1]
                st.clock[WINDOW] = size - 1
            return
