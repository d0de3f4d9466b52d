"""docs/reproduction.md, generated from results: nothing on it is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvbound.reproduction.conclusions import CLOSE, CLOSE_WORST, explained, figure, gives, ours
from kvbound.reproduction.findings import Outcome, Row
from kvbound.reproduction.registry import EXPERIMENTS

_ROLES = {"stated": "as stated", "reading": "reading", "traces": "traces", "sensitivity": "curve"}

_HEAD = f"""# Reproduction of published figures

This page is written by `kvbound reproduce --write docs/reproduction.md`: edit the experiments, not the page. Symbols:
[math.md](math.md); policies: [policies.md](policies.md); routers: [routing.md](routing.md).

`±` is the half width of a 95 % interval over seeds or trials (means: Student's t; shares: Agresti–Coull).
*as stated*: the published setting as far as it is described. *reading*: something that the description leaves open is
read otherwise, to see which reading gives the published figure. *traces*: rows of real traces. Elsewhere lengths are
look-alikes, drawn from published quantiles, because the papers' samples are not here. **Bold**: ours gives the
published figure: that lies in our interval (if the interval is no wider than the effect), or ours in the published
range, or ours is within {100 * CLOSE:g} % of the effect (a ratio minus 1, a change in per cent), a worst case within
{100 * CLOSE_WORST:g} %.

Every schedule and execution behind a figure passed the checker; every bound called certified was verified in exact
integers. Each section says how long it took and whether the full or the quick version ran.

## In one table

| experiment | figure | published | ours | setting | why they differ |
|---|---|--:|--:|---|---|"""


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *_summary(outcomes), *(line for o in outcomes for line in _section(o))]) + "\n"


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        for row in explained(outcome.rows):
            if row.role == "stated" and row.published is not None:
                what = f"{row.series}: {row.figure}"
                cells = (f"[{outcome.name}](#{outcome.name})", what, figure(row), _shown(row), row.setting, row.why)
                yield f"| {' | '.join(cells)} |"


def _section(outcome: Outcome) -> Iterator[str]:
    known = EXPERIMENTS.get(outcome.name)
    length = "quick run (smaller n, fewer seeds)" if outcome.quick else "full run"
    state = "" if outcome.complete else ", **stopped by Ctrl-C before its end**"
    command = f"kvbound reproduce {outcome.name}{' --quick' if outcome.quick else ''}"
    yield from (
        "",
        f"## {outcome.name}",
        "",
        f"{outcome.title}. {outcome.paper}." + (f" Published: {known.published}." if known else ""),
        "",
        f"`{command}`, {outcome.date}, kvbound {outcome.version}, {length}{state}: {outcome.seconds:,.0f} s "
        f"({outcome.cpu_seconds:,.0f} s of processor time) on a machine with {outcome.cores} cores that other work may "
        f"have shared; {outcome.schedules:,} schedules checked, {outcome.certificates:,} certificates verified.",
        "",
    )
    yield from pivot(outcome.rows)
    yield ""
    yield from (f"* {sentence}" for sentence in outcome.conclusions)
    yield from (f"* Skipped: {note}" for note in outcome.skipped)


def pivot(rows: Sequence[Row]) -> Iterator[str]:
    """One line per setting and series, one column per figure; published figures first."""
    figures = list(dict.fromkeys(row.figure for row in rows))
    yield f"| what | setting | {' | '.join(figures)} | why they differ, or what it shows |"
    yield f"|---|---|{'--:|' * len(figures)}---|"
    published: dict[tuple[str, tuple[str, ...]], None] = {}
    lines: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row.series, row.role, row.setting), {})[row.figure] = row
    for (series, _, _), found in lines.items():
        cells = tuple(figure(found[f]) if f in found else "–" for f in figures)
        if any(cell != "–" for cell in cells):
            published[series, cells] = None
    by_cells: dict[tuple[str, ...], list[str]] = {}
    for series, cells in published:
        by_cells.setdefault(cells, []).append(series)
    for cells, names in by_cells.items():
        yield f"| *published* | {', '.join(names)} | {' | '.join(cells)} | |"
    for (series, role, setting), found in lines.items():
        cells = tuple(_shown(found[f]) if f in found else "–" for f in figures)
        why = next(iter(found.values())).why
        yield f"| {series} | *{_ROLES[role]}*: {setting} | {' | '.join(cells)} | {why} |"


def _shown(row: Row) -> str:
    return f"**{ours(row)}**" if gives(row) else ours(row)
