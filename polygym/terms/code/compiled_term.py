"""Terms as functions: called with arrays, compiled for their sizes, kept on the disk.

    >>> import numpy as np
    >>> from polygym.terms.code.compiled_term import compile
    >>> from polygym.terms.language.parser import parse_program
    >>> total = compile(parse_program('''(def total Float ((v : Vec n Float))
    ...   (sumbuild n (lam (i : Integer) (mul (index i v) (index i v)))))'''))
    >>> total(np.array([1.0, 2.0, 3.0]))
    14.0

The first call with new sizes makes code for them (:mod:`polygym.terms.code.emitter` says how),
another process finds it in the user's cache, beside what comprehensions are compiled to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.lru_cache import LruCache
from polygym.programs.dtypes import DTYPES
from polygym.tc.kernel import CompiledKernel
from polygym.terms.code.arguments import bind_arguments, resolve_sizes, result_of
from polygym.terms.code.c_values import C_TYPES, TermCode
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.kernel_build import CodeOptions, build_kernel
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import FLOAT, BaseType, Type, VectorType

_CACHE_SIZE = 64


def compile(
    program: TermProgram | str, definition: str | None = None, options: CodeOptions | None = None
) -> CompiledTerm:
    """Return a program, given as such or as text, as a function of arrays.

    Raises:
        InputError: the text is no program.
    """
    if isinstance(program, str):
        program = parse_program(program, "<term>", definition)
    return CompiledTerm(program, options or CodeOptions())


def _plain_layout(kind: Type) -> tuple[np.dtype[Any], int] | None:
    """Return the elements and the dimensions of a parameter that is one array, or a Float."""
    rank = 0
    while isinstance(kind, VectorType):
        kind, rank = kind.element, rank + 1
    if not isinstance(kind, BaseType) or (rank == 0 and kind != FLOAT):
        return None
    return DTYPES[C_TYPES[kind]], rank


class CompiledTerm:
    """A program as machine code, for every size that it was called with."""

    def __init__(self, program: TermProgram, options: CodeOptions) -> None:
        """Look what the arguments have to be; nothing is compiled yet."""
        self.program, self.options = program, options
        self._made: LruCache[Any, tuple[TermCode, CompiledKernel]] = LruCache(_CACHE_SIZE)
        self._layouts = [_plain_layout(kind) for _, kind in program.parameters]
        self._direct: dict[Any, tuple[TermCode, CompiledKernel]] = {}

    def __repr__(self) -> str:
        """Say what it takes and gives."""
        taken = ", ".join(f"{name}: {kind}" for name, kind in self.program.parameters)
        return f"<compiled {self.program.name}({taken}) -> {self.program.result}>"

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Return the program's value: a number, an array, or a tuple; vectors of tuples as well.

        Arguments come in the order of the parameters, or by name.

        Raises:
            InputError: they do not fit, or the program cannot be compiled for them.
            OutOfRangeError: an element outside of a vector is asked for, or an Integer divided by
                0.
        """
        layout = None if named else self._layout_of(values)
        made = self._direct.get(layout)
        if made is not None:
            return result_of(made[0].outline, made[1]([*map(np.asarray, values)]))
        sizes, arrays = bind_arguments(self.program, self._by_name(values, named))
        code, kernel = self._kernel(sizes, arrays)
        if layout is not None and len(self._direct) < _CACHE_SIZE:
            self._direct[layout] = code, kernel
        flat = [array for name, _ in self.program.parameters for array in arrays.get(name, ())]
        boxed = [array.reshape(place.shape) for array, place in zip(flat, code.inputs, strict=True)]
        return result_of(code.outline, kernel(boxed))

    def _layout_of(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the shapes of arguments that the code takes as they are, None of any other."""
        if len(values) != len(self._layouts):
            return None
        shapes: list[Any] = []
        for value, layout in zip(values, self._layouts, strict=True):
            if layout is None:
                return None
            if type(value) is np.ndarray:
                if (value.dtype, value.ndim) != layout or not value.flags.c_contiguous:
                    return None
                shapes.append(value.shape)
            elif type(value) is float and layout[1] == 0:
                shapes.append(())
            else:
                return None
        return tuple(shapes)

    def code(self, **sizes: int) -> str:
        """Return the C that is compiled for some sizes.

        Raises:
            InputError: a size is missing, or the program cannot be compiled for them.
        """
        return emit_code(self.program, sizes).text

    def _by_name(self, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        names = [name for name, _ in self.program.parameters]
        if len(values) > len(names):
            raise InputError(
                f"{self.program.name}: expected at most {len(names)} arguments, found {len(values)}"
            )
        given = dict(zip(names, values, strict=False))
        twice = sorted(set(given) & set(named))
        if twice:
            raise InputError(f"{self.program.name}: expected {', '.join(twice)} once, found twice")
        return {**given, **named}

    def _kernel(
        self, sizes: dict[str, int], arrays: dict[str, Any]
    ) -> tuple[TermCode, CompiledKernel]:
        shapes = tuple(array.shape for group in arrays.values() for array in group)
        key = (tuple(sorted(sizes.items())), shapes)

        def made() -> tuple[TermCode, CompiledKernel]:
            program = resolve_sizes(self.program, arrays)
            code = emit_code(program, sizes)
            said = ", ".join(f"{name}={value}" for name, value in sorted(sizes.items()))
            return code, build_kernel(code, self.options, f"{code.name}({said})")

        return self._made.get(key, made)
