"""A program in pieces: what runs has statements that are cut, what it must equal is the source's.

The result is a :class:`~polygym.programs.program.Program` as any other: its ``scop`` is in pieces,
which schedules, spaces and features are made of; ``source`` is what was written, whose output it
must leave, and whose time it is compared with.
"""

from dataclasses import replace

from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import Splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
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
