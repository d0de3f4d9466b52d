"""Jaillet et al., arXiv 2502.07115: MC-SF against the optimum in hindsight, on small random instances.

All at time 0 (mean 1.005, worst 1.074, 114 of 200 equal) and Poisson arrivals (mean 1.047, worst 1.227). At the stated
size the optimum is out of reach of exact solvers, so the ratio is enclosed: MC-SF over the best checked schedule known
is at most the true ratio, MC-SF over a certified bound at least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvbound.instances.catalogue import build, catalogue
from kvbound.instances.catalogue.packing import unpack_certificate, unpack_starts
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule
from kvbound.reproduction.context import Context
from kvbound.reproduction.findings import Estimate, Published, Role, Row
from kvbound.reproduction.workloads import small, small_online
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolveConfig, Termination, solve
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.search import improve, prepare

OFFLINE = {"mean": Published.of(1.005), "max": Published.of(1.074), "share": Published.of(114 / 200)}
ONLINE = {"mean": Published.of(1.047), "max": Published.of(1.227)}


def offline(ctx: Context) -> Iterator[Row]:
    """All requests at time 0."""
    entries = {e.name: e for e in catalogue() if e.name.startswith("jaillet:")}
    ratios, most = [], []
    seeds = [k for k in ctx.seeds(60, 200) if f"jaillet:seed={k}" in entries]
    for k in seeds:
        ctx.tell(f"offline, seed {k}")
        entry = entries[f"jaillet:seed={k}"]
        problem = build(entry.name, entry.recipe).problem
        known = ctx.judged(problem, unpack_starts(entry.schedule.starts, entry.name))
        (mcsf,) = ctx.tels([problem], "mc-sf")
        ratios.append(mcsf / known)
        if k < ctx.pick(4, 200, 1):
            most.append(mcsf / ctx.verified(problem, unpack_certificate(entry.bound.certificate, entry.name)))
    equal = sum(r <= 1 for r in ratios)
    setting = f"M ~ U(30..50), n ~ U(40..60), s ~ U(1..5), o ~ U(1..M−s), all at time 0, {len(ratios)} trials"
    why = (
        f"a checked schedule beats MC-SF on {len(ratios) - equal} of {len(ratios)} draws, so against the optimum of this "
        f"model the ratio is at least ours; 1.005 needs another setting or an optimum that was not one (readings below)"
    )
    yield from three(ratios, "best schedule known (≤ true ratio)", setting, why, "stated")
    yield Row("MC-SF / certified bound (≥ true ratio), mean", "", None, Estimate.of(most), setting,
              "what is left open between the two is the bound's weakness", "stated")  # fmt: skip
    yield from few_requests(ctx)
    yield from more_memory(ctx)
    yield from stopped_early(ctx)


def three(ratios: Sequence[float], against: str, setting: str, why: str, role: Role) -> Iterator[Row]:
    """Mean, worst and share of equals, beside the published ones."""
    for statistic, what in (("mean", "mean"), ("max", "worst"), ("share", "share equal")):
        values = [float(r <= 1) for r in ratios] if statistic == "share" else ratios
        estimate = Estimate.of(values, statistic)  # type: ignore[arg-type]
        unit = "share" if statistic == "share" else ""
        yield Row(f"MC-SF / {against}, {what}", unit, OFFLINE[statistic], estimate, setting, why, role)  # type: ignore[arg-type]


def few_requests(ctx: Context) -> Iterator[Row]:
    """The same lengths, but few requests, so that exact solvers finish."""
    for n in ctx.pick((5,), (3, 4, 5, 6, 8), (3,)):
        ratios, unproved = [], 0
        for k in ctx.seeds(25, 200 if n <= 6 else 40):
            ctx.tell(f"offline, n = {n}, seed {k}")
            problem = small(k, n)
            (mcsf,) = ctx.tels([problem], "mc-sf")
            done = solve(problem, config=SolveConfig(time_limit=30, threads=1))
            if done.termination is not Termination.OPTIMAL or done.schedule is None:
                unproved += 1
                continue
            ratios.append(mcsf / ctx.judged(problem, done.schedule))
        note = f"; {unproved} trials without proof are left out" if unproved else ""
        why = f"reading: instances small enough for an exact solver; optimum as the solver claims{note}"
        yield from three(ratios, "optimum", f"as stated, but n = {n}, {len(ratios)} trials", why, "reading")


def more_memory(ctx: Context) -> Iterator[Row]:
    """The same requests, but more memory than the M that bounds their lengths."""
    for multiple in ctx.pick((12,), (5, 8, 10, 12, 14, 20), (12,)):
        ratios, most = [], []
        for k in ctx.seeds(8, 40):
            ctx.tell(f"offline, memory × {multiple}, seed {k}")
            problem = small(k, None, multiple)
            mcsf, best = searched(ctx, problem, ctx.pick(0.3, 3.0, 0.05))
            ratios.append(mcsf / best)
            most.append(mcsf / ctx.bound(problem, "lagrangian", ctx.pick(1.0, 5.0, 0.2), best))
        enclosed = Estimate.of(most).value
        why = f"reading: memory beyond the M of the lengths; the true mean is at most {enclosed:.4f} (certified)"
        setting = f"as stated, but memory {multiple}·M, {len(ratios)} trials"
        yield from three(ratios, "best schedule known (≤ true ratio)", setting, why, "reading")


def stopped_early(ctx: Context) -> Iterator[Row]:
    """What a general solver calls its best schedule when it starts from MC-SF and time runs out."""
    seconds = ctx.pick(5.0, 60.0, 0.5)
    ratios, proved = [], 0
    for k in ctx.seeds(2, 10):
        ctx.tell(f"offline, HiGHS for {seconds:g} s, seed {k}")
        problem = small(k)
        run = run_policy(problem, POLICIES["mc-sf"])
        assert run.schedule is not None
        assert run.tel is not None
        config = SolveConfig(time_limit=seconds, threads=1)
        done = solve(problem, method="highs", config=config, incumbent=run.schedule)
        proved += done.termination is Termination.OPTIMAL
        ratios.append(run.tel / (run.tel if done.schedule is None else ctx.judged(problem, done.schedule)))
    why = (
        f"reading: the incumbent of a solver that started from MC-SF and proved optimality on {proved} of {len(ratios)}: "
        "where it finds nothing better, MC-SF counts as equal"
    )
    setting = f"as stated; HiGHS on the time-indexed program, {seconds:g} s, one thread, {len(ratios)} trials"
    yield from three(ratios, "incumbent of a stopped solver", setting, why, "reading")


def searched(ctx: Context, problem: Problem, seconds: float) -> tuple[int, int]:
    """TEL of MC-SF and of the best schedule that a search finds from the best of three policies."""
    prepare()
    (mcsf,) = ctx.tels([problem], "mc-sf")
    start: Schedule | None = None
    least = 0
    for name in ("mc-sf", "svf", "total-size"):
        run = run_policy(problem, POLICIES[name])
        if run.schedule is not None and run.tel is not None and (start is None or run.tel < least):
            start, least = run.schedule, run.tel
    assert start is not None
    found = improve(problem, start, deadline=Deadline(seconds), seed=0, threads=1)
    return mcsf, ctx.judged(problem, found.schedule)


def online(ctx: Context) -> Iterator[Row]:
    """Poisson arrivals over a short horizon; MC-SF knows what has arrived, the optimum everything."""
    for rate in ctx.pick((1.0, 0.2), (1.0, 0.5, 0.3, 0.2, 0.15, 0.1), (0.1,)):
        ratios, most, sizes = [], [], []
        stated = rate == 1.0
        for k in ctx.seeds(10, 60):
            ctx.tell(f"online, rate × {rate:g}, seed {k}")
            problem = small_online(k, rate)
            mcsf, best = searched(ctx, problem, ctx.pick(0.5, 4.0, 0.05))
            ratios.append(mcsf / best)
            sizes.append(problem.n)
            if k < ctx.pick(2, 20, 1):
                most.append(mcsf / ctx.bound(problem, "best", ctx.pick(2.0, 8.0, 0.5), best))
        size = sum(sizes) / len(sizes)
        setting = f"T ~ U(40..60), rate ~ {rate:g}·U(0.5, 1.5), lengths as offline, {len(ratios)} trials, n = {size:.0f} on average"
        upper = f"the true mean is at most {Estimate.of(most).value:.3f} (certified, {len(most)} trials)"
        why = f"as stated; {upper}" if stated else f"reading: rates scaled down by {rate:g}; {upper}"
        for statistic, what in (("mean", "mean"), ("max", "worst")):
            yield Row(
                f"MC-SF / best schedule known (≤ true ratio), {what}", "", ONLINE[statistic],
                Estimate.of(ratios, statistic), setting, why, "stated" if stated else "reading",  # type: ignore[arg-type]
            )  # fmt: skip
