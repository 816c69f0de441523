"""Random schedules that are legal by construction.

A row that reverses no pair of any dependence may stand in front of a legal schedule: it carries
some pairs and leaves the others to the rows behind it. So random rows that pass this test, followed
by the rows of the original order, are legal, and between them they fuse, shift, skew, interchange
and reverse.
"""

from __future__ import annotations

import numpy as np

from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.distance import DependencePairs
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule, parameter_names
from polygym.poly.scheduling.baselines import original_schedule


def random_legal_schedule(
    scop: Scop, generator: np.random.Generator, *, rows: int = 2, attempts: int = 40
) -> Schedule:
    """Return up to so many random rows in front of the original order."""
    base = original_schedule(scop)
    names = parameter_names(scop)
    left = [DependencePairs.of(dependence, names) for dependence in dependences(scop)]
    chosen: list[dict[str, ScheduleRow]] = []
    for _ in range(attempts):
        if len(chosen) == rows:
            break
        candidate = {s.name: _random_row(s.depth, len(names), generator) for s in scop.statements}
        forms = [
            pair.distance(candidate[pair.dependence.source], candidate[pair.dependence.sink], names)
            for pair in left
        ]
        if all(p.reversed_by(form).is_empty for p, form in zip(left, forms, strict=True)):
            chosen.append(candidate)
            left = [p.unordered_by(form) for p, form in zip(left, forms, strict=True)]
            left = [pair for pair in left if not pair.is_empty]
    return Schedule(
        names,
        tuple(
            StatementSchedule(
                part.statement,
                part.iterators,
                tuple(row[part.statement] for row in chosen) + part.rows,
            )
            for part in base.statements
        ),
    )


def _random_row(depth: int, parameters: int, generator: np.random.Generator) -> ScheduleRow:
    """Return a row of small coefficients, most of them zero."""
    iterators = generator.choice([-1, 0, 0, 0, 1, 1, 2], size=depth)
    sizes = generator.choice([0, 0, 0, 0, 0, 1, -1], size=parameters)
    return ScheduleRow(
        tuple(int(value) for value in iterators),
        tuple(int(value) for value in sizes),
        int(generator.integers(-2, 3)),
    )
