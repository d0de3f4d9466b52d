"""Parameters of policies, reachable by name: `sorted-f:quantile,sample=512,reach=1.5`."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kvbound.models.errors import OptionError
from kvbound.models.requests import IntArray
from kvbound.solvers.policies.view import Policy

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a policy.

    Parameters
    ----------
    name, default, summary
        For the command line; the type of `default` is the type of the parameter.
    low, high
        Limits of a number, inclusive.
    choices
        Accepted words when the default is one.
    """

    name: str
    default: Value
    summary: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def describe(self) -> str:
        """`name=default: summary`."""
        default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.name}={default}: {self.summary}" + (f" ({'|'.join(self.choices)})" if self.choices else "")

    def parse(self, text: str, policy: str) -> Value:
        """Return the value of `text`, or raise `OptionError` with what is accepted."""
        if self.choices:
            if text in self.choices:
                return text
            raise OptionError(f"{policy}: {self.name}={text} is not known; choose {', '.join(self.choices)}")
        whole = isinstance(self.default, int)
        pattern = r"\d{1,18}" if whole else r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?"
        if re.fullmatch(pattern, text, re.ASCII):
            value = int(text) if whole else float(text)
            if self.low <= value <= self.high:
                return value
        kind = "a whole number" if whole else "a number"
        raise OptionError(f"{policy}: {self.name}={text}: give {kind} from {self.low:g} to {self.high:g}")


@dataclass(frozen=True, slots=True)
class Tunable:
    """A rule with parameters.

    Parameters
    ----------
    rule
        Called with the view and the parameters by name.
    parameters
        What it accepts.
    executed
        Parameters that belong to the execution: name -> field of `kvbound.solvers.engine.Rule`.
    """

    rule: Callable[..., IntArray]
    parameters: tuple[Parameter, ...]
    executed: Mapping[str, str] = field(default_factory=dict)


def tuned(policy: Policy, tunable: Tunable | None, assignments: str) -> Policy:
    """Return `policy` with the parameters that `a=1,b=2` sets; the name keeps them.

    Raises
    ------
    OptionError
        An unknown parameter (the nearest is suggested), a value out of range, one given twice, or a policy without any.
    """
    known = {} if tunable is None else {p.name: p for p in tunable.parameters}
    if tunable is None:
        raise OptionError(f"{policy.name} has no parameters; `kvbound policies` lists those that have")
    values: dict[str, Value] = {}
    for piece in assignments.split(","):
        name, sign, text = piece.strip().partition("=")
        if not sign or name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(f"{policy.name}: unknown parameter {piece.strip()!r}: {hint}Known: {', '.join(known)}")
        if name in values:
            raise OptionError(f"{policy.name}: {name} is given twice")
        values[name] = known[name].parse(text, policy.name)
    suffix = ",".join(f"{name}={value}" for name, value in values.items())
    execution: dict[str, Any] = {tunable.executed[name]: v for name, v in values.items() if name in tunable.executed}
    own = {name: value for name, value in values.items() if name not in tunable.executed}
    return replace(
        policy,
        name=f"{policy.name},{suffix}",
        order=partial(tunable.rule, **own),
        rule=replace(policy.rule, **execution),
    )


def split_names(text: str) -> list[str]:
    """Cut a comma-separated list of policies; `a=1` belongs to the policy before it."""
    names: list[str] = []
    for piece in (part.strip() for part in text.split(",")):
        if names and re.match(r"[a-z_-]+=", piece):
            names[-1] += f",{piece}"
        elif piece:
            names.append(piece)
    return names


def listed(parameters: Sequence[Parameter]) -> list[dict[str, Value | list[str] | None]]:
    """The parameters for `--json`."""
    return [
        {
            "name": p.name,
            "default": p.default,
            "summary": p.summary,
            "low": p.low if math.isfinite(p.low) else None,
            "high": p.high if math.isfinite(p.high) else None,
            "choices": list(p.choices),
        }
        for p in parameters
    ]
