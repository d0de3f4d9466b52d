"""`kvbound verify`: recompute bounds from their certificates in exact integers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvbound.cli.guard import CHECK_FAILED
from kvbound.cli.options import SourceOptions, takes_source
from kvbound.cli.route_options import Rate, parse_rate

if TYPE_CHECKING:
    from kvbound.models.problem import Problem


@takes_source
def verify(
    options: SourceOptions,
    certificate: Annotated[
        Path,
        typer.Argument(
            metavar="CERTIFICATE", help="Written by `kvbound bound` or `route --certificate`.", show_default=False
        ),
    ],
    rate: Rate = None,
) -> None:
    """Verify a bound certificate in exact integer arithmetic and print what it proves.

    Needs nothing but the instance, the integers in the file and the theorems of docs/math.md. Exit code 1 when refused.
    """
    from kvbound.cli.output import instance_json, notes, print_json, print_lines, title
    from kvbound.cli.progress import reporting
    from kvbound.models.errors import CertificateError, InputError
    from kvbound.routing import seeded

    loaded = options.load()
    problem = seeded(loaded.problem, options.seed, parse_rate(rate, loaded.problem), None)
    loaded = replace(loaded, problem=problem)
    texts, several = _texts(certificate)
    try:
        with reporting("verifying"):
            found = [_verified(problem, text, str(certificate)) for text in texts]
    except (CertificateError, InputError) as error:
        if not options.json:
            raise
        print_json({"instance": instance_json(loaded), "ok": False, "value": None, "error": str(error)})
        raise typer.Exit(CHECK_FAILED) from None
    if options.json:
        answer = {"certificates": [part for part, _ in found]} if several else found[0][0]
        print_json({"instance": instance_json(loaded), "ok": True, **answer, "notes": list(loaded.notes)})
        return
    print_lines([title(problem), *(line for _, line in found), *notes(loaded.notes)])


def _verified(problem: Problem, text: str, source: str) -> tuple[dict[str, Any], str]:
    """One certificate, verified: its part of the JSON answer, and a line for people."""
    from kvbound.checkers import verify as prove
    from kvbound.checkers.certificate_file import certificate_from_json
    from kvbound.models.reward import Reward

    claim = certificate_from_json(text, source)
    reward = None
    if claim.objective is not None:  # a bound on a reward carries its weights and its horizon
        reward = Reward.from_identity(claim.objective)
        problem = replace(problem, objective=reward)
    value = prove(problem, claim)
    answer: dict[str, Any] = {"value": value, "claimed": claim.value, "method": claim.method, "rule": claim.rule}
    proved = f"no schedule has a TEL below {value:,}"
    if reward is not None:
        answer |= {"objective": claim.objective, "reward": value / reward.denominator}
        unit = f"/{reward.denominator}" if reward.denominator > 1 else ""
        proved = f"no schedule earns more than {value:,}{unit} within {reward.horizon:,} steps"
    elif problem.requests.arrival.any():
        proved += f", a mean EEL below {value / problem.n:,.2f}"
    by = f"claimed {claim.value:,} by {claim.method}" if claim.value is not None else f"made by {claim.method}"
    return answer, f"verified in exact integer arithmetic: {proved}  ({by})"


def _texts(path: Path) -> tuple[list[str], bool]:
    """The certificates in the file, and whether it is a list; what holds none is bad input, not a failed check."""
    from kvbound.instances import read_text
    from kvbound.models.errors import InputError

    text = read_text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}); expected a certificate of `kvbound bound`") from None
    kind = document.get("format") if isinstance(document, dict) else None
    if kind == "kvbound-certificates":
        parts = document.get("certificates")
        if not isinstance(parts, list) or not parts:
            raise InputError(f'{path}: "certificates" has to be a list of certificates that is not empty')
        return [json.dumps(part) for part in parts], True
    if kind != "kvbound-certificate":
        raise InputError(f'{path}: is no bound certificate: its "format" is not "kvbound-certificate"')
    return [text], False
