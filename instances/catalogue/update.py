"""Replace what is beaten: a new schedule or bound enters only verified, and only if it is better."""

from __future__ import annotations

from dataclasses import replace

from kvbound.checkers import Certificate, require_valid, verify
from kvbound.instances.catalogue.entry import BestBound, BestSchedule, Claim, Entry, Kind, Recipe, Work
from kvbound.instances.catalogue.packing import pack_certificate, pack_starts
from kvbound.models.errors import InputError, SolverError
from kvbound.models.problem import Problem
from kvbound.models.schedule import Schedule


def new_entry(
    problem: Problem, recipe: Recipe, schedule: tuple[Schedule, Work], bound: tuple[Certificate, Work]
) -> Entry:
    """Return the first entry of an instance, called `problem.name`; schedule and certificate are verified.

    Raises
    ------
    ScheduleError, CertificateError, SolverError
        The schedule breaks a rule; the certificate is refused; the bound lies above the schedule.
    InputError
        More than one worker, a batch cap or arrivals: the catalogue has no place for them.
    """
    if len(problem.fleet) != 1 or problem.fleet.batch != (None,) or problem.requests.arrival.any():
        raise InputError(f"{problem.name}: the catalogue holds instances of one worker, without batch cap or arrivals")
    return _consistent(
        Entry(
            problem.name,
            recipe,
            problem.fingerprint(),
            problem.n,
            problem.fleet.memory[0],
            _best_schedule(problem, *schedule),
            _best_bound(problem, *bound),
            None,
            {},
        )
    )


def improved(
    entry: Entry,
    problem: Problem,
    *,
    schedule: tuple[Schedule, Work] | None = None,
    bound: tuple[Certificate, Work] | None = None,
    claim: Claim | None = None,
    tried: dict[Kind, float] | None = None,
) -> Entry:
    """Return `entry` with what is better than it knows.

    Parameters
    ----------
    schedule, bound
        Offers; each is verified, and taken only if its TEL is smaller, its proven value larger.
    claim
        A solver's word; kept only while it exceeds the certified bound and every other claim.
    tried
        Seconds that were given to each kind of work: `search`, `bound`, `exact`.

    Raises
    ------
    InputError
        `problem` is not the entry's.
    ScheduleError, CertificateError, SolverError
        As for `new_entry`; also when a schedule beats a claimed bound: one of them is wrong.
    """
    if problem.fingerprint() != entry.fingerprint:
        raise InputError(f"{problem.name} is not the instance of the entry {entry.name}")
    better = entry
    if schedule is not None:
        offer = _best_schedule(problem, *schedule)
        better = replace(better, schedule=min(entry.schedule, offer, key=lambda s: s.tel))
    if bound is not None:
        proof = _best_bound(problem, *bound)
        better = replace(better, bound=max(entry.bound, proof, key=lambda b: b.value))
    return merged(entry, replace(better, claim=claim, tried=tried or {}))


def merged(one: Entry, other: Entry) -> Entry:
    """Return the best of two entries of one instance, both verified before; of equals, those of `one`.

    Raises
    ------
    InputError, SolverError
        The entries are of two instances; a bound of one lies above the schedule of the other.
    """
    if one.fingerprint != other.fingerprint:
        raise InputError(f"{one.name} and {other.name} are not the same instance")
    bound = max(one.bound, other.bound, key=lambda b: b.value)
    claim = max((c for c in (one.claim, other.claim) if c is not None), key=lambda c: c.value, default=None)
    tried = dict(one.tried)
    for kind, seconds in other.tried.items():
        tried[kind] = max(seconds, tried.get(kind, 0.0))
    best = replace(
        one, schedule=min(one.schedule, other.schedule, key=lambda s: s.tel), bound=bound, claim=claim, tried=tried
    )
    return replace(_consistent(best), claim=claim if claim is not None and claim.value > bound.value else None)


def _best_schedule(problem: Problem, schedule: Schedule, work: Work) -> BestSchedule:
    return BestSchedule(require_valid(problem, schedule), pack_starts(schedule), work)


def _best_bound(problem: Problem, certificate: Certificate, work: Work) -> BestBound:
    value = verify(problem, certificate)
    return BestBound(value, pack_certificate(replace(certificate, value=value)), work)


def _consistent(entry: Entry) -> Entry:
    tel = entry.schedule.tel
    for what, value in (("certified", entry.bound.value), ("claimed", entry.claim.value if entry.claim else 0)):
        if value > tel:
            raise SolverError(f"{entry.name}: the {what} bound {value} lies above a checked schedule of {tel}")
    return entry
