"""Every code block of README and docs/ runs as it stands there; links and the site are sound."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import LANGUAGES, PAGES, ROOT, blocks_of, run_page

from kvbound.instances import csv_traces

BLOCKS = {page: blocks_of(page) for page in PAGES}


def _runs(page: Path, *marks: str | None) -> bool:
    return any(b.language in ("python", "sh", "console") and b.mark in marks for b in BLOCKS[page])


def test_every_fence_is_found_and_has_a_language() -> None:
    for page, blocks in BLOCKS.items():
        assert len(re.findall("^```", page.read_text(encoding="utf-8"), re.MULTILINE)) == 2 * len(blocks), page.name
        for block in blocks:
            assert block.language in LANGUAGES, f"{block.where}: language {block.language!r}; one of {LANGUAGES}"


def test_what_is_left_to_hands_says_why() -> None:
    by_hand = [block for blocks in BLOCKS.values() for block in blocks if block.mark == "by hand"]
    assert all(block.what for block in by_hand)
    for block in by_hand:
        assert re.search("install|trace|hall", block.what or ""), f"{block.where}: {block.what}"


@pytest.mark.parametrize("page", [p for p in PAGES if _runs(p, None)], ids=lambda p: p.name)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_traces, "FORMATS", csv_traces.FORMATS)  # a page adds one
    assert run_page(page, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if _runs(p, "slow")], ids=lambda p: p.name)
def test_slow_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_traces, "FORMATS", csv_traces.FORMATS)
    assert run_page(page, tmp_path, slow=True)


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    for code in (
        "```sh\nkvbound gap nothing.csv\n```\n",
        "```console\n$ kvbound gap nothing.csv\noutput\n```\n",
        "```sh\nfalse\n```\n",
        "```python\nprint(1)\n```\n\nprints\n\n```text\n2\n```\n",
        "```python\nraise ValueError\n```\n",
    ):
        (tmp_path / "page.md").write_text(code)
        with pytest.raises((AssertionError, ValueError)):
            run_page(tmp_path / "page.md", tmp_path, slow=False)


def test_links_to_files_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(((?!https?:)[^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_site_builds_and_loads_nothing_from_the_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="MkDocs is not installed (pip install '.[docs]'); `make docs` builds the site")
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").glob("*.html"))
    assert {page.stem for page in pages} >= {page.stem for page in PAGES if page.parent.name == "docs"}
    for page in pages:
        html = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>", html), page
