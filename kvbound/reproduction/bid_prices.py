"""Chen, Ye and Zhou, arXiv 2607.03948: bid prices against Round-Robin, least outstanding requests, power of two.

Model, memory, batch size and the unit of the rate λ = 0.4 are not published. Loads here are shares of what the fleet
can do, so the setting as stated takes 0.4 for such a share; the readings look for a load, and for a set of requests
that is counted, that give the published changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kvbound.instances import load, with_predictions
from kvbound.models.execution import Execution
from kvbound.models.problem import Problem
from kvbound.reproduction.context import Context
from kvbound.reproduction.findings import Estimate, Published, Role, Row
from kvbound.reproduction.workloads import fleet
from kvbound.routing import route
from kvbound.solvers.bounds import mean_eel_bound
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.routers.metrics import Limits

FIGURES = {"mean_eel": "mean EEL", "p95_eel": "P95 EEL", "p99_eel": "P99 EEL", "throughput": "throughput",
           "slo_violations": "SLO violations"}  # fmt: skip
LATENCY = ("mean_eel", "p95_eel", "p99_eel")
STABLE = {
    "bid-price": (-45.75, -42.49, -25.85, 0.90, -11.10),
    "lor": (-0.67, -4.01, -6.19),
    "power-of-2": (-1.30, -3.84, -6.06),
}
SHIFT = {"bid-price": (-44.81, -45.69, -31.15, 1.93, -14.57)}
WORKERS, MEMORY, BATCH = 4, 4000, 48
ROUTERS = ("round-robin", "lor", "power-of-2", "lor:central:svf", "bid-price")
#: Per router and seed: the figures over all requests, and over those that complete by the last arrival.
Found = dict[str, list[tuple[dict[str, float], dict[str, float]]]]


def routed(
    ctx: Context, problems: Sequence[Problem], weights: str = "average", names: Sequence[str] = ROUTERS
) -> Found:
    """Figures of each router on each problem; every execution has passed the checker (`run_router`)."""
    found: Found = {name: [] for name in names}
    for seed, problem in enumerate(problems):
        ctx.tell(f"routing {problem.name}, {weights}")
        done = route(problem, names, weights=weights, seed=seed, bounds=False)
        if done.interrupted:  # it keeps the routers that were through; a seed without all of them is no row
            raise KeyboardInterrupt
        for row in done.rows:
            (trial,) = row.trials
            every = {key: float(getattr(trial.metrics, key)) for key in FIGURES}
            found[row.name].append((every, by_last_arrival(problem, trial.execution)))
            ctx.schedules += 1
    return found


def by_last_arrival(problem: Problem, execution: Execution) -> dict[str, float]:
    """The figures of those requests alone that complete while requests still arrive."""
    requests = problem.requests
    limits = Limits.default(requests)
    completion = execution.schedule(requests).completion(requests)
    last = int(requests.arrival.max())
    done = completion <= last
    eel = (completion - requests.arrival)[done]
    ttft = (execution.first_start(requests) + 1 - requests.arrival)[done]
    p95, p99 = np.percentile(eel, (95, 99))
    late = float(((eel >= limits.eel) | (ttft >= limits.ttft)).mean())
    output = int(requests.output[done].sum()) / max(1, last)
    return dict(zip(FIGURES, (float(eel.mean()), float(p95), float(p99), output, late), strict=True))


def rows(found: Found, router: str, published: Sequence[float], setting: str, why: str, role: Role,
         figures: Sequence[str], cut: bool = False) -> Iterator[Row]:  # fmt: skip
    """Change against Round-Robin in per cent, one row per figure, over seeds in which Round-Robin's is not 0."""
    known = dict(zip(FIGURES, published, strict=False))
    for figure in figures:
        pairs = [(m[cut][figure], b[cut][figure]) for m, b in zip(found[router], found["round-robin"], strict=True)]
        values = [100 * (m / b - 1) for m, b in pairs if b]
        if values:
            target = Published.of(known[figure]) if figure in known else None
            yield Row(router, FIGURES[figure], "%", target, Estimate.of(values), setting, why, role)


def floor(ctx: Context, problems: Sequence[Problem], found: Found, setting: str, role: Role) -> Row:
    """What no router can exceed: the certified bound on mean EEL against Round-Robin."""
    values = []
    for problem, base in zip(problems, found["round-robin"], strict=True):
        ctx.tell(f"bound on mean EEL, {problem.name}")
        proved = mean_eel_bound(problem, deadline=Deadline(ctx.pick(3.0, 20.0, 0.5)))
        tel = ctx.verified(problem, proved.certificate)
        values.append(100 * (tel / problem.n / base[0]["mean_eel"] - 1))
    why = "certified: no router on these requests, with any knowledge, cuts the mean EEL by more"
    return Row("any router, at most", "mean EEL", "%", None, Estimate.of(values), setting, why, role)


def draws(ctx: Context, loads: tuple[float, ...], seeds: range, source: str = "mix:long=0") -> list[Problem]:
    """One problem per seed; LMSYS look-alike lengths unless another source is named."""
    n = ctx.pick(1500, 2000, 80)
    head, _, rest = source.partition(":")
    return [fleet(f"{head}:n={n},{rest}", loads, k, memory=MEMORY, batch=BATCH, workers=WORKERS) for k in seeds]


def settings(ctx: Context, what: str, seeds: range) -> str:
    """How a row was measured."""
    n = ctx.pick(1500, 2000, 80)
    return f"{what}, n = {n}, {WORKERS} workers, M = {MEMORY}, B = {BATCH}, ô off by ±20 %, {len(seeds)} seeds"


def stable(ctx: Context) -> Iterator[Row]:
    """λ = 0.4, predictions off by up to 20 %: all requests counted, and only those done by the last arrival."""
    seeds = ctx.seeds(3, 8)
    every = tuple(FIGURES)
    for share in ctx.pick(
        (0.4, 0.85, 1.0, 1.1, 1.2), (0.4, 0.7, 0.85, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.4), (0.4, 1.08)
    ):
        problems = draws(ctx, (share,), seeds)
        found = routed(ctx, problems)
        base = sum(every[0]["mean_eel"] for every in found["round-robin"]) / len(problems)
        alone = sum(float(p.requests.output.mean()) for p in problems) / len(problems)
        waiting = 100 * (1 - alone / base)
        saved = f"waiting is {waiting:.0f} % of Round-Robin's mean EEL ({base:.0f} steps); nobody can save more"
        for cut in (False, True):
            counted = "done by the last arrival" if cut else "all requests"
            setting = settings(ctx, f"load {share:g}, counted: {counted}", seeds)
            role: Role = "stated" if share == 0.4 and not cut else "reading"
            why = "as a simulation that ends with its arrivals would count" if cut else saved
            yield from rows(found, "bid-price", STABLE["bid-price"], setting, why, role, every, cut)
            for other in ("lor", "power-of-2"):
                yield from rows(found, other, STABLE[other], setting, why, role, LATENCY, cut)
            yield from rows(found, "lor:central:svf", (), setting, why, role, LATENCY, cut)
            if not cut:
                yield floor(ctx, problems, found, setting, role)
    yield from traced(ctx)


def traced(ctx: Context) -> Iterator[Row]:
    """The Azure conversation trace by its own arrivals."""
    path = ctx.trace("AzureLLMInferenceTrace_conv.csv")
    if path is None:
        return
    n = ctx.pick(1500, 4000, 80)
    problem = load(
        str(path), memory=30_000, workers=WORKERS, batch=64, limit=n, step_seconds=0.075, drop_too_large=True
    )
    problems = [with_predictions(problem.problem, "point=0.2", 0)]
    r = problems[0].requests
    share = r.volume.sum() / problems[0].fleet.pooled_memory / max(1, int(r.arrival.max()))
    found = routed(ctx, problems)
    setting = f"Azure conversation trace, {n} requests, step 0.075 s, 4 workers, M = 30000, B = 64, load {share:.2f}"
    why = "real arrivals and lengths; prompts are long and memory is scarce"
    yield from rows(found, "bid-price", STABLE["bid-price"], setting, why, "traces", LATENCY)
    yield floor(ctx, problems, found, setting, "traces")


def shift(ctx: Context) -> Iterator[Row]:
    """The rate rises by half in the middle: λ = 0.4, then 0.6."""
    seeds = ctx.seeds(3, 8)
    for share in ctx.pick((0.4, 0.9), (0.4, 0.75, 0.85, 0.9, 0.95, 1.0), (0.9,)):
        found = routed(ctx, draws(ctx, (share, 1.5 * share), seeds))
        for cut in (False, True):
            counted = "done by the last arrival" if cut else "all requests"
            setting = settings(ctx, f"load {share:g}, then {1.5 * share:g}, counted: {counted}", seeds)
            why = "the unit of λ is not stated; 0.6 / 0.4 = 1.5 is kept"
            role: Role = "stated" if share == 0.4 and not cut else "reading"
            yield from rows(found, "bid-price", SHIFT["bid-price"], setting, why, role, tuple(FIGURES), cut)
            yield from rows(found, "lor:central:svf", (), setting, why, role, LATENCY, cut)


def ratios(ctx: Context) -> Iterator[Row]:
    """Synthetic prefill/decode ratios 1:4 and 4:1."""
    seeds = ctx.seeds(3, 8)
    for name, source in (
        ("1:4", "uniform:prompt=20-180,output=80-720"),
        ("4:1", "uniform:prompt=80-720,output=20-180"),
    ):
        for share in ctx.pick((0.95,), (0.4, 0.95, 1.1), (0.95,)):
            found = routed(ctx, draws(ctx, (share,), seeds, source))
            setting = settings(ctx, f"prefill/decode {name}, {source.partition(':')[2]}, load {share:g}", seeds)
            why = "figures of the paper's tables are not at hand; lengths of its synthetic requests are not stated"
            for router in ("bid-price", "lor", "lor:central:svf"):
                yield from rows(found, router, (), setting, why, "sensitivity", LATENCY)


def weights(ctx: Context) -> Iterator[Row]:
    """Weights move the router along a front between mean latency and the tail."""
    seeds = ctx.seeds(3, 8)
    problems = draws(ctx, (1.08,), seeds)
    presets = ctx.pick(
        ("average", "tail"), ("average", "0,1,1,0,50,50", "0,1,1,0,200,200", "tail", "throughput"), ("tail",)
    )
    for preset in presets:
        found = routed(ctx, problems, preset, ("round-robin", "bid-price"))
        setting = settings(ctx, f"load 1.08, weights (α,β,γ,σ,ζ1,ζ2) {preset}", seeds)
        why = "the paper says that weights move the operator along a front and gives no figures here"
        yield from rows(found, "bid-price", (), setting, why, "sensitivity", tuple(FIGURES))
