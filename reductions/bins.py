"""Edges around bin packing: 3-Partition and Partition into it, from it into unit-output TEL and into REWARD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kvbound.models.reward import Reward
from kvbound.models.schedule import Schedule
from kvbound.reductions.building import scheduling_problem
from kvbound.reductions.decisions import RewardDecision, UnitTelDecision
from kvbound.reductions.problems import Assignment, BinPacking, Partition, Size, ThreePartition, Triples
from kvbound.reductions.reduction import Reduction


@dataclass(frozen=True, slots=True)
class TriplesAsBins(Reduction):
    """3-Partition → bin packing: w_i = a_i, W = B, k = m bins; yes iff everything fits.

    *Proof.* Triples of sum B fill m bins. Conversely m bins of capacity B hold items of total size mB, so each is
    full; a full bin holds three items, as four are larger than B and two smaller (B/4 < a_i < B/2). ∎

    *Certificates.* A bin is a triple. *Size.* The numbers stay as they are.
    """

    name: ClassVar[str] = "triples-as-bins"
    source: ClassVar[type[ThreePartition]] = ThreePartition
    target: ClassVar[type[BinPacking]] = BinPacking

    def forward(self, instance: ThreePartition) -> BinPacking:
        """The items, bins of capacity B."""
        return BinPacking(instance.numbers, instance.target, self.threshold(instance))

    def threshold(self, instance: ThreePartition) -> int:
        """k = m."""
        return instance.m

    def size_bound(self, size: Size) -> Size:
        """Unchanged, except that k = n/3 is a number, too."""
        return Size(size.items, max(size.largest, size.items))

    def _back(self, instance: ThreePartition, certificate: Assignment) -> Triples:
        return tuple(tuple(i for i, b in enumerate(certificate) if b == used) for used in range(instance.m))

    def _lift(self, instance: ThreePartition, certificate: Triples) -> Assignment:
        bin_of = {i: b for b, triple in enumerate(certificate) for i in triple}
        return tuple(bin_of[i] for i in range(len(instance.numbers)))


@dataclass(frozen=True, slots=True)
class TwoBins(Reduction):
    """Partition → bin packing: w_i = a_i, W = S, k = 2 bins; yes iff everything fits.

    A number above S makes the answer no; such an instance becomes (2, 2, 2), which is a no as well: S = 3 is odd.

    *Proof.* Two bins of capacity S hold numbers of total 2S iff each holds exactly S. ∎

    *Certificates.* A side is a bin. *Size.* The numbers stay as they are.
    """

    name: ClassVar[str] = "two-bins"
    source: ClassVar[type[Partition]] = Partition
    target: ClassVar[type[BinPacking]] = BinPacking

    def forward(self, instance: Partition) -> BinPacking:
        """The items, two bins of capacity S."""
        plain = without_giants(instance)
        return BinPacking(plain.numbers, plain.half, self.threshold(instance))

    def threshold(self, instance: Partition) -> int:
        """k = 2."""
        return 2

    def size_bound(self, size: Size) -> Size:
        """Unchanged, but never below (2, 2, 2)."""
        return Size(max(3, size.items), max(3, size.largest))

    def _back(self, instance: Partition, certificate: Assignment) -> Assignment:
        return tuple(certificate)

    def _lift(self, instance: Partition, certificate: Assignment) -> Assignment:
        return tuple(certificate)


@dataclass(frozen=True, slots=True)
class PaddedBins(Reduction):
    """Bin packing → TEL with o = 1: equally many requests in each of k steps; yes iff TEL* ≤ T = q·k(k+1)/2.

    k is cut to the number n of items. q is the largest number of items (smallest first) that fit into one bin. Item i
    becomes a request with s_i = w_i + W, and kq − n fillers have s = W; M = W + q(W + 1). A request with o = 1 holds
    s + 1 tokens in one step. (If n > kq the answer is no; then two requests of one token share M = 1, and T = 2.)

    *Proof.* q + 1 requests hold at least (q + 1)(W + 1) > M, so a step completes at most q of the kq requests. Hence
    TEL ≥ q(1 + 2 + … + k) = T, with equality iff each of the steps 1..k completes exactly q. Such a step holds Σw +
    q(W + 1), where w runs over the items in it: at most M iff Σw ≤ W. So TEL* ≤ T gives a packing into k bins.
    Conversely, a packing uses at most min(k, n) bins, and no bin has more than q items; bin b goes into step b with
    fillers up to q requests, kq − n of them altogether. ∎

    *Certificates.* The bin of an item is its step. *Size.* kq ≤ n² requests; M ≤ W + n(W + 1), T ≤ n·n(n+1)/2.
    """

    name: ClassVar[str] = "padded-bins"
    source: ClassVar[type[BinPacking]] = BinPacking
    target: ClassVar[type[UnitTelDecision]] = UnitTelDecision

    def _bins(self, instance: BinPacking) -> int:
        return min(instance.bins, len(instance.sizes))

    def _per_bin(self, instance: BinPacking) -> int:
        filled = np.cumsum(np.array(sorted(instance.sizes), object))
        return sum(1 for total in filled if total <= instance.capacity)

    def _hopeless(self, instance: BinPacking) -> bool:
        return len(instance.sizes) > self._bins(instance) * self._per_bin(instance)

    def forward(self, instance: BinPacking) -> UnitTelDecision:
        """Items first, then the fillers."""
        if self._hopeless(instance):
            return UnitTelDecision(scheduling_problem("bin packing, too many items", [0, 0], [1, 1], 1), 2)
        k, q, w = self._bins(instance), self._per_bin(instance), instance.capacity
        prompt = [size + w for size in instance.sizes] + [w] * (k * q - len(instance.sizes))
        name = f"bin packing n={len(instance.sizes)}, k={k}, W={w}"
        problem = scheduling_problem(name, prompt, [1] * len(prompt), w + q * (w + 1))
        return UnitTelDecision(problem, self.threshold(instance))

    def threshold(self, instance: BinPacking) -> int:
        """T = q·k(k+1)/2."""
        k = self._bins(instance)
        return 2 if self._hopeless(instance) else self._per_bin(instance) * k * (k + 1) // 2

    def size_bound(self, size: Size) -> Size:
        """n² requests and a worker; memory or threshold."""
        n, w = size.items, size.largest
        return Size(max(n * n, 2) + 1, max(w + n * (w + 1), n * n * (n + 1) // 2, 2))

    def _back(self, instance: BinPacking, certificate: Schedule) -> Assignment:
        return tuple(int(k) for k in certificate.start[: len(instance.sizes)])

    def _lift(self, instance: BinPacking, certificate: Assignment) -> Schedule:
        used = {b: step for step, b in enumerate(sorted(set(certificate)))}
        start = [used[b] for b in certificate]
        for step in range(self._bins(instance)):
            start += [step] * (self._per_bin(instance) - start[: len(certificate)].count(step))
        return Schedule(np.array(start, np.int64))


@dataclass(frozen=True, slots=True)
class BinsAsWorkers(Reduction):
    """Bin packing → REWARD: k workers of memory W, s_i = w_i − 1, o_i = 1, horizon 1, σ = 1; yes iff REWARD* ≥ n.

    *Proof.* Within horizon 1 a request can start at 0 only and holds s_i + 1 = w_i tokens in step 1. So the requests
    served on a worker are items in a bin of capacity W; all n are served iff all items fit into k bins. (k is cut to
    n.) ∎

    *Certificates.* A worker is a bin. *Size.* n requests, at most n workers, numbers at most W and n.
    """

    name: ClassVar[str] = "bins-as-workers"
    source: ClassVar[type[BinPacking]] = BinPacking
    target: ClassVar[type[RewardDecision]] = RewardDecision

    def forward(self, instance: BinPacking) -> RewardDecision:
        """One worker per bin."""
        n = len(instance.sizes)
        prompt = [w - 1 for w in instance.sizes]
        name = f"bin packing n={n}, k={instance.bins}, W={instance.capacity}"
        workers = min(instance.bins, n)
        problem = scheduling_problem(name, prompt, [1] * n, instance.capacity, workers, Reward(1, served=1))
        return RewardDecision(problem, self.threshold(instance))

    def threshold(self, instance: BinPacking) -> int:
        """n: everything is served."""
        return len(instance.sizes)

    def if_no(self, instance: BinPacking) -> int:
        """n − 1, the most that can be earned."""
        return len(instance.sizes) - 1

    def size_bound(self, size: Size) -> Size:
        """n requests and at most n workers."""
        return Size(2 * size.items, max(size.largest, size.items))

    def _back(self, instance: BinPacking, certificate: Schedule) -> Assignment:
        return tuple(int(g) for g in certificate.worker)

    def _lift(self, instance: BinPacking, certificate: Assignment) -> Schedule:
        used = {b: g for g, b in enumerate(sorted(set(certificate)))}
        worker = np.array([used[b] for b in certificate], np.int64)
        return Schedule(np.zeros(len(worker), np.int64), worker)


def without_giants(instance: Partition) -> Partition:
    """The instance itself, or (2, 2, 2), a plain no-instance, when some number exceeds the half."""
    return instance if max(instance.numbers) <= instance.half else Partition((2, 2, 2))
