"""The clock as a cost: what a term costs is how long it runs, at given sizes on this machine.

The same interface as :class:`polygym.terms.cost.StaticCost` has, so that whatever takes a cost
takes this one. A term is timed once; times are kept in the user's cache folder for this kind of
machine and this version of what makes code.

    >>> from polygym.terms.language.parser import parse_program
    >>> from polygym.tc.measured_times import MeasuredTimes
    >>> program = parse_program("(mul (add x y) (add x y))")
    >>> cost = MeasuredCost(program, {}, store=MeasuredTimes(None, 1))
    >>> cost(program.body) > 0.0, cost.timed_now
    (True, 1)

What cannot be compiled, or fails as it runs, costs infinitely much.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import inf

from polygym.errors import PolygymError
from polygym.rewrite.term import Term
from polygym.runtime.worker.worker import Worker
from polygym.tc.measured_times import MeasuredTimes, user_measured_times
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.kernel_build import DEFAULT_OPTIONS, CodeOptions
from polygym.terms.code.timing import compare_timings, sizes_for
from polygym.terms.language.program import TermProgram

FILE = "terms.sqlite"


class MeasuredCost:
    """Microseconds of a program's terms; use as a context to have one process measure them all."""

    def __init__(
        self,
        program: TermProgram,
        sizes: Mapping[str, int],
        options: CodeOptions = DEFAULT_OPTIONS,
        store: MeasuredTimes | None = None,
        rounds: int = 5,
    ) -> None:
        """Take the program's parameters for those of all its terms.

        Raises:
            InputError: a size is none of the program's.
        """
        self._program, self._options, self._rounds = program, options, rounds
        self._sizes = sizes_for(program, sizes)
        threads = options.mapping.threads
        self._store = user_measured_times(FILE, threads) if store is None else store
        self._known: dict[Term, float] = {}
        self._worker = Worker()
        self.timed_now = 0

    def __call__(self, root: Term) -> float:
        """Return the microseconds of a term, which is timed if it never was."""
        result = self._known.get(root)
        if result is None:
            result = self._known[root] = self._found(root)
        return result

    def __enter__(self) -> MeasuredCost:
        """Return the clock."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process that measures."""
        self.close()

    def close(self) -> None:
        """End the process that measures."""
        self._worker.close()

    def _found(self, root: Term) -> float:
        program = self._program.with_body(root)
        try:
            text = emit_code(program, self._sizes).text
        except PolygymError:
            return inf
        words = [text, str(self._options.schedule), str(self._options.mapping)]
        key = hashlib.sha256(json.dumps(words).encode()).hexdigest()
        if key not in self._store:
            self._store.put(key, self._seconds(program))
            self.timed_now += 1
        seconds = self._store.get(key)
        return inf if seconds is None else 1e6 * seconds

    def _seconds(self, program: TermProgram) -> float | None:
        try:
            race = compare_timings(
                [program], self._sizes, self._rounds, self._options, self._worker
            )
        except PolygymError:
            return None
        return min(race.timings[0].samples, default=None)
