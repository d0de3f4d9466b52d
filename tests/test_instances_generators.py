"""Generators: values of docs/math.md §9, the shape of the look-alikes, source strings and their errors."""

from __future__ import annotations

import numpy as np
import pytest

from kvbound.instances import GENERATORS, generate, load, sources
from kvbound.instances.arrivals import bursts, poisson
from kvbound.instances.lookalike import DATASETS, lookalike
from kvbound.instances.predictions import bins, interval, lognormal, point
from kvbound.models import OptionError


def test_tiny_draws_as_documented() -> None:
    rng = np.random.default_rng(0)
    prompt = rng.integers(1, 6, 8)
    output = [int(rng.integers(1, 41 - s)) for s in prompt]
    problem = load("tiny:n=8,seed=0").problem
    assert problem.fleet.memory == (40,)
    assert problem.requests.prompt.tolist() == prompt.tolist() == [5, 4, 3, 2, 2, 1, 1, 1]
    assert problem.requests.output.tolist() == output


@pytest.mark.parametrize(("seed", "memory", "n", "volume"), [(0, 47, 53, 23034), (1, 39, 50, 14901)])
def test_jaillet_draws_as_documented(seed: int, memory: int, n: int, volume: int) -> None:
    problem = load(f"jaillet:seed={seed}").problem
    assert (problem.fleet.memory, problem.n) == ((memory,), n)
    assert int(problem.requests.volume.sum()) == volume
    assert (problem.requests.peak <= memory).all()


@pytest.mark.parametrize("name", DATASETS)
def test_lookalike_keeps_marginals_and_decile_medians(name: str) -> None:
    like = lookalike(name)
    prompt, output = like.draw(200_000, np.random.default_rng(0))
    for drawn, known in ((prompt, like.prompt), (output, like.output)):
        for q in (0.1, 0.25, 0.5, 0.75, 0.9):
            expected = np.interp(q, like.rank, known)
            assert np.quantile(drawn, q) == pytest.approx(expected, rel=0.05, abs=1.5)
    # The coupling itself, without the noise of drawing: half of each decile lies below its median.
    middle = [np.interp(0.5, np.mean(part, axis=0), np.linspace(0, 1, 201)) for part in np.split(like.cumulative, 10)]
    medians = np.interp(middle, like.rank, like.output)
    assert medians == pytest.approx(like.median, rel=0.02, abs=0.6)
    assert like.largest_peak is None or (prompt + output).max() <= like.largest_peak
    assert prompt.min() >= 1
    assert output.min() >= 1


@pytest.mark.parametrize("name", DATASETS)
def test_tails_are_tamed(name: str) -> None:
    means = {"azure_conv": (1154.7, 211.1), "azure_code": (2047.8, 27.9), "arxiv": (2588.1, 291.4),
             "lmsys_words": (59.1, 159.7)}  # published means; 101 points alone would be 20 % off  # fmt: skip
    drawn = lookalike(name).draw(400_000, np.random.default_rng(1))
    for values, mean in zip(drawn, means[name], strict=True):
        assert values.mean() == pytest.approx(mean, rel=0.045)


def test_mix_has_the_shape_of_the_80_20_mixture() -> None:
    requests = load("mix:n=100000,long=0.2,seed=0", memory=10**6).problem.requests
    # Published figures of the mixture of real rows: median, mean, p95, p99.
    for values, figures in ((requests.prompt, (34, 563.8, 3366, 3813)), (requests.output, (139, 186.4, 465, 749))):
        p50, p95, p99 = np.quantile(values, [0.5, 0.95, 0.99])
        assert (p50, values.mean(), p95) == pytest.approx((figures[0], figures[1], figures[2]), rel=0.06)
        assert p99 == pytest.approx(figures[3], rel=0.1)
    ranks = [np.argsort(np.argsort(v, kind="stable"), kind="stable") for v in (requests.prompt, requests.output)]
    assert np.corrcoef(ranks[0], ranks[1])[0, 1] == pytest.approx(0.213, abs=0.05)
    assert requests.prompt.std() / requests.prompt.mean() == pytest.approx(1.95, rel=0.05)


def test_share_of_documents_is_exact_at_the_ends() -> None:
    assert load("mix:n=500,long=0").problem.requests.prompt.max() < 500
    assert load("mix:n=500,long=1").problem.requests.prompt.mean() > 2000
    assert load("mix").problem.n == 2000


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_requests_and_extras_change_no_length(name: str) -> None:
    plain, again = load(name).problem, load(name).problem
    assert plain == again
    extra = load(f"{name}:arrivals=poisson,rate=0.5,noise=0.2").problem
    assert extra.requests.prompt.tolist() == plain.requests.prompt.tolist()
    assert extra.requests.output.tolist() == plain.requests.output.tolist()
    assert extra.requests.arrival.any()
    assert load(extra.name).problem == extra  # the name is a source string that makes it again
    if any(p.name == "seed" for p in GENERATORS[name].parameters):
        assert load(f"{name}:seed=1").problem.fingerprint() != plain.fingerprint()


def test_identical_uniform_and_azure() -> None:
    same = load("identical:n=5,prompt=0,output=9,memory=50").problem
    assert (same.n, same.requests.peak.tolist(), same.fleet.memory) == (5, [9] * 5, (50,))
    wide = load("uniform:n=5000,prompt=0-2,output=7-9").problem.requests
    assert set(wide.prompt.tolist()) == {0, 1, 2}
    assert set(wide.output.tolist()) == {7, 8, 9}
    code, conv = (load(f"azure:kind={kind}").problem.requests for kind in ("code", "conv"))
    assert np.median(code.output) < 20 < np.median(conv.output)


def test_poisson_rate_and_order() -> None:
    arrival = poisson(20_000, 0.5, np.random.default_rng(0))
    assert (np.diff(arrival) >= 0).all()
    assert arrival[-1] == pytest.approx(40_000, rel=0.05)


def test_bursts() -> None:
    assert bursts(5, 2, 10).tolist() == [0, 0, 10, 10, 20]
    assert load("tiny:n=5,arrivals=burst,size=2,every=10").problem.requests.arrival.tolist() == [0, 0, 10, 10, 20]


def test_predictions() -> None:
    rng = np.random.default_rng(0)
    output = rng.integers(1, 2000, 5000)
    for low, high, value in (interval(output, 0.2, rng), interval(output, 0.0, rng), bins(output, 64)):
        assert (low >= 1).all()
        assert (low <= output).all()
        assert (output <= high).all()
        assert value is None or ((low <= value) & (value <= high)).all()
    low, high, _ = point(output, 0.2, np.random.default_rng(7))
    guess = interval(output, 0.2, np.random.default_rng(7))[2]
    assert (low == guess).all()  # one draw, seen alone or with its interval
    assert (low == high).all()
    assert (np.abs(low - output) <= 0.2 * output + 1).all()
    assert np.median(low / output) == pytest.approx(1, abs=0.02)
    low, high, _ = lognormal(output, 0.5, rng)
    assert np.std(np.log(low / output)) == pytest.approx(0.5, rel=0.1)
    assert (bins(output, 1)[0] == output).all()
    for source in ("mix:noise=0.2", "mix:point=0.2", "mix:bins=64", "mix:lognormal=0.5"):
        assert load(source).problem.requests.predicted_low is not None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("mixx:n=3", "unknown generator 'mixx' \\(did you mean 'mix'\\?\\).*jaillet"),
        ("mix:lnog=0.2", "unknown parameter 'lnog' \\(did you mean 'long'\\?\\); accepted: n=2000 \\(int\\)"),
        ("mix:n", "n has no value"),
        ("mix:n=", "n='' is not a whole number"),
        ("mix:n=2e3", "n='2e3' is not a whole number from 1"),
        ("mix:n=0", "n='0'"),
        ("mix:n=99999999999999999999", "n='9+'"),
        ("mix:long=nan", "long='nan' is not a number from 0 to 1"),
        ("mix:long=1.2", "long='1.2'"),
        ("mix:n=3,n=4", "n is given twice"),
        ("mix:n=3,", "unknown parameter ''"),
        ("azure:kind=chat", "one of conv, code"),
        ("uniform:prompt=9-1", "smaller end first"),
        ("uniform:output=0-5", "within 1-"),
        ("uniform:prompt=5", "a range such as"),
        ("tiny:seed=-1", "seed='-1'"),
        ("tiny:arrivals=poisson", "needs rate"),
        ("tiny:arrivals=burst,size=3", "needs size and every; every is missing"),
        ("tiny:rate=3", "arrivals=poisson only"),
        ("tiny:arrivals=poisson,rate=1,size=3", "arrivals=burst only"),
        ("tiny:arrivals=poisson,rate=0", "rate='0'"),
        ("mix:n=1000,arrivals=poisson,rate=0.000000001", "raise the rate"),
        ("tiny:noise=1.5", "noise='1.5'"),
        ("tiny:noise=0.2,bins=4", "noise and bins both"),
    ],
)
def test_bad_source_strings(source: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        load(source)


def test_sources_lists_every_generator() -> None:
    names = [row[0] for row in sources()]
    assert names[:-1] == list(GENERATORS)
    assert all(len(row) == 3 for row in sources())
    assert generate("tiny").name == "tiny:n=8,seed=0"
