"""What the catalogue knows about one instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

_STRICT = ConfigDict(extra="forbid", strict=True)
_Natural = Annotated[int, Field(ge=0, lt=2**62)]
_Positive = Annotated[int, Field(ge=1, lt=2**62)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Text = Annotated[str, Field(min_length=1)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
#: What time can be spent on.
Kind = Literal["search", "bound", "exact"]
_Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to get the instance: arguments of `kvbound.load`. All are one worker without a batch cap.

    Parameters
    ----------
    source
        A generator's source string, or the name of a trace file (`trace` true) that is not part of the package.
    memory
        KV tokens, or None for the generator's own.
    limit, offset
        Rows of a trace: `limit` from row `offset` on, all at step 0.
    drop_too_large
        Whether requests larger than memory are dropped.
    trace
        Whether `source` is a file of a trace folder.
    """

    __pydantic_config__ = _STRICT
    source: _Text
    memory: _Positive | None = None
    limit: _Positive | None = None
    offset: _Natural = 0
    drop_too_large: bool = False
    trace: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Where a figure comes from.

    Parameters
    ----------
    by
        Program and version, e.g. `kvbound 0.1.0`.
    how
        Method with its settings.
    seconds
        Wall time, in seconds.
    day
        When it ended, YYYY-MM-DD.
    """

    __pydantic_config__ = _STRICT
    by: _Text
    how: _Text
    seconds: _Seconds
    day: _Day


@dataclass(frozen=True, slots=True)
class BestSchedule:
    """The best schedule known: its TEL in steps, its starts by request index (`packing`), who found it."""

    __pydantic_config__ = _STRICT
    tel: _Positive
    starts: list[_Natural] | _Text
    work: Work


@dataclass(frozen=True, slots=True)
class BestBound:
    """The best certified bound in steps, its packed certificate (`packing`), who proved it."""

    __pydantic_config__ = _STRICT
    value: _Positive
    certificate: _Text
    work: Work


@dataclass(frozen=True, slots=True)
class Claim:
    """A bound above the certified one that rests on a solver's word, in steps, and whose word it is."""

    __pydantic_config__ = _STRICT
    value: _Positive
    work: Work


@dataclass(frozen=True, slots=True)
class Entry:
    """One named instance.

    Parameters
    ----------
    name
        Unique; generators: the source string.
    recipe, fingerprint
        How to get the instance, and SHA-256 of what has to come out (lengths, arrivals, memory, objective).
    n, memory
        Number of requests; KV tokens of the worker.
    schedule, bound, claim
        The best known of each kind; `claim` is None unless it exceeds the certified bound.
    tried
        Largest number of seconds that was given to each kind of work in one go, also without success.
    """

    __pydantic_config__ = _STRICT
    name: _Text
    recipe: Recipe
    fingerprint: _Hash
    n: _Positive
    memory: _Positive
    schedule: BestSchedule
    bound: BestBound
    claim: Claim | None
    tried: dict[Kind, _Seconds]

    @property
    def gap(self) -> float:
        """(TEL − certified bound) / certified bound."""
        return self.schedule.tel / self.bound.value - 1

    @property
    def optimal(self) -> str | None:
        """How optimality is known: `certified`, `claimed` (a solver's word), or None."""
        if self.schedule.tel == self.bound.value:
            return "certified"
        return "claimed" if self.claim is not None and self.claim.value == self.schedule.tel else None
