"""The hall of records: one file per policy and size class, replaced only by what is verified and higher."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kvbound.instances.adversarial.record import Record, read_record, write_record
from kvbound.models.errors import InputError

#: Folder of the records that ship with the package.
SHIPPED = Path(__file__).parent.parent / "records"


def records(folder: Path | str | None = None) -> tuple[Record, ...]:
    """All records of the package, or of the record files in `folder`, by slot.

    Raises
    ------
    InputError
        A file is damaged, or its name is not its slot.
    """
    where = SHIPPED if folder is None else Path(folder)
    if not where.is_dir():
        raise InputError(f"{where}: no such folder; records are files such as fcfs.small.json in a folder")
    found = []
    for path in sorted(where.glob("*.json")):
        record = read_record(path)
        if path.stem != record.slot:
            raise InputError(f"{path}: holds the record {record.slot}; rename the file to {record.slot}.json")
        found.append(record)
    return tuple(found)


def add_record(
    record: Record, failures: Callable[[Record], tuple[str, ...]], folder: Path | str | None = None
) -> tuple[Path, Record | None]:
    """Put a record into the hall; return its file and the record that it replaced, if any.

    A higher ratio wins; with equal ratios a proven optimum, then fewer requests, then less memory.

    Raises
    ------
    InputError
        It does not survive `failures`, or is no better than what is there; nothing is changed then.
    """
    wrong = failures(record)
    if wrong:
        raise InputError(f"not a record, {len(wrong)} statement(s) do not hold: {wrong[0]}")
    path = (SHIPPED if folder is None else Path(folder)) / f"{record.slot}.json"
    old = read_record(path) if path.exists() else None
    if old is not None and _rank(record) <= _rank(old):
        raise InputError(
            f"not a new record: {record.slot} stands at {float(old.value):.6f} ({old.ratio}, n = {old.n}, "
            f"{old.reference.kind}), this one has {float(record.value):.6f} ({record.ratio}, n = {record.n}, "
            f"{record.reference.kind})"
        )
    write_record(path, record)
    return path, old


def _rank(record: Record) -> tuple[object, ...]:
    return (record.value, record.reference.kind == "optimum", -record.n, -sum(record.memory))
