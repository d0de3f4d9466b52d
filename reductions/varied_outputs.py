"""3-Partition → TEL on one worker, prompts and outputs both different within one instance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from kvbound.models.errors import InputError
from kvbound.models.schedule import Schedule
from kvbound.reductions.building import consecutive_triples, in_rounds, scheduling_problem
from kvbound.reductions.decisions import TelDecision
from kvbound.reductions.problems import Size, ThreePartition, Triples, whole_numbers
from kvbound.reductions.reduction import Reduction


@dataclass(frozen=True, slots=True)
class VariedOutputs(Reduction):
    """3-Partition → TEL with any outputs o_i = L + e_i, 0 ≤ e_i ≤ E: s_i = 3(L+E)·a_i, M = 3(L+E)(B + 1).

    L = 3E·m(m−1)/2 + 1 and T = 3(L + E)·m(m−1)/2 + Σo; yes iff TEL* ≤ T. The e_i are free: all outputs may be
    different, may grow with the prompts or fall with them. So the problem is strongly NP-hard with prompts *and*
    outputs that vary, whichever way they vary.

    *Proof.* With c = 3(L + E), a set of active requests with Σa ≥ B + 1 holds at least c(B + 1) = M in prompts and at
    least one token each: too much. As 4a_i ≥ B + 1, no four are active together. Three with Σa ≤ B may be, whatever
    their ages: they hold at most cB + 3(L + E) = M.

    Yes ⇒ TEL* ≤ T: run the triples one after another, each started together. A round takes at most L + E steps, so
    the starts add up to at most 3(L + E)(0 + 1 + … + (m−1)), and TEL = Σ k + Σ o.

    No ⇒ TEL* > T: sort a schedule by start. If k_(q+3) < k_(q) + L, the requests (q)..(q+3), whose outputs are at
    least L, were all active in step k_(q+3) + 1. So k_(q+3) ≥ k_(q) + L and k_(q) = L(⌈q/3⌉ − 1) + x_q with x_q ≥ 0.
    Suppose Σ x_q < L. Then the starts of (3i+1), (3i+2), (3i+3) lie in [Li, Li + L − 1] and all three are active in
    step k_(3i+3) + 1 ≤ L(i + 1), so Σa ≤ B for them; as these sums add up to mB, each is B: a yes. So a no gives Σ
    x_q ≥ L and

        TEL ≥ 3L·m(m−1)/2 + L + Σo = T + L − 3E·m(m−1)/2 = T + 1 . ∎

    *Certificates.* A schedule with TEL ≤ T has Σ x_q < L: its requests in order of start, three by three, are the
    triples. Triples give the schedule in rounds.

    *Size.* 3m requests; L is of order E·m², so all numbers are polynomial in m, B and E. (E = 0, with L free, is
    `equal-outputs`.)

    Parameters
    ----------
    spread
        E ≥ 1; without `extras` the outputs run through L, L+1, …, L+E again and again.
    extras
        The e_i themselves, each from 0 on; E is then their maximum.
    """

    spread: int = 1
    extras: tuple[int, ...] = ()

    name: ClassVar[str] = "varied-outputs"
    source: ClassVar[type[ThreePartition]] = ThreePartition
    target: ClassVar[type[TelDecision]] = TelDecision

    def __post_init__(self) -> None:
        if self.spread < 1:
            raise InputError(f"spread is {self.spread}; it has to be at least 1 (equal outputs: equal-outputs)")
        object.__setattr__(self, "extras", whole_numbers(self.extras, "extra", 0))

    def extra(self, instance: ThreePartition) -> tuple[int, ...]:
        """e_i of each request."""
        n = len(instance.numbers)
        if self.extras and len(self.extras) != n:
            raise InputError(f"{len(self.extras)} extras for {n} numbers")
        return self.extras or tuple(i % (self.spread + 1) for i in range(n))

    def output(self, instance: ThreePartition) -> list[int]:
        """o_i = L + e_i."""
        extra = self.extra(instance)
        base = 3 * max(extra) * instance.m * (instance.m - 1) // 2 + 1
        return [base + e for e in extra]

    def forward(self, instance: ThreePartition) -> TelDecision:
        """The TEL instance and its threshold."""
        output = self.output(instance)
        scale = 3 * max(output)
        prompt = [scale * a for a in instance.numbers]
        name = f"3-partition m={instance.m}, B={instance.target}, o={min(output)}-{max(output)}"
        problem = scheduling_problem(name, prompt, output, scale * (instance.target + 1))
        return TelDecision(problem, self.threshold(instance))

    def threshold(self, instance: ThreePartition) -> int:
        """T = 3(L + E)·m(m−1)/2 + Σo."""
        output = self.output(instance)
        return 3 * max(output) * instance.m * (instance.m - 1) // 2 + sum(output)

    def size_bound(self, size: Size) -> Size:
        """With L + E ≤ E·n²/6 + E + 1: memory 3(L+E)(B+1) or threshold (L+E)·n(n+3)/6, whichever is larger."""
        n, spread = size.items, max(self.extras, default=self.spread)
        longest = spread * n * n // 6 + spread + 1
        return Size(n + 1, max(3 * longest * (size.largest + 1), longest * n * (n + 3) // 6))

    def accepts(self, instance: ThreePartition, certificate: Schedule) -> None:
        """Any valid schedule with TEL ≤ T will do."""
        replace(self.forward(instance), threshold=self.if_no(instance) - 1).verify(certificate)

    def _back(self, instance: ThreePartition, certificate: Schedule) -> Triples:
        return consecutive_triples(certificate)

    def _lift(self, instance: ThreePartition, certificate: Triples) -> Schedule:
        return in_rounds(certificate, self.output(instance))
