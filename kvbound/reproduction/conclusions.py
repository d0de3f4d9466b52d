"""Sentences about the rows of an experiment, made of its figures: which reading gives what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvbound.reproduction.findings import Published, Row

#: An interval wider than the effect says nothing. A mean gives a published number outside its interval when it is at
#: most this far away, relative to the effect (ratio − 1, or the change in per cent); a worst case of a number of
#: trials, this far.
CLOSE, CLOSE_WORST = 0.05, 0.2
#: Most settings that are named in a cell.
_NAMED = 3


def gives(row: Row) -> bool:
    """Whether ours gives the published figure: in its range, in an interval no wider than the effect, or close."""
    if row.published is None:
        return False
    low, high, ours_ = row.published.low, row.published.high, row.ours
    middle = (low + high) / 2
    effect = abs(middle - 1) if row.unit == "" else abs(middle)
    half = ours_.half or 0.0
    if half <= effect and ours_.value - half <= high and low <= ours_.value + half:
        return True
    if low < high and low <= ours_.value <= high:
        return True
    return abs(ours_.value - middle) <= (CLOSE_WORST if ours_.statistic == "max" else CLOSE) * effect


def explained(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows; where a stated setting does not give the published figure, `why` says which readings do."""
    done = []
    for row in rows:
        if row.role == "stated" and row.published is not None and not gives(row):
            others = [r for r in rows if r.role in ("reading", "traces") and r.published == row.published]
            found = [r for r in others if r.figure == row.figure and gives(r)]
            if found:
                named = "; ".join(f"{r.setting} ({ours(r)})" for r in found[:_NAMED])
                more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
                row = replace(row, why=f"{row.why}. The published figure comes out with: {named}{more}")
            elif others:
                row = replace(row, why=f"{row.why}. No reading that was tried gives the published figure")
        done.append(row)
    return tuple(done)


def conclude(rows: Sequence[Row]) -> Iterator[str]:
    """Say what the rows show; only what follows from their numbers."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.published is not None:
            groups.setdefault((row.setting, row.series), []).append(row)
    claims: dict[tuple[Published | None, ...], dict[tuple[str, str], list[Row]]] = {}
    for key, group in groups.items():
        if len(group) > 1:
            claims.setdefault(tuple(row.published for row in group), {})[key] = group
    for tried in claims.values():
        yield from _verdict(tried)
    curves: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.role == "sensitivity":
            curves.setdefault((row.series, row.figure), []).append(row)
    for (series, name), group in curves.items():
        least, most = min(group, key=lambda r: r.ours.value), max(group, key=lambda r: r.ours.value)
        if least is not most:
            yield f"{series}, {name}: from {ours(least)} ({least.setting}) to {ours(most)} ({most.setting})."


def _verdict(tried: dict[tuple[str, str], list[Row]]) -> Iterator[str]:
    """Which of the settings tried gives all of one set of published figures, or the most of them."""
    full = [f"{series}: {setting}" for (setting, series), group in tried.items() if all(map(gives, group))]
    claim = ", ".join(f"{row.figure} {figure(row)}" for row in next(iter(tried.values())))
    if full:
        more = f" (and {len(full) - _NAMED} more)" if len(full) > _NAMED else ""
        yield f"All of {claim} come out for {'; for '.join(full[:_NAMED])}{more}."
        return
    (setting, series), best = max(tried.items(), key=lambda item: sum(map(gives, item[1])))
    met = [f"{row.figure} ({ours(row)})" for row in best if gives(row)]
    missed = [f"{row.figure} ({ours(row)})" for row in best if not gives(row)]
    yield f"No setting that was tried gives all of {claim} at once."
    if met:
        yield f"The nearest, {series}: {setting}, gives {', '.join(met)}, but not {', '.join(missed)}."


def figure(row: Row) -> str:
    """The published figure as text."""
    if row.published is None:
        return "–"
    low, high = number(row.published.low, row.unit), number(row.published.high, row.unit)
    return low if low == high else f"{low} to {high}"


def ours(row: Row) -> str:
    """Our figure with its interval as text."""
    text, half = number(row.ours.value, row.unit), row.ours.half
    if half is None:
        return text
    digits = {"%": 2, "share": 0}.get(row.unit, 3)
    return f"{text} ± {(100 if row.unit == 'share' else 1) * half:.{digits}f}"


def number(value: float, unit: str) -> str:
    """A number in its unit."""
    if unit == "%":
        return f"{value:+.2f} %"
    return f"{100 * value:.0f} %" if unit == "share" else f"{value:.3f}"
