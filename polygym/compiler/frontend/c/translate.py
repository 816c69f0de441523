"""The front end as a whole: a file or a text in, a Scop out, and the promise about exceptions.

Work with isl is bounded by a number of its operations, which is the same on every machine, so that
no input hangs; recursion that goes too deep, in the parser or here, is a refusal like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pycparser import c_ast

from polygym.compiler.frontend.c.assumptions import stated_values
from polygym.compiler.frontend.c.carries import with_carries
from polygym.compiler.frontend.c.complete import Whole, completed_source
from polygym.compiler.frontend.c.extents import Selection, Sizes, parse_selection
from polygym.compiler.frontend.c.extract import ASSUMPTIONS
from polygym.compiler.frontend.c.flat_arrays import with_rows
from polygym.compiler.frontend.c.induction import with_induction
from polygym.compiler.frontend.c.literals import named_literal
from polygym.compiler.frontend.c.members import structures, with_members
from polygym.compiler.frontend.c.nodes import walk
from polygym.compiler.frontend.c.notation import with_constants
from polygym.compiler.frontend.c.parse import Region, choose, find_regions, with_items
from polygym.compiler.frontend.c.places import SourceMap
from polygym.compiler.frontend.c.plain import plain
from polygym.compiler.frontend.c.pointers import (
    expression_of,
    unsized_arguments,
    with_sizes,
)
from polygym.compiler.frontend.c.preprocess import decode
from polygym.compiler.frontend.c.remembered import once, tree_of
from polygym.compiler.frontend.c.translation import Translation
from polygym.compiler.frontend.c.trips import with_trips
from polygym.compiler.frontend.c.walking import with_walkers
from polygym.compiler.ir.scop import Scop
from polygym.errors import InputError, SourceError


def parse_file(path: str | Path, *, function: str | None = None) -> Scop:
    """Translate the region of a C file.

    Args:
        path: The file. Its own ``#include "…"`` are read relative to it.
        function: Which region, where the file holds several: a function's name, or ``name:2`` for
            the second region of a function. See :func:`regions`. Sizes of bare pointers may follow
            (:mod:`~polygym.compiler.frontend.c.extents`): ``name x[100]``.

    Raises:
        InputError: The file cannot be read, or holds no region or several.
        SourceError: The program is outside the class that polygym understands; says where and why.
        LimitError: The answer would take more than the bound on the work.
    """
    return parse_text(_read(path), file=str(path), function=function)


def parse_text(
    text: str,
    *,
    file: str = "<text>",
    function: str | None = None,
    include_directories: Sequence[str | Path] = (),
) -> Scop:
    """Translate the region of a C text; ``file`` is its name in messages.

    Raises:
        InputError: See :func:`parse_file`.
    """
    chosen = parse_selection(function)
    whole = completed_source(text, file, include_directories, chosen)
    source = whole.source.linked(chosen.library)
    sizes: Sizes = {name: size for name, size in chosen.sizes if name not in whole.sized}
    try:
        return once(source, chosen, lambda: _first(_Reading(source, chosen, sizes, file)))
    except RecursionError as error:
        raise SourceError(source.place_at(1, 1), "the program nests too deeply") from error


def _first(reading: _Reading) -> Scop:
    """Return what is read in the first way in which it is no error.

    A loop through several rows, and what steps by products, is written anew only where that is
    needed or helps: another way is tried where the first one made something of either.
    """
    try:
        return reading.scop()
    except SourceError as error:
        ways = [_Way(in_windows=True)] if reading.has_windows else []
        ways += [_Way(carries=True)] if reading.has_walkers else []
        ways += [_Way(follows=False)] if reading.has_induction else []
        for way in ways:
            with suppress(SourceError):
                return reading.scop(way)
        raise error


@dataclass(frozen=True, slots=True)
class _Way:
    """Whether integers that step are followed, rows are windows, pointers walk through all rows."""

    follows: bool = True
    in_windows: bool = False
    carries: bool = False


@dataclass(slots=True)
class _Reading:
    """What is read, how often it is asked for; and what the last time has found.

    The passes change the tree, so that each time is one from its beginning.
    """

    source: SourceMap
    chosen: Selection
    sizes: Sizes
    file: str
    has_windows: bool = False
    has_induction: bool = False
    has_walkers: bool = False

    def scop(self, way: _Way = _Way()) -> Scop:
        """Return the Scop, read in a way."""
        source, chosen, sizes, file = self.source, self.chosen, self.sizes, self.file
        tree = tree_of(source)
        region = choose(find_regions(tree, source), chosen.function, file)
        region = with_items(region, [*stated_values(chosen.values, region.begin), *region.items])
        region, walking = with_walkers(tree, with_constants(tree, region, source), source)
        self.has_walkers = bool(walking)
        region = with_members(tree, region, source)
        given = {
            name: [expression_of(one, region.begin) for one in size] for name, size in sizes.items()
        }
        region = plain(tree, region, source, given)
        before = region
        if way.follows:
            before = with_induction(tree, region, source)
            self.has_induction = before is not region
        region, self.has_windows = with_trips(tree, before, source, in_windows=way.in_windows)
        carried = walking if way.carries else frozenset()
        region = with_carries(tree, region, source, carried)

        def translated(one: Region) -> Translation:
            """Read a region."""
            return Translation(source, tree, one, file)

        region, sizes = with_rows(tree, region, source, sizes, translated)
        if way.follows and self.has_induction and region is before:  # nothing was made of it
            return self.scop(replace(way, follows=False))
        with_sizes(region, lambda: translated(region), sizes)
        return Translation(source, tree, region, file).run()


def completed_file(path: str | Path, function: str | None = None) -> Whole:
    """Return a C file as it is read: with a function around every region, and all declarations.

    ``function`` may have sizes for arrays that nothing declares.
    """
    return completed_source(_read(path), str(path), chosen=parse_selection(function))


def regions(text_or_path: str | Path) -> tuple[str, ...]:
    """Return the names of the regions in a C file (given as a Path) or a C text (as a str)."""
    if isinstance(text_or_path, Path):
        text, file = _read(text_or_path), str(text_or_path)
    else:
        text, file = text_or_path, "<text>"
    source = completed_source(text, file).source
    try:
        return tuple(region.name for region in find_regions(tree_of(source), source))
    except RecursionError as error:
        raise SourceError(source.place_at(1, 1), "the program nests too deeply") from error


def line_outside(path: str | Path, function: str) -> int | None:
    """Return the line of what a function does beside its region; None if it does nothing else.

    Declarations do nothing unless they call a function, nor does a ``return`` without a value or an
    assertion. A function with several regions does something beside each.
    """
    source = completed_file(path).source
    found = find_regions(tree_of(source), source)
    mine = [region for region in found if region.function.decl.name == function]
    region = mine[0]
    inside = {id(item) for item in (*region.items, region.begin, region.end)}
    for item in region.function.body.block_items or ():
        nothing = isinstance(item, c_ast.Decl) and not any(
            isinstance(one, c_ast.FuncCall) and named_literal(one) is None for one in walk(item)
        )
        nothing |= isinstance(item, c_ast.Return) and item.expr is None
        nothing |= isinstance(item, c_ast.FuncCall) and (
            getattr(item.name, "name", "") in ASSUMPTIONS
        )
        if not nothing and id(item) not in inside:
            return source.place(item).line
    return None


@dataclass(frozen=True, slots=True)
class Handed:
    """How a function with a region is handed what the region uses, by name.

    ``arguments`` are all, ``rows`` those that point to pointers, ``structures`` the arguments and
    globals whose members the region uses, ``kept`` the function's ``static`` variables.
    """

    arguments: tuple[str, ...]
    rows: tuple[str, ...]
    structures: tuple[str, ...]
    kept: tuple[str, ...]


def handed(path: str | Path, function: str) -> Handed:
    """Return how a function with a region, the first one, is handed what that uses."""
    source = completed_file(path).source
    tree = tree_of(source)
    region = next(r for r in find_regions(tree, source) if r.function.decl.name == function)
    declared = region.function.decl.type.args
    arguments = list(declared.params) if declared else []
    rows = tuple(
        one.name
        for one in arguments
        if isinstance(one, c_ast.Decl)
        and isinstance(getattr(one.type, "type", None), c_ast.PtrDecl)
    )
    names = tuple(one.name for one in arguments if hasattr(one, "name"))
    own = {one.name: one for one in walk(region.function.body) if isinstance(one, c_ast.Decl)}
    members = tuple(one for one in structures(tree, region, source) if one not in own)
    return Handed(names, rows, members, tuple(n for n, d in own.items() if "static" in d.storage))


def without_sizes(path: str | Path, function: str) -> frozenset[str]:
    """Return the arguments of a function with a region whose declarations lack their sizes."""
    source = completed_file(path).source
    return unsized_arguments(choose(find_regions(tree_of(source), source), function, str(path)))


def _read(path: str | Path) -> str:
    """Return the text of a file."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise InputError(f"{path}: not a file")
        return decode(Path(path).read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
