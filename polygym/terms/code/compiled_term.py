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

from polygym.errors import InputError
from polygym.lru_cache import LruCache
from polygym.tc.kernel import CompiledKernel
from polygym.terms.code.arguments import bind_arguments, resolve_sizes, result_of
from polygym.terms.code.c_values import TermCode
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.kernel_build import CodeOptions, build_kernel
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram

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


class CompiledTerm:
    """A program as machine code, for every size that it was called with."""

    def __init__(self, program: TermProgram, options: CodeOptions) -> None:
        """Look what the arguments have to be; nothing is compiled yet."""
        self.program, self.options = program, options
        self._made: LruCache[Any, tuple[TermCode, CompiledKernel]] = LruCache(_CACHE_SIZE)

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
        sizes, arrays = bind_arguments(self.program, self._by_name(values, named))
        code, kernel = self._kernel(sizes, arrays)
        flat = [array for name, _ in self.program.parameters for array in arrays.get(name, ())]
        boxed = [array.reshape(place.shape) for array, place in zip(flat, code.inputs, strict=True)]
        return result_of(code.outline, kernel(boxed))

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
