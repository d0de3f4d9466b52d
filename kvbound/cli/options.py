"""Options that all commands share, declared once.

A command's first parameter is a `SourceOptions`; `takes_source` spreads its fields over the command line.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from kvbound.instances import Loaded

_SOURCE = (
    "Trace or instance file, generator such as tiny:n=8,seed=0, jaillet:seed=3, mix:n=2000,seed=0, or catalogue:NAME."
)

Method = Annotated[str, typer.Option("--method", help="Bound method; `kvbound bound --help` lists them.")]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", metavar="S", min=0, help="Seconds for the bound or the exact search.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write.")]
PolicyFile = Annotated[
    list[Path] | None,
    typer.Option("--policy-file", metavar="FILE.py", help="Python file with a function order(view); repeatable."),
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="Threads of an exact solver.")]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Which problem, and how to answer."""

    source: Annotated[str, typer.Argument(metavar="SOURCE", help=_SOURCE, show_default=False)]
    memory: Annotated[
        int | None, typer.Option("--memory", metavar="M", min=1, help="KV memory of each worker, in tokens.")
    ] = None
    workers: Annotated[int, typer.Option("--workers", metavar="G", min=1, help="Number of workers.")] = 1
    batch: Annotated[
        int | None, typer.Option("--batch", metavar="B", min=1, help="Most requests in a step of a worker.")
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Take only N requests.")] = None
    offset: Annotated[int, typer.Option("--offset", metavar="K", min=0, help="Skip the first K requests.")] = 0
    step_seconds: Annotated[
        float | None,
        typer.Option("--step-seconds", metavar="S", help="Seconds in a step: use a trace's arrivals (else all are 0)."),
    ] = None
    drop_too_large: Annotated[
        bool, typer.Option("--drop-too-large", help="Drop (and count) requests larger than the memory.")
    ] = False
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise", metavar="E|MODEL=X", help="Predict outputs: 0.2 (off by up to 20 %), point=, bins=, lognormal=."
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="K", min=0, help="Seed of noise, policies and methods.")] = 0
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")] = False

    def load(self) -> Loaded:
        """Load the problem."""
        from kvbound.instances import load, with_predictions

        loaded = load(
            self.source,
            memory=self.memory,
            workers=self.workers,
            batch=self.batch,
            limit=self.limit,
            offset=self.offset,
            step_seconds=self.step_seconds,
            drop_too_large=self.drop_too_large,
        )
        if self.noise is None:
            return loaded
        problem = with_predictions(loaded.problem, self.noise, self.seed)
        note = f"policies see predictions of the output lengths: noise {self.noise}, seed {self.seed}"
        return replace(loaded, problem=problem, notes=(*loaded.notes, note))


def takes_source(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the first parameter of `command`, a `SourceOptions`, by its fields as arguments and options."""
    hints = get_type_hints(SourceOptions, include_extras=True)
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    positional: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []
    for field in fields(SourceOptions):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        parameter = inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )
        (positional if field.default is MISSING else shared).append(parameter)
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]

    @functools.wraps(command)
    def spread(**values: Any) -> None:
        options = SourceOptions(**{field.name: values.pop(field.name) for field in fields(SourceOptions)})
        command(options, **values)

    parameters = [*positional, *own, *shared]
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    spread.__annotations__ = {p.name: p.annotation for p in parameters}
    del spread.__dict__["__wrapped__"]  # or inspect would look past the new signature
    return spread
