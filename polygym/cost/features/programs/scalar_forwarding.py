"""Reads and writes of statements, with scalars that are set on the way forwarded to arrays.

``t = A[i][k]; C[i][j] += t * B[k][j];`` does what ``C[i][j] += A[i][k] * B[k][j];`` does, and so
does a sum that is held in a scalar and stored behind its loop. Who asks what a nest does
(:mod:`polygym.cost.features.programs.canonical_bodies`) looks at the statements as if they had been
written without scalars:

- A scalar is a *value* where a caller that reads it stands in all loops of a statement that sets it
(not
  reading it), and no loop inside of these changes it. Its readers read what those read who write it
  there, and the statements that do are left out.
- Else it is *held* over a loop: set in the loops around, changed in a deeper one. Then it stands
  for the element to which a statement beside the one that sets it writes what reads it, or, if
  there is none or are several, for an element of an array with the counters of those loops.
- What is never set in a loop around is left out.

Example::

    for (i…) for (j…) {
    S:  s = 0;                    s is held over the loop k
      for (k…) {
    T:    t = A[i][k];            t is a value
    U:    s += t * B[k][j];       reads C[i][j], A[i][k], B[k][j] and writes C[i][j]
      }
    V:  C[i][j] = s;
    }
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from polygym.cost.features.programs.shape import EnclosingLoops
from polygym.cost.features.statements.statement_work import StatementAccess, StatementWork


def forward_scalars(
    works: Sequence[StatementWork], paths: Mapping[str, EnclosingLoops]
) -> dict[str, tuple[StatementAccess, ...]]:
    """Return the accesses of every statement to arrays; those that make a value alone have none.

    ``paths`` are the loops around the statements, by their names.
    """
    return _ScalarForwarding(works, paths).touches()


def array_accesses(work: StatementWork) -> tuple[StatementAccess, ...]:
    """Return the accesses of a statement to arrays, as they are written."""
    return tuple(access for access in work.accesses if access.extents)


class _ScalarForwarding:
    """The scalars that a program sets, and who writes them in which loops."""

    def __init__(self, works: Sequence[StatementWork], paths: Mapping[str, EnclosingLoops]) -> None:
        self._works, self._paths = works, paths
        self._writers: defaultdict[str, defaultdict[EnclosingLoops, list[StatementWork]]] = (
            defaultdict(lambda: defaultdict(list))
        )
        for work in works:
            if not (written := _write_access(work)).extents:
                self._writers[written.array][paths[work.name]].append(work)

    def touches(self) -> dict[str, tuple[StatementAccess, ...]]:
        """Return the accesses to arrays of every statement."""
        return {work.name: self._of(work) for work in self._works}

    def _of(self, work: StatementWork) -> tuple[StatementAccess, ...]:
        path, written = self._paths[work.name], _write_access(work)
        if not written.extents and self._is_value(written.array, path):
            return ()
        return tuple(self._arrays(work.accesses, path, frozenset()))

    def _arrays(
        self, touches: Sequence[StatementAccess], path: EnclosingLoops, followed: frozenset[str]
    ) -> Iterator[StatementAccess]:
        """Yield what accesses from these loops come to; values that were followed are done."""
        for touch in touches:
            name = touch.array
            if touch.extents:
                yield _pad_to_depth(touch, len(path))
            elif name in followed or (home := self._definition_loops(name, path)) is None:
                continue
            elif self._is_value(name, path):
                for writer in self._writers[name][home]:
                    reads = [
                        statement_access
                        for statement_access in writer.accesses
                        if not statement_access.writes
                    ]
                    for access in self._arrays(reads, home, followed | {name}):
                        yield _pad_to_depth(access, len(path))
            elif element := self._element(touch, home, path):
                yield element

    def _definition_loops(self, name: str, path: EnclosingLoops) -> EnclosingLoops | None:
        """Return the loops in which a scalar is set that is read in others, most of them shared."""
        setting = self._setting_statements(name)
        return max(setting, key=lambda loops: _shared_depth(loops, path)) if setting else None

    def _setting_statements(self, name: str) -> list[EnclosingLoops]:
        groups = self._writers[name] if name in self._writers else {}
        return [
            path for path, every in groups.items() if not all(_reads(one, name) for one in every)
        ]

    def _is_value(self, name: str, path: EnclosingLoops) -> bool:
        home, setting = self._definition_loops(name, path), self._setting_statements(name)
        return (
            home is not None
            and _shared_depth(home, path) == len(home)
            and not any(
                loops not in setting and _shared_depth(home, loops) == len(home)
                for loops in self._writers[name]
            )
        )

    def _element(
        self, touch: StatementAccess, definition_loops: EnclosingLoops, path: EnclosingLoops
    ) -> StatementAccess | None:
        """Return the element that a held scalar stands for; None is one element for all."""
        stored = [
            written
            for work in self._works
            if self._paths[work.name] == definition_loops and _reads(work, touch.array)
            if (written := _write_access(work)).extents
        ]
        depth, loops = len(path), _shared_depth(definition_loops, path)
        if len(stored) == 1 and loops == len(definition_loops):
            return replace(_pad_to_depth(stored[0], depth), writes=touch.writes)
        if not loops:
            return None
        rows = tuple(tuple(int(a == b) for a in range(depth)) for b in range(loops))
        return replace(touch, subscripts=rows, offsets=(0,) * loops)


def _write_access(work: StatementWork) -> StatementAccess:
    return next(access for access in work.accesses if access.writes)


def _reads(work: StatementWork, name: str) -> bool:
    return any(access.array == name and not access.writes for access in work.accesses)


def _shared_depth(one: EnclosingLoops, other: EnclosingLoops) -> int:
    """Return how many loops two statements have in common."""
    return next(
        (
            place
            for place, (left, right) in enumerate(zip(one, other, strict=False))
            if left != right
        ),
        min(len(one), len(other)),
    )


def _pad_to_depth(touch: StatementAccess, depth: int) -> StatementAccess:
    """Return an access as from a statement in more loops, whose counters it does not have.

    Example: A[k] of the loops i, k has the row (0, 1), and (0, 1, 0) inside of one more loop.
    """
    rows = tuple(
        None if row is None else (*row, *(0,) * (depth - len(row))) for row in touch.subscripts
    )
    return replace(touch, subscripts=rows)
