"""C of a term → machine code: a schedule, a mapping, LLVM; kept in the user's cache.

The text is read by the C front end as one region, isl orders it within a few seconds, and where it
finds no order in that time, or the program has more statements than are worth asking, the order of
the text stays. Everything behind is what comprehensions and C files go through.
"""

import warnings
from dataclasses import dataclass, replace

from polygym.errors import InputError, PolygymError, SourceError
from polygym.frontend.c import parse_text
from polygym.ir.expressions import Call, Expression, MathFunction, map_operands
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ISL, FixedStrategy
from polygym.runtime.evaluation.time_limits import SchedulerBudget
from polygym.runtime.loader import LoadError
from polygym.source_fingerprint import source_fingerprint
from polygym.tc.cache import CacheEntry, CacheWarning, cache_key, request_digest, user_cache
from polygym.tc.kernel import CompiledKernel, compile_kernel
from polygym.terms.code.c_values import TermCode

_MOST_STATEMENTS = 16
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """How code is made: in which order, and under which mapping."""

    schedule: FixedStrategy = ISL
    mapping: Mapping = DEFAULT_MAPPING


DEFAULT_OPTIONS = CodeOptions()
"""isl's order, and the mapping that the model chooses."""


def scop_of(code: TermCode) -> Scop:
    """Return the program that the front end reads.

    Raises:
        InputError: it is outside of the class that it understands; says which line.
    """
    try:
        scop = parse_text(code.text, file=f"<{code.name} in C>", function=code.name)
    except SourceError as error:
        raise InputError(f"{code.name}: cannot be compiled: {error}") from None
    statements = tuple(
        replace(statement, body=_with_own_exponential(statement.body))
        for statement in scop.statements
    )
    return replace(scop, statements=statements)


def _with_own_exponential(expression: Expression) -> Expression:
    """Return an expression with polygym's exp, which has vectors, for that of the C library.

    Both are within 1.25 units in the last place of the exponential.
    """
    made = map_operands(expression, _with_own_exponential)
    if isinstance(made, Call) and made.function is MathFunction.EXP:
        return replace(made, function=MathFunction.EXPONENTIAL)
    return made


def schedule_code(scop: Scop, strategy: FixedStrategy = ISL) -> Schedule:
    """Return isl's order, or that of the text where that is too much to ask."""
    if strategy == ISL and (scop.depth == 0 or len(scop.statements) > _MOST_STATEMENTS):
        return original_schedule(scop)
    try:
        return SchedulerBudget(_SECONDS).schedule(strategy, scop)
    except PolygymError:
        if strategy != ISL:
            raise
        return original_schedule(scop)


def build_kernel(
    code: TermCode, options: CodeOptions = DEFAULT_OPTIONS, label: str = ""
) -> CompiledKernel:
    """Return the machine code, from the cache if it is there.

    Raises:
        InputError: the program is none that can be compiled.
    """
    words = f"{source_fingerprint(('frontend/c', 'terms/code'))}\n{code.text}"
    request = request_digest(words, {}, str(options.schedule), str(options.mapping))
    cache = user_cache()
    entry = None if cache is None else cache.fastest(cache_key(request))
    if entry is not None:
        try:
            return CompiledKernel.from_recipe(entry.code, entry.recipe)
        except (LoadError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"the cache: {entry.label!r} is not used: {error}", CacheWarning, 3)
    scop = scop_of(code)
    schedule = schedule_code(scop, options.schedule)
    names = [[array.name for array in group] for group in (code.inputs, code.results)]
    kernel = compile_kernel(scop, {}, options.mapping, names[0], names[1], schedule)
    if cache is not None:
        cache.put(
            CacheEntry(
                cache_key(request),
                str(schedule),
                label or code.name,
                str(options.mapping),
                None,
                kernel.recipe,
                kernel.object_code,
            )
        )
    return kernel
