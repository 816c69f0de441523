"""Nests to look at: those that the suite lists, or, in a folder of a user, those that a scan finds.

The suite has two tables beside its programs:

================  ====================================================================
``nests.tsv``     file, function, nest, expected, options, habit
``programs.tsv``  program, its files, the flags that all of them are compiled with
================  ====================================================================

A nest is marked in its file (:mod:`coverage_study.loop_text`). ``expected`` is the judgement of a
person, made from the C alone: ``accept``, or ``refuse: KIND`` for control that depends on data,
recursion, input and output, and the like. ``options`` are those of polygym's commands.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage_study.loop_text import LoopText, marked_loops
from polygym.errors import InputError
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags, checked_flags

NEST_TABLE, PROGRAM_TABLE = "nests.tsv", "programs.tsv"
_EMPTY = "-"


@dataclass(frozen=True, slots=True)
class SuiteProgram:
    """A program of the suite: its files, the one with ``main`` first, and its flags."""

    name: str
    units: tuple[str, ...]
    flags: CompileFlags

    def paths(self, folder: Path) -> tuple[Path, ...]:
        """Return the files in the suite's folder."""
        return tuple(folder / unit for unit in self.units)


@dataclass(frozen=True, slots=True)
class SuiteNest:
    """A nest of the suite: a row of its table with the place of its loop."""

    file: str
    function: str
    loop: LoopText
    expected: str
    options: tuple[str, ...]
    habit: str


def is_suite(folder: Path) -> bool:
    """Whether a folder has the tables of a suite."""
    return (folder / NEST_TABLE).is_file() and (folder / PROGRAM_TABLE).is_file()


def suite_programs(folder: Path) -> tuple[SuiteProgram, ...]:
    """Return the programs of a suite; folders of headers are relative to it."""
    result = []
    for name, units, flags in _rows(folder / PROGRAM_TABLE, 3):
        words = shlex.split(flags)
        pairs = list(zip(words[::2], words[1::2], strict=True))
        folders = [folder / value for option, value in pairs if option == "-I"]
        macros = [value for option, value in pairs if option == "-D"]
        given = checked_flags(folders, macros) if pairs else NO_FLAGS
        result.append(SuiteProgram(name, tuple(units.split()), given))
    return tuple(result)


def suite_nests(folder: Path) -> tuple[SuiteNest, ...]:
    """Return the nests of a suite.

    Raises:
        InputError: a nest of the table is marked in no file, or a mark is in no table.
    """
    result, texts = [], {}
    for file, function, name, expected, options, habit in _rows(folder / NEST_TABLE, 6):
        if file not in texts:
            loops = marked_loops((folder / file).read_text(encoding="utf-8"))
            texts[file] = {loop.name: loop for loop in loops}
        if name not in texts[file]:
            raise InputError(f"{folder / file}: expected the mark 'nest: {name}', found none")
        loop = texts[file].pop(name)
        given = tuple(shlex.split(options))
        result.append(SuiteNest(file, function, loop, expected, given, habit))
    for file, left in texts.items():
        for name in left:
            raise InputError(f"{folder / NEST_TABLE}: expected the nest {name} of {file}")
    return tuple(result)


def _rows(table: Path, columns: int) -> Iterator[list[str]]:
    """Yield the rows of a table without its heads; "-" stands for nothing."""
    for number, line in enumerate(table.read_text(encoding="utf-8").splitlines()[1:], start=2):
        cells = line.split("\t")
        if len(cells) != columns:
            raise InputError(f"{table}:{number}: expected {columns} columns, found {len(cells)}")
        yield ["" if cell == _EMPTY else cell for cell in cells]
