"""Named instances with the best schedule known and the best lower bound proved, each with who found it and how.

`catalogue` reads the entries that ship with the package; `verify_entry` regenerates an instance and checks
everything that its entry states; `improved` replaces what is beaten, and nothing else. Imports no solver.
"""

from kvbound.instances.catalogue.entry import BestBound, BestSchedule, Claim, Entry, Recipe, Work
from kvbound.instances.catalogue.plan import GROUPS, planned
from kvbound.instances.catalogue.recipe import TraceMissing, build, load_named, trace_folder
from kvbound.instances.catalogue.store import catalogue, read_group, write_group
from kvbound.instances.catalogue.update import improved, merged, new_entry
from kvbound.instances.catalogue.verification import Verdict, verify_entry

__all__ = [
    "GROUPS",
    "BestBound",
    "BestSchedule",
    "Claim",
    "Entry",
    "Recipe",
    "TraceMissing",
    "Verdict",
    "Work",
    "build",
    "catalogue",
    "improved",
    "load_named",
    "merged",
    "new_entry",
    "planned",
    "read_group",
    "trace_folder",
    "verify_entry",
    "write_group",
]
