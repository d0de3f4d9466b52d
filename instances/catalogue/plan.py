"""Which instances the catalogue is meant to hold, by group and in order."""

from __future__ import annotations

from collections.abc import Iterator

from kvbound.instances.catalogue.entry import Recipe
from kvbound.instances.generators import DEFAULT_MEMORY

#: Groups, one file each: name and what is in it.
GROUPS: dict[str, str] = {
    "tiny": "tiny instances, n = 8..25, three seeds each",
    "jaillet": "instances of Jaillet et al. (arXiv 2502.07115), seeds 0..199",
    "mix": "short chats and long documents, M = 16492",
    "traces": "first requests of public traces, M = 16492, all at step 0; the files are not part of the package",
}
_FILES = {
    "azure-conv": "AzureLLMInferenceTrace_conv.csv",
    "azure-code": "AzureLLMInferenceTrace_code.csv",
    "arxiv": "arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv",
}


def planned(group: str) -> Iterator[tuple[str, Recipe]]:
    """(name, recipe) of every instance of a group."""
    if group == "tiny":
        for n in range(8, 26):
            for seed in range(3):
                yield _generated(f"tiny:n={n},seed={seed}")
    elif group == "jaillet":
        for seed in range(200):
            yield _generated(f"jaillet:seed={seed}")
    elif group == "mix":
        for n in (200, 500, 1000, 2000):
            yield _generated(f"mix:n={n},seed=0", DEFAULT_MEMORY)
    else:
        for short, file in _FILES.items():
            for n in (200, 500, 1000, 2000):
                yield f"{short}-{n}", Recipe(file, DEFAULT_MEMORY, n, trace=True)


def _generated(source: str, memory: int | None = None) -> tuple[str, Recipe]:
    return source, Recipe(source, memory)
