"""The page: sections in order, each left out where there is nothing to show, in one file that loads nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from statistics import median
from string import Template

from kvbound import __version__
from kvbound.instances import write_atomic
from kvbound.report.data import Results, ratio_of
from kvbound.report.sections import SECTIONS


def write_report(
    results: Results, path: str | Path, *, title: str = "How far from optimal?", sources: Sequence[str | Path] = ()
) -> None:
    """Write the report as one HTML file that needs no network, all or nothing.

    Parameters
    ----------
    results
        What `read_results` returned.
    path
        File to write.
    title
        Heading of the page.
    sources
        Names of the files that the results came from, for the last line.

    Raises
    ------
    InputError
        The file cannot be written, or a stored schedule is damaged.
    """
    write_atomic(path, render(results, title=title, sources=sources).encode())


def render(results: Results, *, title: str, sources: Sequence[str | Path] = ()) -> str:
    """The page as text."""
    sections, contents = [], []
    for name, heading, make in SECTIONS:
        body = make(results)
        if body:
            sections.append(
                f'<section id="{name}" aria-labelledby="{name}-h">\n'
                f'<h2 id="{name}-h">{heading}</h2>\n{body}\n</section>'
            )
            contents.append(f'<a href="#{name}">{heading}</a>')
    template = Template(files("kvbound.report").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        version=html.escape(__version__),
        title=html.escape(title),
        subtitle=html.escape(_subtitle(results)),
        tiles=_tiles(results),
        contents=" ".join(contents),
        sections="\n".join(sections),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        files=html.escape(", ".join(Path(source).name for source in sources) or "results in memory"),
    )


def _subtitle(results: Results) -> str:
    names = list(dict.fromkeys(instance.name for instance in results.instances.values()))
    shown = "; ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"Schedulers of LLM requests under a KV-memory budget, measured against proven bounds. Instances: {shown}."


def _tiles(results: Results) -> str:
    best = results.best_proofs()
    proofs = [proof for proof in results.proofs if proof.value is not None]
    verified = sum(proof.verified for proof in proofs)
    ratios: dict[str, list[float]] = {}
    for line in results.lines:
        ratio = ratio_of(line, best)
        if ratio is not None:
            ratios.setdefault(line.label, []).append(ratio)
    most = max(map(len, ratios.values()), default=0)
    leading = min(
        (name for name in ratios if len(ratios[name]) == most), key=lambda name: median(ratios[name]), default=None
    )
    wrong = sum(line.status not in ("done", "declined") for line in results.lines)
    tiles = [(f"{len(results.instances):,}", "instance" + ("s" if len(results.instances) != 1 else ""))]
    if results.lines:
        tiles.append(
            (f"{sum(line.status == 'done' for line in results.lines):,}", "results, each from a checked schedule")
        )
    if proofs:
        tiles.append((f"{verified:,} of {len(proofs):,}", "bounds verified in exact integers"))
    if leading is not None:
        over = 100 * (median(ratios[leading]) - 1)
        tiles.append(
            (f"{leading}: ≤ {over:.1f} %", "above the optimum: the best method" + (", median" if most > 1 else ""))
        )
    if wrong:
        tiles.append((f"{wrong:,}", "failed, over a limit, or invalid"))
    items = "".join(f"<li><b>{html.escape(big)}</b><span>{html.escape(small)}</span></li>" for big, small in tiles)
    return f'<ul class="tiles">{items}</ul>'
