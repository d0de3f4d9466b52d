"""The results file: one SQLite database, written as results come, shared by any number of processes (docs/sweeps.md).

Write-ahead logging makes every cell a transaction of its own: whatever kills a process, the file holds exactly the
cells that were finished. Several sweeps may write at once; a cell that one of them has claimed is left to it.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from kvbound import __version__
from kvbound.models.errors import InputError
from kvbound.models.problem import Problem
from kvbound.sweeps.cell import ANSWERS, Cell, Kind, Outcome, Status, canonical
from kvbound.sweeps.content import fleet_text, instance_hash, pack_requests, unpack_problem
from kvbound.sweeps.tables import APPLICATION, COLUMNS, SCHEMA, VERSION

#: Seconds that a write waits for another process's before it gives up.
_PATIENCE = 60.0
#: Seconds after the last sign of life of a sweep at which its claims lapse.
_LAPSE = 120.0


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One row of `cells`: the cell, what it gave, its key as it stands in the file, and how often it was begun."""

    key: str
    cell: Cell
    outcome: Outcome
    attempts: int


class ResultStore:
    """An open results file.

    Use it as a context manager. `create` makes the file if there is none; without it the file must exist.

    Raises
    ------
    InputError
        No such file, no permission, no results file of kvbound, one of a newer kvbound, or locked for a minute.
    """

    def __init__(self, path: str | Path, *, create: bool = False, patience: float = _PATIENCE) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._sweep: int | None = None
        if self.path.is_dir():
            raise InputError(f"{path}: is a folder; name a results file")
        if not create and not self.path.exists():
            raise InputError(f"{path}: no such file; `kvbound sweep PLAN.toml -o {path}` makes one")
        if create and not self.path.parent.is_dir():
            raise InputError(f"{path}: cannot be written, the folder {self.path.parent} does not exist")
        with self._guard():
            self._db = self._connect(create, patience)
            try:
                self._prepare(create, patience)
            except BaseException:  # whatever went wrong, the file is not left open
                self._db.close()
                raise

    def _connect(self, create: bool, patience: float) -> sqlite3.Connection:
        # joblib asks for the next cell from a thread of its own; `_lock` keeps the two apart.
        def connect(query: str) -> sqlite3.Connection:
            uri = f"{self.path.resolve().as_uri()}?{query}"
            return sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False)

        if not create and not os.access(self.path.parent, os.W_OK):
            return connect("immutable=1")  # a read-only folder: there can be no writer, and no journal either
        return connect("mode=rwc" if create else "mode=rw")

    def _prepare(self, create: bool, patience: float) -> None:
        db = self._db
        # In this order: another sweep may be making the file, tables and numbers in one transaction.
        empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application, version = (
            db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if empty and create:
            self._log_ahead(patience)
            # Two sweeps may make the file at once: the statements all say IF NOT EXISTS.
            db.executescript(
                f"BEGIN IMMEDIATE;{SCHEMA};PRAGMA application_id={APPLICATION};PRAGMA user_version={VERSION};COMMIT;"
            )
        elif application != APPLICATION:
            raise InputError(f"{self.path}: is a database, but no results file of kvbound; name another file")
        elif version != VERSION:
            raise InputError(
                f"{self.path}: has version {version} of the tables, this kvbound {__version__} knows {VERSION}; "
                "use the kvbound that wrote it, or a new file"
            )
        db.execute("PRAGMA synchronous=NORMAL")  # with WAL: a power cut may lose the last cells, a kill none
        db.execute("PRAGMA foreign_keys=ON")

    def _log_ahead(self, patience: float) -> None:
        """Switch to a write-ahead log. SQLite waits for nobody there who is about to write, so the waiting is ours."""
        end = time.monotonic() + patience
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            time.sleep(0.01)

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up this sweep's claims and close the file."""
        with self._guard():
            if self._sweep is not None:
                self._db.execute("DELETE FROM running WHERE sweep = ?", (self._sweep,))
                self._db.execute("UPDATE sweeps SET finished = ?, pid = NULL WHERE id = ?", (now(), self._sweep))
                self._sweep = None
            self._db.close()

    # --- writing -----------------------------------------------------------------------------------------------

    def begin(self, name: str, plan: str, backend: str, jobs: int) -> int:
        """Enter a sweep (its plan as text); claims are made in its name from now on. Returns its number."""
        values = (name, plan, __version__, platform.python_version(), platform.platform(), backend, jobs)
        with self._guard():
            cursor = self._db.execute(
                "INSERT INTO sweeps (name, plan, version, python, platform, backend, jobs, host, pid, beat, started)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (*values, socket.gethostname(), os.getpid(), now(), now()),
            )
            self._sweep = cast(int, cursor.lastrowid)
            return self._sweep

    def put_instance(self, problem: Problem) -> str:
        """Store an instance unless its content is there already; return its hash."""
        key = instance_hash(problem)
        with self._guard():
            if self._db.execute("SELECT 1 FROM instances WHERE hash = ?", (key,)).fetchone() is None:
                row = (key, problem.name, problem.origin, problem.n, pack_requests(problem.requests))
                self._db.execute(
                    "INSERT OR IGNORE INTO instances (hash, name, origin, n, requests, fleet) VALUES (?,?,?,?,?,?)",
                    (*row, fleet_text(problem.fleet)),
                )
        return key

    def put(self, cell: Cell, outcome: Outcome, attempts: int = 1) -> None:
        """Store what a cell gave, in one transaction. An answer that is there already is never replaced."""
        c, o = cell, outcome
        row = (
            c.key, c.source, c.seed, canonical(c.setting), c.instance or None, c.kind, c.method, canonical(c.options),
            c.version, o.status, o.tel, o.bound, o.verified, canonical(o.metrics or {}), o.schedule, o.execution,
            o.certificate, o.error, o.seconds, o.started or now(), o.finished or now(), o.host, attempts,
        )  # fmt: skip
        with self._transaction():
            self._db.execute(
                f"INSERT INTO cells ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
                f" ON CONFLICT (key) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in COLUMNS[1:])}"
                f" WHERE cells.status NOT IN {ANSWERS}",
                row,
            )
            self._db.execute("DELETE FROM running WHERE key = ?", (c.key,))

    def forget_unloaded(self, source: str, seed: int, setting: dict[str, Any]) -> None:
        """Remove the rows that say that an instance could not be loaded: now it could."""
        with self._guard():
            self._db.execute(
                "DELETE FROM cells WHERE instance IS NULL AND source = ? AND seed = ? AND setting = ?",
                (source, seed, canonical(setting)),
            )

    # --- claims ------------------------------------------------------------------------------------------------

    def claim(self, key: str, retry: bool = False) -> int | str:
        """Claim a cell for this sweep.

        Returns
        -------
        int | str
            The number of this attempt, from 1; or `"stored"` (there is a row; with `retry`: an answer) or `"taken"`
            (another sweep that is alive works on it).
        """
        if self._sweep is None:
            raise InputError(f"{self.path}: no sweep was begun, so there is nobody to claim a cell")
        with self._transaction():
            found = self._db.execute("SELECT status FROM cells WHERE key = ?", (key,)).fetchone()
            if found is not None and (found[0] in ANSWERS or not retry):
                return "stored"
            claim = self._db.execute("SELECT sweep, attempts FROM running WHERE key = ?", (key,)).fetchone()
            if claim is not None and claim[0] != self._sweep and self._alive(claim[0]):
                return "taken"
            attempts = 1 if claim is None else claim[1] + 1
            self._db.execute("INSERT OR REPLACE INTO running VALUES (?,?,?)", (key, self._sweep, attempts))
            return attempts

    def release(self, key: str) -> None:
        """Give up a claim of this sweep without a result."""
        with self._guard():
            self._db.execute("DELETE FROM running WHERE key = ? AND sweep = ?", (key, self._sweep))

    def beat(self) -> None:
        """Say that this sweep is alive: its claims lapse two minutes after the last beat."""
        with self._guard():
            self._db.execute("UPDATE sweeps SET beat = ? WHERE id = ?", (now(), self._sweep))

    def _alive(self, sweep: int) -> bool:
        row = self._db.execute("SELECT host, pid, beat FROM sweeps WHERE id = ?", (sweep,)).fetchone()
        if row is None or row[1] is None:
            return False
        if row[0] == socket.gethostname() and not _process_exists(row[1]):
            return False  # killed: its cells are free at once
        return (datetime.now(UTC) - datetime.fromisoformat(row[2])).total_seconds() < _LAPSE

    # --- reading -----------------------------------------------------------------------------------------------

    def statuses(self) -> dict[str, Status]:
        """Key -> status of every cell in the file."""
        with self._guard():
            return dict(self._db.execute("SELECT key, status FROM cells"))

    def cells(self, *, blobs: bool = True) -> Iterator[Stored]:
        """All cells in the order of source, seed, kind, method, options; without blobs these are None (faster)."""
        columns = [c if blobs or c not in ("schedule", "execution", "certificate") else "NULL" for c in COLUMNS]
        with self._guard():
            cursor = self._db.execute(
                f"SELECT {', '.join(columns)} FROM cells ORDER BY source, seed, setting, kind, method, options, key"
            )
            for row in cursor:
                yield self._stored(row)

    def rows(self, keys: Iterable[str]) -> list[Stored]:
        """The cells with these keys; a key that is not there is left out."""
        with self._guard():
            query = f"SELECT {', '.join(COLUMNS)} FROM cells WHERE key = ?"
            found = [self._db.execute(query, (key,)).fetchone() for key in keys]
        return [self._stored(row) for row in found if row is not None]

    def keys(self, condition: str = "1") -> list[str]:
        """Keys of the cells for which an SQL condition over the columns of `cells` holds, sorted."""
        with self._guard():
            return [row[0] for row in self._db.execute(f"SELECT key FROM cells WHERE {condition} ORDER BY key")]

    def _stored(self, row: tuple[Any, ...]) -> Stored:
        v = dict(zip(COLUMNS, row, strict=True))
        try:
            setting, options, metrics = (json.loads(v[name]) for name in ("setting", "options", "metrics"))
        except (ValueError, TypeError):
            raise InputError(f"{self.path}: cell {v['key']}: setting, options or metrics are no JSON") from None
        kind, verified = cast(Kind, v["kind"]), None if v["verified"] is None else bool(v["verified"])
        cell = Cell(v["source"], v["seed"], setting, v["instance"] or "", kind, v["method"], options, v["version"])
        outcome = Outcome(
            v["status"], v["tel"], v["bound"], verified, metrics, v["schedule"], v["execution"], v["certificate"],
            v["error"], v["seconds"], v["started"], v["finished"], v["host"],
        )  # fmt: skip
        return Stored(v["key"], cell, outcome, v["attempts"])

    def problem(self, instance: str) -> Problem:
        """Return the instance with this hash, objective TEL; `InputError` when it is missing or damaged."""
        row = self.instance_row(instance)
        name, origin, n, requests, fleet = row
        return unpack_problem(n, requests, fleet, name, origin)

    def instance_row(self, instance: str) -> tuple[str, str | None, int, bytes, str]:
        """(name, origin, n, requests, fleet) as stored."""
        with self._guard():
            row = self._db.execute(
                "SELECT name, origin, n, requests, fleet FROM instances WHERE hash = ?", (instance,)
            ).fetchone()
        if row is None:
            raise InputError(f"{self.path}: there is no instance {instance[:12]}…")
        return cast("tuple[str, str | None, int, bytes, str]", row)

    def instances(self) -> dict[str, dict[str, Any]]:
        """Hash -> name, origin, n, memory (list), batch (list) of every instance."""
        with self._guard():
            rows = self._db.execute("SELECT hash, name, origin, n, fleet FROM instances ORDER BY name, hash").fetchall()
        return {h: {"name": name, "origin": origin, "n": n, **json.loads(fleet)} for h, name, origin, n, fleet in rows}

    def sweeps(self) -> list[dict[str, Any]]:
        """All sweeps that wrote into the file: plan, versions, backend, jobs, host, times."""
        with self._guard():
            cursor = self._db.execute("SELECT * FROM sweeps ORDER BY id")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    # --- plumbing ----------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:  # nothing half-written, whatever it was
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """One thread at a time; what SQLite says becomes a message with the way out."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise InputError(f"{self.path}: {_advice(error)}") from None


def _advice(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return "another process keeps the results file locked; wait for it to end, or write to another file"
    if "not a database" in text or "malformed" in text:
        return f"is no results file of kvbound, or a damaged one ({text}); name another file"
    if "readonly" in text or "unable to open" in text:
        return f"cannot be opened for writing ({text}); check the permissions of the file and of its folder"
    if "full" in text:
        return f"the disk is full ({text}); make room and run the same command again: what is stored stays"
    return f"SQLite: {text}"


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
