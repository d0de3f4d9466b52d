"""Certificates as JSON files: strict reading, stable writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvbound.checkers.certificate import Certificate, PriceTerm
from kvbound.models.errors import CertificateError

_Natural = Annotated[int, Field(ge=0, lt=2**62, strict=True)]


class _Term(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str
    parameters: list[_Natural]
    ticks: list[_Natural]
    prices: list[_Natural]


class CertificateFile(BaseModel):
    """The file format `kvbound-certificate`, version 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal["kvbound-certificate"]
    schema_version: Literal[1]
    rule: Literal["prices", "volume", "positional", "sequence", "reward"]
    method: str
    fingerprint: str
    denominator: Annotated[int, Field(ge=1, strict=True)]
    value: Annotated[int, Field(strict=True)] | None
    terms: list[_Term]
    level: Annotated[int, Field(strict=True)] | None = None
    multipliers: list[Annotated[int, Field(gt=-(2**62), lt=2**62, strict=True)]] | None = None
    objective: str | None = None


def certificate_to_json(certificate: Certificate) -> str:
    """Return the certificate as one JSON document; rows with price 0 are left out."""
    terms = []
    for term in certificate.terms:
        keep = term.prices > 0
        terms.append(
            {
                "kind": term.kind,
                "parameters": list(term.parameters),
                "ticks": term.ticks[keep].tolist(),
                "prices": term.prices[keep].tolist(),
            }
        )
    document = {
        "format": "kvbound-certificate",
        "schema_version": 1,
        "rule": certificate.rule,
        "method": certificate.method,
        "fingerprint": certificate.fingerprint,
        "denominator": certificate.denominator,
        "value": certificate.value,
        "terms": terms,
    }
    if certificate.multipliers is not None:
        document |= {"level": certificate.level} if certificate.level is not None else {}
        document |= {"multipliers": certificate.multipliers.tolist()}
    if certificate.objective is not None:
        document |= {"objective": certificate.objective}
    return json.dumps(document) + "\n"


def certificate_from_json(text: str, source: str) -> Certificate:
    """Read a certificate; `source` names the file in errors (`CertificateError`)."""
    try:
        data = CertificateFile.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        message = f"{source}: {where}: {first['msg']}; expected a kvbound certificate, version 1"
        raise CertificateError(message) from None
    terms = tuple(
        PriceTerm(t.kind, tuple(t.parameters), np.array(t.ticks, np.int64), np.array(t.prices, np.int64))
        for t in data.terms
    )
    multipliers = None if data.multipliers is None else np.array(data.multipliers, np.int64)
    return Certificate(
        data.rule, data.method, data.fingerprint, data.denominator, terms, data.value, data.level, multipliers,
        data.objective,
    )  # fmt: skip


def read_certificate(path: Path) -> Certificate:
    """Read a certificate file."""
    try:
        return certificate_from_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CertificateError(f"{path}: cannot be read ({error})") from None
