"""Output files: known to be writable before the work starts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from kvbound.checkers.certificate import Certificate
from kvbound.checkers.certificate_file import certificate_to_json
from kvbound.instances import write_atomic
from kvbound.models.errors import InputError


def require_writable(*paths: Path | None) -> None:
    """Raise `InputError` when a file could not be written at one of `paths`; writes nothing.

    Called before long work, so that an hour of solving is not lost to a misspelt folder.
    """
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise InputError(f"{path}: cannot be written, it is a folder; name a file")
        if not path.parent.is_dir():
            raise InputError(f"{path}: cannot be written, the folder {path.parent} does not exist")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise InputError(f"{path}: cannot be written, permission denied; choose another output file")


def write_certificate(path: str | Path, certificate: Certificate) -> None:
    """Write `certificate` as JSON (docs/math.md §5.5); anybody verifies it with `kvbound verify`."""
    write_atomic(path, certificate_to_json(certificate))


def write_certificates(path: str | Path, certificates: Sequence[Certificate]) -> None:
    """Write several certificates into one file; `kvbound verify` verifies each of them."""
    parts = [json.loads(certificate_to_json(certificate)) for certificate in certificates]
    write_atomic(path, json.dumps({"format": "kvbound-certificates", "certificates": parts}) + "\n")
