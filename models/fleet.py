"""Fleet: the workers, each with a KV memory and a batch size."""

from __future__ import annotations

from dataclasses import dataclass

from kvbound.models.errors import InputError

#: Largest KV memory of one worker, in tokens.
MAX_MEMORY = 10**10
#: Stands for "no batch cap" inside integer kernels.
NO_CAP = 1 << 40


@dataclass(frozen=True, slots=True)
class Fleet:
    """Workers g = 0..G-1 (docs/math.md §1).

    Parameters
    ----------
    memory
        M_g, KV tokens that worker g holds at most in any step.
    batch
        B_g, requests that worker g runs at most in any step; None is no cap. Default: no caps.
    """

    memory: tuple[int, ...]
    batch: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.memory:
            raise InputError("a fleet needs at least one worker")
        if not self.batch:
            object.__setattr__(self, "batch", (None,) * len(self.memory))
        if len(self.batch) != len(self.memory):
            raise InputError(f"{len(self.memory)} workers but {len(self.batch)} batch sizes")
        for g, size in enumerate(self.memory):
            if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MAX_MEMORY:
                raise InputError(f"memory of worker {g} is {size!r}; it must be from 1 to {MAX_MEMORY} tokens")
        for g, cap in enumerate(self.batch):
            if cap is not None and (not isinstance(cap, int) or isinstance(cap, bool) or not 1 <= cap < NO_CAP):
                raise InputError(f"batch of worker {g} is {cap!r}; it must be a whole number of at least 1")

    @classmethod
    def uniform(cls, memory: int, workers: int = 1, batch: int | None = None) -> Fleet:
        """Return `workers` identical workers of `memory` tokens and `batch` slots each."""
        if workers < 1:
            raise InputError(f"workers is {workers}; a fleet needs at least one")
        return cls((memory,) * workers, (batch,) * workers)

    def __len__(self) -> int:
        return len(self.memory)

    @property
    def identical(self) -> bool:
        """Whether all workers have the same memory and batch size."""
        return len(set(zip(self.memory, self.batch, strict=True))) == 1

    @property
    def kinds(self) -> tuple[tuple[int, ...], ...]:
        """Workers of equal memory and batch size, one tuple per kind, by their first worker (docs/math.md §6)."""
        found: dict[tuple[int, int | None], list[int]] = {}
        for g, kind in enumerate(zip(self.memory, self.batch, strict=True)):
            found.setdefault(kind, []).append(g)
        return tuple(tuple(workers) for workers in found.values())

    @property
    def largest(self) -> int:
        """max M_g: a request whose peak exceeds it can run nowhere."""
        return max(self.memory)

    @property
    def caps(self) -> tuple[int, ...]:
        """B_g with `NO_CAP` for "no cap": what integer kernels take."""
        return tuple(NO_CAP if cap is None else cap for cap in self.batch)

    @property
    def pooled_memory(self) -> int:
        """Σ M_g, the capacity of the pooled memory row (docs/math.md §6)."""
        return sum(self.memory)

    @property
    def pooled_batch(self) -> int | None:
        """Σ B_g, or None when some worker has no cap."""
        caps = [cap for cap in self.batch if cap is not None]
        return sum(caps) if len(caps) == len(self.batch) else None
