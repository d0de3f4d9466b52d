"""`kvbound info`: what an instance looks like."""

from __future__ import annotations

from kvbound.cli.options import SourceOptions, takes_source


@takes_source
def info(options: SourceOptions) -> None:
    """Statistics of a source: lengths, load, and how much of the memory the largest peak takes."""
    from kvbound.cli.output import (
        decimal,
        instance_json,
        new_table,
        notes,
        print_json,
        print_lines,
        print_table,
        title,
        whole,
    )
    from kvbound.instances import statistics

    loaded = options.load()
    figures = statistics(loaded.problem)
    if options.json:
        print_json({"instance": instance_json(loaded), "statistics": figures.as_dict(), "notes": list(loaded.notes)})
        return
    table = new_table(title(loaded.problem), ["tokens"], ["min", "median", "mean", "p95", "max"])
    for name, summary in (
        ("prompt", figures.prompt),
        ("output", figures.output),
        ("peak", figures.peak),
        ("volume (token-steps)", figures.volume),
    ):
        cells = [whole(x) for x in (summary.min, summary.median, summary.p95, summary.max)]
        cells.insert(2, decimal(summary.mean, 1))
        table.add_row(name, *cells)
    print_table(table)
    if figures.arrival_rate is None:
        arrivals = "all together (a backlog)"
    else:
        load = figures.makespan_bound / figures.arrival_span
        arrivals = (
            f"over {figures.arrival_span:,} steps, {figures.arrival_rate:.4g} a step; "
            f"load {load:.2f} (memory-time that arrives / memory-time there is)"
        )
    print_lines(
        [
            f"origin: {loaded.problem.origin or 'unknown'}",
            f"arrivals: {arrivals}",
            f"largest peak: {figures.peak.max:,} tokens, {100 * figures.largest_share:.1f} % of a worker's memory",
            f"work: {figures.total_volume:,} token-steps: at least {figures.makespan_bound:,} steps at full memory; "
            f"about {figures.concurrency:.1f} requests fit at once",
            f"output lengths: {'predicted (policies see an interval)' if figures.predicted else 'known'}",
            *notes(loaded.notes),
        ]
    )
