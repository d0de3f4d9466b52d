"""The `kvbound` command: registers the commands, which import what they need when they run."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kvbound import __version__
from kvbound.cli import (
    attack,
    bound,
    catalogue,
    check,
    explain,
    gap,
    generate,
    improve,
    info,
    pareto,
    policies,
    prices,
    records,
    reduce,
    report,
    reproduce,
    results,
    route,
    schedule,
    solve,
    sources,
    sweep,
    verify,
)
from kvbound.cli.guard import exit_code, guarded

# Plain help: rich's takes 0.3 s to import and to draw, and the command should answer at once.
app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kvbound {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """How far from optimal is a scheduler for LLM requests under a KV-memory budget?

    Exit codes: 0 fine, 1 a check failed, 2 bad input, 3 a bug in kvbound, 130 interrupted.
    """


for _command in (
    gap.gap,
    schedule.schedule,
    check.check,
    bound.bound,
    catalogue.catalogue,
    verify.verify,
    solve.solve,
    improve.improve,
    generate.generate,
    reduce.reduce,
    reproduce.reproduce,
    route.route,
    pareto.pareto,
    prices.prices,
    attack.attack,
    records.records,
    explain.explain,
    sweep.sweep,
    report.report,
    results.results,
    info.info,
    policies.policies,
    sources.sources,
):
    app.command()(guarded(_command))


def run() -> None:
    """Entry point of the installed command."""
    _own_stdout()
    try:
        app()
    except (Exception, KeyboardInterrupt) as error:  # outside of any command; inside, `guarded` was faster
        sys.exit(exit_code(error))


def _own_stdout() -> None:
    """Keep stdout for answers: what solvers print from C goes to stderr, so --json stays one document."""
    for name in ("stdout", "stderr"):  # closed by the caller (`>&-`): Python then has None there
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
    out, err = sys.__stdout__, sys.__stderr__
    if out is None or err is None or sys.stdout is not out or sys.stderr is not err:
        return  # closed, or redirected inside Python: leave the process alone
    answers = os.dup(1)
    os.dup2(2, 1)
    # A terminal without Σ gets "?", not a failure.
    sys.stdout = open(answers, "w", encoding=out.encoding, errors="replace")  # noqa: SIM115
    err.reconfigure(errors="replace")
