"""Why it is hard: NP-hardness as a program. Problems are nodes, reductions edges with their proof as docstring.

Imports no solver: an edge maps instances and certificates, and the checkers of both problems judge what it made.
`kvbound.decide` answers an instance through its reduction.
"""

from kvbound.reductions.decisions import RewardDecision, TelDecision, UnitTelDecision
from kvbound.reductions.generators import certified_no, near_miss, planted_yes
from kvbound.reductions.graph import PROBLEMS, REDUCTIONS, Path, Reduced, graph, reduce
from kvbound.reductions.problems import BinPacking, LevelPacking, Partition, Size, ThreePartition
from kvbound.reductions.reduction import Reduction
from kvbound.reductions.three_partition_search import three_partition

__all__ = [
    "PROBLEMS",
    "REDUCTIONS",
    "BinPacking",
    "LevelPacking",
    "Partition",
    "Path",
    "Reduced",
    "Reduction",
    "RewardDecision",
    "Size",
    "TelDecision",
    "ThreePartition",
    "UnitTelDecision",
    "certified_no",
    "graph",
    "near_miss",
    "planted_yes",
    "reduce",
    "three_partition",
]
