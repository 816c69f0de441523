"""Comprehensions as programs: a ``.tc`` file, or ``tc:NAME`` for one of the library.

A file may hold several definitions; the function's name chooses one. Scalars on which subscripts
depend must be given like a size, ``-p step=2``; those of the library have usual values.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.frontend.tc import (
    TcDefinition,
    library,
    lower_definition,
    parse_definitions,
    required_constants,
)
from polygym.frontend.tc.inference.ranges import c_text_of
from polygym.ir.scop import Scop, StorageClass
from polygym.poly.index_ranges import valid_index_ranges
from polygym.programs.initial_data import initial_data_program

PREFIX, ENDING = "tc:", ".tc"
_PLAIN = re.compile(r"\w+")


def is_comprehension(target: str) -> bool:
    """Whether a target names a comprehension."""
    return target.startswith(PREFIX) or target.endswith(ENDING)


def load_comprehension(target: str, function: str | None, parameters: Mapping[str, int]) -> Scop:
    """Return the program of a comprehension.

    Raises:
        SourceError: it makes no sense, or a scalar has to be given.
        InputError: there is none of that name, or several and no name.
    """
    definition = definition_of(target, function)
    known = {**default_values(target), **parameters}
    needed = required_constants(definition)
    return lower_definition(definition, {name: known[name] for name in needed if name in known})


def comprehension_hint(name: str) -> str:
    """Return what is said of a name that is one of the library's without its ``tc:``, else "".

    >>> comprehension_hint("matmul")
    'the comprehension of that name is tc:matmul'
    """
    if name.partition(":")[0] not in library.definitions():
        return ""
    return f"the comprehension of that name is {PREFIX}{name}"


def default_values(target: str) -> Mapping[str, int]:
    """Return what sizes and scalars of a target are if nothing is said, by name."""
    return library.DEFAULT_SIZES if target.startswith(PREFIX) else {}


def comprehension_initial_data(scop: Scop) -> Scop:
    """Return the program that fills what a comprehension reads, by the usual rule.

    Outputs, whose sizes may have cases, and temporaries begin with zeros. Tensors from which
    subscripts are computed hold valid ones.
    """
    filled = tuple(
        array
        for array in scop.arrays
        if array.storage_class is not StorageClass.LOCAL
        and all(map(_PLAIN.fullmatch, array.c_extents))
    )
    return initial_data_program(replace(scop, arrays=filled), index_ranges(scop))


def index_ranges(scop: Scop) -> dict[str, tuple[str, str]]:
    """Return the least and the largest valid value of every array of indices, as C."""
    return {
        name: (_as_c(values.lowest), _as_c(values.highest))
        for name, values in valid_index_ranges(scop).items()
    }


def _as_c(end: Any) -> str:
    """Return an end of a range as C."""
    return f"({c_text_of(end, end.domain())})"


def definition_of(target: str, function: str | None) -> TcDefinition:
    """Return the comprehension that a target names; raises as :func:`load_comprehension` does."""
    if target.startswith(PREFIX):
        if function is not None:
            raise InputError(f"--function: {target} is one definition already")
        return library.definition(target.removeprefix(PREFIX))
    try:
        text = Path(target).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{target}: cannot be read: {why}") from error
    definitions = {definition.name: definition for definition in parse_definitions(text, target)}
    if function is None and len(definitions) > 1:
        raise InputError(
            f"{target}: there are several definitions; choose one of: {', '.join(definitions)} "
            "(--function NAME; from Python, function=NAME)"
        )
    chosen = next(iter(definitions)) if function is None else function
    if chosen not in definitions:
        raise InputError(
            f"{target}: no definition is called {chosen}; there are: {', '.join(definitions)}"
        )
    return definitions[chosen]
