"""Two things that MkDocs does not do: links to files outside of docs/, and pages that the navigation forgot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
#: A link from docs/ to a printed result, the README, ... of the repository.
OUTSIDE = re.compile(r"\]\(\.\./((?!\.\.)[^)#\s]+)")


def on_files(files: Files, config: Any) -> Files:
    """Copy every file that a page links to outside of docs/, and list pages without a place under `More`."""
    pages = [file for file in files if file.src_uri.endswith(".md")]
    for name in sorted({name for page in pages for name in OUTSIDE.findall(page.content_string)}):
        if (ROOT / name).is_file():  # anything else stays a broken link and fails the build
            files.append(File.generated(config, f"files/{name}.txt", abs_src_path=str(ROOT / name)))
    listed = set(_leaves(config.nav))
    if rest := sorted(page.src_uri for page in pages if page.src_uri not in listed):
        config.nav.append({"More": rest})
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point such links to the copies."""
    return OUTSIDE.sub(lambda found: f"](files/{found[1]}.txt", markdown)


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for item in nav.values() if isinstance(nav, dict) else nav:
            yield from _leaves(item)
