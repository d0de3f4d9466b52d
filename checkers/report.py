"""What a check found: every violation, and the objective only when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    Parameters
    ----------
    rule
        Name of the rule: `served-once`, `arrival`, `horizon`, `peak`, `memory` or `batch`.
    request
        Index of the request concerned, or None when the whole schedule is (a wrong length).
    step
        Step concerned, or None.
    amount
        By how much: steps too early, tokens or requests too many; always > 0.
    worker
        Worker concerned, or None.
    message
        The same in words.
    """

    rule: str
    request: int | None
    step: int | None
    amount: int
    worker: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome of `kvbound.checkers.check`.

    Parameters
    ----------
    violations
        All violations, no early stop.
    objective
        The objective recomputed from the starts in exact integers, or None when there is a violation.
    """

    violations: tuple[Violation, ...]
    objective: int | None

    @property
    def ok(self) -> bool:
        """Whether the schedule keeps every rule."""
        return not self.violations

    def summary(self, most: int = 5) -> str:
        """The first `most` violations in words, one a line."""
        return _lines([v.message for v in self.violations], most)


def _lines(messages: Sequence[str], most: int) -> str:
    shown = list(messages[:most])
    if len(messages) > most:
        shown.append(f"… and {len(messages) - most} more")
    return "\n".join(shown)
