"""Published figures as named experiments: `kvbound reproduce` runs them and says where ours differ, and why.

One module per paper; `registry` lists the experiments, `run` runs them, `page` writes docs/reproduction.md.
"""

from kvbound.reproduction.findings import Estimate, Outcome, Published, Row
from kvbound.reproduction.registry import EXPERIMENTS, Experiment, choose
from kvbound.reproduction.run import reproduce

__all__ = ["EXPERIMENTS", "Estimate", "Experiment", "Outcome", "Published", "Row", "choose", "reproduce"]
