"""docs/reproduction.md, generated from results: nothing on it is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvbound.reproduction.conclusions import figure, ours
from kvbound.reproduction.findings import Outcome, Row
from kvbound.reproduction.registry import EXPERIMENTS

_ROLES = {"stated": "as stated", "reading": "another reading", "traces": "real traces", "sensitivity": "curve"}


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as Markdown."""
    return "\n".join(_lines(outcomes)) + "\n"


def _lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield from (
        "# Reproduction of published figures",
        "",
        "This page is written by `kvbound reproduce --write docs/reproduction.md`; do not edit it. Symbols: [math.md](math.md);",
        "policies: [policies.md](policies.md); routers: [routing.md](routing.md).",
        "",
        "Intervals are Student's t at 95 % over seeds, trials or draws. *as stated*: the published setting as far as it is described;",
        "*another reading*: one parameter that the description leaves open is read otherwise, to see which reading gives the",
        "published figure. Every schedule and execution behind a figure passed the checker, every bound that is called certified was",
        "verified in exact integers. The data sets of the papers are not here: lengths are drawn from published quantiles",
        "(look-alikes) unless a row says that it uses rows of a trace. A missing experiment was not run for this page.",
        "",
        "| experiment | figure | published | ours | setting as stated gives it? |",
        "|---|---|--:|--:|---|",
    )
    for outcome in outcomes:
        for row in outcome.rows:
            if row.role == "stated" and row.published is not None:
                yield f"| [{outcome.name}](#{outcome.name}) | {row.figure} | {figure(row)} | {ours(row)} | {row.verdict} |"
    for outcome in outcomes:
        yield from _section(outcome)


def _section(outcome: Outcome) -> Iterator[str]:
    known = EXPERIMENTS.get(outcome.name)
    length = "quick run (smaller n, fewer seeds)" if outcome.quick else "full run"
    state = "" if outcome.complete else ", **stopped by Ctrl-C before its end**"
    yield from (
        "",
        f"## {outcome.name}",
        "",
        f"{outcome.title}. {outcome.paper}." + (f" Published: {known.published}." if known else ""),
        "",
        f"`kvbound reproduce {outcome.name}{' --quick' if outcome.quick else ''}`, {outcome.date}, kvbound {outcome.version}, "
        f"{length}{state}: {outcome.seconds:,.0f} s ({outcome.cpu_seconds:,.0f} s of processor time) on a machine with "
        f"{outcome.cores} cores; {outcome.schedules:,} schedules checked, {outcome.certificates:,} certificates verified.",
        "",
        "| figure | published | ours | verdict | setting | why they differ, or what it shows |",
        "|---|--:|--:|---|---|---|",
    )
    for row in outcome.rows:
        yield f"| {' | '.join(cells(row))} |"
    if outcome.conclusions or outcome.skipped:
        yield ""
        yield from (f"* {sentence}" for sentence in outcome.conclusions)
        yield from (f"* Skipped: {note}" for note in outcome.skipped)


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    verdict = row.verdict or "–"
    return (row.figure, figure(row), ours(row), verdict, f"*{_ROLES[row.role]}*: {row.setting}", row.why)
