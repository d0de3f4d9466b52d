"""Figures of matplotlib as inline SVG: no file, no font, identifiers of their own."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING

from kvbound.plot import figure_of_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width of a figure in inches; the page scales it to its own width.
WIDTH = 7.2
#: Collections with more parts than this are embedded as pixels: a page of megabytes helps nobody.
MOST_SHAPES = 400


def new_figure(height: float) -> Figure:
    """An empty figure as wide as the page, `height` inches high."""
    return figure_of_size(WIDTH, height)


def inline_svg(figure: Figure, name: str, described: str) -> str:
    """Return the figure as an `<svg>` element; `name` keeps its identifiers apart from those of other figures.

    Parameters
    ----------
    described
        What the picture shows, for those who do not see it.
    """
    import matplotlib as mpl

    for axes in figure.axes:
        for artist in axes.collections:
            if len(artist.get_paths()) > MOST_SHAPES or type(artist).__name__ == "QuadMesh":
                artist.set_rasterized(True)
    drawn = io.StringIO()
    # Text stays text (small, searchable) in the reader's own font; the salt makes the same figure the same bytes.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "svg.image_inline": True}):
        figure.savefig(drawn, format="svg", dpi=160, metadata={"Date": None, "Creator": None}, transparent=True)
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(url\(|xlink:href=")#', rf"\1#{name}-", text)
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)  # the page decides; viewBox keeps the shape
    label = html.escape(described, quote=True)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
