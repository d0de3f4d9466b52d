"""`kvbound bound`: prove a lower bound and write its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvbound.cli.guard import INTERRUPTED
from kvbound.cli.options import SourceOptions, Threads, TimeLimit, takes_source


@takes_source
def bound(
    options: SourceOptions,
    method: Annotated[
        str,
        typer.Option("--method", metavar="METHOD", help="volume, lagrangian, … or exact; a wrong name lists all."),
    ] = "lagrangian",
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write the proof; `kvbound verify` checks it.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option("--start", metavar="FILE", help="Go on from a certificate of earlier (sequence and best do)."),
    ] = None,
    time_limit: TimeLimit = 30.0,
    threads: Threads = None,
) -> None:
    """Prove a lower bound on the TEL of every schedule."""
    from kvbound.checkers.certificate_file import read_certificate
    from kvbound.cli.gap import bound_json, bound_lines
    from kvbound.cli.output import instance_json, notes, print_json, print_lines, title
    from kvbound.cli.progress import reporting
    from kvbound.comparison import prove_bound, require_method
    from kvbound.files import require_writable, write_certificate
    from kvbound.models.errors import OptionError

    require_method(method)
    if start is not None and method not in ("sequence", "best"):
        raise OptionError(
            f"--start: {method} searches its prices anew; only sequence and best go on from a certificate"
        )
    require_writable(certificate)
    begun = None if start is None else read_certificate(start)
    loaded = options.load()
    interrupted = False
    try:
        with reporting(f"bound {method}") as progress:
            proved, _ = prove_bound(
                loaded.problem,
                method,
                time_limit=time_limit,
                seed=options.seed,
                threads=threads,
                progress=progress,
                start=begun,
            )
        interrupted = proved.termination == "interrupted"
    except KeyboardInterrupt:  # the volume bound takes no time
        proved, _ = prove_bound(loaded.problem, "volume", time_limit=None, seed=options.seed)
        interrupted = True
    remarks = [*loaded.notes, *([f"interrupted before {method} was through"] if interrupted else [])]
    if certificate is not None:
        if proved.certificate is None:
            raise OptionError(f"the {method} bound ({proved.value}) has no certificate to write: {proved.proved_by}")
        write_certificate(certificate, proved.certificate)
    if options.json:
        file = None if certificate is None else str(certificate)
        instance = instance_json(loaded)
        print_json({**bound_json(proved), "certificate": file, "instance": instance, "notes": remarks,
                    "seed": options.seed})  # fmt: skip
    else:
        print_lines([title(loaded.problem), *bound_lines(proved), *notes(remarks)])
        if certificate is not None:
            print_lines([f"certificate written to {certificate}; check it with: kvbound verify SOURCE {certificate}"])
    if interrupted:
        raise typer.Exit(INTERRUPTED)
