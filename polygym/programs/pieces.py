"""A program in pieces: what runs has statements that are cut, what it must equal is the source's.

The result is a :class:`~polygym.programs.program.Program` as any other: its ``scop`` is in pieces,
which schedules, spaces and features are made of; ``source`` is what was written, whose output it
must leave, and whose time it is compared with.
"""

from __future__ import annotations

from dataclasses import replace

from polygym.compiler.poly.splitting.cuts import Splitting
from polygym.compiler.poly.splitting.split import split
from polygym.compiler.storage.plan import KEEP
from polygym.programs.program import Program


def in_pieces(program: Program, splitting: Splitting) -> Program:
    """Return the program with its statements cut, its arrays where the source has them.

    Raises:
        InputError: the cuts do not fit the program.
    """
    source = program.written
    scop = split(source, splitting)
    return replace(
        program,
        scop=scop,
        source=None if scop is source else source,
        splitting=splitting,
        storage=KEEP,
    )
