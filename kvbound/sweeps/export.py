"""Results as plain rows: for tables, CSV, Parquet and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kvbound.instances import write_atomic
from kvbound.models.errors import OptionError
from kvbound.sweeps.store import ResultStore

#: First columns, in this order; then `setting_*`, `option_*` and one column per metric, each sorted by name.
_FIRST = (
    "source", "seed", "instance", "n", "memory", "workers", "batch", "kind", "method", "status", "tel", "bound",
    "verified", "best_bound", "ratio", "error", "seconds", "started", "finished", "host", "attempts", "version", "key",
)  # fmt: skip


def rows(store: ResultStore) -> list[dict[str, Any]]:
    """One flat row per cell, every row with the same columns; missing is None.

    `best_bound` is the largest verified bound on the TEL of the same instance in the file, `ratio` is TEL over it.
    """
    instances = store.instances()
    stored = list(store.cells(blobs=False))
    best: dict[str, int] = {}
    for row in stored:
        if row.outcome.bound is not None and row.outcome.verified:
            best[row.cell.instance] = max(row.outcome.bound, best.get(row.cell.instance, 0))
    found: list[dict[str, Any]] = []
    for row in stored:
        cell, outcome = row.cell, row.outcome
        about = instances.get(cell.instance, {})
        memory, batch = about.get("memory"), about.get("batch")
        bound = best.get(cell.instance)
        flat: dict[str, Any] = {
            "source": cell.source,
            "seed": cell.seed,
            "instance": cell.instance or None,
            "n": about.get("n"),
            "memory": _one(memory),
            "workers": None if memory is None else len(memory),
            "batch": _one(batch),
            "kind": cell.kind,
            "method": cell.method,
            **{name: getattr(outcome, name) for name in ("status", "tel", "bound", "verified")},
            "best_bound": bound,
            "ratio": None if not bound or outcome.tel is None else outcome.tel / bound,
            **{name: getattr(outcome, name) for name in ("error", "seconds", "started", "finished", "host")},
            "attempts": row.attempts,
            "version": cell.version,
            "key": row.key,
        }
        flat |= {f"setting_{name}": value for name, value in cell.setting.items()}
        flat |= {f"option_{name}": value for name, value in cell.options.items()}
        found.append(flat | {name: value for name, value in (outcome.metrics or {}).items() if name not in flat})
    names = {name for flat in found for name in flat} - set(_FIRST)
    order = [*_FIRST, *sorted(names, key=lambda name: (not name.startswith(("setting_", "option_")), name))]
    return [{name: flat.get(name) for name in order} for flat in found]


def write_csv(path: Path, table: list[dict[str, Any]]) -> None:
    """Write rows as CSV with a header; None is an empty field, truth is 1 or 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table[0] if table else _FIRST)
    for row in table:
        writer.writerow(["" if v is None else int(v) if isinstance(v, bool) else v for v in row.values()])
    write_atomic(path, text.getvalue())


def require_parquet() -> None:
    """Raise `OptionError` unless pyarrow is installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        raise OptionError(
            '--parquet needs the package pyarrow; install it with: pip install "kvbound[sweep]", or use --csv'
        ) from None


def write_parquet(path: Path, table: list[dict[str, Any]]) -> None:
    """Write rows as Parquet, a column of one type each; `OptionError` without pyarrow."""
    require_parquet()
    import pyarrow
    import pyarrow.parquet

    names = list(table[0]) if table else list(_FIRST)
    columns = {name: list(_typed([row[name] for row in table])) for name in names}
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    write_atomic(path, sink.getvalue())


def _typed(values: list[Any]) -> Iterator[Any]:
    """A column in one type: integers beyond 64 bits and mixtures become text, integers beside decimals decimals."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        yield from values
    elif kinds <= {int, float}:
        yield from (None if value is None else float(value) for value in values)
    elif len(kinds) == 1 and kinds <= {str, bool}:
        yield from values
    else:
        yield from (value if value is None or isinstance(value, str) else json.dumps(value) for value in values)


def _one(values: list[int | None] | None) -> int | str | None:
    """The value that all workers share, or the list as text."""
    if values is None:
        return None
    return values[0] if len(set(values)) == 1 else json.dumps(values)
