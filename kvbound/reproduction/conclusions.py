"""Sentences about the rows of an experiment, made of its figures: which reading gives what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvbound.reproduction.findings import Row

#: A reading "gives" a published figure when it is at most this far away, relative to it.
CLOSE = 0.05


def conclude(name: str, rows: Sequence[Row]) -> Iterator[str]:
    """Say what the rows show; only what follows from their numbers."""
    stated = [row for row in rows if row.role == "stated" and row.published is not None]
    for row in stated:
        yield f"{row.figure}: published {figure(row)}, ours {ours(row)} in the setting as stated: {row.verdict}."
    if name.startswith("sorted-f-") and name != "sorted-f-gap":
        yield from extremes(rows)
    readings = [row for row in rows if row.role in ("stated", "reading", "traces") and row.published is not None]
    by_setting: dict[str, list[Row]] = {}
    for row in readings:
        by_setting.setdefault(row.setting, []).append(row)
    matched = [
        setting for setting, group in by_setting.items() if len(group) > 1 and all(explained(row) for row in group)
    ]
    if len(by_setting) > 1:
        if matched:
            yield "All published figures of a setting come out (inside our interval, the range of our seeds, or within 5 %) in: "\
                + "; ".join(matched) + "."  # fmt: skip
        else:
            yield "No setting that was tried gives all published figures at once."
            best = max(by_setting.items(), key=lambda item: sum(explained(row) for row in item[1]))
            met = [row.figure for row in best[1] if explained(row)]
            if met:
                yield f"The nearest is {best[0]}: it gives {', '.join(met)}, and not the rest."


def extremes(rows: Sequence[Row]) -> Iterator[str]:
    """The least and the largest of each figure along a curve."""
    by_figure: dict[str, list[Row]] = {}
    for row in rows:
        by_figure.setdefault(row.figure, []).append(row)
    for name, group in by_figure.items():
        least, most = min(group, key=lambda r: r.ours.value), max(group, key=lambda r: r.ours.value)
        yield f"{name} lies between {ours(least)} ({least.setting}) and {ours(most)} ({most.setting})."


def explained(row: Row) -> bool:
    """Whether ours gives the published figure: inside a range or an interval, or within 5 % of it."""
    if row.published is None or row.verdict is None:
        return False
    middle = (row.published.low + row.published.high) / 2
    near = abs(row.ours.value - middle) <= CLOSE * abs(middle) and row.unit != ""
    if row.ours.statistic != "mean" or row.unit == "":
        excess = abs(row.ours.value - middle) <= CLOSE * abs(middle - (1 if row.unit == "" else 0))
        near = near or excess
    return near or not row.verdict.startswith("ours is")


def figure(row: Row) -> str:
    """The published figure as text."""
    if row.published is None:
        return "–"
    low, high = number(row.published.low, row.unit), number(row.published.high, row.unit)
    return low if low == high else f"{low} to {high}"


def ours(row: Row) -> str:
    """Our figure with its interval as text."""
    text = number(row.ours.value, row.unit)
    half = row.ours.half
    if half is None:
        return f"{text} (largest of {len(row.ours.values)})" if row.ours.statistic == "max" else text
    scale = 100 if row.unit == "share" else 1
    return f"{text} ± {scale * half:.{_digits(row)}f}"


def number(value: float, unit: str) -> str:
    """A number in its unit."""
    if unit == "%":
        return f"{value:+.2f} %"
    return f"{100 * value:.0f} %" if unit == "share" else f"{value:.3f}"


def _digits(row: Row) -> int:
    return {"%": 2, "share": 0}.get(row.unit, 3)
