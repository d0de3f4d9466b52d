"""Source strings of generators: `mix:n=2000,long=0.2,seed=0`.

Every generator also takes arrivals (`arrivals=poisson,rate=0.5` or `arrivals=burst,size=20,every=100`) and
predictions (`noise=0.2`, `point=0.2`, `bins=64` or `lognormal=0.5`). They have random numbers of their own,
so adding them changes no length. `family:fcfs,memory=196` is a member of a family of bad instances
(`kvbound.instances.adversarial.families`), which is what it is and takes neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kvbound.instances import arrivals, predictions
from kvbound.instances.adversarial import families
from kvbound.instances.generators import GENERATORS
from kvbound.instances.parameters import Parameter, Value, nearest, parse_parameters, show
from kvbound.models.errors import InputError, OptionError
from kvbound.models.requests import MAX_TOKENS, IntArray, Requests

#: Accepted by every generator.
COMMON = (
    Parameter(
        "arrivals",
        "choice",
        None,
        "arrival process; without it all requests wait at step 0",
        choices=("poisson", "burst"),
    ),
    Parameter("rate", "float", None, "requests per step of poisson arrivals", 1e-9, 1e9),
    Parameter("size", "int", None, "requests in a burst", 1, 10**9),
    Parameter("every", "int", None, "steps between bursts", 1, 10**9),
    Parameter("noise", "float", None, "predictions: interval from a guess off by up to this share", 0, 0.99),
    Parameter("point", "float", None, "predictions: one value off by up to this share", 0, 0.99),
    Parameter("bins", "int", None, "predictions: bins of this many tokens", 1, MAX_TOKENS),
    Parameter("lognormal", "float", None, "predictions: one value off by a lognormal factor of this sigma", 0, 10),
)
#: First word of a family of bad instances: `family:fcfs,memory=196`.
FAMILY = "family"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PROCESS = {"poisson": ("rate",), "burst": ("size", "every")}
# A stream beside that of the lengths: default_rng([seed, stream]) never meets default_rng(seed).
_ARRIVAL_STREAM = 1


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """Requests made by a generator.

    Parameters
    ----------
    name
        The source string with every parameter of the generator written out.
    requests, memory
        What was drawn, and the memory it is meant for.
    summary
        What it is, for people.
    workers
        Workers it is meant for.
    """

    name: str
    requests: Requests
    memory: int
    summary: str
    workers: int = 1


def is_generator(source: str) -> bool:
    """Whether `source` names a generator rather than a file.

    A known name wins over a file of that name (write `./tiny` for the file). An unknown word before a colon
    is taken for a misspelt generator when no such file exists.
    """
    word, colon, _ = source.partition(":")
    if word in GENERATORS or (word == FAMILY and colon):
        return True
    return bool(colon and _WORD.fullmatch(word) and len(word) > 1 and not Path(source).exists())


def generate(source: str) -> Generated:
    """Return the requests that a generator's source string stands for.

    Raises
    ------
    OptionError
        Unknown generator or parameter (the nearest is named), wrong value, options that need one another.
    """
    word, _, text = source.partition(":")
    if word == FAMILY:
        name, member, family = families.from_source(source)
        summary = f"family {family.name}: {family.summary}"
        return Generated(name, member.requests, member.memory, summary, member.workers)
    generator = GENERATORS.get(word)
    if generator is None:
        known = (*GENERATORS, FAMILY)
        raise OptionError(
            f"{source}: unknown generator {word!r}{nearest(word, known)}; known are "
            f"{', '.join(known)}, or give the path of a file"
        )
    given = parse_parameters(source, text, (*generator.parameters, *COMMON))
    extras = {p.name: given[p.name] for p in COMMON if p.name in given}
    own = {p.name: given.get(p.name, p.default) for p in generator.parameters}
    _check_extras(source, extras)
    try:
        lengths = generator.draw(own)
        seed = own.get("seed", 0)
        n = len(lengths.prompt)
        arrival = _arrivals(extras, n, _stream(seed, _ARRIVAL_STREAM))
        predicted = _predictions(extras, lengths.output, seed)
        requests = Requests(lengths.prompt, lengths.output, arrival, *predicted)
    except (OptionError, InputError) as error:
        raise OptionError(f"{source}: {error}") from None
    written = ",".join(f"{name}={show(value)}" for name, value in (own | extras).items())
    return Generated(f"{word}:{written}", requests, lengths.memory, generator.summary)


def sources() -> list[tuple[str, str, str]]:
    """Return (name, parameters with types and defaults, summary) of every generator, for help texts."""
    rows = [(g.name, ", ".join(p.describe() for p in g.parameters), g.summary) for g in GENERATORS.values()]
    common = ("(every generator)", ", ".join(p.describe() for p in COMMON), "arrivals and predictions")
    return [*rows, common]


def family_sources() -> list[tuple[str, str, str]]:
    """Return (source, parameters, summary with whom it hurts and how much) of every family of bad instances."""
    return [
        (
            f"{FAMILY}:{f.name}",
            ", ".join(p.describe() for p in f.parameters),
            f"{f.summary}; hurts {', '.join(f.hurts[:3])}{' and others' if len(f.hurts) > 3 else ''}: {f.growth}",
        )
        for f in families.FAMILIES.values()
    ]


def _check_extras(source: str, extras: dict[str, Value]) -> None:
    process = extras.get("arrivals")
    for kind, names in _PROCESS.items():
        for name in names:
            if process == kind and name not in extras:
                raise OptionError(f"{source}: arrivals={kind} needs {' and '.join(names)}; {name} is missing")
            if process != kind and name in extras:
                raise OptionError(f"{source}: {name} has a meaning with arrivals={kind} only; add it or drop {name}")
    chosen = [name for name in predictions.NOISE if name in extras]
    if len(chosen) > 1:
        raise OptionError(f"{source}: {' and '.join(chosen)} both make predictions; give one of them")


def _stream(seed: object, stream: int) -> np.random.Generator:
    assert isinstance(seed, int)
    return np.random.default_rng([seed, stream])


def _arrivals(extras: dict[str, Value], n: int, rng: np.random.Generator) -> IntArray:
    match extras:
        case {"arrivals": "poisson", "rate": float(rate)}:
            return arrivals.poisson(n, rate, rng)
        case {"arrivals": "burst", "size": int(size), "every": int(every)}:
            return arrivals.bursts(n, size, every)
    return np.zeros(n, np.int64)


def _predictions(
    extras: dict[str, Value], output: IntArray, seed: object
) -> predictions.Predicted | tuple[None, None, None]:
    assert isinstance(seed, int)
    for model in predictions.NOISE:
        value = extras.get(model)
        if isinstance(value, (int, float)):
            return predictions.predict(output, model, value, predictions.prediction_stream(seed))
    return None, None, None
