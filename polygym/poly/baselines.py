"""The schedules to compare with: the order of the source, and what isl's own scheduler finds.

isl's scheduler (in the line of Pluto and Feautrier) minimises dependence distances band by band.
It is the "ISL heuristic" of the comparison; the defaults below are the settings Polly gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import islpy as isl

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.poly.dependences import Dependence, Kind, dependences, union
from polygym.poly.quota import bounded
from polygym.poly.schedule import Schedule, parse

DEEPEST_NEST = 9

_NO_SCHEDULE = "unable to carry dependences"


class Algorithm(Enum):
    """Which of isl's two algorithms schedules first; isl falls back to the other."""

    PLUTO = 0
    FEAUTRIER = 1


@dataclass(frozen=True, slots=True)
class IslOptions:
    """The options of isl's scheduler.

    ``maximum_coefficient`` and ``maximum_constant`` bound the coefficients (-1: unbounded);
    ``serialize_components`` keeps strongly connected components in separate loops (minimal
    fusion) where False fuses all that may be fused; ``outer_coincidence`` insists on a parallel
    outermost dimension; ``maximize_band_depth`` and ``maximize_coincidence`` are isl's.
    """

    algorithm: Algorithm = Algorithm.PLUTO
    serialize_components: bool = False
    outer_coincidence: bool = False
    maximize_coincidence: bool = True
    maximize_band_depth: bool = True
    maximum_coefficient: int = 20
    maximum_constant: int = 20


@lru_cache(maxsize=64)
def original(scop: Scop) -> Schedule:
    """Return the order in which the source runs the statements."""
    return parse(scop.schedule, scop)


def isl_schedule(scop: Scop, options: IslOptions = IslOptions()) -> Schedule:
    """Return the schedule that isl computes from the program's dependences.

    isl's result is a tree; it is flattened to one affine map per statement. There are programs for
    which isl finds none, and nests too deep for its solver, whose steps no bound counts.
    """
    if scop.depth > DEEPEST_NEST:
        raise LimitError(
            f"isl's scheduler: expected at most {DEEPEST_NEST} loops inside each other, found "
            f"{scop.depth}; deeper ones take it minutes or more"
        )
    found = dependences(scop)
    with bounded("isl's scheduler"), _options(options):
        domain = union(isl.UnionSet(statement.domain) for statement in scop.statements)
        validity = _union_of(found, domain)
        near = tuple(d for d in found if Kind.FLOW in d.kind)
        constraints = (
            isl.ScheduleConstraints.on_domain(domain)
            .set_context(isl.Set(scop.context))
            .set_validity(validity)
            .set_coincidence(validity)
            .set_proximity(_union_of(near, domain))
        )
        try:
            text = str(constraints.compute_schedule().get_map())
        except isl.Error as error:
            if _NO_SCHEDULE in str(error):
                raise InputError(f"isl's scheduler finds no schedule for {scop.name}") from None
            raise
    return parse(text, scop)


def _union_of(found: tuple[Dependence, ...], domain: isl.UnionSet) -> isl.UnionMap:
    """Return the dependences as one isl relation."""
    relation = isl.UnionMap.empty(domain.get_space())
    for dependence in found:
        relation = relation.union(isl.UnionMap(dependence.relation))
    return relation


@contextmanager
def _options(options: IslOptions) -> Iterator[None]:
    """Set the options in isl's context for the time of the body."""
    context = isl.DEFAULT_CONTEXT
    wanted = {
        "schedule_algorithm": options.algorithm.value,
        "schedule_serialize_sccs": int(options.serialize_components),
        "schedule_outer_coincidence": int(options.outer_coincidence),
        "schedule_maximize_coincidence": int(options.maximize_coincidence),
        "schedule_maximize_band_depth": int(options.maximize_band_depth),
        "schedule_max_coefficient": options.maximum_coefficient,
        "schedule_max_constant_term": options.maximum_constant,
        "schedule_treat_coalescing": 0,
    }
    before = {name: getattr(context, f"get_{name}")() for name in wanted}
    for name, value in wanted.items():
        getattr(context, f"set_{name}")(value)
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(context, f"set_{name}")(value)
