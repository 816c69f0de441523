"""What was measured of a program and of what it was rewritten to, as a part of a record.

The record has the C texts, so that who reads it can compile them anew, the times of every round,
the machine, and at which sizes both were compared with the interpreter. :func:`measured_again`
does all of it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.measure.worker.timing import this_machine
from polygym.terms.code.oracle import compared
from polygym.terms.code.timed import Race, raced, sizes_for
from polygym.terms.language.program import Program

__all__ = ["measured", "measured_again"]

ROUNDS = 11


def measured(
    first: Program, last: Program, sizes: Mapping[str, int], rounds: int = ROUNDS
) -> tuple[Race, dict[str, Any]]:
    """Run a program and what it became in turn; return what was found, as such and as JSON.

    Raises:
        InputError: one of them cannot be compiled.
        InternalError: the interpreter says something else than the code.
    """
    known = sizes_for(first, sizes)
    at = compared((first, last), known)
    race = raced((first, last), known, rounds)
    machine = this_machine()
    return race, {
        **race.to_json(),
        "compared_with_interpreter": at,
        "machine": {
            "key": fingerprint().key,
            "processor": machine.processor,
            "cores": machine.cores,
            "load": machine.load_average,
        },
    }


def measured_again(
    first: Program, last: Program, record: Any, where: str
) -> tuple[Race, dict[str, Any]]:
    """Measure what a record says was measured, and compare what does not depend on the machine.

    Raises:
        InputError: it is no such record, or the code is another one, or computes something else.
    """
    try:
        sizes = {str(name): int(size) for name, size in record["sizes"].items()}
        texts: Sequence[str] = [str(one["code"]) for one in record["programs"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: measured: expected its members, found {error!r}") from None
    race, found = measured(first, last, sizes)
    if [one.code for one in race.runners] != texts:
        raise InputError(f"{where}: measured: expected the code that the terms lead to, it is not")
    for one in race.runners:
        if one.trouble:
            raise InputError(f"{where}: measured: {one.trouble}")
    return race, found
