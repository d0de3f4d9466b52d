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
    for (kind, label, options), lines in groups.items():
        ratios = [r for line in lines if (r := ratio_of(line, best)) is not None]
        done = [line for line in lines if line.status == "done"]
        seconds = [line.seconds for line in done if line.seconds is not None]
        wins = sum(line.mean_eel is not None and line.mean_eel == winners[line.instance] for line in done)
        measured = [f(ratios) if ratios else None for f in (fmean, median, max)]
        row = [Cell(label), *(number(ratio, 4) for ratio in measured), number(len(done)), number(wins), Cell(kind)]
        rows.append([*row, options, number(fmean(seconds) if seconds else None, 3), number(len(lines) - len(done))])
    rows.sort(key=lambda row: _key(row[1]))
    columns = [("method", ""), ("ratio ≤, mean", "num"), ("median", "num"), ("worst", "num"), ("results", "num")]
    columns += [("best on", "num"), ("kind", ""), ("options", ""), ("mean seconds", "num"), ("no result", "num")]
    columns, rows = _without_empty(columns, rows)
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
    chosen: list[tuple[str, float | None, Line]]
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
    columns = [("instance", ""), ("method", ""), ("of", ""), ("bound", "num"), ("how", ""), ("ratios use it", "")]
    columns += [("what stands behind it", "wrap"), ("options", ""), ("seed", "num"), ("seconds", "num")]
    rows: list[list[str | Cell]] = []
    for proof in results.proofs[:MOST_ROWS]:
        how = (
            "certificate verified" if proof.verified else "nothing proved" if proof.value is None else "prover's claim"
        )
        bound = number(proof.value, 0 if proof.unit == "TEL" else 2)
        row: list[str | Cell] = [
            results.instances[proof.instance].name,
            proof.method,
            proof.unit,
            bound,
            evidence(how, proof.verified),
        ]
        row += ["yes" if id(proof) in used else "", proof.evidence, proof.options, _seed(proof.seed)]
        rows.append([*row, number(proof.seconds, 1)])
    columns, rows = _without_empty(columns, rows)
    return (
        "<p>A <b class='ok'>✓ certificate</b> was recomputed in exact integer arithmetic by a checker that knows no "
        "solver: anybody can repeat it (<code>kvbound verify</code>, <code>kvbound sweep --verify</code>). A "
        "<b class='claim'>claim</b> is what a solver says. Every schedule passed a checker, and its TEL was recomputed "
        "from it in integers. TEL and mean EEL are bounded from below, a reward from above.</p>"
        + _cut(len(results.proofs))
        + table("proofs", "Bounds and how each was certified", columns, rows, filtered=len(rows) > 25)
    )


#: Figures of the table of all results: heading, name, digits, whether it is a share.
_FIGURES = (
    ("P99 EEL", "p99_eel", 0, False),
    ("SLO missed", "slo_violations", 1, True),
    ("tokens/step", "throughput", 2, False),
    ("evictions", "evictions", 0, False),
    ("makespan", "makespan", 0, False),
)


def everything(results: Results) -> str:
    """One row per result."""
    if not results.lines:
        return ""
    best = results.best_proofs()
    columns = [("instance", ""), ("method", ""), ("TEL", "num"), ("mean EEL", "num"), ("ratio ≤", "num")]
    columns += [("certified by", ""), ("reward gap", "num"), *((title, "num") for title, *_ in _FIGURES)]
    columns += [("n", "num"), ("memory", "num"), ("workers", "num"), ("batch", "num"), ("options", ""), ("seed", "num")]
    columns += [("seconds", "num")]
    rows: list[list[str | Cell]] = []
    for line in results.lines[:MOST_ROWS]:
        instance = results.instances[line.instance]
        ratio, how = ratio_of(line, best), certified_by(line, best)
        row: list[str | Cell] = [
            instance.name,
            line.label,
            number(line.tel),
            number(line.mean_eel, 1),
            number(ratio, 4),
        ]
        row += [Cell("–", "") if ratio is None else evidence(how, how == "certificate verified")]
        row += [number(line.reward_gap, 2, percent=True)]
        row += [number(line.figures.get(name), digits, percent=share) for _, name, digits, share in _FIGURES]
        row += [number(instance.n or None), _whole(instance.memory), number(instance.workers or None)]
        row += [_whole(instance.batch), line.options, _seed(line.seed), number(line.seconds, 3)]
        rows.append(row)
    columns, rows = _without_empty(columns, rows)
    return _cut(len(results.lines)) + table("all", "All results", columns, rows, filtered=True)


def _cut(count: int) -> str:
    if count <= MOST_ROWS:
        return ""
    return (
        f"<p class='soft'>The first {MOST_ROWS:,} of {count:,}; "
        "<code>kvbound results FILE --csv OUT</code> has all of them.</p>"
    )


def _seed(seed: int | None) -> Cell:
    return Cell("", "") if seed is None else Cell(str(seed), seed)


def _whole(text: str) -> Cell:
    """A number that came as a text, or several of them, sorted by the first."""
    digits = text.split(", ")[0].replace(",", "")
    return Cell(text, int(digits) if digits.isdigit() else "")


def failures(results: Results) -> str:
    """What gave no result, and why."""
    rows: list[list[str | Cell]] = []
    for line in results.lines:
        if line.status != "done":
            look = "claim" if line.status == "declined" else "bad"
            name, why = results.instances[line.instance].name, line.error or ""
            rows.append([name, line.label, line.options, _seed(line.seed), Cell(line.status, None, look), why])
    if not rows:
        return ""
    columns = [("instance", ""), ("method", ""), ("options", ""), ("seed", "num"), ("status", ""), ("why", "wrap")]
    columns, kept = _without_empty(columns, rows[:MOST_ROWS])
    return _cut(len(rows)) + table("failures", "Cells without a result", columns, kept)


def origins(results: Results) -> str:
    """Versions, seeds, plans and notes: a list for each sweep, a table for files of single commands."""
    parts = []
    for origin in results.origins:
        if origin.plan is not None:
            facts = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in origin.facts)
            parts.append(f"<h3>{html.escape(origin.title)}</h3><dl>{facts}</dl>")
            parts.append(f"<details><summary>its plan</summary><pre>{html.escape(origin.plan)}</pre></details>")
    files = [dict(origin.facts) for origin in results.origins if origin.plan is None]
    if files:
        names = list(dict.fromkeys(name for facts in files for name in facts))
        rows: list[list[str | Cell]] = [[facts.get(name, "") for name in names] for facts in files]
        parts.append(table("origins", "Files, versions and seeds", [(name, "") for name in names], rows))
    if results.notes:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in results.notes)
        parts.append(f"<h3>Notes</h3><ul>{notes}</ul>")
    return "\n".join(parts)


def _without_empty(
    columns: list[tuple[str, str]], rows: list[list[str | Cell]]
) -> tuple[list[tuple[str, str]], list[list[str | Cell]]]:
    """Leave out columns in which no row says anything."""
    said = [{cell.text if isinstance(cell, Cell) else cell for cell in column} for column in zip(*rows, strict=True)]
    kept = [i for i, texts in enumerate(said) if texts - {"", "–", "none"}]
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
