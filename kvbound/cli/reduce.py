"""`kvbound reduce`: run an NP-hardness proof on numbers, decide it through the schedule, map schedules back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import CHECK_FAILED, INTERRUPTED
from kvbound.cli.options import Output, Threads

if TYPE_CHECKING:
    from kvbound.reductions import Reduced


def reduce(
    problem: Annotated[
        str | None,
        typer.Argument(
            metavar="PROBLEM", help="three-partition, partition, bin-packing or level-packing.", show_default=False
        ),
    ] = None,
    numbers: Annotated[
        str | None, typer.Option("--numbers", metavar="5,6,9,…", help="The numbers, or the sizes of the items.")
    ] = None,
    to: Annotated[str, typer.Option("--to", metavar="PROBLEM", help="Where to: tel, reward, or another node.")] = "tel",
    target: Annotated[
        int | None, typer.Option("--target", metavar="B", help="Sum of a triple; default: the sum of all over m.")
    ] = None,
    capacity: Annotated[int | None, typer.Option("--capacity", metavar="W", help="Capacity of a bin.")] = None,
    bins: Annotated[int | None, typer.Option("--bins", metavar="K", help="Number of bins.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", metavar="T", help="Largest sum of the levels.")] = None,
    generate: Annotated[
        str | None, typer.Option("--generate", metavar="KIND", help="Make the numbers: yes, no or near-miss.")
    ] = None,
    m: Annotated[int, typer.Option("--m", metavar="M", min=1, help="Triples to generate.")] = 5,
    length: Annotated[
        int | None, typer.Option("--length", metavar="L", min=1, help="Output of every request, in steps.")
    ] = None,
    spread: Annotated[
        int | None, typer.Option("--spread", metavar="E", min=1, help="Let outputs vary from L to L+E (chooses L).")
    ] = None,
    through: Annotated[
        list[str] | None, typer.Option("--through", metavar="EDGE", help="A reduction to go through; repeatable.")
    ] = None,
    instance: Annotated[
        Path | None, typer.Option("--instance", metavar="FILE", help="Read the numbers from an instance written by -o.")
    ] = None,
    output: Output = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Write the proof that no schedule is below the threshold."),
    ] = None,
    solve: Annotated[bool, typer.Option("--solve", help="Decide it, and map the answer back.")] = False,
    back: Annotated[
        Path | None, typer.Option("--back", metavar="SCHEDULE", help="Map your own schedule back (JSON or CSV).")
    ] = None,
    proof: Annotated[bool, typer.Option("--proof", help="Print the proof of every reduction on the path.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List all problems and reductions.")] = False,
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="FILE", help="Draw the graph of reductions (.png, .svg, .pdf).")
    ] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", metavar="S", min=0, help="Seconds for --solve.")] = 60.0,
    threads: Threads = None,
    seed: Annotated[int, typer.Option("--seed", metavar="K", min=0, help="Seed of generator and solvers.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn numbers into a scheduling problem that is as hard (3-Partition and others), decide it, map answers back."""
    from kvbound.cli import reduce_text as text
    from kvbound.cli.output import print_json, print_lines
    from kvbound.files import require_writable
    from kvbound.models.errors import OptionError

    require_writable(output, certificate, draw)
    if list_all or draw is not None:
        from kvbound.reductions.drawing import as_text
        from kvbound.reductions.drawing import draw as draw_graph

        if draw is not None:
            draw_graph(draw)
        if json:
            print_json({**text.graph_json(), "file": None if draw is None else str(draw)})
        else:
            print_lines([*(as_text() if list_all else []), *([f"graph drawn to {draw}"] if draw else [])])
        return
    options = {k: v for k, v in (("length", length), ("spread", spread)) if v is not None}
    wanted = [*(through or []), *(["varied-outputs"] if spread is not None else [])]
    if proof and numbers is None and generate is None and instance is None:
        from kvbound.reductions import reduce as find

        path = find(problem or "three-partition", to, through=wanted, **options)
        print_json(text.proofs_json(path)) if json else print_lines(text.proofs(path))
        return
    values = {"target": target, "capacity": capacity, "bins": bins, "budget": budget}
    if instance is not None:
        if problem not in (None, "three-partition") or numbers is not None or generate is not None or options:
            raise OptionError("--instance brings numbers and length with it; give nothing else besides")
        reduced = _from_instance(instance)
    else:
        source = _source(problem, numbers, values, generate, m, seed, back)
        from kvbound.reductions import reduce as find

        reduced = find(source, to, through=wanted, **options)
    if solve and back is not None:
        raise OptionError("--solve and --back answer different questions; give one of them")
    if output is not None:
        _write_instance(reduced, output)
    if certificate is not None:
        _write_certificate(reduced, certificate)
    files = {"file": None if output is None else str(output)}
    lines = [*(text.proofs(reduced.path) if proof else []), *text.instance_lines(reduced)]
    lines += [f"instance written to {output}"] if output else []
    lines += [f"proof that no schedule is below the threshold written to {certificate}"] if certificate else []
    document: dict[str, Any] = {**text.reduced_json(reduced), **files}
    code = 0
    if solve:
        from kvbound.cli.progress import reporting
        from kvbound.decision import decide
        from kvbound.solvers.exact import SolveConfig

        config = SolveConfig(time_limit=time_limit, threads=threads, seed=seed)
        with reporting("reduce") as progress:
            decided = decide(reduced, config=config, progress=progress)
        document = {**text.decided_json(decided), **document}
        lines = [*lines, *text.decided_lines(decided)]
        code = INTERRUPTED if decided.interrupted else 0
    elif back is not None:
        mapped = text.map_back(reduced, back)
        document, lines = {**mapped.document, **document}, [*lines, *mapped.lines]
        code = 0 if mapped.accepted else CHECK_FAILED
    print_json(document) if json else print_lines(lines)
    if code:
        raise typer.Exit(code)


def _source(
    problem: str | None,
    numbers: str | None,
    values: dict[str, int | None],
    generate: str | None,
    m: int,
    seed: int,
    back: Path | None,
) -> Any:
    """The instance that the options describe."""
    from kvbound.models.errors import OptionError
    from kvbound.reductions import BinPacking, LevelPacking, Partition, ThreePartition

    known = {
        "three-partition": (ThreePartition, ("target",), ()),
        "partition": (Partition, (), ()),
        "bin-packing": (BinPacking, (), ("capacity", "bins")),
        "level-packing": (LevelPacking, (), ("capacity", "budget")),
    }
    if problem is None and back is not None:
        raise OptionError(
            f"{back} does not hold the numbers: add three-partition --numbers …, or --instance FILE (what -o wrote)"
        )
    if problem is None:
        raise OptionError("say what to reduce, such as: kvbound reduce three-partition --numbers 26,33,41,30,35,35")
    if problem not in known:
        raise OptionError(f"PROBLEM is {problem!r}; numbers can be given for {', '.join(known)}")
    make, may, must = known[problem]
    given = {name: value for name, value in values.items() if value is not None}
    for name in must:
        if name not in given:
            raise OptionError(f"{problem} needs --{name}")
    for name in given:
        if name not in (*may, *must):
            raise OptionError(f"{problem} has no --{name}")
    if generate is not None:
        from kvbound.decision import hard_instance

        if problem != "three-partition" or numbers is not None:
            raise OptionError("--generate makes the numbers of three-partition; give no --numbers")
        return hard_instance(generate, m, given.get("target", 1000), seed)[0]
    if numbers is None:
        raise OptionError(f"{problem} needs --numbers, such as --numbers 26,33,41,30,35,35")
    return make(_integers(numbers), **given)


def _integers(text: str) -> tuple[int, ...]:
    from kvbound.models.errors import OptionError

    found = []
    for i, entry in enumerate(text.replace(",", " ").split()):
        try:
            found.append(int(entry))
        except ValueError:
            raise OptionError(f"--numbers: entry {i} is {entry!r}, not an integer; write 26,33,41,…") from None
    return tuple(found)


def _from_instance(path: Path) -> Reduced:
    """The reduction that wrote an instance file."""
    from kvbound.instances import read_instance
    from kvbound.reductions.equal_outputs import EqualOutputs
    from kvbound.reductions.graph import Path as Way

    edge, source = EqualOutputs.recognise(read_instance(path))
    return Way((edge,))(source)


def _write_instance(reduced: Reduced, path: Path) -> None:
    from kvbound.instances import write_instance
    from kvbound.models.errors import OptionError

    if not hasattr(reduced.target, "problem"):
        raise OptionError(f"{reduced.target.name} is no scheduling problem; -o writes instances of tel")
    write_instance(path, reduced.target.problem)


def _write_certificate(reduced: Reduced, path: Path) -> None:
    from kvbound.files import write_certificate
    from kvbound.models.errors import OptionError
    from kvbound.reductions.equal_outputs import EqualOutputs

    step = reduced.path.steps[-1]
    if not isinstance(step, EqualOutputs):
        raise OptionError("only the reduction equal-outputs comes with a bound certificate; leave out --certificate")
    write_certificate(path, step.proof_of_threshold(reduced.stages[-2]))
