"""The tables of a results file, version 1; docs/sweeps.md describes every column."""

from __future__ import annotations

#: "kvb1" in the header of the file: what tells a results file from any other database.
APPLICATION = 0x6B766231
#: Version of the tables.
VERSION = 1

#: Columns of `cells`, in order.
COLUMNS = (
    "key", "source", "seed", "setting", "instance", "kind", "method", "options", "version", "status", "tel", "bound",
    "verified", "metrics", "schedule", "execution", "certificate", "error", "seconds", "started", "finished", "host",
    "attempts",
)  # fmt: skip

SCHEMA = """
CREATE TABLE IF NOT EXISTS instances (
    hash TEXT PRIMARY KEY,      -- SHA-256 of requests and fleet
    name TEXT NOT NULL,
    origin TEXT,
    n INTEGER NOT NULL,
    requests BLOB NOT NULL,     -- zlib of little-endian int64 rows of n: prompt, output, arrival[, low, high[, value]]
    fleet TEXT NOT NULL         -- JSON: memory and batch of each worker
);
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY,       -- SHA-256 of instance, kind, method, options, seed, version
    source TEXT NOT NULL,
    seed INTEGER NOT NULL,
    setting TEXT NOT NULL,      -- JSON: what the plan changed about the source
    instance TEXT REFERENCES instances (hash),
    kind TEXT NOT NULL,         -- bound, policy, router, search, exact
    method TEXT NOT NULL,
    options TEXT NOT NULL,      -- JSON: options of the method
    version TEXT NOT NULL,      -- of kvbound
    status TEXT NOT NULL,       -- done, declined, failed, timeout, memory
    tel INTEGER,                -- steps
    bound INTEGER,              -- lower bound on TEL, steps
    verified INTEGER,           -- 1: exact integer arithmetic confirmed the bound
    metrics TEXT NOT NULL,      -- JSON: all other figures
    schedule BLOB,              -- zlib of little-endian int64 rows of n: start, worker
    execution BLOB,             -- zlib of little-endian int64 rows: request, worker, start, end
    certificate BLOB,           -- zlib of a kvbound-certificate, JSON
    error TEXT,
    seconds REAL NOT NULL,
    started TEXT NOT NULL,      -- UTC
    finished TEXT NOT NULL,
    host TEXT NOT NULL,
    attempts INTEGER NOT NULL   -- how often the cell was begun: above 1 after a kill
);
CREATE TABLE IF NOT EXISTS sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,         -- as TOML
    version TEXT NOT NULL,
    python TEXT NOT NULL,
    platform TEXT NOT NULL,
    backend TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER,                -- of the process while it runs
    beat TEXT NOT NULL,         -- last sign of life
    started TEXT NOT NULL,
    finished TEXT
);
CREATE TABLE IF NOT EXISTS running (
    key TEXT PRIMARY KEY,       -- cell that is being worked on
    sweep INTEGER NOT NULL REFERENCES sweeps (id),
    attempts INTEGER NOT NULL
)
"""
