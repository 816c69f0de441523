"""The best so far against schedules explored: a curve for each policy, its mean over programs.

The numbers are those of the search, at its size.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from polygym.search.means import geometric_mean
from polygym.search.sweep.reader import SweepContents
from polygym.search.sweep.rows import EpisodeRow

Curve = tuple[tuple[int, float], ...]


def curves(contents: SweepContents) -> dict[str, Curve]:
    """Return for each policy the mean of the best so far after 1, 2, 3 … episodes, as steps.

    The mean is over the programs that every policy has explored. One for which nothing has run
    correctly yet counts with the speedup at which a run is cut off, 1 over the timeout factor; one
    that was explored less far than others keeps its last best. A pair (n, mean) holds until the
    next; the last one is where the policy has come to.
    """
    policies = tuple(dict.fromkeys(row.policy for row in contents.episodes))
    of: dict[tuple[str, str], list[EpisodeRow]] = {}
    for episode_row in contents.episodes:
        of.setdefault((episode_row.policy, episode_row.kernel), []).append(episode_row)
    kernels = [
        program_row.name
        for program_row in contents.kernels
        if policies and all((policy, program_row.name) in of for policy in policies)
    ]
    speedups = {outcome.number: outcome.timing.speedup for outcome in contents.outcomes}
    floor = 1.0 / contents.setting.evaluation.timeout_factor
    return {
        policy: _mean_curve([_best_so_far(of[policy, name], speedups) for name in kernels], floor)
        for policy in policies
        if kernels
    }


def curve_kernels(contents: SweepContents) -> tuple[str, ...]:
    """Return the programs over which :func:`curves` takes its means."""
    policies = {episode_row.policy for episode_row in contents.episodes}
    seen = {(row.policy, row.kernel) for row in contents.episodes}
    return tuple(
        program_row.name
        for program_row in contents.kernels
        if policies and all((policy, program_row.name) in seen for policy in policies)
    )


def passes(curve: Curve, level: float) -> int | None:
    """Return after how many episodes a curve is above a level, None if it never is.

    >>> passes(((1, 0.5), (4, 1.2), (9, 1.2)), 1.0)
    4
    """
    return next((number for number, mean in curve if mean > level), None)


def _best_so_far(
    episodes: Sequence[EpisodeRow], speedups: Mapping[int, float | None]
) -> tuple[list[int], list[float], int]:
    """Return where the best improves (numbers of episodes, bests) and how many there are."""
    numbers: list[int] = []
    bests: list[float] = []
    for count, episode_row in enumerate(sorted(episodes, key=lambda row: row.index), start=1):
        speedup = None if episode_row.outcome is None else speedups.get(episode_row.outcome)
        if speedup is not None and (not bests or speedup > bests[-1]):
            numbers.append(count)
            bests.append(speedup)
    return numbers, bests, len(episodes)


def _mean_curve(found: Sequence[tuple[list[int], list[float], int]], floor: float) -> Curve:
    changes = sorted({1, *(number for numbers, _, _ in found for number in numbers)})
    last = max(count for _, _, count in found)
    points = []
    for number in dict.fromkeys((*changes, last)):
        bests = [
            max(floor, values[position - 1])
            if (position := bisect_right(numbers, number))
            else floor
            for numbers, values, _ in found
        ]
        mean = geometric_mean(bests)
        assert mean is not None
        points.append((number, mean))
    return tuple(points)
