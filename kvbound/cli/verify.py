"""`kvbound verify`: recompute a bound from its certificate in exact integers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kvbound.cli.guard import CHECK_FAILED
from kvbound.cli.options import SourceOptions, takes_source


@takes_source
def verify(
    options: SourceOptions,
    certificate: Annotated[
        Path,
        typer.Argument(metavar="CERTIFICATE", help="Written by `kvbound bound --certificate`.", show_default=False),
    ],
) -> None:
    """Verify a bound certificate in exact integer arithmetic and print what it proves.

    Needs nothing but the instance, the integers in the file and the theorems of docs/math.md. Exit code 1 when refused.
    """
    from dataclasses import replace

    from kvbound.checkers import verify as prove
    from kvbound.checkers.certificate_file import certificate_from_json
    from kvbound.cli.output import instance_json, notes, print_json, print_lines, title
    from kvbound.cli.progress import reporting
    from kvbound.models.errors import CertificateError, InputError
    from kvbound.models.reward import Reward

    loaded = options.load()
    text = _text(certificate)
    try:
        claim = certificate_from_json(text, str(certificate))
        problem, reward = loaded.problem, None
        if claim.objective is not None:  # a bound on a reward carries its weights and its horizon
            reward = Reward.from_identity(claim.objective)
            problem = replace(problem, objective=reward)
        with reporting("verifying"):
            value = prove(problem, claim)
    except (CertificateError, InputError) as error:
        if not options.json:
            raise
        print_json({"instance": instance_json(loaded), "ok": False, "value": None, "error": str(error)})
        raise typer.Exit(CHECK_FAILED) from None
    if options.json:
        print_json(
            {
                "instance": instance_json(loaded),
                "ok": True,
                "value": value,
                "claimed": claim.value,
                "method": claim.method,
                "rule": claim.rule,
                "notes": list(loaded.notes),
                **({} if reward is None else {"objective": claim.objective, "reward": value / reward.denominator}),
            }
        )
        return
    source = f"claimed {claim.value:,} by {claim.method}" if claim.value is not None else f"made by {claim.method}"
    proved = f"no schedule has a TEL below {value:,}"
    if reward is not None:
        unit = f"/{reward.denominator}" if reward.denominator > 1 else ""
        proved = f"no schedule earns more than {value:,}{unit} within {reward.horizon:,} steps"
    print_lines(
        [
            title(loaded.problem),
            f"verified in exact integer arithmetic: {proved}  ({source})",
            *notes(loaded.notes),
        ]
    )


def _text(path: Path) -> str:
    """Read the file; what is no certificate at all is bad input, not a failed check."""
    from kvbound.instances import read_text
    from kvbound.models.errors import InputError

    text = read_text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}); expected a certificate of `kvbound bound`") from None
    if not isinstance(document, dict) or document.get("format") != "kvbound-certificate":
        raise InputError(f'{path}: is no bound certificate: its "format" is not "kvbound-certificate"')
    return text
