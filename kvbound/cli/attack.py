"""`kvbound attack`: search the instance on which a policy or router loses most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import INTERRUPTED
from kvbound.cli.options import Output

if TYPE_CHECKING:
    from kvbound.attack import Attack


def attack(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="Policy (`kvbound policies`); with --router a router (`kvbound route`); stem of a --policy-file.",
            show_default=False,
        ),
    ],
    n: Annotated[int, typer.Option("--n", metavar="N", min=1, help="Most requests.")] = 12,
    memory: Annotated[int, typer.Option("--memory", metavar="M", min=2, help="KV memory of each worker.")] = 40,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="S", min=0.0, help="Seconds for everything (default 60; none with --evaluations)."
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option("--evaluations", metavar="K", min=1, help="Instances to look at: same seed, same answer."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="K", min=0, help="Seed of the search.")] = 0,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="R", help="optimum (default up to 12 requests), best-known (default beyond) or bound."
        ),
    ] = None,
    router: Annotated[bool, typer.Option("--router", help="POLICY is a router.")] = False,
    workers: Annotated[int, typer.Option("--workers", metavar="G", min=1, help="Number of workers.")] = 1,
    batch: Annotated[int | None, typer.Option("--batch", metavar="B", min=1, help="Batch size of each worker.")] = None,
    arrivals: Annotated[
        int, typer.Option("--arrivals", metavar="T", min=0, help="Latest arrival in steps; 0: all wait at step 0.")
    ] = 0,
    policy_file: Annotated[
        Path | None, typer.Option("--policy-file", metavar="FILE.py", help="Python file with a function order(view).")
    ] = None,
    policy_seed: Annotated[
        int, typer.Option("--policy-seed", metavar="K", min=0, help="Seed of the policy or router itself.")
    ] = 0,
    shrink_memory: Annotated[
        bool, typer.Option("--shrink-memory", help="Make the memory smaller, too, while the ratio stays.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="J", min=1, help="Processes, one island each.")] = 1,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", help="Keep the state of the search there, and go on from it."),
    ] = None,
    output: Output = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Search the instance on which POLICY loses most against the optimum, the best schedule found, or a bound.

    The record that comes out was verified before it is written; Ctrl-C ends the search and keeps what it has.
    """
    from kvbound.attack import attack as run
    from kvbound.attack_sides import Target
    from kvbound.cli.output import print_json, print_lines
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.instances.adversarial.groups import Space
    from kvbound.instances.adversarial.record import write_record

    require_writable(output, resume)
    target = Target.named(policy, router=router, file=policy_file, seed=policy_seed)
    if time_limit is None and evaluations is None:
        time_limit = 60.0
    with reporting(f"attacking {policy} (compiles once after installation)") as progress:
        result = run(
            target,
            Space(n, memory, workers, batch, arrivals),
            against=against,
            time_limit=time_limit,
            evaluations=evaluations,
            seed=seed,
            jobs=jobs,
            resume=resume,
            shrink_memory=shrink_memory,
            progress=progress,
        )
    if output is not None:
        write_record(output, result.record)
    if json:
        print_json(document(result, output))
    else:
        print_lines(lines(result, output))
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def document(result: Attack, output: Path | None) -> dict[str, Any]:
    """The JSON answer."""
    record = result.record
    return {
        "ratio": result.ratio,
        "ratio_exact": record.ratio,
        "policy": record.attacked.name,
        "reference": record.reference.kind,
        "proved_by": record.reference.proved_by,
        "n": record.n,
        "memory": record.memory[0],
        "workers": len(record.memory),
        "policy_tel": record.policy_tel,
        "reference_tel": record.reference.value,
        "requests": [list(row) for row in record.requests],
        "seed": record.found.seed,
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
        "verified": True,
        "file": None if output is None else str(output),
    }


def lines(result: Attack, output: Path | None) -> list[str]:
    """The answer for people."""
    from kvbound.instances.adversarial.groups import shown

    record = result.record
    workers = "" if len(record.memory) == 1 else f", {len(record.memory)} workers"
    told = [
        f"{record.attacked.name}: ratio {result.ratio:.4f} = {record.policy_tel:,} / {record.reference.value:,} "
        f"on n = {record.n}, M = {record.memory[0]:,}{workers}",
        f"requests (prompt, output): {shown(result.groups)}",
        statement(record.reference.kind, record.attacked.name, result.ratio, record.reference.proved_by),
        f"{result.evaluations:,} instances in {result.seconds:.1f} s; verified: both sides checked, policy run anew",
    ]
    if result.interrupted:
        told.append("interrupted: this is the best instance by then")
    return told + (
        [] if output is None else [f"record written to {output}; look at it with `kvbound explain {output}`"]
    )


def statement(kind: str, name: str, ratio: float, proved_by: str | None) -> str:
    """What a record proves, in one sentence."""
    if kind == "bound":
        return f"against a certified bound ({proved_by}): {name} is at most {ratio:.4f} × the optimum on this instance"
    if kind == "optimum":
        return f"against the optimum ({proved_by}): {name} is {ratio:.4f} × the optimum on this instance"
    return f"against the best schedule found: {name} is at least {ratio:.4f} × the optimum on this instance"
