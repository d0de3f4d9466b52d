"""Changes of an instance that know its structure: groups, thresholds of the memory, scale, order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kvbound.instances.adversarial.groups import Group, Groups, Space, spread

_Move = Callable[[list[Group], Space, np.random.Generator], None]


def _other(value: int, low: int, high: int, rng: np.random.Generator) -> int:
    """Another value of a coordinate: a step of any scale, double, half, or anything."""
    kind = rng.random()
    if kind < 0.35:
        return value + (1 if rng.random() < 0.5 else -1)
    if kind < 0.65:
        step = int(np.exp(rng.random() * np.log(max(2.0, (high - low) / 2))))
        return value + (step if rng.random() < 0.5 else -step)
    if kind < 0.75:
        return value * 2
    if kind < 0.85:
        return value // 2
    return spread(rng, low, high)


def _coordinate(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Change one number of one group."""
    i = int(rng.integers(len(groups)))
    group = groups[i]
    kind = int(rng.integers(4 if space.latest else 3))
    if kind == 0:
        groups[i] = group._replace(count=max(1, _other(group.count, 1, space.n, rng)))
    elif kind == 1:
        groups[i] = group._replace(prompt=_other(group.prompt, 1, space.memory - 1, rng))
    elif kind == 2:
        output = max(1, _other(group.output, 1, space.memory - 1, rng))
        # A longer output may push the prompt back.
        groups[i] = group._replace(
            output=output, prompt=min(group.prompt, space.memory - min(output, space.memory - 1))
        )
    else:
        groups[i] = group._replace(arrival=_other(group.arrival, 0, space.latest, rng))


def _copy_value(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Give one group a number of another."""
    i, j = (int(k) for k in rng.integers(len(groups), size=2))
    name = ("count", "prompt", "output", "arrival")[int(rng.integers(4 if space.latest else 3))]
    groups[i] = groups[i]._replace(**{name: getattr(groups[j], name)})


def _split(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Cut a group in two, put the second part anywhere and change it."""
    i = int(rng.integers(len(groups)))
    group = groups[i]
    if group.count > 1:
        part = int(rng.integers(1, group.count))
        groups[i] = group._replace(count=group.count - part)
        group = group._replace(count=part)
    changed = [group]
    _coordinate(changed, space, rng)
    groups.insert(int(rng.integers(len(groups) + 1)), changed[0])


def _merge(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Make one group of two."""
    if len(groups) > 1:
        i, j = (int(k) for k in rng.choice(len(groups), 2, replace=False))
        groups[i] = groups[i]._replace(count=groups[i].count + groups[j].count)
        del groups[j]


def _remove(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    if len(groups) > 1:
        del groups[int(rng.integers(len(groups)))]


def _insert(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    groups.insert(int(rng.integers(len(groups) + 1)), space.random_group(rng))


def _reorder(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Move a group, or swap two."""
    i, j = (int(k) for k in rng.integers(len(groups), size=2))
    if rng.random() < 0.5:
        groups[i], groups[j] = groups[j], groups[i]
    else:
        groups.insert(j, groups.pop(i))


def _scale(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Scale one kind of number in all groups."""
    factor = float(np.exp(rng.normal(0.0, 0.4)))
    kind = int(rng.integers(4))
    for i, (count, prompt, output, arrival) in enumerate(groups):
        if kind == 0:
            count = max(1, round(count * factor))
        if kind in (1, 3):
            prompt = max(1, round(prompt * factor))
        if kind in (2, 3):
            output = max(1, round(output * factor))
        groups[i] = Group(count, prompt, output, round(arrival * factor) if kind == 2 else arrival)


def _threshold(groups: list[Group], space: Space, rng: np.random.Generator) -> None:
    """Put one request, or r equal ones, or two different ones, exactly at the memory or one token over it."""
    i = int(rng.integers(len(groups)))
    group, memory = groups[i], space.memory
    kind, over = rng.random(), int(rng.integers(2))
    if kind < 0.35:
        peak = memory - over
    elif kind < 0.7:
        peak = memory // int(rng.integers(2, 7)) + over
    else:
        other = groups[int(rng.integers(len(groups)))]
        peak = memory + over - other.prompt - other.output
    peak = min(max(peak, 2), memory)
    if rng.random() < 0.5:
        groups[i] = group._replace(prompt=max(1, peak - group.output), output=min(group.output, peak - 1))
    else:
        groups[i] = group._replace(output=max(1, peak - group.prompt), prompt=min(group.prompt, peak - 1))


_MOVES: tuple[tuple[float, _Move], ...] = (
    (0.40, _coordinate),
    (0.06, _copy_value),
    (0.12, _split),
    (0.05, _merge),
    (0.06, _remove),
    (0.07, _insert),
    (0.07, _reorder),
    (0.07, _scale),
    (0.10, _threshold),
)
_EDGES = np.cumsum([share for share, _ in _MOVES])


def mutated(groups: Groups, space: Space, rng: np.random.Generator) -> Groups:
    """`groups` after one to four random moves, inside `space`."""
    changed = list(groups)
    for _ in range(1 + min(3, int(rng.geometric(0.6)) - 1)):
        which = int(np.searchsorted(_EDGES, rng.random() * _EDGES[-1], side="right"))
        _MOVES[min(which, len(_MOVES) - 1)][1](changed, space, rng)
        changed = list(space.repaired(changed))
    return tuple(changed)


def crossed(first: Groups, second: Groups, space: Space, rng: np.random.Generator) -> Groups:
    """Some groups of either parent, in their order."""
    i, j = int(rng.integers(len(first) + 1)), int(rng.integers(len(second) + 1))
    return space.repaired([*first[:i], *second[j:]])


def neighbours(groups: Groups, space: Space) -> Iterator[Groups]:
    """Every instance one coordinate step away: ±1, doubled, halved, to the edge; one group less; two swapped."""
    for i, group in enumerate(groups):
        rest = space.memory - group.prompt
        for count in (1, -1, group.count, -(group.count // 2), space.n):
            yield _with(groups, i, group._replace(count=group.count + count), space)
        for output in (group.output + 1, group.output - 1, group.output * 2, group.output // 2, rest, rest - 1):
            yield _with(groups, i, group._replace(output=output), space)
        for prompt in (group.prompt + 1, group.prompt - 1, group.prompt * 2, group.prompt // 2, 1):
            yield _with(groups, i, group._replace(prompt=prompt), space)
        most = space.memory - group.output
        for prompt in (most, most - 1):
            yield _with(groups, i, group._replace(prompt=prompt), space)
        # Peak kept: a token of prompt for a token of output.
        for step in (1, -1):
            yield _with(groups, i, group._replace(prompt=group.prompt + step, output=group.output - step), space)
        if space.latest:
            for arrival in (group.arrival + 1, group.arrival - 1, 0, group.arrival * 2, group.arrival // 2):
                yield _with(groups, i, group._replace(arrival=arrival), space)
        if len(groups) > 1:
            yield space.repaired(groups[:i] + groups[i + 1 :])
        if i + 1 < len(groups):
            yield space.repaired([*groups[:i], groups[i + 1], group, *groups[i + 2 :]])
            for step in (1, -1):  # a request more here, one less there: n kept
                after = groups[i + 1]
                pair = [group._replace(count=group.count + step), after._replace(count=after.count - step)]
                yield space.repaired([*groups[:i], *pair, *groups[i + 2 :]])


def _with(groups: Groups, i: int, group: Group, space: Space) -> Groups:
    return space.repaired([*groups[:i], group, *groups[i + 1 :]])
