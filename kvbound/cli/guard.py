"""The last line: no traceback reaches a user, every ending has its exit code.

0 fine, 1 a check failed, 2 bad input, 3 a bug of ours, 130 Ctrl-C.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

CHECK_FAILED, BAD_INPUT, INTERNAL, INTERRUPTED = 1, 2, 3, 130


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn everything that a command may raise into a message on stderr and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()  # a closed pipe shows here, not in the interpreter's last breath
        except BaseException as error:  # the one place: whatever it is, it ends here
            raise typer.Exit(exit_code(error)) from None

    return run


def exit_code(error: BaseException) -> int:
    """Report `error` to the user and return the exit code."""
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else BAD_INPUT
    if isinstance(error, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        _settle_stdout()
        return 0  # the reader has gone (`| head`) and wants no more
    if type(error).__module__.startswith("typer"):
        raise error  # usage errors that typer itself reports with exit code 2
    if os.environ.get("KVBOUND_DEBUG") == "1":
        traceback.print_exception(error)
    from kvbound.models.errors import CertificateError, KvboundError, ScheduleError, SolverError

    if isinstance(error, (ScheduleError, CertificateError)):
        return _say(str(error), CHECK_FAILED)
    if isinstance(error, SolverError):
        return _say(f"internal contradiction, please report: {error}", INTERNAL)
    if isinstance(error, KvboundError):
        return _say(str(error), BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("not enough memory on this machine; take fewer requests with --limit", BAD_INPUT)
    if isinstance(error, OSError):
        _settle_stdout()
        return _say(f"{error.filename or 'input/output'}: {error.strerror or error}", BAD_INPUT)
    return _say(
        f"internal error, please report: {type(error).__name__}: {error} (KVBOUND_DEBUG=1 prints the details)", INTERNAL
    )


def _settle_stdout() -> None:
    """What stdout cannot take (closed pipe, full disk) must not fail once more when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, code: int) -> int:
    try:
        sys.stderr.write(f"kvbound: {message}\n")
        sys.stderr.flush()
    except OSError:
        pass  # stderr is closed: the exit code still tells
    return code
