"""How bad policies get: growth along the families of bad instances, limits, and the hall of records.

    python benchmarks/adversarial.py growth [FIGURE.svg]     # ratio against M up to 1024, fitted exponents
    python benchmarks/adversarial.py limits                  # families with a constant limit, along their parameters
    python benchmarks/adversarial.py table                   # worst certified ratio of every policy, from the records
    python benchmarks/adversarial.py record FOLDER           # the best family members as record files

Every schedule is checked and every TEL recomputed in integers; a ratio is TEL(policy) / TEL(reference schedule) and so
a lower bound on the approximation ratio of the policy.
"""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

import numpy as np

from kvbound.attack_certify import finding
from kvbound.checkers import require_valid
from kvbound.instances.adversarial.families import FAMILIES, from_source, make
from kvbound.instances.adversarial.hall import records
from kvbound.instances.adversarial.record import Attacked, Record, Reference, Starts, make_record, write_record
from kvbound.models import Problem, Schedule
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.policies.registry import resolve
from kvbound.solvers.routers import ROUTERS, run_router

SIZES = (64, 100, 144, 196, 256, 400, 576, 784, 1024)
#: Families that grow: policy, colour, marker, further parameters as functions of M.
GROWING = {
    "fcfs": ("fcfs", "#c1121f", "o"),
    "total-size": ("total-size", "#e07a1f", "s"),
    "mc-sf": ("mc-sf", "#2a6f97", "^"),
    "svf": ("svf", "#6a994e", "D"),
    "svf:strict": ("sorted-f:quantile", "#9c6644", "P"),
    "volume-classes": ("volume-classes", "#118ab2", "<"),
    "wspt": ("wspt", "#999999", ">"),
    "sorted-lp": ("sorted-lp", "#7b4ba0", "v"),
    "lp-swap": ("lp-swap", "#d4a373", "X"),
}
#: Growing families whose closed form of the policy is exact and quickly made.
CLOSED = ("fcfs", "total-size", "mc-sf", "online", "svf:strict", "volume-classes", "wspt")
#: What stays bounded on all of them.
BOUNDED = "sorted-f:exact"
#: Beyond so many updates of its tables the exact selector gives way to the swap search.
UPDATES = 2e9

#: Policy or router, members of families with a constant limit, from small to large.
LIMITS = (
    ("svf", [f"family:svf,alpha={a},memory={m},thin={t},rounds={k}"
             for a in (0.5, 0.7, 0.8, 0.9)
             for m, t, k in ((2000, 4, 20), (20000, 8, 40), (200000, 16, 100), (2000000, 30, 200))]),
    ("svf", [f"family:lockstep,memory={r * 2520},fit={r},n={n}" for r, n in ((2, 100), (4, 400), (8, 1600), (16,
    6400))]), ("sorted-f:exact", [f"family:sorted-f,wide={w},rounds={k},base={b}"
                        for w, k, b in ((2, 4, 8), (3, 6, 12), (4, 8, 16), (6, 12, 24), (8, 16, 32))]),
    ("sorted-f:exact", ["family:sorted-f,wide=2,rounds=6,late=3,width=20",
    "family:sorted-f,wide=3,rounds=8,late=3,width=20"]), ("sorted-f:swap",
    [f"family:sorted-f,wide={w},rounds={k},base={b}"
                       for w, k, b in ((4, 8, 16), (8, 30, 60), (16, 60, 120), (24, 80, 160))]),
    ("sorted-f:exact", [f"family:sorted-f:halves,half={h},rounds={k}" for h, k in ((50, 6), (200, 12), (1000, 30))]),
    ("sorted-f:swap", [f"family:sorted-f:halves,half={h},rounds={k}" for h, k in ((5000, 60), (100000, 200))]),
    ("round-robin", [f"family:routers,memory=1024,workers={g},rounds={k}" for g, k in ((2, 10), (2, 100), (4, 20), (4,
    200))]), ("lor", ["family:routers,memory=1024,workers=4,rounds=200"]), ("least-kv",
    ["family:routers,memory=1024,workers=4,rounds=200"]),
)  # fmt: skip
#: Sorted-F with exact batches at sizes whose tables nobody fills: the closed form alone, its schedule checked.
PROVED = (
    "family:sorted-f,wide=20,rounds=150,base=300",
    "family:sorted-f,wide=40,rounds=150,base=300",
    "family:sorted-f,wide=10,rounds=32,base=64,late=14,width=1344",
    "family:sorted-f,wide=10,rounds=44,base=88,late=20,width=2640",
)
#: Members that go into the hall: (policy or router, source).
MEMBERS = (
    ("fcfs", "family:fcfs,memory=196"),
    ("shortest-prompt", "family:shortest-prompt,memory=196"),
    ("area", "family:shortest-prompt,memory=196"),
    ("longest-first", "family:shortest-prompt,memory=196"),
    ("total-size", "family:total-size,memory=4096"),
    ("mc-sf", "family:mc-sf,memory=1024"),
    ("svf", "family:svf,memory=4096,rounds=90"),
    ("sorted-lp", "family:sorted-lp,memory=1024"),
    ("sorted-f:exact", "family:sorted-f,wide=8,rounds=16,base=32"),
    ("sorted-f:swap", "family:sorted-f,wide=12,rounds=30,base=60"),
    ("sorted-f:quantile", "family:svf:strict,memory=4096"),
    ("lp-swap", "family:lp-swap,memory=1024"),
    ("volume-classes", "family:volume-classes,memory=4096"),
    ("wspt", "family:wspt,memory=4096"),
    ("sorted-f:online", "family:online,memory=1024"),
    ("round-robin", "family:routers:fifo,memory=196,workers=2"),
    ("lor", "family:routers:fifo,memory=196,workers=2"),
    ("least-kv", "family:routers:fifo,memory=196,workers=2"),
    ("power-of-2", "family:routers:fifo,memory=196,workers=2"),
)


def run(name: str, problem: Problem, seed: int = 0) -> Schedule:
    """What the policy or router does, checked."""
    if name in ROUTERS:
        schedule = run_router(problem, ROUTERS[name], seed=seed).execution.schedule(problem.requests)
    else:
        done = run_policy(problem, resolve([name])[0], seed=seed)
        if done.schedule is None:
            raise SystemExit(f"{name} declined {problem.name}: {done.declined}")
        schedule = done.schedule
    require_valid(problem, schedule)
    return schedule


def tel(name: str, problem: Problem) -> int:
    return require_valid(problem, run(name, problem))


def bounded(problem: Problem) -> tuple[int, str]:
    """TEL of Sorted-F: exact batches where their tables are small, the swap search elsewhere."""
    done = run_policy(problem, resolve([f"sorted-f:exact,updates={UPDATES:.0f}"])[0])
    if done.tel is not None:
        return done.tel, "exact"
    return tel("sorted-f:swap", problem), "swap"


def exponent(ratios: list[float], low: int = 100) -> float:
    """Slope of log(ratio) over log(M) by least squares, from M = `low` on."""
    pick = [i for i, m in enumerate(SIZES) if m >= low]
    return float(np.polyfit(np.log([SIZES[i] for i in pick]), np.log([ratios[i] for i in pick]), 1)[0])


def far_exponent(name: str) -> float:
    """Exponent where nobody needs to run the policy any more: the closed forms are exact."""
    small, large = (make(name, memory=4**e).ratio for e in (7, 8))
    return float(np.log(float(large / small)) / np.log(4))


def growth(figure: Path | None) -> None:
    lines: dict[str, list[float]] = {}
    flat: dict[str, list[float]] = {}
    print(f"{date.today()}: ratio TEL / TEL(reference) along the families; in brackets Sorted-F on the same instances")
    print("\n| M | " + " | ".join(f"`{name}`" for name in GROWING) + " |")
    print("|--:|" + "--:|" * len(GROWING))
    for m in SIZES:
        cells = []
        for name, (policy, _, _) in GROWING.items():
            extra = {"rounds": round(2 * m**0.5)} if name == "svf" else {}
            member = make(name, memory=m, **extra)
            problem = member.problem(f"{name} {m}")
            reference = require_valid(problem, member.reference)
            ratio = tel(policy, problem) / reference
            value, which = bounded(problem)
            lines.setdefault(name, []).append(ratio)
            flat.setdefault(name, []).append(value / reference)
            cells.append(f"{ratio:.2f} ({value / reference:.3f}{'*' if which == 'swap' else ''})")
        print(f"| {m} | " + " | ".join(cells) + " |", flush=True)
    slopes = [f"{exponent(lines[name]):.3f} ({exponent(flat[name]):.3f})" for name in GROWING]
    print("| exponent from M = 100 on | " + " | ".join(slopes) + " |")
    print("\n* swap search: tables of the exact selector would need more than 2·10⁹ updates")
    far = [f"{name} {far_exponent(name):.3f}" for name in CLOSED]
    print("exponent between M = 2^14 and 2^16 by the closed forms: " + ", ".join(far))
    if figure is not None:
        draw(figure, lines, flat)


def draw(figure: Path, lines: dict[str, list[float]], flat: dict[str, list[float]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "kvbound"
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(9.5, 5))
    for name, (policy, colour, marker) in GROWING.items():
        slope = exponent(lines[name])
        axes.plot(
            SIZES, lines[name], color=colour, marker=marker, ms=5, lw=1.5, label=f"{policy}: exponent {slope:.2f}"
        )
        axes.plot(SIZES, flat[name], color=colour, marker=marker, ms=3, lw=0.8, ls=":")
    axes.plot([], [], color="#555555", ls=":", marker=".", lw=0.8, label="Sorted-F on the same instances")
    axes.set(xscale="log", yscale="log", xlabel="KV memory M in tokens", ylabel="TEL / TEL of a better schedule")
    axes.set_xticks(SIZES, [str(m) for m in SIZES], fontsize=8)
    axes.minorticks_off()
    ticks = (1, 2, 5, 10, 20, 50, 100, 200)
    axes.set_yticks(ticks, [str(t) for t in ticks])
    axes.grid(color="#dddddd", lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.set_title("Unbounded policies along their families of bad instances", loc="left", fontsize=11)
    fig.savefig(figure, bbox_inches="tight", metadata={"Date": None})
    print(f"figure: {figure}")


def limits() -> None:
    print(f"{date.today()}: families whose ratio has a limit")
    print("\n| policy | instance | n | M | ratio | growth of the family |\n|---|---|--:|--:|--:|---|")
    for policy, sources in LIMITS:
        for source in sources:
            _, member, family = from_source(source)
            problem = member.problem(source)
            ratio = tel(policy, problem) / require_valid(problem, member.reference)
            print(
                f"| `{policy}` | `{source}` | {problem.n} | {member.memory} | {ratio:.4f} | {family.growth} |",
                flush=True,
            )
    for source in PROVED:
        _, member, family = from_source(source)
        problem = member.problem(source)
        require_valid(problem, member.reference)
        ratio, who = float(member.ratio), "`sorted-f:exact`, closed form"
        print(f"| {who} | `{source}` | {problem.n} | {member.memory} | {ratio:.4f} | {family.growth} |")


def proven(name: str) -> str:
    """The proven upper bound of a policy, as in `kvbound policies`."""
    guarantee = POLICIES[name].guarantee if name in POLICIES else "none stated"
    return {"none": "none stated", "none (unbounded)": "none"}.get(guarantee, guarantee)


def growth_of(name: str) -> str:
    """The families that hurt a policy with what they show; `online` hurts all, `lockstep` every order."""
    skipped = ("lockstep",) if name == "sorted-f:online" else ("lockstep", "online")
    found = [f"`{f.name}`: {f.growth}" for f in FAMILIES.values() if name in f.hurts and f.name not in skipped]
    if name in FAMILIES["lockstep"].hurts:
        found.append("`lockstep`: → 2")
    return "; ".join(found) or "–"


def cell(record: Record | None) -> str:
    if record is None:
        return "–"
    kind = {"optimum": "exact", "best-known": "best known"}.get(record.reference.kind, record.reference.kind)
    return f"{float(record.value):.4f} (n = {record.n}, M = {record.memory[0]}, {kind})"


def table(folder: Path | None) -> None:
    hall = {record.slot: record for record in records(folder)}
    names = sorted({(r.attacked.kind != "policy", r.attacked.name) for r in hall.values()})
    print(
        "| policy | proven upper bound | worst ratio, n ≤ 12 | worst ratio, larger n | families |\n"
        "|---|---|--:|--:|---|"
    )
    for router, name in names:
        at = {
            r.slot.rsplit(".", 1)[-1]: r
            for r in hall.values()
            if r.attacked.name == name and r.reference.kind != "bound"
        }
        label = f"`{name}`" + (" (router)" if router else "")
        print(f"| {label} | {proven(name)} | {cell(at.get('small'))} | {cell(at.get('large'))} | {growth_of(name)} |")


def record(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in MEMBERS:
        written, member, _ = from_source(source)
        problem = member.problem(source)
        schedule = run(name, problem)
        value = require_valid(problem, member.reference)
        made = make_record(
            problem,
            Attacked("router" if name in ROUTERS else "policy", name),
            schedule,
            require_valid(problem, schedule),
            Reference("best-known", value, Starts.of(member.reference)),
            finding(f"member of a family: {written}", 0, 0, 0.0),
        )
        write_record(folder / f"{made.slot}.json", made)
        print(f"{made.slot}: {float(made.value):.4f} (n = {made.n})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("growth", "limits", "table", "record"))
    parser.add_argument("path", type=Path, nargs="?", help="figure, or folder of records")
    given = parser.parse_args()
    if given.part == "growth":
        growth(given.path)
    elif given.part == "limits":
        limits()
    elif given.part == "table":
        table(given.path)
    else:
        record(given.path or Path("records"))


if __name__ == "__main__":
    main()
