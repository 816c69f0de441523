"""A program under a storage plan: what runs is another Scop, what it must equal is the source's.

The result is a :class:`~polygym.programs.program.Program` as any other: its ``scop`` is the
transformed one, of which schedules, spaces and features are made; ``source`` is what was written,
whose data it gets, whose output it must leave, and whose time it is compared with. A program in
pieces stays in pieces: cuts come first, so that a plan speaks of the pieces.

A program in pieces: what runs has statements that are cut, what it must equal is the source's.

The result is a :class:`~polygym.programs.program.Program` as any other: its ``scop`` is in pieces,
which schedules, spaces and features are made of; ``source`` is what was written, whose output it
must leave, and whose time it is compared with.
"""

from dataclasses import replace

from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import Splitting
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.default_plan import default_plan
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT, require_memory_limit
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, StoragePlan
from polygym.programs.program import Program


def apply_splitting_to(program: Program, splitting: Splitting) -> Program:
    """Return the program with its statements cut, its arrays where the source has them.

    Raises:
        InputError: the cuts do not fit the program.
    """
    source = program.as_written
    scop = apply_splitting(source, splitting)
    return replace(
        program,
        scop=scop,
        source=None if scop is source else source,
        splitting=splitting,
        storage=SOURCE_STORAGE,
    )


def with_default_storage(program: Program, memory_limit: int = DEFAULT_MEMORY_LIMIT) -> Program:
    """Return the program under the plan that it gets without a search; often its own storage.

    Raises:
        LimitError: it would take too long to find out.
    """
    scop = apply_splitting(program.as_written, program.splitting)
    plan = default_plan(scop, dict(program.parameters), memory_limit)
    return with_storage_plan(program, plan, memory_limit)


def with_storage_plan(
    program: Program, plan: StoragePlan, memory_limit: int = DEFAULT_MEMORY_LIMIT
) -> Program:
    """Return the program with its arrays where a plan has them, as the source has the others.

    Raises:
        InputError: the plan does not fit the program, or takes more than ``memory_limit`` bytes.
        LimitError: it would take too long to find out whether it is right.
    """
    source = program.as_written
    scop = apply_splitting(source, program.splitting)
    if not plan.is_source:
        scop = require_memory_limit(
            scop, plan, apply_plan(scop, plan), dict(program.parameters), memory_limit
        )
    return replace(program, scop=scop, source=None if scop is source else source, storage=plan)
