"""Options that `route`, `pareto` and `prices` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kvbound.models.problem import Problem
    from kvbound.solvers.routers.metrics import Limits

Rate = Annotated[
    str | None,
    typer.Option("--rate", metavar="λ|trace", help="Poisson arrivals per step, or `trace`: those of the source."),
]
Weights = Annotated[
    str, typer.Option("--weights", metavar="W", help="average, tail, throughput, or numbers α,β,γ,σ,ζ1,ζ2.")
]
Horizon = Annotated[int | None, typer.Option("--horizon", metavar="H", min=1, help="Horizon of the reward, in steps.")]
EelLimit = Annotated[
    int | None, typer.Option("--slo-eel", metavar="S", min=1, help="EEL must stay below S steps (also τ1).")
]
TtftLimit = Annotated[
    int | None, typer.Option("--slo-ttft", metavar="S", min=1, help="TTFT must stay below S steps (also τ2).")
]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Seeds of arrivals, noise and routers.")]


def parse_rate(text: str | None, problem: Problem) -> float | None:
    """A rate above 0, or None for the arrivals of the source."""
    from kvbound.models.errors import OptionError

    if text is None:
        return None
    if text in ("trace", "from trace", "from-trace"):
        if not problem.requests.arrival.any():
            raise OptionError(
                "--rate trace: the source has no arrivals, all requests wait at step 0; a trace with clock times "
                "needs --step-seconds, a generator arrivals=poisson,rate=…"
            )
        return None
    try:
        rate = float(text)
    except ValueError:
        raise OptionError(f"--rate {text!r}: give requests per step, such as 0.4, or `trace`") from None
    if not 0 < rate < float("inf"):
        raise OptionError(f"--rate {text}: it must be above 0 requests per step")
    return rate


def limits_of(problem: Problem, eel: int | None, ttft: int | None) -> Limits:
    """The thresholds asked for, the default for the rest."""
    from kvbound.solvers.routers.metrics import Limits

    default = Limits.default(problem.requests)
    return Limits(eel or default.eel, ttft or default.ttft)
