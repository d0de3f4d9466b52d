"""A plan: the TOML file that spans the grid sources × seeds × settings × methods × options (docs/sweeps.md)."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kvbound.instances import read_text
from kvbound.models.errors import InputError, KvboundError
from kvbound.sweeps.cell import KINDS, Cell, Kind, canonical
from kvbound.sweeps.setting import Setting

_T = TypeVar("_T")


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


#: One value or a list of them.
_Some = Annotated[list[_T], BeforeValidator(_listed), Field(min_length=1)]
_None = Literal["none"]
_Count = Annotated[int, Field(ge=1)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
#: Keys of `options` that a method of each kind depends on; the others are no part of its cells.
_FIGURES = ("weights", "horizon", "slo_eel", "slo_ttft")
_USED: dict[Kind, tuple[str, ...]] = {
    "policy": _FIGURES,
    "router": _FIGURES,
    "search": ("time_limit", "moves", *_FIGURES),
    "exact": ("time_limit", *_FIGURES),
    "bound": ("time_limit",),
}
_BOUNDS_USE = {"volume": (), "reward": ("time_limit", *_FIGURES)}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Seeds(_Strict):
    """`count` seeds from `first` on."""

    first: Annotated[int, Field(ge=0)] = 0
    count: _Count


class SettingGrid(_Strict):
    """What to change about every source, as with the options of the commands; lists span the grid."""

    memory: _Some[_Count] | None = None
    workers: _Some[_Count] | None = None
    batch: _Some[_Count | _None] | None = None
    limit: _Some[_Count] | None = None
    offset: _Some[Annotated[int, Field(ge=0)]] | None = None
    step_seconds: _Some[_Positive] | None = None
    drop_too_large: bool | None = None
    rate: _Some[_Positive | _None] | None = None
    noise: _Some[str] | None = None


class OptionGrid(_Strict):
    """Options of methods; lists span the grid."""

    time_limit: _Some[Annotated[float, Field(ge=0, allow_inf_nan=False)] | _None] = [30.0]
    moves: _Some[_Count] | None = None
    weights: _Some[str] | None = None
    horizon: _Some[_Count] | None = None
    slo_eel: _Some[_Count] | None = None
    slo_ttft: _Some[_Count] | None = None


class CellLimits(_Strict):
    """When a cell is ended from outside: seconds of wall time, megabytes of resident memory."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    megabytes: _Count | None = None


class Plan(_Strict):
    """The whole plan; docs/sweeps.md explains each key."""

    name: str = ""
    sources: list[str] = Field(min_length=1)
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | Seeds = [0]
    policies: list[str] = []
    policy_files: list[str] = []
    routers: list[str] = []
    bounds: list[str] = []
    searches: list[str] = []
    exact: list[str] = []
    setting: SettingGrid = SettingGrid()
    options: OptionGrid = OptionGrid()
    limits: CellLimits = CellLimits()

    def settings(self) -> Iterator[Setting]:
        """Every instance of the grid: source with its seed filled in, seed, what is changed."""
        seeds = self.seeds
        listed = range(seeds.first, seeds.first + seeds.count) if isinstance(seeds, Seeds) else seeds
        for source, seed, changes in itertools.product(self.sources, dict.fromkeys(listed), _grid(self.setting)):
            yield Setting(source.replace("{seed}", str(seed)), seed, changes)

    def methods(self, codes: dict[str, str]) -> list[tuple[Kind, str, dict[str, Any]]]:
        """(kind, method, options) of every method of the grid; `codes` are the policy files (`read_codes`)."""
        from kvbound.sweeps.methods import resolved
        from kvbound.sweeps.work import code_hash

        found: dict[str, tuple[Kind, str, dict[str, Any]]] = {}
        for kind in KINDS:
            for method in resolved(self, kind):
                code = {"code": code_hash(codes[method])} if method in codes else {}
                for options in _grid(self.options):
                    used = _BOUNDS_USE.get(method, _USED[kind]) if kind == "bound" else _USED[kind]
                    mine = {k: v for k, v in options.items() if k in used} | code
                    if kind == "search" and "moves" in mine:
                        mine.pop("time_limit", None)
                    found.setdefault(canonical([kind, method, mine]), (kind, method, mine))
        return list(found.values())

    def cells(self, setting: Setting, instance: str, methods: list[tuple[Kind, str, dict[str, Any]]]) -> list[Cell]:
        """The cells of one instance."""
        return [Cell(setting.source, setting.seed, setting.changes, instance, *method) for method in methods]


def read_plan(path: Path) -> tuple[Plan, str]:
    """Read and check a plan; return it with its text.

    Raises
    ------
    InputError
        Not readable, no TOML, an unknown key, a wrong value, an unknown method: the message names file, key and value.
    """
    from kvbound.sweeps.methods import resolved

    text = read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    plan = plan_from(data, str(path))
    for kind in KINDS:
        try:
            resolved(plan, kind)
        except KvboundError as error:
            raise InputError(f"{path}: {_KEY[kind]}: {error}") from None
    read_codes(plan)
    if not any(getattr(plan, key) for key in (*_KEY.values(), "policy_files")):
        raise InputError(f"{path}: names no method; give one of {', '.join(_KEY.values())}, policy_files")
    return plan, text


def plan_from(data: dict[str, Any], path: str) -> Plan:
    """Check the keys and values of a plan; `path` is for messages (`InputError`)."""
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False)
        unknown = [one for one in found if one["type"] == "extra_forbidden"]
        first = max(unknown or found, key=lambda one: len(one["loc"]))  # of a union the member that got furthest
        where = ".".join(str(part) for part in first["loc"] if not _internal(part))
        if first["type"] == "extra_forbidden":
            raise InputError(f"{path}: {where}: unknown key{_nearest(where)}") from None
        if first["type"] == "missing":
            raise InputError(f"{path}: {where} is missing; docs/sweeps.md has a complete plan") from None
        raise InputError(f"{path}: {where} = {first['input']!r:.60}: {first['msg']}") from None


def read_codes(plan: Plan) -> dict[str, str]:
    """Text of every policy file of the plan by the policy's name, the file's stem; each one must define a policy."""
    from kvbound.custom import policy_from_code

    codes: dict[str, str] = {}
    for name in plan.policy_files:
        code = read_text(name)
        policy_from_code(code, Path(name))
        codes[Path(name).stem] = code
    return codes


#: Key of the plan that names the methods of a kind.
_KEY: dict[Kind, str] = {
    "policy": "policies",
    "router": "routers",
    "bound": "bounds",
    "search": "searches",
    "exact": "exact",
}


def _grid(model: SettingGrid | OptionGrid) -> Iterator[dict[str, Any]]:
    """Every combination of values; what is not given is left out, and so is "none" where it is the default."""
    given = {key: value for key, value in model.model_dump().items() if value is not None}
    lists = [value if isinstance(value, list) else [value] for value in given.values()]  # drop_too_large is one value
    for values in itertools.product(*lists):
        yield {key: value for key, value in zip(given, values, strict=True) if value != "none"}


def _internal(part: str | int) -> bool:
    """Whether pydantic's name of a member of a union stands in a location."""
    return isinstance(part, str) and (not part.isidentifier() or part in ("int", "float", "str", "Seeds"))


def _nearest(where: str) -> str:
    *tables, key = where.split(".")
    models: dict[str, type[BaseModel]] = {
        "setting": SettingGrid, "options": OptionGrid, "limits": CellLimits, "seeds": Seeds
    }  # fmt: skip
    known = list(models.get(tables[0] if tables else "", Plan).model_fields)
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"{hint} Known here: {', '.join(known)}"
