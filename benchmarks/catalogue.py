"""Fill the catalogue with schedules and certified bounds, add what others found, and print tables from it.

    python benchmarks/catalogue.py fill jaillet --search 10 --bound 10
    python benchmarks/catalogue.py fill tiny --search 2 --bound 5 --exact 60
    python benchmarks/catalogue.py fill traces --traces FOLDER --search 60 --bound 60
    python benchmarks/catalogue.py add jaillet:seed=0 --schedule best.json --certificate proof.json --how "by hand"
    python benchmarks/catalogue.py table jaillet

`fill` goes through a group in order and stores after every instance; Ctrl-C stores what there is and stops, and the
next call goes on with the instances that got less time than asked for. Nothing enters unless it was verified and is
better than what is there. `table` verifies every entry that it uses and computes all figures from them; nothing is
searched.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import kvbound
from kvbound.checkers.certificate_file import read_certificate
from kvbound.instances import read_schedule
from kvbound.instances.catalogue import (
    GROUPS,
    Claim,
    Entry,
    Recipe,
    TraceMissing,
    Work,
    build,
    improved,
    merged,
    new_entry,
    planned,
    read_group,
    verify_entry,
    write_group,
)
from kvbound.instances.catalogue.packing import unpack_certificate, unpack_starts
from kvbound.instances.catalogue.store import SHIPPED
from kvbound.models import Problem
from kvbound.models.errors import KvboundError
from kvbound.models.schedule import Schedule
from kvbound.models.threads import limit_threads
from kvbound.solvers.bounds import bound
from kvbound.solvers.bounds import prepare as prepare_bounds
from kvbound.solvers.deadline import Deadline
from kvbound.solvers.exact import SolveConfig, solve
from kvbound.solvers.policies import POLICIES, run_policy
from kvbound.solvers.search import improve, prepare

STARTERS = ("fcfs", "mc-sf", "total-size", "svf")


@dataclass(frozen=True, slots=True)
class Interrupts:
    """Ctrl-C, remembered also when a search swallows it and ends early."""

    seen: list[int]

    @classmethod
    @contextmanager
    def noticed(cls) -> Iterator[Interrupts]:
        """Remember Ctrl-C inside, beside the usual exception."""
        interrupts = cls([])

        def note(number: int, frame: object) -> None:
            interrupts.seen.append(number)
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, note)
        try:
            yield interrupts
        finally:
            signal.signal(signal.SIGINT, before)


def work(how: str, seconds: float) -> Work:
    """Provenance of something found just now."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Work(f"kvbound {kvbound.__version__}", how, round(seconds, 1), day)


def best_policy(problem: Problem) -> tuple[str, Schedule]:
    """Name and schedule of the best of a few policies."""
    runs = [run_policy(problem, POLICIES[name]) for name in STARTERS]
    best = min((run for run in runs if run.tel is not None), key=lambda run: run.tel or 0)
    assert best.schedule is not None
    return best.name, best.schedule


def first_entry(problem: Problem, recipe: Recipe) -> Entry:
    """A policy's schedule and the volume bound: something to improve on."""
    name, schedule = best_policy(problem)
    quick = bound(problem, "volume", deadline=Deadline(None))
    assert quick.certificate is not None
    return new_entry(problem, recipe, (schedule, work(f"policy {name}", 0.0)), (quick.certificate, work("volume", 0.0)))


def wanted(entry: Entry, args: argparse.Namespace) -> list[str]:
    """Kinds of work that are still to do, in order."""
    asked = {"search": args.search, "bound": args.bound, "exact": args.exact}
    open_kinds = [
        kind for kind, seconds in asked.items() if seconds > 0 and (args.again or entry.tried.get(kind, 0.0) < seconds)
    ]
    if entry.optimal == "certified":
        return []
    return [kind for kind in open_kinds if kind == "bound" or entry.optimal is None]


def do(kind: str, entry: Entry, problem: Problem, args: argparse.Namespace) -> Entry:
    """Spend the time asked for on one kind of work; return the entry with what is better."""
    known = unpack_starts(entry.schedule.starts, entry.name)
    if kind == "search":
        target = max(entry.bound.value, entry.claim.value if entry.claim else 0)
        found = improve(problem, known, deadline=Deadline(args.search), seed=args.seed, target=target)
        how = f"search from {entry.schedule.work.how}, seed {args.seed}, {args.search:g} s"
        if entry.schedule.work.how.startswith("search from"):
            how = f"search from the best known, seed {args.seed}, {args.search:g} s"
        return improved(entry, problem, schedule=(found.schedule, work(how, found.seconds)))
    if kind == "bound":
        before = None if args.fresh else unpack_certificate(entry.bound.certificate, entry.name)
        proof = bound(problem, args.method, deadline=Deadline(args.bound), upper=entry.schedule.tel, start=before)
        if proof.certificate is None:
            return entry
        how = f"{proof.certificate.method} ({args.method}, {args.bound:g} s)"
        if before is not None and before.rule == "sequence":
            how += f" from {entry.bound.work.how}"
        return improved(entry, problem, bound=(proof.certificate, work(how, proof.seconds)))
    config = SolveConfig(time_limit=args.exact, threads=args.threads, seed=args.seed)
    answer = solve(problem, config=config, incumbent=known, bound=entry.bound.value)
    said = work(f"exact {answer.method} ({answer.proved_by}), {args.exact:g} s", answer.seconds)
    claim = None if answer.bound is None or answer.certificate is not None else Claim(answer.bound, said)
    return improved(
        entry,
        problem,
        schedule=None if answer.schedule is None else (answer.schedule, said),
        bound=None if answer.certificate is None else (answer.certificate, said),
        claim=claim if claim is not None and claim.value > entry.bound.value else None,
    )


def store(path: Path, group: str, entry: Entry) -> None:
    """Write the entry into its file as it is now on the disk, in the order of the plan."""
    there = {old.name: old for old in read_group(path)} if path.exists() else {}
    there[entry.name] = merged(there[entry.name], entry) if entry.name in there else entry
    order = {name: at for at, (name, _) in enumerate(planned(group))}
    write_group(path, sorted(there.values(), key=lambda e: order.get(e.name, len(order))))


def warm_up() -> None:
    """Compile every kernel, so that no instance pays for it."""
    prepare()
    problem = kvbound.load("tiny:n=6,seed=0").problem
    best_policy(problem)
    prepare_bounds()


def fill(args: argparse.Namespace) -> int:
    """Work through a group."""
    path = args.folder / f"{args.group}.json"
    known = {entry.name: entry for entry in read_group(path)} if path.exists() else {}
    plan = [(name, recipe) for name, recipe in planned(args.group) if matches(name, args.names)]
    there = sum(name in known for name, _ in plan)
    print(f"{len(plan)} instances of {args.group}, {there} of them in {path}", flush=True)
    limit_threads(args.threads)
    warm_up()
    print(f"{'instance':28} {'n':>5} {'best known':>12} {'bound':>12} {'gap %':>7} {'done':24} {'seconds':>7}")
    begin, failed = time.perf_counter(), 0
    with Interrupts.noticed() as interrupts:
        for at, (name, recipe) in enumerate(plan):
            try:
                done = one(args, path, name, recipe, known.get(name), interrupts, f"{at + 1}/{len(plan)}")
            except KvboundError as error:  # the other instances do not depend on it
                print(f"FAILED {name}: {error}", flush=True)
                failed, done = failed + 1, True
            if not done:
                print(f"interrupted after {time.perf_counter() - begin:.0f} s; the same command goes on from here")
                return 130
    print(f"done in {time.perf_counter() - begin:.0f} s" + (f", {failed} failed" if failed else ""))
    return 1 if failed else 0


def one(
    args: argparse.Namespace, path: Path, name: str, recipe: Recipe, known: Entry | None, hit: Interrupts, at: str
) -> bool:
    """Work on one instance and store it; False when Ctrl-C ended the work."""
    begin, entry, finished = time.perf_counter(), known, []
    try:
        problem = build(name, recipe, args.traces).problem
        entry = known if known is not None else first_entry(problem, recipe)
        todo = wanted(entry, args)
        if not todo and known is not None:
            return True
        for kind in todo:
            if kind == "exact" and entry.optimal is not None:
                continue
            entry = do(kind, entry, problem, args)
            if not hit.seen:  # interrupted work counts, but is to be done again
                entry = improved(entry, problem, tried={kind: float(getattr(args, kind))})
                finished.append(kind)
            else:
                break
    except KeyboardInterrupt:
        pass
    except TraceMissing as error:
        print(f"skipped: {error}", flush=True)
        return True
    if entry is not None and entry is not known:
        signal.signal(signal.SIGINT, signal.SIG_IGN) if hit.seen else None
        store(path, args.group, entry)
        print(line(entry, f"{at} {'+'.join(finished)}", time.perf_counter() - begin), flush=True)
    return not hit.seen


def line(entry: Entry, done: str, seconds: float) -> str:
    """One instance in one line."""
    mark = {"certified": " optimal", "claimed": " optimal (claim)", None: ""}[entry.optimal]
    return (
        f"{entry.name:28} {entry.n:>5} {entry.schedule.tel:>12,} {entry.bound.value:>12,} {100 * entry.gap:>7.2f} "
        f"{done:24} {seconds:>7.1f}{mark}"
    )


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is asked for; no pattern asks for all."""
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def add(args: argparse.Namespace) -> int:
    """Offer a schedule or a certificate that was found elsewhere."""
    for group in GROUPS:
        recipes = dict(planned(group))
        if args.name in recipes:
            break
    else:
        print(f"{args.name} is not in the plan of any group ({', '.join(GROUPS)})", file=sys.stderr)
        return 2
    path = args.folder / f"{group}.json"
    known = {entry.name: entry for entry in read_group(path)} if path.exists() else {}
    problem = build(args.name, recipes[args.name], args.traces).problem
    before = known.get(args.name) or first_entry(problem, recipes[args.name])
    said = work(args.how, args.seconds)
    entry = improved(
        before,
        problem,
        schedule=None if args.schedule is None else (read_schedule(args.schedule, problem), said),
        bound=None if args.certificate is None else (read_certificate(args.certificate), said),
    )
    better = [what for what in ("schedule", "bound") if getattr(entry, what) != getattr(before, what)]
    print(
        f"{args.name}: {' and '.join(better)} replaced" if better else f"{args.name}: nothing better, nothing changed"
    )
    if better or args.name not in known:
        store(path, group, entry)
    print(line(entry, "", 0.0))
    return 0


def table(args: argparse.Namespace) -> int:
    """Verify the entries of a group and print what follows from them."""
    path = args.folder / f"{args.group}.json"
    entries = [entry for entry in read_group(path) if matches(entry.name, args.names)] if path.exists() else []
    if not entries:
        print(f"{path}: no such entries", file=sys.stderr)
        return 2
    begin = time.perf_counter()
    used, shortest, bad = [], [], 0
    for entry in entries:
        verdict = verify_entry(entry, args.traces)
        for failure in verdict.failures:
            print(f"FAILED {failure}")
        if verdict.skipped:
            print(f"skipped: {verdict.skipped}")
        if not verdict.ok:
            bad += bool(verdict.failures)
            continue
        run = run_policy(build(entry.name, entry.recipe, args.traces).problem, POLICIES["mc-sf"])
        assert run.tel is not None
        used.append(entry)
        shortest.append(run.tel)
    seconds = time.perf_counter() - begin
    total = sum(1 for _ in planned(args.group))
    print(
        f"{len(used)} of {total} instances of {args.group}, every schedule and certificate verified; {seconds:.0f} s\n"
    )
    if used:
        print_table(used, shortest)
    return 1 if bad else 0


def print_table(used: list[Entry], shortest: list[int]) -> None:
    """Gaps and the place of MC-SF, in Markdown."""
    gaps = [100 * entry.gap for entry in used]
    to_best = [tel / entry.schedule.tel for tel, entry in zip(shortest, used, strict=True)]
    to_bound = [tel / entry.bound.value for tel, entry in zip(shortest, used, strict=True)]
    print("| figure | mean | median | best | worst |\n|---|--:|--:|--:|--:|")
    for name, values, digits in (
        ("gap of the best known schedule, %", gaps, 2),
        ("MC-SF / best known", to_best, 4),
        ("MC-SF / bound", to_bound, 4),
    ):
        figures = (statistics.mean(values), statistics.median(values), min(values), max(values))
        print(f"| {name} | " + " | ".join(f"{value:.{digits}f}" for value in figures) + " |")
    print(f"\nMC-SF equals the best known schedule on {sum(r == 1 for r in to_best)} of {len(used)} instances.")
    kinds = [entry.optimal for entry in used]
    print(f"Proved optimal: {kinds.count('certified')} by certificate, {kinds.count('claimed')} by a solver's claim.")
    print(
        f"MC-SF / optimum lies between the two rows: its mean over these instances is at least "
        f"{statistics.mean(to_best):.4f} and at most {statistics.mean(to_bound):.4f}."
    )
    worst = sorted(used, key=lambda entry: -entry.gap)[:5]
    print("Largest gaps: " + ", ".join(f"{entry.name} {100 * entry.gap:.2f} %" for entry in worst) + ".")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--folder", type=Path, default=SHIPPED, help="folder of the group files (default: the package's)"
    )
    shared.add_argument("--traces", type=Path, help="folder of the trace files (default: KVBOUND_TRACES)")

    filling = commands.add_parser("fill", parents=[shared], help="search and prove, storing after every instance")
    filling.add_argument("group", choices=GROUPS)
    filling.add_argument("names", nargs="*", help="only instances whose name matches one of these patterns")
    filling.add_argument("--search", type=float, default=10.0, help="seconds for a better schedule; 0: none")
    filling.add_argument("--bound", type=float, default=10.0, help="seconds for the bound; 0: none")
    filling.add_argument("--exact", type=float, default=0.0, help="seconds for the exact solver; 0: none")
    filling.add_argument("--method", default="best", help="bound method")
    filling.add_argument("--seed", type=int, default=0)
    filling.add_argument("--threads", type=int, default=1)
    filling.add_argument("--again", action="store_true", help="work on instances that already got this much time, too")
    filling.add_argument("--fresh", action="store_true", help="search bounds anew, not from the certificate there is")
    filling.set_defaults(run=fill)

    adding = commands.add_parser("add", parents=[shared], help="offer a schedule or certificate file")
    adding.add_argument("name")
    adding.add_argument("--schedule", type=Path)
    adding.add_argument("--certificate", type=Path)
    adding.add_argument("--how", required=True, help="how it was found, in words")
    adding.add_argument("--seconds", type=float, default=0.0, help="how long it took")
    adding.set_defaults(run=add)

    showing = commands.add_parser("table", parents=[shared], help="verify and print the figures of a group")
    showing.add_argument("group", choices=GROUPS)
    showing.add_argument("names", nargs="*")
    showing.set_defaults(run=table)

    args = parser.parse_args()
    try:
        return int(args.run(args))
    except KvboundError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
