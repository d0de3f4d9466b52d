"""Look-alikes of a published length distribution, from its quantiles and decile medians alone.

Prompts follow their own quantiles. Outputs follow theirs *and* depend on the prompt: published are the median
outputs in each decile of the prompt, which one correlation number cannot reproduce (Azure conversation has
two regimes). Among all ways to couple prompt ranks with output ranks that keep both distributions and give
these medians, the one of largest entropy is taken, i.e. nothing else is assumed. It is found by iterative
proportional fitting on a grid of prompt ranks × output ranks. Pairs whose sum exceeds a published cap on
prompt + output (arXiv: 4096) are excluded from the start.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from kvbound.models.requests import IntArray

FloatArray = npt.NDArray[np.float64]

#: Data sets that stand in `data/`.
DATASETS = ("lmsys_words", "arxiv", "azure_conv", "azure_code")
_PROMPT_CELLS = 100
_OUTPUT_CELLS = 200
_SWEEPS = 400
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Lookalike:
    """A joint distribution of prompt and output lengths.

    Parameters
    ----------
    rank
        Ranks in 0..1 at which quantiles are known, ascending, shape (q,).
    prompt, output
        Quantiles at `rank`, shape (q,).
    median
        Median output in the prompt deciles 1..10, shape (10,).
    largest_peak
        Cap on prompt + output, or None.
    cumulative
        Row i: distribution function of the output rank, given prompt rank cell i; shape (100, 201).
    """

    rank: FloatArray
    prompt: FloatArray
    output: FloatArray
    median: IntArray
    largest_peak: int | None
    cumulative: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw n pairs; both lengths are at least 1; each of shape (n,)."""
        u, w = rng.random(n), rng.random(n)
        row = np.minimum((u * _PROMPT_CELLS).astype(np.int64), _PROMPT_CELLS - 1)
        # One search over all rows: row i occupies the values i..i+1.
        flat = (self.cumulative[:, 1:] + np.arange(_PROMPT_CELLS)[:, None]).ravel()
        cell = np.searchsorted(flat, row + w, side="right") - row * _OUTPUT_CELLS
        cell = np.clip(cell, 0, _OUTPUT_CELLS - 1)
        low, high = self.cumulative[row, cell], self.cumulative[row, cell + 1]
        inside = np.divide(w - low, high - low, out=np.full(n, 0.5), where=high > low)
        v = (cell + np.clip(inside, 0.0, 1.0)) / _OUTPUT_CELLS
        prompt = np.maximum(1, np.rint(np.interp(u, self.rank, self.prompt)).astype(np.int64))
        output = np.maximum(1, np.rint(np.interp(v, self.rank, self.output)).astype(np.int64))
        if self.largest_peak is not None:  # within a cell the cap can still be passed by a little
            output = np.maximum(1, np.minimum(output, self.largest_peak - prompt))
        return prompt, output


@cache
def lookalike(name: str) -> Lookalike:
    """Return the look-alike of one of `DATASETS`."""
    data: dict[str, Any] = json.loads((files("kvbound.instances") / "data" / f"{name}.json").read_text("utf-8"))
    rank = np.array(data["percentile"], float) / 100
    prompt, output = np.array(data["prompt"], float), np.array(data["output"], float)
    median = np.array(data["output_median_by_prompt_decile"], np.int64)
    cap = data["largest_peak"]
    return Lookalike(rank, prompt, output, median, cap, _couple(rank, prompt, output, median, cap))


def _couple(rank: FloatArray, prompt: FloatArray, output: FloatArray, median: IntArray, cap: int | None) -> FloatArray:
    """Return the maximum-entropy coupling as one distribution function per prompt cell."""
    weight = np.ones((_PROMPT_CELLS, _OUTPUT_CELLS))
    edges = np.linspace(0, 1, _OUTPUT_CELLS + 1)
    if cap is not None:
        smallest_prompt = np.interp(np.arange(_PROMPT_CELLS) / _PROMPT_CELLS, rank, prompt)
        smallest_output = np.interp(edges[:-1], rank, output)
        weight[smallest_prompt[:, None] + smallest_output[None, :] > cap] = 0.0
    # Share of each output cell that lies below the median of each decile. A value that fills a whole range
    # of ranks (ties) stands at the middle of its range.
    fine = np.linspace(0, 1, 20_001)
    values = np.rint(np.interp(fine, rank, output))
    middle = np.array([(np.searchsorted(values, m, "left") + np.searchsorted(values, m, "right")) / 2 for m in median])
    below = np.clip(middle[:, None] / 20_000 * _OUTPUT_CELLS - np.arange(_OUTPUT_CELLS)[None, :], 0.0, 1.0)
    deciles = weight.reshape(10, -1, _OUTPUT_CELLS)  # a view: rows of one decile together
    for _ in range(_SWEEPS):
        before = weight.copy()
        under = (deciles * below[:, None, :]).sum(axis=(1, 2))
        over = deciles.sum(axis=(1, 2)) - under
        # A cell that the median cuts is scaled by the mixture of both factors.
        deciles *= (below / under[:, None] + (1 - below) / over[:, None])[:, None, :]
        weight /= weight.sum(axis=1, keepdims=True)
        weight *= _PROMPT_CELLS / _OUTPUT_CELLS / weight.sum(axis=0, keepdims=True)
        if np.abs(weight - before).max() < _CLOSE:
            break
    weight /= weight.sum(axis=1, keepdims=True)
    return np.concatenate((np.zeros((_PROMPT_CELLS, 1)), np.cumsum(weight, axis=1)), axis=1)
