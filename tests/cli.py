"""Runs the `kvbound` command: installed, in a process of its own, or (quicker) in this one through the same entry."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("kvbound"))


def kvbound(*args: str | Path, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `kvbound args`; no traceback may ever appear."""
    done = subprocess.run(
        [COMMAND, *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", **env},
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


def inline(*args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command's entry point in this process; a second for the imports is saved."""
    from kvbound.cli.main import run

    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    code: object = None
    with contextlib.chdir(cwd or "."), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["kvbound", *map(str, args)]
        try:
            run()
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = argv
    assert "Traceback" not in err.getvalue() + out.getvalue(), err.getvalue()
    return subprocess.CompletedProcess(sys.argv, int(str(code or 0)), out.getvalue(), err.getvalue())


def answer(*args: str | Path, code: int = 0, cwd: Path | None = None) -> dict[str, Any]:
    """Run with --json and return the document: stdout holds it and nothing else."""
    done = inline(*args, "--json", cwd=cwd)
    assert done.returncode == code, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def refusal(*args: str | Path, cwd: Path | None = None) -> str:
    """Run what has to be refused as bad input (exit code 2, stdout empty) and return the message."""
    done = inline(*args, cwd=cwd)
    assert (done.returncode, done.stdout) == (2, ""), (done.returncode, done.stdout, done.stderr)
    return done.stderr
