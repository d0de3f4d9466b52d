"""Instances made to defeat a heuristic: families with known growth, seeded search, and records that anybody can check."""
