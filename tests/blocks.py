"""Code blocks of README and docs/: found, and run in order, page by page, in a folder of the page's own.

A comment before a block says what is special about it: `<!-- slow -->` (run by the slow suite only),
`<!-- by hand: why -->` (never run here), `<!-- file: NAME -->` (the block is the content of that file). A Python block
whose first line is `# NAME.py` is written to that file and run. A `text` block behind a Python block is its output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import COMMAND, inline

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
#: Languages a block may have; the last five are not run.
LANGUAGES = ("python", "sh", "console", "text", "toml", "csv", "json", "jsonl")

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>slow|by hand|file)(?:: (?P<what>[^\n]*?))? -->\n\n?)?"
    r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_OUTPUT = re.compile(r"\s*(?:prints\s*)?^```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    code: str
    mark: str | None
    what: str | None
    output: str | None

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.page}:{self.line}"


def blocks_of(path: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        behind = _OUTPUT.match(text, match.end()) if match["language"] == "python" else None
        output = None if behind is None else behind["text"]
        found.append(Block(path.name, line, match["language"], match["code"], match["mark"], match["what"], output))
    return found


def run_page(path: Path, folder: Path, *, slow: bool) -> int:
    """Run the blocks of a page in `folder`; returns how many ran. Python blocks share their names."""
    scope: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for block in blocks_of(path):
        if block.mark == "file":
            assert block.what is not None
            (folder / block.what).write_text(block.code, encoding="utf-8")
        if block.mark in ("by hand", "file") or (block.mark == "slow" and not slow):
            continue
        if block.language == "python":
            _python(block, folder, scope)
        elif block.language in ("sh", "console"):
            for script in _scripts(block):
                _shell(block, script, folder)
        else:
            continue
        ran += 1
    return ran


def _python(block: Block, folder: Path, scope: dict[str, Any]) -> None:
    named = re.match(r"# (\w+\.py)\n", block.code)
    if named:
        (folder / named[1]).write_text(block.code, encoding="utf-8")
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec(compile("\n" * block.line + block.code, block.page, "exec"), scope)
    if block.output is not None:
        assert out.getvalue().strip() == block.output.strip(), f"{block.where} prints\n{out.getvalue()}"


def _scripts(block: Block) -> Iterator[str]:
    """Commands of a block: each `kvbound` line by itself, what is between them as it stands."""
    code = block.code
    if block.language == "console":  # what is typed stands behind the prompt, the rest is output
        code = "".join(line[2:] for line in code.splitlines(keepends=True) if line.startswith("$ "))
    rest: list[str] = []
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("kvbound "):
            if rest:
                yield "\n".join(rest)
            rest = []
            yield line
        else:
            rest.append(line)
    if "".join(rest).strip():
        yield "\n".join(rest)


def _shell(block: Block, script: str, folder: Path) -> None:
    words = shlex.split(script, comments=True)
    words, target = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)
    if words[0] == "kvbound" and not {"|", "&&", ">", "<", ";"} & set(words):  # in this process: a second saved
        done = inline(*words[1:], cwd=folder)
        if target:
            (folder / target).write_text(done.stdout, encoding="utf-8")
    else:
        path = f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-ec", script],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "PATH": path},
            timeout=900,
            check=False,
        )
    assert done.returncode == 0, f"{block.where}: {script}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"


if __name__ == "__main__":  # where the time goes: python tests/blocks.py
    for page in PAGES:
        for found_block in blocks_of(page):
            sys.stdout.write(f"{found_block.where} {found_block.language} {found_block.mark or ''}\n")
