"""Dependences and schedules: exact integer-set mathematics through isl.

======================  ===========================================================================
module                  what it knows
======================  ===========================================================================
``dependences``         which instances of statements must keep their order
``gathers``             what is known of accesses at computed subscripts
``uninitialised``       which arrays owe nothing to what memory held before
``valid_indices``       which values an array of indices may hold
``divisors``            which arrays a program divides by
----------------------  ---------------------------------------------------------------------------
``schedule``            schedules as values: for every statement, a function to time vectors
``legality``            is a schedule legal? For all sizes, before any code is made
``distance``            how far apart a schedule puts the ends of a dependence
``edits``               changes of a schedule that lead to another one nearby
``properties``          what a schedule carries, what is parallel, what moves how
``innermost``           where the innermost loop takes a statement, and how its accesses move
``score``               how good a schedule looks by its properties alone
----------------------  ---------------------------------------------------------------------------
``spaces``              which rows a schedule may have: a package
``splitting``           statements cut into pieces with schedules of their own: a package
``strategy``            which schedule a program gets without a search
``baselines``           the order of the source, and what isl finds
``alternatives``        the schedules that a program has without a search
``scheduler``           isl's scheduler at work
``isl_variants``        its schedules without skewing or without negative coefficients
``lifted``              sizes that are written as numbers become parameters for it
``numbered``            statements have numbers in the place of names for it
----------------------  ---------------------------------------------------------------------------
``evaluate``            isl text at given sizes
``corners``             the corners of sets, and what rows reach between them
``integers``, ``span``  exact linear algebra on integer vectors; is one a sum of those before?
``in_bulk``             the same on very many
``isl_budget``          a bound on how long isl may think
``isl_numbers``         the one door through which its numbers and texts come
======================  ===========================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.poly.dependences import Dependence, DependenceKind
    from polygym.poly.legality import (
        LegalSchedule,
        Violation,
        find_violation,
        is_legal,
    )
    from polygym.poly.schedule import Schedule, parse_schedule, schedule_from_json
    from polygym.poly.scheduling.baselines import isl_schedule, original_schedule, schedule_by
    from polygym.poly.scheduling.score import static_score
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
    "schedule_from_json",
    "static_score",
]
