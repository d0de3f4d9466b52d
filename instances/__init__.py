"""Where problems come from: trace readers, instance and schedule files, generators. Imports no solver.

`load` takes any source string; `read_trace`, `read_instance` and `generate` are the parts it is made of.
"""

from kvbound.instances.describe import Statistics, Summary, statistics
from kvbound.instances.files import read_text, write_atomic
from kvbound.instances.generators import DEFAULT_MEMORY, GENERATORS
from kvbound.instances.instance_file import instance_to_json, read_instance, write_instance
from kvbound.instances.load import Loaded, load
from kvbound.instances.predictions import with_predictions
from kvbound.instances.read import read_trace
from kvbound.instances.schedule_file import read_schedule, schedule_to_json, write_schedule
from kvbound.instances.source import Generated, family_sources, generate, sources
from kvbound.instances.trace import Trace

__all__ = [
    "DEFAULT_MEMORY",
    "GENERATORS",
    "Generated",
    "Loaded",
    "Statistics",
    "Summary",
    "Trace",
    "family_sources",
    "generate",
    "instance_to_json",
    "load",
    "read_instance",
    "read_schedule",
    "read_text",
    "read_trace",
    "schedule_to_json",
    "sources",
    "statistics",
    "with_predictions",
    "write_atomic",
    "write_instance",
    "write_schedule",
]
