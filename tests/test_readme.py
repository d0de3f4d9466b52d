"""What the README shows runs as it stands there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from blocks import PAGES, blocks_of
from cli import answer

import kvbound

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = [block.code for block in blocks_of(PAGES[0]) if block.language == "python"]


def test_the_python_lines_run_and_print_a_table() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(BLOCKS[0], "README.md", "exec"), {})
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["fcfs", "mc-sf", "svf", "proved:"]
    assert len(BLOCKS[0].splitlines()) <= 11


def test_the_policy_example_runs(tmp_path: Path) -> None:
    code = BLOCKS[1]
    assert code.startswith("# my_policy.py\n")
    assert len(code.splitlines()) <= 10
    (tmp_path / "my_policy.py").write_text(code)
    found = answer(
        "gap", "mix:n=100", "--policies", "fcfs", "--policy-file", "my_policy.py", "--bound", "none", cwd=tmp_path
    )
    fcfs, mine = found["policies"]
    assert mine["name"] == "my_policy"
    assert mine["tel"] < fcfs["tel"]


def test_every_command_is_in_the_readme_and_the_other_way_round() -> None:
    from kvbound.cli.main import app

    known = {command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    assert set(re.findall(r"`kvbound ([a-z]+)", README)) == known


def test_every_public_name_is_there_and_described() -> None:
    assert kvbound.__doc__ is not None
    for name in kvbound.__all__:
        assert getattr(kvbound, name) is not None
        assert f"`{name}`" in kvbound.__doc__
    assert len(kvbound.__all__) <= 50  # one screen of names, grouped in the docstring
