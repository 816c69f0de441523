"""A program under a storage plan: what runs is another Scop, what it must equal is the source's.

The result is a :class:`~polygym.programs.program.Program` as any other: its ``scop`` is the
transformed one, of which schedules, spaces and features are made; ``source`` is what was written,
whose data it gets, whose output it must leave, and whose time it is compared with. A program in
pieces stays in pieces: cuts come first, so that a plan speaks of the pieces.
"""

from __future__ import annotations

from dataclasses import replace

from polygym.compiler.poly.splitting.split import split
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.choose import chosen_plan
from polygym.compiler.storage.plan import StoragePlan
from polygym.compiler.storage.price import USUAL_LIMIT, within_limit
from polygym.programs.program import Program


def with_chosen_storage(program: Program, limit: int = USUAL_LIMIT) -> Program:
    """Return the program under the plan that it gets without a search; often its own storage.

    Raises:
        LimitError: it would take too long to find out.
    """
    scop = split(program.written, program.splitting)
    plan = chosen_plan(scop, dict(program.parameters), limit)
    return stored(program, plan, limit)


def stored(program: Program, plan: StoragePlan, limit: int = USUAL_LIMIT) -> Program:
    """Return the program with its arrays where a plan has them, as the source has the others.

    Raises:
        InputError: the plan does not fit the program, or takes more than ``limit`` bytes.
        LimitError: it would take too long to find out whether it is right.
    """
    source = program.written
    scop = split(source, program.splitting)
    if not plan.keeps:
        scop = within_limit(scop, plan, applied(scop, plan), dict(program.parameters), limit)
    return replace(program, scop=scop, source=None if scop is source else source, storage=plan)
