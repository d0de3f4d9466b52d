"""Families of bad instances: parametrised, each with the growth that it proves and a better schedule.

`family:NAME,parameter=value` is a source wherever one is taken; `FAMILIES` are all by name, `make` builds a member.
Proofs stand in the docstrings of the builders and in docs/worst-case.md.
"""

from __future__ import annotations

from kvbound.instances.adversarial.families import fcfs, fleets, outputs, relaxed, sorted_f, volumes
from kvbound.instances.adversarial.families.base import Family, Member
from kvbound.instances.parameters import Value, nearest, parse_parameters, show
from kvbound.models.errors import InputError, OptionError

#: Every family by its name.
FAMILIES: dict[str, Family] = {
    family.name: family for module in (fcfs, outputs, volumes, sorted_f, relaxed, fleets) for family in module.FAMILIES
}


def make(name: str, **parameters: Value) -> Member:
    """Return a member of the family, its reference schedule not yet checked (see `Member`).

    Raises
    ------
    OptionError
        Unknown family (the nearest is named), or a parameter out of range.
    """
    if name not in FAMILIES:
        raise OptionError(f"unknown family {name!r}{nearest(name, FAMILIES)}; known are {', '.join(FAMILIES)}")
    return FAMILIES[name].build(**parameters)


def from_source(source: str) -> tuple[str, Member, Family]:
    """Return (name with every parameter written out, member, family) of `family:NAME,parameter=value,…`.

    Raises
    ------
    OptionError
        Unknown family or parameter (the nearest is named), a value out of range.
    """
    name, _, text = source.partition(":")[2].partition(",")
    if name not in FAMILIES:
        raise OptionError(
            f"{source}: unknown family {name!r}{nearest(name, FAMILIES)}; known are {', '.join(FAMILIES)}"
        )
    family = FAMILIES[name]
    given = parse_parameters(source, text, family.parameters)
    values = {p.name: given.get(p.name, p.default) for p in family.parameters}
    try:
        member = family.build(**values)
    except (InputError, OptionError) as error:
        raise OptionError(f"{source}: {error}") from None
    written = ",".join(f"{key}={show(value)}" for key, value in values.items() if value is not None)
    return f"family:{name},{written}", member, family


__all__ = ["FAMILIES", "Family", "Member", "from_source", "make"]
