"""HTML tables that sort; every text of a user is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what is shown, what it sorts by (None: the text; for numbers "" is missing), and a class."""

    text: str
    value: float | str | None = None
    look: str = ""


def number(value: float | None, digits: int = 0, percent: bool = False) -> Cell:
    """A number with separators, or a dash that sorts to the end."""
    if value is None:
        return Cell("–", "")
    shown = f"{100 * value:,.{digits}f} %" if percent else f"{value:,.{digits}f}"
    return Cell(shown, value)


def evidence(text: str, verified: bool) -> Cell:
    """How something was certified."""
    return Cell(("✓ " if verified else "") + text, text, "ok" if verified else "claim")


def table(
    name: str, caption: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str | Cell]], *,
    filtered: bool = False,
) -> str:  # fmt: skip
    """A table in a container of its own that scrolls.

    Parameters
    ----------
    name
        Identifier on the page.
    caption
        What the table says, for those who do not see it.
    columns
        (heading, class): class `num` aligns right and sorts by value, `wrap` folds long texts.
    rows
        A text or a `Cell` per column.
    filtered
        Whether a field above the table picks rows by words.
    """
    head = "".join(
        f'<th scope="col"{_class(look)}><button type="button">{html.escape(text)}</button></th>'
        for text, look in columns
    )
    looks = [look for _, look in columns]
    body = "\n".join(
        "<tr>" + "".join(_cell(cell, look) for cell, look in zip(row, looks, strict=True)) + "</tr>" for row in rows
    )
    search = ""
    if filtered:
        search = (
            f'<div class="filter"><label for="{name}-words">Rows with</label> <input type="search" id="{name}-words" '
            f'data-table="{name}" placeholder="words, such as svf failed"> '
            f'<span class="soft" id="{name}-count" aria-live="polite">{len(rows):,} rows</span></div>'
        )
    tall = " tall" if len(rows) > 25 else ""
    label = html.escape(caption, quote=True)
    return (
        f'{search}<div class="scroll{tall}" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="sort" id="{name}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
    )


def _cell(cell: str | Cell, look: str) -> str:
    if isinstance(cell, str):
        cell = Cell(cell)
    value = "" if cell.value is None else f' data-v="{html.escape(str(cell.value), quote=True)}"'
    text = html.escape(cell.text)
    if look != "num":  # names such as mix:n=2000,seed=0 may be folded on paper
        text = text.replace(",", ",<wbr>")
    return f"<td{_class(' '.join(filter(None, (look, cell.look))))}{value}>{text}</td>"


def _class(look: str) -> str:
    return f' class="{look}"' if look else ""
