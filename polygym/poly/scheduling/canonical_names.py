"""Programs as isl's scheduler sees them: statements are called S0, S1, … in the order of the text.

isl keeps the statements of a relation in a hash table, by their names, and where several schedules
are equally good, that order decides. So the schedule of a program whose statements have labels of
their own would depend on these. Under numbers it does not:

    { init[i] -> [i]; acc[i, j] -> [i, j] }   is found as   { S0[i] -> [i]; S1[i, j] -> [i, j] }

Programs without labels are called so anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polygym.ir.scop import Scop
from polygym.poly.dependences import Dependence, dependences
from polygym.poly.schedule import Schedule


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


def _rename_dependence(one: Dependence, numbers: Mapping[str, str]) -> Dependence:
    source, sink = numbers[one.source], numbers[one.sink]
    relation = (
        isl.Map(one.relation)
        .set_tuple_name(isl.dim_type.in_, source)
        .set_tuple_name(isl.dim_type.out, sink)
    )
    return replace(one, source=source, sink=sink, relation=str(relation))


def _with_names_of(scop: Scop, schedule: Schedule) -> Schedule:
    """Return a schedule, whose statements are in the order of the text, with a program's names."""
    parts = zip(schedule.statements, _names(scop), strict=True)
    return replace(
        schedule, statements=tuple(replace(part, statement=name) for part, name in parts)
    )
