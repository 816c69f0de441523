"""From a name to a :class:`~polygym.programs.program.Program`, through one of the front ends.

A name is a kernel of the suite (``gemm``), the path of a C file or of a file of comprehensions
(``.tc``), one of the library's comprehensions (``tc:matmul``), or a random program (``random:17``,
``scalars:17``). Sizes come from the kernel's data set or, for a user's file, from the table
:data:`FILE_SIZES`; ``-p`` overrides single ones. The initial data come from the function ``init_…``
beside the kernel, or from the rule of :mod:`polygym.programs.comprehensions`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from polybench import Dataset
from polygym.errors import InputError, SourceError, UnknownValueError
from polygym.frontend.c import (
    arguments_without_sizes,
    parse_file,
    parse_text,
    read_text,
    region_names,
    text_after,
    with_extents,
)
from polygym.frontend.c.regions.passes import RegionPass
from polygym.frontend.c.source.compilation_database import flags_from_database
from polygym.frontend.c.source.compile_flags import NO_FLAGS, checked_flags
from polygym.frontend.c.source.region_selection import RegionSelection, parse_selection
from polygym.ir.gathers import computed_subscripts
from polygym.ir.scop import Scop
from polygym.poly.estimates.work import moderate_size
from polygym.poly.evaluation import context_holds, nearest_admissible
from polygym.programs import comprehensions
from polygym.programs.generate import is_generated, source_of_name
from polygym.programs.initial_data import initial_data_program
from polygym.programs.isl_text import condition_text
from polygym.programs.program import Program, ProgramOutput
from polygym.programs.sizes import FILE_SIZES
from polygym.programs.targets import is_path, kernel_of, split_line, with_found_region

# Beyond it, sums and multiples of parameters in the bounds of loops would not fit 64 bits.
_LARGEST_PARAMETER = 2**48

_Read = TypeVar("_Read")


def load_program(
    target: str,
    *,
    function: str | None = None,
    dataset: Dataset | None = None,
    parameters: Mapping[str, int] | None = None,
    extents: Sequence[str] = (),
    library: str | None = None,
    include_directories: Sequence[str | Path] = (),
    macros: Sequence[str] = (),
    included_files: Sequence[str | Path] = (),
    compile_commands: str | Path | None = None,
    aliases: Sequence[str] = (),
) -> Program:
    """Return the program that a kernel's name or a C file's path stands for.

    Args:
        target: The name or the path; behind a path may stand a line of the region, ``my.c:12``.
        function: Which region, where a file holds several; sizes of bare pointers may follow. In a
            file without pragmas it is a region that is found.
        dataset: Which sizes.
        parameters: Single ones, instead.
        extents: Sizes of bare pointers, such as ``"A=100x200"`` or ``"x[n + 1]"``.
        library: The path of a shared library with functions that the file declares as pure.
        include_directories: Folders to look for headers in.
        macros: Macros, as ``"NAME"`` or ``"NAME=VALUE"``.
        included_files: Files that are read before it, as by gcc's ``-include``.
        compile_commands: A compilation database with more folders and macros for the file.
        aliases: Pairs of pointers that are the same, such as ``"p=g->u"``.
    """
    target, line = split_line(target)
    flags = checked_flags(include_directories, macros, included_files)
    if compile_commands is not None:
        flags = flags_from_database(Path(compile_commands), target).joined(flags)
    function = with_extents(function, extents, library, flags, line, aliases)
    _expect_c(target, function)
    function = with_found_region(target, function)
    (scop, initial, sizes, outputs), function = _read_with_values(
        lambda choice: _find(target, choice, dataset or Dataset.LARGE, parameters or {}),
        function,
        parameters or {},
    )
    values = _parameter_values(scop, initial, sizes, parameters or {})
    _check_context(scop, values)
    program = Program(_name(target), scop, initial, tuple(values.items()), outputs)
    return replace(program, function=function)


def load_scop(
    target: str, function: str | None = None, parameters: Mapping[str, int] | None = None
) -> Scop:
    """Return the Scop alone, without data.

    Of ``parameters`` only those matter on which a comprehension's subscripts depend.
    """
    given = parameters or {}
    target, line = split_line(target)
    function = with_extents(function, (), line=line)
    _expect_c(target, function)
    function = with_found_region(target, function)
    scop, _ = _read_with_values(lambda choice: _load_scop(target, choice, given), function, given)
    _check_names(given, [parameter.name for parameter in scop.parameters])
    return scop


def c_text_after(
    row: RegionPass, target: str, function: str | None, parameters: Mapping[str, int]
) -> str:
    """Return the C text that a pass of the C front end leaves of a program.

    Raises:
        InputError: The program is no C.
    """
    if comprehensions.is_comprehension(target):
        raise InputError(f"{row.name}: expected a program in C, found {target}")
    function = with_found_region(target, function)
    path, function = _place(target, function)
    text = source_of_name(target) if is_generated(target) else read_text(path)
    result, _ = _read_with_values(
        lambda choice: text_after(row, text, str(path), choice), function, parameters
    )
    return result


def _read_with_values(
    read: Callable[[str | None], _Read], function: str | None, given: Mapping[str, int]
) -> tuple[_Read, str | None]:
    """Read a choice of a region, with values in it that are given and without which it is none.

    A loop that steps by s is one for ``-p s=4``; the choice is ``f s=4`` then, and stays that.
    """
    try:
        return read(function), function
    except UnknownValueError as error:
        chosen = parse_selection(function)
        known = dict(chosen.parameter_values)
        values = {name: given[name] for name in error.names if name in given and name not in known}
        if not values:
            raise
        more = replace(chosen, parameter_values=(*chosen.parameter_values, *values.items()))
        return _read_with_values(read, str(more), given)


def _expect_c(target: str, function: str | None) -> None:
    """Refuse sizes beside what is no C file: it has its own."""
    given = parse_selection(function)
    names = [name for name, _ in (*given.array_sizes, *given.parameter_values)]
    names += ["an alias"] if given.aliases else []
    names += ["a library"] if given.library else []
    names += ["a flag"] if given.flags != NO_FLAGS else []
    names += ["a line"] if given.mark else []
    if names and (comprehensions.is_comprehension(target) or is_generated(target)):
        raise InputError(
            f"{target}: its arrays have their sizes; none are given for {names[0]} beside it"
        )


def _load_scop(target: str, function: str | None, parameters: Mapping[str, int]) -> Scop:
    if comprehensions.is_comprehension(target):
        return comprehensions.load_comprehension(target, function, parameters)
    if is_generated(target):
        text = source_of_name(target)
        if function is not None:
            raise InputError(f"--function: {target} is one function already")
        return parse_text(text, file=target)
    path, function = _place(target, function)
    if function is not None and not function.strip():  # no name at all is no name of a region
        raise InputError(
            f"--function: expected a name, found none; {path} has: {', '.join(region_names(path))}"
        )
    return parse_file(path, function=function)


def _place(target: str, function: str | None) -> tuple[Path, str | None]:
    """Return the file of a target, and the choice of a region in it."""
    kernel = kernel_of(target)
    if kernel is None:
        return Path(target), function
    return kernel.path, kernel.function if function is None else function


def _find(
    target: str, function: str | None, dataset: Dataset, parameters: Mapping[str, int]
) -> tuple[Scop, Scop, dict[str, int], tuple[ProgramOutput, ...]]:
    """Return the Scop, its initial data, its usual sizes beside those given, and its outputs."""
    scop = _load_scop(target, function, parameters)
    seen = [array.name for array in scop.arrays if array.live_out]
    if comprehensions.is_comprehension(target):
        initial = comprehensions.comprehension_initial_data(scop)
    else:
        written = {statement.write.array for statement in scop.statements}
        seen = [name for name in seen if name in written]
        if is_generated(target):
            ranges = comprehensions.index_ranges(scop) if computed_subscripts(scop) else None
            initial = initial_data_program(scop, ranges)
        else:
            initial = _initial_data(scop, _place(target, None)[0], function)
    kernel = kernel_of(target)
    if kernel is not None:
        outputs = tuple(ProgramOutput(live.array, live.part) for live in kernel.live_out)
        return scop, initial, dict(kernel.parameters(dataset)), outputs
    known = comprehensions.default_values(target)
    sizes = _fitting_sizes(scop, initial, dataset, known, parameters)
    return scop, initial, sizes, tuple(map(ProgramOutput, seen))


def _fitting_sizes(
    scop: Scop,
    initial: Scop,
    dataset: Dataset,
    known: Mapping[str, int],
    given: Mapping[str, int],
) -> dict[str, int]:
    """Return sizes for the parameters that are not given: those known by name, one for the others.

    Where the program is not defined for them, the largest below for which it is, or the smallest
    above if there are none.
    """
    size = moderate_size(scop, FILE_SIZES[dataset])
    names = [parameter.name for parameter in (*scop.parameters, *initial.parameters)]
    wanted = {name: known.get(name, size) for name in names if name not in given}
    return nearest_admissible(scop.context, given, wanted)


def _initial_data(scop: Scop, path: Path, function: str | None) -> Scop:
    """Return the program that writes the initial data.

    ``init_gemm`` beside ``kernel_gemm`` or ``gemm`` is that function's own. Its arrays have the
    sizes that are given for those of the other.
    """
    beside = f"init_{scop.name.removeprefix('kernel_')}"
    given = parse_selection(function)
    read_with = str(RegionSelection(flags=given.flags, mark=given.mark))
    if beside in region_names(path, read_with):
        bare = arguments_without_sizes(path, beside, read_with)
        sizes = tuple(size for size in given.array_sizes if size[0] in bare)
        choice = RegionSelection(beside, sizes, flags=given.flags, mark=given.mark)
        return parse_file(path, function=str(choice))
    try:
        return initial_data_program(
            scop, comprehensions.index_ranges(scop) if computed_subscripts(scop) else None
        )
    except SourceError as error:
        raise InputError(_unfillable_array_message(scop, path, beside, error)) from None


def _unfillable_array_message(scop: Scop, path: Path, function: str, error: SourceError) -> str:
    """Say which array the rule cannot fill: the place in its own text helps nobody."""
    advice = f"write a function {function} with a region that does"
    for array in scop.arrays:
        try:
            initial_data_program(replace(scop, arrays=(array,)))
        except SourceError as alone:
            return (
                f"{path}: the rule for initial data cannot fill array {array.name} of "
                f"{scop.name}: {alone.message}; {advice}"
            )
    return (
        f"{path}: the rule for initial data cannot fill the arrays of {scop.name}: "
        f"{error.message}; {advice}"
    )


def _parameter_values(
    scop: Scop, initial: Scop, sizes: Mapping[str, int], given: Mapping[str, int]
) -> dict[str, int]:
    """Combine the sizes of the data set with those given one by one."""
    names = list(dict.fromkeys(p.name for p in (*scop.parameters, *initial.parameters)))
    _check_names(given, names)
    known = {**sizes, **given}
    for name in names:
        if name not in known:
            raise InputError(
                f"parameter {name} of {scop.name} has no value: give -p {name}=VALUE; from Python, "
                f"parameters={{{name!r}: VALUE}}"
            )
    return {name: known[name] for name in names}


def _check_names(given: Mapping[str, int], names: Sequence[str]) -> None:
    """Refuse values of what is no parameter."""
    for name in given:
        if name not in names:
            raise InputError(
                f"-p {name}: expected one of the parameters {', '.join(names) or '(none)'}"
            )


def _check_context(scop: Scop, values: Mapping[str, int]) -> None:
    """Refuse parameter values for which the program is not meaningful."""
    for parameter in scop.parameters:
        value = values[parameter.name]
        kind = parameter.type
        # Sums of unsigned parameters are taken not to wrap around.
        highest = kind.highest if kind.is_signed or kind.bits < 32 else kind.highest >> 1
        if not kind.lowest <= value <= highest:
            raise InputError(
                f"{parameter.name} = {value}: expected a value of type {kind.value}"
                + (f", at most {highest}" if highest < kind.highest else "")
            )
        if abs(value) >= _LARGEST_PARAMETER:
            raise InputError(
                f"{parameter.name} = {value}: expected a value between -2^48 and 2^48, because "
                "the bounds of loops are computed in 64 bits"
            )
    if not context_holds(scop.context, values):
        listed = ", ".join(f"{p.name} = {values[p.name]}" for p in scop.parameters)
        raise InputError(
            f"{scop.name} is not defined for {listed}: its arrays and accesses need "
            f"{condition_text(scop.context)}"
        )


def _name(target: str) -> str:
    is_named = kernel_of(target) is not None or not is_path(target)
    return target if is_named else Path(target).name
