"""Orders by a fixed key, ascending, ties by index: the classics and baselines (docs/policies.md)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kvbound.models.requests import IntArray
from kvbound.solvers.policies.view import View


def by(*keys: npt.NDArray[np.generic]) -> IntArray:
    """Ascending by the first key, ties by the next ones and then by index."""
    return np.lexsort(keys[::-1]).astype(np.int64)


def fcfs(view: View) -> IntArray:
    """First come, first served."""
    return by(view.arrival)


def mc_sf(view: View) -> IntArray:
    """Shortest output first (Jaillet et al., arXiv 2502.07115)."""
    return by(view.output)


def total_size(view: View) -> IntArray:
    """Smallest peak s + o first."""
    return by(view.peak)


def svf(view: View) -> IntArray:
    """Smallest volume first (Kong, Qi, Ye, Zhou, arXiv 2606.22327): Smith's rule for memory-time, all weights 1."""
    return by(view.volume)


def volume_classes(view: View, base: float = 2.0) -> IntArray:
    """Volumes in geometric classes base^i ≤ v < base^(i+1), inside a class smallest peak first; ours.

    The ratio 1 + 2·base/(1 − α) follows as for smallest volume first (docs/policies.md).
    """
    volume = view.volume
    # The class by comparison with the powers themselves: a logarithm may be off by one at a power.
    powers = [1.0]
    while powers[-1] <= volume.max(initial=1):
        powers.append(powers[-1] * base)
    return by(np.searchsorted(np.array(powers), volume, side="right"), view.peak)


def area(view: View) -> IntArray:
    """Smallest prompt area s·o first: the volume without what decoding adds."""
    return by(view.prompt * view.output, view.output)


def wspt(view: View, exponent: float = 0.5) -> IntArray:
    """Smith's rule v/w with the weight w = o^exponent: 0 is smallest volume first, 1 smallest mean memory first."""
    return by(view.volume / view.output.astype(np.float64) ** exponent)


def weighted(view: View, prompt: float = 1.0, output: float = 1.0) -> IntArray:
    """Weighted sum of the lengths, each in units of its mean: prompt·s/mean(s) + output·o/mean(o)."""
    s, o = view.prompt, view.output
    return by(prompt * s / max(1.0, float(s.mean())) + output * o / max(1.0, float(o.mean())))


def shortest_prompt(view: View) -> IntArray:
    """Shortest prompt first: what a server knows before it decodes."""
    return by(view.prompt)


def longest_first(view: View) -> IntArray:
    """Longest output first: good for the makespan, bad for the latency."""
    return by(-view.output)
