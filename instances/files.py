"""Files in and out: text read with errors a user can act on, output written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from kvbound.models.errors import InputError

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file; a byte-order mark is dropped, line endings are kept.

    Raises
    ------
    InputError
        The file is missing, a directory, unreadable, empty, compressed or not UTF-8.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name one file in it") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({reason})") from None
    if data[:2] == b"\x1f\x8b":
        raise InputError(f"{path}: is gzip-compressed; unpack it first (gunzip)")
    if data[:2] in _UTF16:
        raise InputError(f"{path}: is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}: line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    if not text.strip():
        raise InputError(f"{path}: is empty; expected a trace or an instance")
    return text


def write_atomic(path: str | Path, data: str | bytes) -> None:
    """Write `data` to `path` completely or not at all: a temporary file beside it, then a rename.

    A link is followed; a device or pipe (such as /dev/stdout) is written to directly.

    Raises
    ------
    InputError
        The target is a directory or cannot be written; nothing is left behind.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    temporary: str | None = None
    try:
        target = os.path.realpath(path)
        if os.path.isdir(target):
            raise InputError(f"{path}: is a directory; name a file to write")
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            with open(target, "wb") as stream:
                stream.write(raw)
            return
        temporary = f"{target}.{secrets.token_hex(6)}.tmp"
        with open(temporary, "xb") as stream:  # "x": never follow or overwrite what somebody else put there
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
        temporary = None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be written ({reason}); choose another output file") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
