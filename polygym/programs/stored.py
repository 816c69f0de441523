"""A program under a storage plan: what runs is another Scop, what it must equal is the source's.

The result is a :class:`~polygym.programs.program.Program` as any other: its ``scop`` is the
transformed one, of which schedules, spaces and features are made; ``source`` is what was written,
whose data it gets, whose output it must leave, and whose time it is compared with.
"""

from __future__ import annotations

from dataclasses import replace

from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.choose import chosen_plan
from polygym.compiler.storage.plan import StoragePlan
from polygym.compiler.storage.price import USUAL_LIMIT, expect_within
from polygym.programs.program import Program


def with_chosen_storage(program: Program, limit: int = USUAL_LIMIT) -> Program:
    """Return the program under the plan that it gets without a search; often its own storage.

    Raises:
        LimitError: it would take too long to find out.
    """
    plan = chosen_plan(program.written, dict(program.parameters), limit)
    return stored(program, plan, limit)


def stored(program: Program, plan: StoragePlan, limit: int = USUAL_LIMIT) -> Program:
    """Return the program with its arrays where a plan has them, as the source has the others.

    Raises:
        InputError: the plan does not fit the program, or takes more than ``limit`` bytes.
        LimitError: it would take too long to find out whether it is right.
    """
    source = program.written
    if plan.keeps:
        return replace(program, scop=source, source=None, storage=plan)
    scop = applied(source, plan)
    expect_within(scop, dict(program.parameters), limit)
    return replace(program, scop=scop, source=source, storage=plan)
