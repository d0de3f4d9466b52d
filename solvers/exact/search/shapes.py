"""Which relaxations fit into memory and time."""

from __future__ import annotations

import numpy as np

from kvbound.solvers.exact.search.backward import Backward
from kvbound.solvers.exact.search.relaxation import Shape, entry_type

#: Largest table in bytes: beyond it one evaluation takes minutes.
MOST_BYTES = 600_000_000


def affordable_shapes(work: Backward, memory_bytes: int, most_level: int = 3) -> list[Shape]:
    """Shapes from weak to strong.

    Items are remembered as long as they hold memory or, where that is affordable, as long as their arrivals push the
    start of the schedule back.
    """
    shapes = []
    for level in range(1, most_level + 1):
        if level > max(2, work.most_active + 1):
            break
        for reach in (work.life, work.output):
            shape = Shape(level, reach.astype(np.int64))
            size = shape.table_bytes(work.n, entry_type(work).itemsize)
            if size <= memory_bytes and size <= MOST_BYTES:
                shapes.append(shape)
                break
    if len(shapes) > 1:
        shapes = shapes[1:]  # level 2 needs no help from level 1
    if not shapes:  # nothing is remembered but the last request
        shapes.append(Shape(1, work.output))
    return shapes
