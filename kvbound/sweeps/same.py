"""Whether two results files say the same, cell by cell; times, hosts and attempts do not count."""

from __future__ import annotations

from dataclasses import replace

from kvbound.sweeps.cell import Outcome
from kvbound.sweeps.store import ResultStore

_TIMES = {"seconds": 0.0, "started": "", "finished": "", "host": ""}


def differences(one: ResultStore, other: ResultStore) -> list[str]:
    """What differs, a sentence per cell; empty when the files have the same cells with the same contents."""
    left, right = _contents(one), _contents(other)
    found = [f"{key[:12]}…: only in {one.path}" for key in left.keys() - right.keys()]
    found += [f"{key[:12]}…: only in {other.path}" for key in right.keys() - left.keys()]
    for key in left.keys() & right.keys():
        (label, a), (_, b) = left[key], right[key]
        wrong = [name for name in Outcome.__slots__ if getattr(a, name) != getattr(b, name)]
        if wrong:
            found.append(f"{key[:12]}… ({label}): {', '.join(wrong)} differ")
    return sorted(found)


def _contents(store: ResultStore) -> dict[str, tuple[str, Outcome]]:
    return {row.key: (row.cell.label, replace(row.outcome, **_TIMES)) for row in store.cells()}  # type: ignore[arg-type]
