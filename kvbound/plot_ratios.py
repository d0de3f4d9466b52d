"""Ratio bars: every policy against the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvbound.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_ratios(axes: Axes, comparison: Comparison) -> None:
    """Draw TEL / bound of each row as a bar; without a bound TEL / best TEL, and the axis says so."""
    rows = [row for row in (*comparison.rows, *([comparison.exact] if comparison.exact else [])) if row.tel is not None]
    best = comparison.best
    bound = comparison.bound.value if comparison.bound is not None else None
    against = bound or (best.tel if best is not None else None) or 1
    ratios = [(row.tel or 0) / against for row in rows]
    axes.barh(range(len(rows)), ratios, color=["#2a6f97" if row is best else "#9fb8c8" for row in rows], height=0.7)
    for i, (row, ratio) in enumerate(zip(rows, ratios, strict=True)):
        label = f"  {ratio:.3f}   (TEL {row.tel:,})"
        axes.annotate(label, (ratio, i), va="center", fontsize=8)
    axes.axvline(1.0, color="#c1121f", linewidth=1.3)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max(ratios, default=1.0) * 1.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if bound is None or comparison.bound is None:
        axes.set_xlabel("TEL / least TEL (there is no bound)")
    else:
        how = "verified" if comparison.bound.verified else "unverified"
        which = f"{comparison.bound.method}, {how}: {bound:,}"
        axes.set_xlabel(f"TEL / lower bound = at most this many times the optimum ({which})")
