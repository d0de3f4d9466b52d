"""The smallest instance that keeps a ratio: fewer requests, fewer groups, less memory, rounder numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from kvbound.instances.adversarial.groups import Group, Groups, Space, size
from kvbound.instances.adversarial.search import Found, Sides


def shrunk(
    found: Found,
    space: Space,
    sides: Sides,
    *,
    keep: Fraction | None = None,
    memory: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Found, Space]:
    """The smallest instance reached from `found` by steps that never let the ratio fall below `keep`.

    Parameters
    ----------
    keep
        Ratio to keep; default: that of `found`.
    memory
        Whether the memory may shrink, too (all lengths in proportion).
    stop
        Ends the work early, with what is there.
    """
    least = found.ratio if keep is None else keep
    improved = True
    while improved and not stop():
        improved = False
        for groups, smaller in _steps(found.groups, space, memory):
            if stop():
                break
            if _weight(groups, smaller) >= _weight(found.groups, space):
                continue
            problem = smaller.problem(groups)
            policy = sides.policy(problem)
            if policy is None:
                continue
            trial = Found(groups, policy, sides.reference(problem))
            if trial.ratio >= least:
                found, space, improved = trial, smaller, True
                break
    return found, space


def _weight(groups: Groups, space: Space) -> tuple[int, ...]:
    """Smaller is simpler: requests, groups, memory, late arrivals, then digits that are not round, then tokens."""
    numbers = [value for group in groups for value in (group.count, group.prompt, group.output)]
    rough = sum(value % 10 != 0 and value != 1 for value in numbers)
    return (
        size(groups), len(groups), space.memory, sum(g.arrival for g in groups), rough,
        sum(g.count * (g.prompt + g.output) for g in groups),
    )  # fmt: skip


def _steps(groups: Groups, space: Space, memory: bool) -> Iterator[tuple[Groups, Space]]:
    """Simpler instances, boldest first."""
    if memory:
        for factor in (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
            size_of = max(2, int(space.memory * factor))
            smaller = replace(space, memory=size_of, latest=int(space.latest * factor))
            if size_of < space.memory:
                yield smaller.repaired([_scaled(g, Fraction(size_of, space.memory)) for g in groups]), smaller
    for i in range(len(groups)):
        if len(groups) > 1:
            yield space.repaired(groups[:i] + groups[i + 1 :]), space
    for fewer in ("half", "one"):
        for i, group in enumerate(groups):
            count = group.count // 2 if fewer == "half" else group.count - 1
            yield space.repaired([*groups[:i], group._replace(count=count), *groups[i + 1 :]]), space
    for i, group in enumerate(groups):
        for changed in _rounder(group):
            yield space.repaired([*groups[:i], changed, *groups[i + 1 :]]), space


def _scaled(group: Group, factor: Fraction) -> Group:
    count, prompt, output, arrival = group
    return Group(count, max(1, round(prompt * factor)), max(1, round(output * factor)), round(arrival * factor))


def _rounder(group: Group) -> Iterator[Group]:
    """One number rounder or smaller."""
    if group.arrival:
        yield group._replace(arrival=0)
        yield group._replace(arrival=group.arrival // 2)
    for name in ("prompt", "output"):
        value = getattr(group, name)
        for other in (1, value // 2, value // 10 * 10, value - 1):
            if 1 <= other < value:
                yield group._replace(**{name: other})
