"""Times of a program and of its rewritten form, as a part of a record.

The record has the C texts, so that who reads it can compile them anew, the times of every round,
the machine, and at which sizes both were compared with the interpreter. :func:`repeat_measurement`
does all of it again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polygym.errors import InputError
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.timing import describe_host
from polygym.terms.code.timing import TimingComparison, compare_timings, sizes_for
from polygym.terms.code.validation import compare_with_interpreter
from polygym.terms.language.program import TermProgram

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
        texts: Sequence[str] = [str(one["code"]) for one in record["programs"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: measured: expected its members, found {error!r}") from None
    race, result = measure_pair(first, last, sizes)
    if [timing.code for timing in race.timings] != texts:
        raise InputError(f"{where}: measured: expected the code that the terms lead to, it is not")
    for timing in race.timings:
        if timing.failure:
            raise InputError(f"{where}: measured: {timing.failure}")
    return race, result
