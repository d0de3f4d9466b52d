"""Which policies have parameters, and which ones; where a paper is silent they are ours (docs/policies.md)."""

from __future__ import annotations

from kvbound.solvers.policies import orders
from kvbound.solvers.policies.parameters import Parameter, Tunable
from kvbound.solvers.policies.sorted_f import exact_order, quantile_order, swap_order
from kvbound.solvers.policies.sorted_lp import lp_swap_order, sorted_lp_order
from kvbound.solvers.policies.uncertain import sorted_f

_LP = (
    Parameter("method", "auto", "LP by HiGHS, prices, or the LP where it is small", choices=("auto", "lp", "prices")),
    Parameter("steps", 60, "steps of the dual ascent", 1, 10**6),
    Parameter("window", 20, "last steps that are averaged", 1, 10**6),
    Parameter("most", 1e10, "evaluations of a start's cost beyond which it declines", 1, 1e15),
)

_EVICT = Parameter(
    "evict", "bound", "who goes on overflow: least lower bound, or latest start", choices=("bound", "youngest")
)

#: Name of a policy -> its parameters.
TUNABLE: dict[str, Tunable] = {
    "volume-classes": Tunable(
        orders.volume_classes, (Parameter("base", 2.0, "classes of volumes base^i to base^(i+1)", 1.01, 1e6),)
    ),
    "wspt": Tunable(orders.wspt, (Parameter("exponent", 0.5, "weight o^exponent of a request", 0, 10),)),
    "weighted": Tunable(
        orders.weighted,
        (
            Parameter("prompt", 1.0, "weight of the prompt, in units of the mean prompt", 0, 1e9),
            Parameter("output", 1.0, "weight of the output, in units of the mean output", 0, 1e9),
        ),
    ),
    "sorted-f:exact": Tunable(
        exact_order,
        (
            Parameter("updates", 5e9, "table updates over all batches beyond which it declines", 1, 1e15),
            Parameter("megabytes", 800, "size of the tables beyond which it declines", 1, 10**6),
        ),
    ),
    "sorted-f:swap": Tunable(
        swap_order,
        (
            Parameter(
                "starts",
                "greedy",
                "greedy starts: one, the first three, or those and a ladder of mixed keys",
                choices=("greedy", "ladder", "output", "peak", "area"),
            ),
        ),
    ),
    "sorted-f:quantile": Tunable(
        quantile_order,
        (
            Parameter("sample", 256, "requests that estimate the quantiles of a stratum", 16, 10**7),
            Parameter("reach", 1.0, "quantile: candidates whose peaks sum up to reach·M", 0.1, 1e6),
            Parameter(
                "score", "volume", "what is to be small in a candidate", choices=("volume", "area", "peak", "output")
            ),
        ),
    ),
    "a-min": Tunable(orders.mc_sf, (_EVICT,), {"evict": "evict"}),
    "sorted-f:a-min": Tunable(sorted_f, (_EVICT,), {"evict": "evict"}),
    "sorted-f:online": Tunable(
        orders.mc_sf,
        (
            Parameter("window", 32, "waiting requests that a plan looks at, those of least o·p", 1, 10**5),
            Parameter("seconds", 1.0, "cap on the time of a plan (no cap unless given)", 1e-6, 1e6),
        ),
        {"window": "window", "seconds": "plan_seconds"},
    ),
    "sorted-lp": Tunable(sorted_lp_order, _LP),
    "lp-swap": Tunable(lp_swap_order, _LP),
}
