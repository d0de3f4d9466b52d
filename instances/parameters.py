"""Parameters of generators: names, types, defaults, limits; strings to values with errors that help."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kvbound.models.errors import OptionError

Range = tuple[int, int]
Value = int | float | str | Range | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Parameters
    ----------
    name, summary
        For the command line.
    type
        `int`, `float`, `choice` or `range` (written `low-high`).
    default
        Value when the parameter is not given; None: not set.
    low, high
        Limits of a number, inclusive.
    choices
        Accepted words of a `choice`.
    """

    name: str
    type: Literal["int", "float", "choice", "range"]
    default: Value
    summary: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def describe(self) -> str:
        """`name=default (type)`, as it stands in errors and in help."""
        kind = "|".join(self.choices) if self.type == "choice" else self.type
        return f"{self.name}={show(self.default)} ({kind})" if self.default is not None else f"{self.name} ({kind})"

    def parse(self, text: str, source: str) -> Value:
        """Return the value that `text` stands for; `source` is for messages (`OptionError`)."""
        value: Value = None
        if self.type == "choice" and text in self.choices:
            return text
        if self.type == "range" and (match := re.fullmatch(r"(\d{1,12})-(\d{1,12})", text, re.ASCII)):
            return int(match[1]), int(match[2])
        if self.type == "int" and re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII):
            value = int(text)
        if self.type == "float" and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text, re.ASCII):
            value = float(text)
        if isinstance(value, (int, float)) and math.isfinite(value) and self.low <= value <= self.high:
            return value
        raise OptionError(f"{source}: {self.name}={text!r} is not {self._expected()}; default {show(self.default)}")

    def _expected(self) -> str:
        if self.type == "choice":
            return f"one of {', '.join(self.choices)}"
        if self.type == "range":
            return "a range such as 1-500"
        kind = "a whole number" if self.type == "int" else "a number"
        if math.isinf(self.low) and math.isinf(self.high):
            return kind
        return (
            f"{kind} of at least {self.low:g}"
            if math.isinf(self.high)
            else f"{kind} from {self.low:.12g} to {self.high:.12g}"
        )


def show(value: Value) -> str:
    """Write a value the way it is typed."""
    if isinstance(value, tuple):
        return f"{value[0]}-{value[1]}"
    return "not set" if value is None else str(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for the nearest known word, or nothing."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {found[0]!r}?)" if found else ""


def parse_parameters(source: str, text: str, accepted: Sequence[Parameter]) -> dict[str, Value]:
    """Return the parameters that stand in `a=1,b=2`; those not given are absent.

    Raises
    ------
    OptionError
        An unknown or repeated name, a missing `=`, a value of the wrong type or out of its limits.
    """
    known = {p.name: p for p in accepted}
    values: dict[str, Value] = {}
    for item in text.split(",") if text else []:
        name, equals, raw = (part.strip() for part in item.partition("="))
        if name not in known:
            listing = ", ".join(p.describe() for p in accepted)
            raise OptionError(f"{source}: unknown parameter {name!r}{nearest(name, known)}; accepted: {listing}")
        if not equals:
            raise OptionError(f"{source}: {name} has no value; write {known[name].describe().split(' ')[0]}")
        if name in values:
            raise OptionError(f"{source}: {name} is given twice")
        values[name] = known[name].parse(raw, source)
    return values
