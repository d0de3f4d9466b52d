"""Instances made to defeat a heuristic: families of known growth, seeded search, records that anybody can check."""
