"""Calls of isl's scheduler: dependences, options, tree, canonical names.

Programs as isl's scheduler sees them: statements are called S0, S1, … in the order of the text.

isl keeps the statements of a relation in a hash table, by their names, and where several schedules
are equally good, that order decides. So the schedule of a program whose statements have labels of
their own would depend on these. Under numbers it does not:

    { init[i] -> [i]; acc[i, j] -> [i, j] }   is found as   { S0[i] -> [i]; S1[i, j] -> [i, j] }

Programs without labels are called so anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import islpy as isl

from polygym.errors import InputError
from polygym.ir.scop import Scop, Statement
from polygym.poly.dependences import Dependence, DependenceKind, dependences, sets_of, union_of
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import Algorithm, Fusion, IslOptions


@dataclass(frozen=True, slots=True)
class CanonicalProgram:
    """A program whose statements are numbered, and what it was made from.

    What ``scop`` has of the statements is what a schedule is about: names, counters and domains.
    Accesses still have the old names.
    """

    scop: Scop
    source: Scop

    @property
    def dependences(self) -> tuple[Dependence, ...]:
        """The dependences of the source, between numbered statements."""
        result = dependences(self.source)
        if self.scop is self.source:
            return result
        numbers = dict(zip(_names(self.source), _names(self.scop), strict=True))
        return tuple(_rename_dependence(dependence, numbers) for dependence in result)

    def to_canonical(self, schedule: Schedule) -> Schedule:
        """Return a schedule of the source as one of the numbered program."""
        return _with_names_of(self.scop, schedule)

    def to_source(self, schedule: Schedule) -> Schedule:
        """Return a schedule of the numbered program as one of the source."""
        return _with_names_of(self.source, schedule)


def with_canonical_names(scop: Scop) -> CanonicalProgram:
    """Return a program with its statements numbered."""
    names = [f"S{number}" for number in range(len(scop.statements))]
    if names == _names(scop):
        return CanonicalProgram(scop, scop)
    statements = tuple(
        replace(statement, name=name, domain=str(isl.Set(statement.domain).set_tuple_name(name)))
        for statement, name in zip(scop.statements, names, strict=True)
    )
    return CanonicalProgram(replace(scop, statements=statements), scop)


def _names(scop: Scop) -> list[str]:
    return [statement.name for statement in scop.statements]


def _rename_dependence(dependence: Dependence, numbers: Mapping[str, str]) -> Dependence:
    source, sink = numbers[dependence.source], numbers[dependence.sink]
    relation = (
        isl.Map(dependence.relation)
        .set_tuple_name(isl.dim_type.in_, source)
        .set_tuple_name(isl.dim_type.out, sink)
    )
    return replace(dependence, source=source, sink=sink, relation=str(relation))


def _with_names_of(scop: Scop, schedule: Schedule) -> Schedule:
    """Return a schedule, whose statements are in the order of the text, with a program's names."""
    parts = zip(schedule.statements, _names(scop), strict=True)
    return replace(
        schedule, statements=tuple(replace(part, statement=name) for part, name in parts)
    )


_NO_SCHEDULE = "unable to carry dependences"
_ALGORITHMS = {Algorithm.PLUTO: 0, Algorithm.FEAUTRIER: 1}

# Of isl's options: serialize_sccs, outer_coincidence, maximize_coincidence, maximize_band_depth.
_FUSION = {
    Fusion.BALANCED: (0, 0, 1, 1),
    Fusion.MAXIMUM: (0, 0, 0, 0),
    Fusion.MINIMUM: (1, 0, 1, 1),
    Fusion.PARALLEL: (0, 1, 1, 1),
}


@dataclass(frozen=True, eq=False)
class SchedulingTask:
    """Statements that isl is to schedule, and what it has to respect.

    ``validity`` has the pairs that must keep their order, ``proximity`` those that should be close,
    and ``nonnegative`` those that isl must not reverse although nothing depends on them. With
    ``seeks_parallelism`` rows that run in parallel are preferred.
    """

    scop: Scop
    options: IslOptions
    domain: isl.UnionSet
    validity: isl.UnionMap
    proximity: isl.UnionMap
    nonnegative: isl.UnionMap
    seeks_parallelism: bool = True

    @staticmethod
    def of(program: CanonicalProgram, options: IslOptions) -> SchedulingTask:
        """Return the task for a whole program, with numbered statements.

        Where negative coefficients are not wanted, instances of a statement that differ in one
        iterator are in its order: S[0, j] before S[1, j]. A row that respects this has no negative
        coefficient for the iterator, as that is the distance of the two.
        """
        scop, dependences = program.scop, program.dependences
        domain = union_of(isl.UnionSet(statement.domain) for statement in scop.statements)
        near = tuple(
            dependence for dependence in dependences if DependenceKind.FLOW in dependence.kind
        )
        forward = isl.UnionMap.empty(domain.get_space())
        for statement in () if options.negative else scop.statements:
            forward = forward.union(_along_iterators(statement))
        validity, close = _pairs(dependences, domain), _pairs(near, domain)
        return SchedulingTask(scop, options, domain, validity, close, forward)

    @property
    def names(self) -> tuple[str, ...]:
        """The statements, in the order of the text."""
        here = {set_.get_tuple_name() for set_ in sets_of(self.domain)}
        return tuple(statement.name for statement in self.scop.statements if statement.name in here)

    def restrict_to(self, domain: isl.UnionSet) -> SchedulingTask:
        """Return the task of some of the statements alone."""
        return replace(
            self,
            domain=domain,
            validity=self.validity.intersect_domain(domain).intersect_range(domain),
            proximity=self.proximity.intersect_domain(domain).intersect_range(domain),
            nonnegative=self.nonnegative.intersect_domain(domain).intersect_range(domain),
        )

    def inside_row(self, row: isl.UnionPwAff) -> SchedulingTask:
        """Return the task of the instances that have one value of a row."""
        same = isl.MultiUnionPwAff.from_union_pw_aff(row)
        return replace(
            self,
            validity=self.validity.eq_at_multi_union_pw_aff(same),
            proximity=self.proximity.eq_at_multi_union_pw_aff(same),
            nonnegative=self.nonnegative.eq_at_multi_union_pw_aff(same),
        )

    def solve(self) -> isl.Schedule:
        """Return isl's schedule.

        Raises:
            InputError: it finds none.
        """
        nothing = isl.UnionMap.empty(self.domain.get_space())
        constraints = (
            isl.ScheduleConstraints.on_domain(self.domain)
            .set_context(isl.Set(self.scop.context))
            .set_validity(self.validity.union(self.nonnegative))
            .set_coincidence(self.validity if self.seeks_parallelism else nothing)
            .set_proximity(self.proximity)
        )
        with _isl_context_options(self.options):
            try:
                return constraints.compute_schedule()
            except isl.Error as error:
                if _NO_SCHEDULE not in str(error):
                    raise
                wanted = " with non-negative coefficients" * (not self.options.negative)
                raise InputError(
                    f"isl's scheduler finds no schedule for {self.scop.name}{wanted}"
                ) from None


def _along_iterators(statement: Statement) -> isl.UnionMap:
    """Return the pairs of instances that differ in one iterator, the smaller first."""
    domain = isl.Set(statement.domain)
    union_map = isl.UnionMap.empty(domain.get_space())
    first = [f"i{place}" for place in range(statement.depth)]
    for place in range(statement.depth):
        second = [*first[:place], "later", *first[place + 1 :]]
        step = isl.Map(
            f"{{ {statement.name}[{', '.join(first)}] -> {statement.name}[{', '.join(second)}] : "
            f"later > i{place} }}"
        )
        union_map = union_map.union(
            isl.UnionMap.from_map(step.intersect_domain(domain).intersect_range(domain))
        )
    return union_map


def _pairs(dependences: tuple[Dependence, ...], domain: isl.UnionSet) -> isl.UnionMap:
    """Return the dependences as one isl relation."""
    relation = isl.UnionMap.empty(domain.get_space())
    for dependence in dependences:
        relation = relation.union(isl.UnionMap(dependence.relation))
    return relation


@contextmanager
def _isl_context_options(options: IslOptions) -> Iterator[None]:
    """Set the options in isl's context for the time of the body."""
    context = isl.DEFAULT_CONTEXT
    serialized, outer, coincidence, depth = _FUSION[options.fusion]
    wanted = {
        "schedule_algorithm": _ALGORITHMS[options.algorithm],
        "schedule_serialize_sccs": serialized,
        "schedule_outer_coincidence": outer,
        "schedule_maximize_coincidence": coincidence,
        "schedule_maximize_band_depth": depth,
        "schedule_max_coefficient": options.coefficient,
        "schedule_max_constant_term": options.constant,
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
