"""Names of methods in a plan: checked when it is read, so that no sweep runs for hours before a typing error shows."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvbound.models.errors import OptionError
from kvbound.sweeps.cell import Kind

if TYPE_CHECKING:
    from kvbound.sweeps.plan import Plan


def resolved(plan: Plan, kind: Kind) -> list[str]:
    """Methods of a kind, in full: `all` replaced by what it stands for, policy files after the policies by name.

    Raises
    ------
    OptionError
        A name is unknown; the message suggests the nearest.
    """
    match kind:
        case "policy":
            from kvbound.custom import policies

            names = [p.name for p in policies(plan.policies)]
            for file in plan.policy_files:
                if Path(file).stem in names:
                    raise OptionError(
                        f"{file}: the name {Path(file).stem!r} is taken by another policy; rename the file"
                    )
                names.append(Path(file).stem)
            return names
        case "search":
            from kvbound.custom import policies

            return [p.name for p in policies(plan.searches)]
        case "router":
            from kvbound.solvers.routers import resolve_routers

            return [r.name for r in resolve_routers(plan.routers)]
        case "bound":
            from kvbound.solvers.bounds import METHODS
            from kvbound.sweeps.work import FLEET_BOUNDS

            return _known(plan.bounds, (*METHODS, *FLEET_BOUNDS), "bound method")
        case "exact":
            from kvbound.solvers.exact import METHODS as EXACT

            return _known(plan.exact, tuple(EXACT), "exact method")


def _known(names: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(f"unknown {what} {name!r}: {hint}Known: {', '.join(known)}")
    return list(dict.fromkeys(names))
