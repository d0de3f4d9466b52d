"""Parameters of policies by name, from Python and on the command line; and what the orders mean."""

from __future__ import annotations

import numpy as np
import pytest
from cli import answer, inline, refusal

from kvbound.models import Fleet, OptionError, Problem, Requests
from kvbound.solvers.policies import POLICIES, View, resolve, run_policy
from kvbound.solvers.policies.parameters import split_names
from kvbound.solvers.policies.sorted_f import swap_order
from kvbound.solvers.policies.tunables import TUNABLE

SOURCE = "mix:n=60,seed=0"


def view(n: int = 200, seed: int = 0) -> View:
    rng = np.random.default_rng(seed)
    return View.of(Problem(Requests(rng.integers(0, 300, n), rng.integers(1, 200, n)), Fleet.uniform(1500)))


def test_names_with_parameters_are_kept_together() -> None:
    assert split_names("svf, wspt,exponent=1 ,mc-sf,") == ["svf", "wspt,exponent=1", "mc-sf"]
    assert split_names("sorted-f:quantile,sample=64,reach=2") == ["sorted-f:quantile,sample=64,reach=2"]


def test_a_parameter_changes_the_order_and_the_name() -> None:
    plain, steep, plain_again = resolve(["wspt", "wspt,exponent=1", "wspt,exponent=0.5"])
    seen = view()
    assert steep.name == "wspt,exponent=1.0"
    assert list(plain.order(seen)) == list(plain_again.order(seen)) != list(steep.order(seen))
    (swap,) = resolve(["sorted-f:swap,starts=ladder"])
    assert list(swap.order(seen)) == list(swap_order(seen, "ladder"))


def written(value: object) -> str:
    """A default as a user would write it."""
    return f"{value:g}".replace("e+", "e") if isinstance(value, float) else str(value)


@pytest.mark.parametrize("name", [name for name in TUNABLE if name not in ("sorted-f:online", "sorted-lp", "lp-swap")])
def test_every_default_is_what_happens_without_it(name: str) -> None:
    for parameter in TUNABLE[name].parameters:
        assert parameter.parse(written(parameter.default), name) == parameter.default
        (policy,) = resolve([f"{name},{parameter.name}={written(parameter.default)}"])
        assert policy.rule == POLICIES[name].rule
        assert list(policy.order(view())) == list(POLICIES[name].order(view()))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("svf,base=2", "svf has no parameters"),
        ("wspt,exponet=1", "did you mean 'exponent'"),
        ("wspt,exponent=x", "give a number from 0 to 10"),
        ("wspt,exponent=11", "give a number from 0 to 10"),
        ("sorted-f:quantile,sample=1.5", "give a whole number from 16"),
        ("sorted-f:quantile,score=size", "choose volume, area, peak, output"),
        ("sorted-f:quantile,sample=16,sample=17", "sample is given twice"),
        ("sorted-f:quantile,sample", "unknown parameter 'sample'"),
        ("sorted-f:quantil,sample=16", "did you mean 'sorted-f:quantile'"),
    ],
)
def test_wrong_parameters_are_refused_with_the_way_out(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        resolve([name])


def test_parameters_reach_the_command() -> None:
    found = answer("gap", SOURCE, "--policies", "svf,sorted-f:exact,updates=10,wspt,exponent=0", "--bound", "none")
    svf, exact, wspt = found["policies"]
    assert (exact["name"], wspt["name"]) == ("sorted-f:exact,updates=10.0", "wspt,exponent=0.0")
    assert "limit 1e+01" in exact["declined"]
    assert wspt["tel"] == svf["tel"]  # Smith's rule with equal weights
    assert "unknown parameter" in refusal("gap", SOURCE, "--policies", "wspt,bas=1")


def test_the_command_lists_keys_ratios_and_parameters() -> None:
    listed = {policy["name"]: policy for policy in answer("policies")["policies"]}
    assert list(listed) == list(POLICIES)
    assert all(listed[name][key] for name in listed for key in ("key", "guarantee", "cost", "source"))
    assert {p["name"] for p in listed["sorted-f:quantile"]["parameters"]} == {"sample", "reach", "score"}
    lines = inline("policies").stdout.splitlines()
    for name in POLICIES:
        assert sum(line.split()[:1] == [name] for line in lines) == 1
    for name, tunable in TUNABLE.items():
        assert sum(line.startswith(f"  {name},") for line in lines) == len(tunable.parameters)


def test_orders_by_their_definitions() -> None:
    seen = view(80, 3)
    s, o = seen.prompt.tolist(), seen.output.tolist()
    n = range(len(s))
    volume = [a * b + b * (b + 1) // 2 for a, b in zip(s, o, strict=True)]
    mean_s, mean_o = sum(s) / len(s), sum(o) / len(o)
    expected = {
        "svf": sorted(n, key=lambda j: volume[j]),
        "volume-classes": sorted(n, key=lambda j: (volume[j].bit_length(), s[j] + o[j])),
        "area": sorted(n, key=lambda j: (s[j] * o[j], o[j])),
        "wspt": sorted(n, key=lambda j: volume[j] / o[j] ** 0.5),
        "weighted": sorted(n, key=lambda j: s[j] / mean_s + o[j] / mean_o),
        "shortest-prompt": sorted(n, key=lambda j: s[j]),
        "longest-first": sorted(n, key=lambda j: -o[j]),
    }
    for name, order in expected.items():
        assert list(POLICIES[name].order(seen)) == order, name


def test_volume_classes_split_exactly_at_the_powers() -> None:
    # Volumes 1023, 1024 (s·o + o(o+1)/2 with o = 1: s + 1) and a smaller peak in the upper class.
    requests = Requests([1023, 1022, 31], [1, 1, 29])
    assert requests.volume.tolist() == [1024, 1023, 1334]
    problem = Problem(requests, Fleet.uniform(2000))
    assert list(POLICIES["volume-classes"].order(View.of(problem))) == [1, 2, 0]
    assert run_policy(problem, POLICIES["volume-classes"]).tel is not None
