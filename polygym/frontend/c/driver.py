"""The front end as a whole: a file or a text in, a Scop out; only input errors are raised.

Work with isl is bounded by a number of its operations, the same on every machine, so that no input
runs forever. Recursion that goes too deep, in the parser or here, is a refusal like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pycparser import c_ast

from polygym.errors import InputError, SourceError, SourceLocation
from polygym.frontend.c.desugar.struct_members import used_structures
from polygym.frontend.c.discovery.choice import ChosenRegion, choose
from polygym.frontend.c.memory.unsized_arrays import unsized_arguments
from polygym.frontend.c.regions.completion import CompletedFile, completed_source
from polygym.frontend.c.regions.passes import RegionPass, RegionState
from polygym.frontend.c.sema.assumptions import ASSUMPTION_FUNCTIONS
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags, checked_flags
from polygym.frontend.c.source.literals import builtin_literal
from polygym.frontend.c.source.parser import (
    cached_result,
    choose_region,
    find_regions,
    parse_cached,
)
from polygym.frontend.c.source.preprocessor import decode
from polygym.frontend.c.source.region_selection import parse_selection
from polygym.frontend.c.source.syntax import arguments_of, walk
from polygym.ir.scop import Scop


def parse_file(path: str | Path, *, function: str | None = None) -> Scop:
    """Translate the region of a C file.

    Args:
        path: The file. Its own ``#include "…"`` are read relative to it.
        function: Which region, where the file holds several: a function's name, or ``name:2`` for
            the second region of a function. See :func:`region_names`. Sizes of bare pointers may
            follow (:mod:`~polygym.frontend.c.source.region_selection`): ``name x[100]``.

    Raises:
        InputError: The file cannot be read, or holds no region or several.
        SourceError: The program is outside the class that polygym understands; says where and why.
        LimitError: The answer would take more than the bound on the work.
    """
    return parse_text(read_text(path), file=str(path), function=function)


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
    state = _region_state(text, file, function, checked_flags(include_directories))
    try:
        return cached_result(state.source, state.selection, state.first_scop)
    except RecursionError as error:
        raise SourceError(state.source.location_at(1, 1), "the program nests too deeply") from error


def text_after(last: RegionPass, text: str, file: str, function: str | None = None) -> str:
    """Return the C text that a pass leaves of a C text."""
    return _region_state(text, file, function).text_after(last)


def _region_state(
    text: str, file: str, function: str | None, flags: CompileFlags = NO_FLAGS
) -> RegionState:
    """Return a region of a C text as it enters the passes."""
    chosen = parse_selection(function)
    chosen = replace(chosen, flags=flags.joined(chosen.flags))
    whole = completed_source(text, file, chosen)
    sizes = {name: size for name, size in chosen.array_sizes if name not in whole.sized_arrays}
    return RegionState(whole.source.with_library(chosen.library), file, chosen, sizes)


def choose_region_of(text: str, file: str, function: str | None) -> ChosenRegion:
    """Return the region that is meant; it is looked for where the text has no pragmas for it.

    ``function`` is the text that chooses a region.
    """
    try:
        return choose(text, file, parse_selection(function))
    except RecursionError as error:
        location = SourceLocation(file, 1, 1)
        raise SourceError(location, "the program nests too deeply") from error


def marked_text(path_or_text: str | Path, selection: str | None = None) -> str:
    """Return a C text with pragmas around a region, on lines of their own; the rest stays.

    Args:
        path_or_text: A file (as a Path) or a text (as a str).
        selection: The text that chooses a region, as ``Program.function`` has it. Where the region
            has pragmas, the text is returned as it is.

    >>> print(marked_text("void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 0; }"))
    void f(int n, double x[n]) {
    #pragma scop
                                 for (int i = 0; i < n; i++) x[i] = 0;
    #pragma endscop
                                                                       }

    Raises:
        InputError: There is no such region.
    """
    if isinstance(path_or_text, Path):
        text, file = read_text(path_or_text), str(path_or_text)
    else:
        text, file = path_or_text, "<text>"
    return completed_source(text, file, choose_region_of(text, file, selection).selection).text


def completed_file(path: str | Path, function: str | None = None) -> CompletedFile:
    """Return a C file as it is read: with a function around every region, and all declarations.

    ``region_name`` may have sizes for arrays that nothing declares.
    """
    return completed_source(read_text(path), str(path), parse_selection(function))


def region_names(text_or_path: str | Path, selection: str | None = None) -> tuple[str, ...]:
    """Return the names of the regions in a C file (given as a Path) or a C text (as a str).

    Of ``selection``, the text that chooses a region, the flags and the mark matter.
    """
    if isinstance(text_or_path, Path):
        text, file = read_text(text_or_path), str(text_or_path)
    else:
        text, file = text_or_path, "<text>"
    source = completed_source(text, file, parse_selection(selection)).source
    try:
        return tuple(region.name for region in find_regions(parse_cached(source), source))
    except RecursionError as error:
        raise SourceError(source.location_at(1, 1), "the program nests too deeply") from error


def line_outside_region(
    path: str | Path, function: str, selection: str | None = None
) -> int | None:
    """Return the line of what a function does beside its region; None if it does nothing else.

    Declarations do nothing unless they call a function, nor does a ``return`` without a value or an
    assertion. A function with several regions does something beside each. ``selection`` is the text
    that chooses a region, with what the file is read with.
    """
    source = completed_file(path, selection).source
    regions = find_regions(parse_cached(source), source)
    mine = [region for region in regions if region.function.decl.name == function]
    region = mine[0]
    inside = {id(item) for item in (*region.items, region.begin, region.end)}
    for item in region.function.body.block_items or ():
        calls = [call for call in walk(item, c_ast.FuncCall) if builtin_literal(call) is None]
        nothing = isinstance(item, c_ast.Decl) and not calls
        nothing |= isinstance(item, c_ast.Return) and item.expr is None
        nothing |= isinstance(item, c_ast.FuncCall) and (
            getattr(item.name, "name", "") in ASSUMPTION_FUNCTIONS
        )
        if not nothing and id(item) not in inside:
            return source.location(item).line
    return None


@dataclass(frozen=True, slots=True)
class ArgumentPassing:
    """How a function with a region is handed what the region uses, by name.

    ``arguments`` are all, ``pointer_arrays`` those that point to pointers, ``used_structures`` the
    arguments and globals whose members the region uses, ``static_variables`` the function's
    ``static`` variables.
    """

    arguments: tuple[str, ...]
    pointer_arrays: tuple[str, ...]
    structures: tuple[str, ...]
    static_variables: tuple[str, ...]


def argument_passing(
    path: str | Path, function: str, selection: str | None = None
) -> ArgumentPassing:
    """Return how a function with a region, the first one, is handed what that uses."""
    source = completed_file(path, selection).source
    tree = parse_cached(source)
    region = next(r for r in find_regions(tree, source) if r.function.decl.name == function)
    arguments = arguments_of(region.function)
    rows = tuple(
        argument.name
        for argument in arguments
        if isinstance(getattr(argument.type, "type", None), c_ast.PtrDecl)
    )
    names = tuple(argument.name for argument in arguments)
    own = {decl.name: decl for decl in walk(region.function.body, c_ast.Decl)}
    members = tuple(
        structure for structure in used_structures(tree, region, source) if structure not in own
    )
    return ArgumentPassing(
        names, rows, members, tuple(n for n, d in own.items() if "static" in d.storage)
    )


def arguments_without_sizes(
    path: str | Path, function: str, selection: str | None = None
) -> frozenset[str]:
    """Return the arguments of a function with a region whose declarations lack their sizes."""
    source = completed_file(path, selection).source
    return unsized_arguments(
        choose_region(find_regions(parse_cached(source), source), function, str(path))
    )


def read_text(path: str | Path) -> str:
    """Return the text of a file."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise InputError(f"{path}: not a file")
        return decode(Path(path).read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    """Return the words of an error without its number and the path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
