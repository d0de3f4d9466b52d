"""`kvbound explain`: what makes a policy lose, in words and as two pictures side by side."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kvbound.explain import Explanation


def explain(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A record, the name of one in the hall, or any SOURCE with --policy.",
            show_default=False,
        ),
    ],
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="P", help="Policy to explain on an instance that is no record.")
    ] = None,
    policy_file: Annotated[
        Path | None, typer.Option("--policy-file", metavar="FILE.py", help="Python file with a function order(view).")
    ] = None,
    memory: Annotated[
        int | None, typer.Option("--memory", metavar="M", min=1, help="KV memory, for an instance that is no record.")
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", metavar="S", min=0.0, help="Seconds to search where no better one is given."),
    ] = 10.0,
    seed: Annotated[int, typer.Option("--seed", metavar="K", min=0, help="Seed of that search.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Picture to draw: .png, .svg or .pdf.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say and draw what makes a policy lose: its schedule beside a better one, on the same axes."""
    from kvbound.cli.output import decimal, new_table, print_json, print_lines, print_table, whole
    from kvbound.cli.progress import reporting
    from kvbound.files import require_writable
    from kvbound.plot import require_format

    if output is not None:
        require_format(output)
        require_writable(output)
    with reporting("loading"):
        found = _explanation(file, policy, policy_file, memory, time_limit, seed)
        if output is not None:
            from kvbound.plot_explain import plot_explanation

            plot_explanation(found, output)
    if json:
        print_json(_document(found, output))
        return
    problem = found.problem
    table = new_table(
        f"{found.name} on n = {problem.n:,}, M = {problem.fleet.largest:,}",
        ["requests (prompt, output)"],
        [f"completion, {found.name}", f"completion, {found.better_name}", "steps lost"],
    )
    for kind in found.kinds:
        table.add_row(kind.shown, decimal(kind.policy, 1), decimal(kind.better, 1), whole(kind.loss))
    print_table(table)
    print_lines(found.lines() + ([] if output is None else [f"picture written to {output}"]))


def _explanation(
    file: str, name: str | None, policy_file: Path | None, memory: int | None, time_limit: float, seed: int
) -> Explanation:
    from kvbound.attack_certify import Effort, better_schedule
    from kvbound.attack_sides import Target
    from kvbound.explain import explain as compare
    from kvbound.instances import load
    from kvbound.models.errors import OptionError
    from kvbound.solvers.deadline import Deadline

    record = _record(file)
    if record is not None:
        problem, schedule = record.problem, record.policy.schedule
        name, better = record.attacked.name, record.reference.schedule
        label = "optimum" if record.reference.kind == "optimum" else "best schedule known"
        if better is not None:
            return compare(problem, name, schedule, better.schedule, label)
    else:
        if name is None and policy_file is None:
            raise OptionError(f"{file} is no record; name the policy to explain with --policy")
        target = Target.named(name or str(policy_file and policy_file.stem), file=policy_file, seed=seed)
        problem = load(file, memory=memory).problem
        name, schedule = target.name, target.run(problem)
    effort = Effort(time_limit, None, seed)
    found, _ = better_schedule(problem, schedule, Deadline(time_limit), effort, None)
    return compare(problem, name, schedule, found, "best schedule found")


def _record(file: str) -> Any:
    """The record in a file, or the one of that name in the hall; None when `file` is something else."""
    from kvbound.instances.adversarial.hall import SHIPPED
    from kvbound.instances.adversarial.record import read_record

    path = Path(file)
    if not path.exists():
        inside = SHIPPED / f"{file.removesuffix('.json')}.json"
        return read_record(inside) if inside.is_file() else None
    try:
        document = json_module.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # `load` says what is wrong with it
    if isinstance(document, dict) and document.get("format") == "kvbound-record":
        return read_record(path)
    return None


def _document(found: Explanation, output: Path | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "policy": found.name,
        "n": found.problem.n,
        "memory": found.problem.fleet.largest,
        "policy_tel": found.policy_tel,
        "reference_tel": found.better_tel,
        "reference": found.better_name,
        "ratio": found.ratio,
        "diverge": found.diverge,
        "kinds": [asdict(kind) for kind in found.kinds],
        "text": found.lines(),
        "file": None if output is None else str(output),
    }
