"""The sections of a report: each turns the results into HTML, or into nothing."""

from __future__ import annotations

import html
from collections.abc import Callable
from statistics import fmean, median

from kvbound.checkers import require_valid
from kvbound.report import charts
from kvbound.report.data import Line, Results, certified_by, ratio_of
from kvbound.report.tables import Cell, evidence, number, table

#: Rows of the table of all results; more would make the page slow, and `kvbound results --csv` has them.
MOST_ROWS = 5000


def methods(results: Results) -> str:
    """One row per method: how it did over all instances."""
    best = results.best_proofs()
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for line in results.lines:
        groups.setdefault((line.kind, line.label, line.options), []).append(line)
    if not groups:
        return ""
    winners: dict[str, float] = {}
    for line in results.lines:
        if line.mean_eel is not None:
            winners[line.instance] = min(line.mean_eel, winners.get(line.instance, line.mean_eel))
    rows: list[list[str | Cell]] = []
    with_options = len({options for _, _, options in groups}) > 1
    for (kind, label, options), lines in groups.items():
        ratios = [r for line in lines if (r := ratio_of(line, best)) is not None]
        done = [line for line in lines if line.status == "done"]
        seconds = [line.seconds for line in done if line.seconds is not None]
        wins = sum(line.mean_eel is not None and line.mean_eel == winners[line.instance] for line in done)
        rows.append(
            [
                label,
                kind,
                *([options] if with_options else []),
                number(len(done)),
                number(fmean(ratios) if ratios else None, 4),
                number(median(ratios) if ratios else None, 4),
                number(max(ratios) if ratios else None, 4),
                number(wins),
                number(fmean(seconds) if seconds else None, 3),
                number(len(lines) - len(done)),
            ]
        )
    rows.sort(key=lambda row: _key(row[-6]))
    columns = [
        ("method", ""),
        ("kind", ""),
        *([("options", "")] if with_options else []),
        ("results", "num"),
        ("ratio ≤, mean", "num"),
        ("median", "num"),
        ("worst", "num"),
        ("best on", "num"),
        ("mean seconds", "num"),
        ("no result", "num"),
    ]
    return (
        "<p>A ratio is TEL (of routers: mean EEL) over a lower bound that nobody can go below: at most this "
        "many times the optimum. <i>Best on</i>: instances on which no other method here has less latency.</p>"
        + table("methods", "Methods", columns, rows)
    )


def _key(cell: str | Cell) -> tuple[bool, float]:
    value = cell.value if isinstance(cell, Cell) else None
    return (False, value) if isinstance(value, (int, float)) else (True, 0.0)


def ratios(results: Results) -> str:
    """The picture of ratios."""
    picture = charts.ratio_chart(results)
    if picture is None:
        return ""
    words = "Lower is better; 1 (red) is the bound, which the optimum may lie above. Small dots: single instances."
    return _figure(picture, words)


def ladder(results: Results) -> str:
    """The picture of bounds."""
    picture = charts.ladder_chart(results)
    if picture is None:
        return ""
    words = (
        "Each bar is a proven lower bound as a share of the best schedule known; what is missing to 100 % (red) is the "
        "gap that nobody has closed here. Hatched: a prover's claim without a certificate."
    )
    return _figure(picture, words)


def fronts(results: Results) -> str:
    """Fronts of weights, and what routers trade."""
    parts = [
        f"<h3>{html.escape(title)}</h3>"
        + _figure(svg, "Numbers at the points: share of the second weighting. Crosses: plain routers.")
        for title, svg in charts.front_charts(results)
    ]
    parts += [
        f"<h3>{html.escape(title)}</h3>" + _figure(svg, "The line joins what no other router here beats in both.")
        for title, svg in charts.trade_charts(results)
    ]
    return "\n".join(parts)


def schedules(results: Results) -> str:
    """Gantt and memory of the worst result and of the best beside it; each is checked again before it is drawn."""
    best = results.best_proofs()
    drawable = [line for line in results.lines if line.draw is not None]
    if not drawable:
        if any(line.tel is not None for line in results.lines):
            return (
                "<p class='soft'>The results hold no schedule to draw. A sweep keeps them; "
                "<code>kvbound gap … --json --with-schedules</code> adds them.</p>"
            )
        return ""
    measured = [(ratio_of(line, best), line) for line in drawable]
    known = [(ratio, line) for ratio, line in measured if ratio is not None]
    if known:
        worst = max(known, key=lambda p: p[0])  # the best beside it is that of the same instance: the two compare
        chosen = [
            ("least", *min((p for p in known if p[1].instance == worst[1].instance), key=lambda p: p[0])),
            ("largest", *worst),
        ]
    else:
        chosen = [
            ("least", None, min(drawable, key=lambda line: line.tel or 0)),
            ("largest", None, max(drawable, key=lambda line: line.tel or 0)),
        ]
    if chosen[0][2] is chosen[1][2]:
        chosen = chosen[:1]
    parts = []
    for i, (which, ratio, line) in enumerate(chosen):
        assert line.draw is not None
        problem, schedule = line.draw()
        tel = require_valid(problem, schedule)
        what = f"ratio ≤ {ratio:.4f}" if ratio is not None else "no bound"
        heading = f"{line.label} on {results.instances[line.instance].name}: TEL {tel:,}, {what}, the {which}"
        words = (
            "Above: one lane per request, its height the tokens it holds, grey while it waits. Below: tokens held "
            "in each step against the memory M. Both drawn from the stored schedule, which passed the checker again "
            "for this page."
        )
        parts.append(f"<h3>{html.escape(heading)}</h3>")
        parts.append(_figure(charts.schedule_chart(problem, schedule, f"schedule{i}", line.label), words))
    return "\n".join(parts)


def prices(results: Results) -> str:
    """Heat maps."""
    words = (
        "Dark: dear. At a price of 1 (the mean reward of a request per step of its output) serving a request gains "
        "nothing. Across: time; up: steps ahead of the decision."
    )
    parts = [f"<h3>{html.escape(title)}</h3>" + _figure(svg, words) for title, svg in charts.price_charts(results)]
    return "\n".join(parts)


def certificates(results: Results) -> str:
    """Every bound, and what stands behind it."""
    if not results.proofs:
        return ""
    used = {id(proof) for proof in results.best_proofs().values()}
    rows: list[list[str | Cell]] = []
    for proof in results.proofs[:MOST_ROWS]:
        how = (
            "certificate verified" if proof.verified else "nothing proved" if proof.value is None else "prover's claim"
        )
        digits = 0 if proof.unit == "TEL" else 2
        rows.append(
            [
                results.instances[proof.instance].name,
                proof.method,
                proof.options,
                "" if proof.seed is None else str(proof.seed),
                proof.unit,
                number(proof.value, digits),
                evidence(how, proof.verified),
                proof.evidence,
                "yes" if id(proof) in used else "",
                number(proof.seconds, 1),
            ]
        )
    columns = [
        ("instance", ""),
        ("method", ""),
        ("options", ""),
        ("seed", "num"),
        ("of", ""),
        ("bound", "num"),
        ("how", ""),
        ("what stands behind it", "wrap"),
        ("ratios use it", ""),
        ("seconds", "num"),
    ]
    columns, rows = _without_empty(columns, rows)
    return (
        "<p>A <b class='ok'>✓ certificate</b> was recomputed in exact integer arithmetic by a checker that knows no "
        "solver: anybody can repeat it (<code>kvbound verify</code>, <code>kvbound sweep --verify</code>). A "
        "<b class='claim'>claim</b> is what a solver says. Every schedule passed a checker, and its TEL was recomputed "
        "from it in integers. TEL and mean EEL are bounded from below, a reward from above.</p>"
        + table("proofs", "Bounds and how each was certified", columns, rows, filtered=len(rows) > 25)
    )


def everything(results: Results) -> str:
    """One row per result."""
    if not results.lines:
        return ""
    best = results.best_proofs()
    rows: list[list[str | Cell]] = []
    for line in results.lines[:MOST_ROWS]:
        instance = results.instances[line.instance]
        ratio = ratio_of(line, best)
        how = certified_by(line, best)
        figures = line.figures
        rows.append(
            [
                instance.name,
                number(instance.n or None),
                instance.memory,
                number(instance.workers or None),
                instance.batch,
                line.label,
                line.options,
                "" if line.seed is None else str(line.seed),
                number(line.tel),
                number(line.mean_eel, 1),
                number(ratio, 4),
                evidence(how, how == "certificate verified") if ratio is not None else Cell("–", ""),
                number(figures.get("p99_eel"), 0),
                number(figures.get("slo_violations"), 1, percent=True),
                number(figures.get("throughput"), 2),
                number(figures.get("evictions"), 0),
                number(line.reward_gap, 2, percent=True),
                number(figures.get("makespan"), 0),
                number(line.seconds, 3),
            ]
        )
    columns = [
        ("instance", ""),
        ("n", "num"),
        ("memory", "num"),
        ("workers", "num"),
        ("batch", "num"),
        ("method", ""),
        ("options", ""),
        ("seed", "num"),
        ("TEL", "num"),
        ("mean EEL", "num"),
        ("ratio ≤", "num"),
        ("certified by", ""),
        ("P99 EEL", "num"),
        ("SLO missed", "num"),
        ("tokens/step", "num"),
        ("evictions", "num"),
        ("reward gap", "num"),
        ("makespan", "num"),
        ("seconds", "num"),
    ]
    columns, rows = _without_empty(columns, rows)
    more = len(results.lines) - MOST_ROWS
    note = (
        f"<p class='soft'>The first {MOST_ROWS:,} of {len(results.lines):,} results; "
        "<code>kvbound results FILE --csv OUT</code> has all.</p>"
    )
    return (note if more > 0 else "") + table("all", "All results", columns, rows, filtered=True)


def failures(results: Results) -> str:
    """What gave no result, and why."""
    rows = [
        [
            results.instances[line.instance].name,
            line.label,
            line.options,
            "" if line.seed is None else str(line.seed),
            Cell(line.status, None, "claim" if line.status == "declined" else "bad"),
            line.error or "",
        ]
        for line in results.lines
        if line.status != "done"
    ]
    if not rows:
        return ""
    columns = [("instance", ""), ("method", ""), ("options", ""), ("seed", "num"), ("status", ""), ("why", "wrap")]
    columns, kept = _without_empty(columns, rows[:MOST_ROWS])
    return table("failures", "Cells without a result", columns, kept)


def origins(results: Results) -> str:
    """Versions, seeds, plans and notes."""
    parts = []
    for origin in results.origins:
        facts = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in origin.facts)
        parts.append(f"<h3>{html.escape(origin.title)}</h3><dl>{facts}</dl>")
        if origin.plan:
            parts.append(f"<details><summary>its plan</summary><pre>{html.escape(origin.plan)}</pre></details>")
    if results.notes:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in results.notes)
        parts.append(f"<h3>Notes</h3><ul>{notes}</ul>")
    return "\n".join(parts)


def _without_empty(
    columns: list[tuple[str, str]], rows: list[list[str | Cell]]
) -> tuple[list[tuple[str, str]], list[list[str | Cell]]]:
    """Leave out columns in which no row says anything."""
    kept = [
        i
        for i in range(len(columns))
        if any((row[i].text if isinstance(row[i], Cell) else row[i]) not in ("", "–", "none") for row in rows)
    ]
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]


def _figure(svg: str, words: str) -> str:
    return f'<figure><div class="picture">{svg}</div><figcaption>{html.escape(words)}</figcaption></figure>'


#: (identifier, heading, what makes it), in the order of the page.
SECTIONS: tuple[tuple[str, str, Callable[[Results], str]], ...] = (
    ("by-method", "Methods", methods),
    ("ratio", "Ratio against n", ratios),
    ("ladder", "Bound ladder", ladder),
    ("front", "Pareto front", fronts),
    ("schedules", "Best and worst schedule", schedules),
    ("prices", "Shadow prices", prices),
    ("certified", "How each number was certified", certificates),
    ("results", "All results", everything),
    ("failed", "Without a result", failures),
    ("origin", "Versions and seeds", origins),
)
