"""Numbers that are left, as runs: a million episodes are one run until some of them are taken.

Runs are kept in order, disjoint, and not touching.

>>> left = IndexRuns([range(0, 10)])
>>> left.take(3), left.take(2), len(left)
(range(0, 3), range(3, 5), 5)
>>> left.add(range(1, 2)); left.add(range(3, 5)); left.runs
[range(1, 2), range(3, 10)]
"""

from collections.abc import Iterable


class IndexRuns:
    """A set of numbers, of which the smallest are taken first."""

    def __init__(self, runs: Iterable[range] = ()) -> None:
        """Begin with some runs, in any order."""
        self.runs: list[range] = []
        for run in runs:
            self.add(run)

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return sum(map(len, self.runs))

    def add(self, new: range) -> None:
        """Add the numbers of a run, of which some may be there."""
        if not new:
            return
        first, last = new.start, new.stop
        kept = []
        for run in self.runs:
            if run.stop < first or last < run.start:
                kept.append(run)
            else:
                first, last = min(first, run.start), max(last, run.stop)
        self.runs = sorted([*kept, range(first, last)], key=lambda one: one.start)

    def take(self, count: int) -> range:
        """Take the smallest numbers that follow one another, ``count`` at most; one is there."""
        one = self.runs[0]
        taken = range(one.start, min(one.stop, one.start + count))
        self.runs[0] = range(taken.stop, one.stop)
        if not self.runs[0]:
            del self.runs[0]
        return taken


def index_runs(numbers: Iterable[int]) -> list[range]:
    """Return numbers in order as runs.

    >>> index_runs([1, 2, 3, 7, 9, 10])
    [range(1, 4), range(7, 8), range(9, 11)]
    """
    result: list[range] = []
    for number in numbers:
        if result and result[-1].stop == number:
            result[-1] = range(result[-1].start, number + 1)
        else:
            result.append(range(number, number + 1))
    return result
