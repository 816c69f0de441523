"""C of a term → machine code: a schedule, a mapping, LLVM; kept in the user's cache.

The text is read by the C front end as one region, isl orders it within a few seconds, and where it
finds no order in that time, or the program has more statements than are worth asking, the order of
the text stays. Everything behind is what comprehensions and C files go through.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping
from polygym.compiler.codegen.llvm.loader import LoadError
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ISL, Settled
from polygym.errors import InputError, PolygymError, SourceError
from polygym.measure.evaluation.patience import Patience
from polygym.sources import fingerprint_of
from polygym.tc.cache import CacheWarning, Entry, key_of, request_of, user_cache
from polygym.tc.kernel import Kernel, compile_kernel
from polygym.terms.code.interface import Code

__all__ = ["USUALLY", "Options", "build", "ordered", "scop_of"]

_MOST_STATEMENTS = 16
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """How code is made: in which order, and under which mapping."""

    schedule: Settled = ISL
    mapping: Mapping = DEFAULT


USUALLY = Options()
"""isl's order, and the mapping that the model chooses."""


def scop_of(code: Code) -> Scop:
    """Return the program that the front end reads.

    Raises:
        InputError: it is outside of the class that it understands; says which line.
    """
    try:
        return parse_text(code.text, file=f"<{code.name} in C>", function=code.name)
    except SourceError as error:
        raise InputError(f"{code.name}: cannot be compiled: {error}") from None


def ordered(scop: Scop, strategy: Settled = ISL) -> Schedule:
    """Return isl's order, or that of the text where that is too much to ask."""
    if strategy == ISL and (scop.depth == 0 or len(scop.statements) > _MOST_STATEMENTS):
        return original(scop)
    try:
        return Patience(_SECONDS).schedule(strategy, scop)
    except PolygymError:
        if strategy != ISL:
            raise
        return original(scop)


def build(code: Code, options: Options = USUALLY, label: str = "") -> Kernel:
    """Return the machine code, from the cache if it is there.

    Raises:
        InputError: the program is none that can be compiled.
    """
    words = f"{fingerprint_of(('compiler/frontend/c',))}\n{code.text}"
    request = request_of(words, {}, str(options.schedule), str(options.mapping))
    cache = user_cache()
    entry = None if cache is None else cache.best(key_of(request))
    if entry is not None:
        try:
            return Kernel.from_recipe(entry.code, entry.recipe)
        except (LoadError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"the cache: {entry.label!r} is not used: {error}", CacheWarning, 3)
    scop = scop_of(code)
    schedule = ordered(scop, options.schedule)
    names = [[one.name for one in group] for group in (code.inputs, code.results)]
    kernel = compile_kernel(scop, {}, options.mapping, names[0], names[1], schedule)
    if cache is not None:
        cache.put(
            Entry(
                key_of(request),
                str(schedule),
                label or code.name,
                str(options.mapping),
                None,
                kernel.recipe,
                kernel.object_code,
            )
        )
    return kernel
