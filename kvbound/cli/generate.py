"""`kvbound generate`: write any source as an instance file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvbound.cli.options import SourceOptions, takes_source


@takes_source
def generate(
    options: SourceOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Instance file to write (JSON).", show_default=False)
    ],
) -> None:
    """Write an instance file (JSON) of any source: a generator, or a cut of a trace."""
    from kvbound.cli.output import instance_json, notes, print_json, print_lines, title
    from kvbound.files import require_writable
    from kvbound.instances import write_instance

    require_writable(output)
    loaded = options.load()
    write_instance(output, loaded.problem)
    if options.json:
        print_json({"instance": instance_json(loaded), "file": str(output), "notes": list(loaded.notes)})
    else:
        print_lines([title(loaded.problem), f"instance written to {output}", *notes(loaded.notes)])
