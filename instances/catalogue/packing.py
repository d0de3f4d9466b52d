"""Starts and certificates in few bytes: short lists stay readable, the rest is LZMA in base 64."""

from __future__ import annotations

import base64
import binascii
import json
import lzma

import numpy as np

from kvbound.checkers import Certificate
from kvbound.checkers.certificate_file import certificate_from_json, certificate_to_json
from kvbound.models.errors import InputError
from kvbound.models.schedule import Schedule

#: Schedules of at most this many requests stand as plain lists.
PLAIN_STARTS = 60
#: No packed text may unfold to more than this many bytes.
_MOST_BYTES = 100_000_000


def pack(text: str) -> str:
    """Return `text` compressed, as letters and digits."""
    return base64.b64encode(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)).decode("ascii")


def unpack(packed: str, where: str) -> str:
    """Undo `pack`; `InputError` names `where` when the text is damaged."""
    try:
        unfolder = lzma.LZMADecompressor()
        data = unfolder.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
        if not unfolder.eof:
            raise InputError(f"{where}: the packed text is cut off or larger than {_MOST_BYTES:,} bytes")
        return data.decode("utf-8")
    except (binascii.Error, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: the packed text is damaged ({error})") from None


def pack_starts(schedule: Schedule) -> list[int] | str:
    """Starts of a one-worker schedule, by request index."""
    starts: list[int] = schedule.start.tolist()
    return starts if len(starts) <= PLAIN_STARTS else pack(json.dumps(starts, separators=(",", ":")))


def unpack_starts(starts: list[int] | str, where: str) -> Schedule:
    """Undo `pack_starts`; raises `InputError`."""
    if isinstance(starts, str):
        text = unpack(starts, where)
        try:
            starts = json.loads(text)
        except ValueError as error:
            raise InputError(f"{where}: the packed starts are no JSON list ({error})") from None
    if not isinstance(starts, list) or not all(type(k) is int for k in starts):
        raise InputError(f"{where}: the starts are no list of integers")
    return Schedule(np.array(starts, dtype=object) if starts else np.zeros(0, np.int64))


def pack_certificate(certificate: Certificate) -> str:
    """A certificate as packed JSON document (`kvbound.checkers.certificate_file`)."""
    return pack(certificate_to_json(certificate))


def unpack_certificate(packed: str, where: str) -> Certificate:
    """Undo `pack_certificate`; raises `InputError` or `CertificateError`."""
    return certificate_from_json(unpack(packed, where), where)
