"""Dependences and schedules: exact integer-set mathematics through isl.

====================  ============================================================================
``counter_bounds``    First and last value of a loop's counter as an affine function
``data_bounds``       Loops with bounds that are read from memory
``dependences``       Dependences of a Scop: the pairs of instances that must keep their order
``distance``          Distances of dependences under a schedule, one dimension after the other
``edits``             Edits: changes that lead from a schedule to one nearby, legal or not
``evaluation``        Evaluation of isl text at given parameter values
``index_ranges``      Ranges of index arrays that keep gathers in range, and arrays of divisors
``innermost``         The innermost loop of a statement
``integer_vectors``   Exact linear algebra on integer vectors, one or very many at once
``isl_budget``        A bound on the operations of isl
``isl_functions``     Functions as isl has them: the arguments that their results depend on
``isl_values``        Conversion of isl's numbers and texts to Python
``legality``          Legality test of a schedule
``may_accesses``      May-accesses: the known part of accesses with computed subscripts
``pair_orders``       Equality of two orders of the instances of two statements
``row_combinations``  Schedule rows as combinations of other rows
``schedule``          Schedules as values: for every statement, an affine function to time vectors
``subscript_ranges``  Computed subscripts that are in range for sure, by ranges of values
====================  ============================================================================

Four packages stand beside the modules: ``estimates`` (a program's work and gain, by rules of
thumb), ``scheduling`` (schedules without a search and their properties), ``spaces`` (all legal
rows, as generators of polyhedra), ``transform`` (other programs that compute the same).
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.poly.dependences import Dependence, DependenceKind
    from polygym.poly.legality import LegalSchedule, Violation, find_violation, is_legal
    from polygym.poly.schedule import Schedule, parse_schedule
    from polygym.poly.scheduling.baselines import isl_schedule, original_schedule, schedule_by
    from polygym.poly.scheduling.properties import static_score
    from polygym.poly.scheduling.strategy import (
        AutomaticStrategy,
        IslOptions,
        OriginalOrder,
        parse_strategy,
    )
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "AutomaticStrategy",
    "Dependence",
    "DependenceKind",
    "IslOptions",
    "LegalSchedule",
    "OriginalOrder",
    "Schedule",
    "Violation",
    "find_violation",
    "is_legal",
    "isl_schedule",
    "original_schedule",
    "parse_schedule",
    "parse_strategy",
    "schedule_by",
    "static_score",
]
