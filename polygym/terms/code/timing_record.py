"""Times of a program and of its rewritten form, as a part of a record.

The record has the C texts, so that who reads it can compile them anew, the times of every round,
the machine, and at which sizes both were compared with the interpreter. :func:`repeat_measurement`
does all of it again.

The interpreter is slow, so programs are compared at small sizes, on random data: the first of some
at which the first program has a value at all, since sizes may depend on each other in ways that
only the program knows. Where it has none at any, the sizes that were asked for are tried, if the
interpreter manages them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polygym.errors import InputError, InternalError, LimitError, OutOfRangeError, PolygymError
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.timing import describe_host
from polygym.terms.code.arguments import to_interpreter_value
from polygym.terms.code.compiled_term import compile
from polygym.terms.code.kernel_build import CodeOptions
from polygym.terms.code.timing import TimingComparison, compare_timings, sizes_for
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import BOOL, FLOAT, BaseType, TupleType, Type, VectorType
from polygym.terms.language.values import is_close, is_regular

ROUNDS = 11


def measure_pair(
    first: TermProgram, last: TermProgram, sizes: Mapping[str, int], rounds: int = ROUNDS
) -> tuple[TimingComparison, dict[str, Any]]:
    """Run a program and what it became in turn; return what was found, as such and as JSON.

    Raises:
        InputError: one of them cannot be compiled.
        InternalError: the interpreter says something else than the code.
    """
    known = sizes_for(first, sizes)
    at = compare_with_interpreter((first, last), known)
    race = compare_timings((first, last), known, rounds)
    machine = describe_host()
    return race, {
        **race.to_json(),
        "validated_sizes": at,
        "machine": {
            "key": machine_fingerprint().key,
            "processor": machine.processor,
            "cores": machine.cores,
            "load": machine.load_average,
        },
    }


def repeat_measurement(
    first: TermProgram, last: TermProgram, record: Any, where: str
) -> tuple[TimingComparison, dict[str, Any]]:
    """Measure what a record says was measured, and compare what does not depend on the machine.

    Raises:
        InputError: it is no such record, or the code is another one, or computes something else.
    """
    try:
        sizes = {str(name): int(size) for name, size in record["sizes"].items()}
        texts: Sequence[str] = [str(entry["code"]) for entry in record["programs"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: measured: expected its members, found {error!r}") from None
    race, result = measure_pair(first, last, sizes)
    if [timing.code for timing in race.timings] != texts:
        raise InputError(f"{where}: measured: expected the code that the terms lead to, it is not")
    for timing in race.timings:
        if timing.failure:
            raise InputError(f"{where}: measured: {timing.failure}")
    return race, result


_SMALL = (3, 4, 2, 6)
_STEPS = 400_000
_TOLERANCE = 1e-8


def compare_with_interpreter(
    programs: Sequence[TermProgram], sizes: Mapping[str, int], seed: int = 0
) -> dict[str, int] | None:
    """Compare the code of programs with what the interpreter says of the first.

    Returns the sizes at which all agree; None if there are none at which it can say something.

    Raises:
        InternalError: one computes something else.
    """
    first = programs[0]
    for known in small_sizes(sizes):
        rng = np.random.default_rng(seed)
        values = {
            name: known[name] if name in known else random_input(kind, known, rng)
            for name, kind in first.parameters
        }
        try:
            wanted = evaluate(first, {**values, **known}, _STEPS)
        except LimitError:
            continue
        if not is_regular(wanted):
            continue
        for program in programs:
            try:
                code = compile(program, options=CodeOptions(schedule=ORIGINAL))
                computed = to_interpreter_value(code(**{**values, **known}), first.result)
            except OutOfRangeError as error:
                raise InternalError(f"{first.name}: the interpreter has a value: {error}") from None
            except PolygymError:
                return None  # sizes at which there is no code
            if not is_close(computed, wanted, _TOLERANCE):
                raise InternalError(
                    f"{program.name}: expected what the interpreter computes, found another value"
                )
        return known
    return None


def small_sizes(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield sizes at which the interpreter is asked, the usual ones first."""
    for small in _SMALL:
        yield {name: min(size, small) for name, size in sizes.items()}
    yield dict(sizes)


def random_input(kind: Type, sizes: Mapping[str, int], rng: np.random.Generator) -> Any:
    """Return a value of a type: Floats in (0, 1), Integers that are numbers of elements."""
    match kind:
        case VectorType(inner, size):
            count = sizes[size] if isinstance(size, str) else size
            return [random_input(inner, sizes, rng) for _ in range(count or 1)]
        case TupleType(parts):
            return tuple(random_input(part, sizes, rng) for part in parts)
        case BaseType() if kind == BOOL:
            return bool(rng.integers(2))
        case _:
            if kind == FLOAT:
                return float(rng.uniform(0.05, 1.0))
            return int(rng.integers(min(sizes.values(), default=1)))
