"""What an edge is: forward map, threshold, back map of yes-certificates, its inverse, size bound, proof."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from kvbound.reductions.problems import Size


class Reduction(ABC):
    """A polynomial reduction between two decision problems: the answer of `forward(x)` is the answer of x.

    Certificates travel both ways, and each is judged by the checkers of both problems on its way. The docstring of
    a subclass states the reduction and proves it.
    """

    name: ClassVar[str]
    #: Classes of the two problems.
    source: ClassVar[type[Any]]
    target: ClassVar[type[Any]]

    @abstractmethod
    def forward(self, instance: Any) -> Any:
        """The instance of the target problem that has the same answer (`InputError` when numbers leave their range)."""

    @abstractmethod
    def threshold(self, instance: Any) -> int:
        """The number in the target's question: TEL ≤ it, reward ≥ it, this many bins, this budget."""

    def if_no(self, instance: Any) -> int:
        """When the answer is no, the optimum of the target is at least this (for REWARD: at most)."""
        return self.threshold(instance) + 1

    @abstractmethod
    def size_bound(self, size: Size) -> Size:
        """An instance of this size becomes one of at most that size; polynomial in both numbers."""

    @abstractmethod
    def _back(self, instance: Any, certificate: Any) -> Any: ...

    @abstractmethod
    def _lift(self, instance: Any, certificate: Any) -> Any: ...

    def accepts(self, instance: Any, certificate: Any) -> None:
        """Raise when the target's certificate is not good enough for `back`; by default the target's own checker."""
        self.forward(instance).verify(certificate)

    def back(self, instance: Any, certificate: Any) -> Any:
        """Turn a yes-certificate of `forward(instance)` into one of `instance`; both are checked."""
        self.accepts(instance, certificate)
        mapped = self._back(instance, certificate)
        instance.verify(mapped)
        return mapped

    def lift(self, instance: Any, certificate: Any) -> Any:
        """Turn a yes-certificate of `instance` into one of `forward(instance)`; both are checked."""
        instance.verify(certificate)
        mapped = self._lift(instance, certificate)
        self.forward(instance).verify(mapped)
        return mapped

    @property
    def statement(self) -> str:
        """The first line of the proof."""
        return self.proof.splitlines()[0]

    @property
    def proof(self) -> str:
        """Statement and proof: the docstring."""
        return inspect.getdoc(type(self)) or ""
