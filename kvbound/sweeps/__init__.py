"""Sweeps: a grid of cells, run by joblib on one machine or a cluster, kept in one SQLite file (docs/sweeps.md)."""
