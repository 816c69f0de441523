"""Calibration of the learned policy's caution on programs left out of its training.

Each case that has isl's schedule under the default mapping, and takes a millisecond there, is
decided once more by opinions of who has not seen its program, for every setting of ``caution`` and
``least_gain``; what was measured says what came of it. A program in several variants is as many
cases for that; which of these it is to have is asked apart.

Only the last corpus is asked, if it has :data:`ENOUGH_CASES` such cases, else the one before it as
well, and so on. What is generated for a schedule changes from version to version, and what was to
be gained over isl's in an old corpus may long be gained by all schedules: models still learn from
it what is fast, but it does not say what their promises are worth now.

Example: in one case the schedule that is promised 2^2 is four times as fast as isl's, in another
it is promised 2^0.25 and half as fast. With a ``least_gain`` of 0.2 the mean is √(4·½) = 1.41, with
0.3 it is √4 = 2, and no case is slower.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import exp, inf, sqrt

import numpy as np

from polygym.agents.pretraining.dataset import Array, CalibrationDataset
from polygym.autoschedule.weights import EnsembleScores, ensemble_gain
from polygym.mdp.policies.pretrained import SHORTLIST

CAUTION_GRID = (0.0, 0.5, 1.0, 1.5, 2.0)
LEAST_GAIN_GRID = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
MOST_SLOWER_SHARE, SLOWER_RATIO = 0.04, 0.95
LEAST_USEFUL_GAIN = 1.01
SHORTEST_SECONDS = 1e-3
"""Seconds; what takes less is as often slower by chance as by what was chosen."""
ENOUGH_CASES = 60
"""Cases from which it can be said how careful to be."""


@dataclass(frozen=True, slots=True)
class PolicyCalibration:
    """How careful the policy is, and what came of that in cases of programs left out.

    ``gain`` is the geometric mean of how many times as fast what it takes is as isl's schedule
    under the default mapping, ``best_gain`` what the fastest of those would give that it looks at
    with their loops; ``slower_share`` the share of cases that it makes slower than
    :data:`SLOWER_RATIO`, ``taken_share`` of those in which it takes something else at all.
    ``standard_error`` is the standard error of the logarithm of ``gain``.
    """

    caution: float
    least_gain: float
    gain: float
    best_gain: float
    slower_share: float
    taken_share: float
    cases: int
    standard_error: float


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScores:
    """What who has not seen a row's program thinks of it: a row for each, nan where nothing is.

    ``rows`` and ``loops`` are the scores of the networks' members, ``trees`` those of trees.
    """

    rows: Array
    loops: Array
    trees: Array

    def row_scores(self, row: int) -> EnsembleScores:
        """Return what is thought of a schedule's rows."""
        return EnsembleScores(self.rows[row])

    def loop_scores(self, row: int) -> EnsembleScores:
        """Return what is thought of its planned loops."""
        return EnsembleScores(self.loops[row], float(self.trees[row]))


def calibrate(dataset: CalibrationDataset, scores: HeldOutScores) -> PolicyCalibration:
    """Return how careful to be; nothing is promised enough where that gains nothing.

    What gains most does so by chance where others gain nearly as much: of all within its standard
    error, those count that make fewest cases slower, and of these the one that least often takes
    something else.
    """
    calibrations = [
        calibration_at(dataset, scores, caution, least)
        for caution, least in product(CAUTION_GRID, LEAST_GAIN_GRID)
    ]
    careful = [
        calibration
        for calibration in calibrations
        if calibration.slower_share <= MOST_SLOWER_SHARE and calibration.gain > 1
    ]
    if not careful:
        return calibration_at(dataset, scores, CAUTION_GRID[-1], inf)
    best = max(careful, key=lambda candidate: candidate.gain)
    near = [
        policy_calibration
        for policy_calibration in careful
        if policy_calibration.gain >= best.gain * exp(-best.standard_error)
    ]
    return min(near, key=lambda candidate: (candidate.slower_share, candidate.taken_share))


def calibration_at(
    dataset: CalibrationDataset, scores: HeldOutScores, caution: float, least: float
) -> PolicyCalibration:
    """Return what comes of being so careful."""
    result = []
    for own, now in _default_cases(dataset):
        # As the policy does with its schedule, under the default mapping: the first by rows, then
        # the first of these by loops.
        others = own[dataset.is_default[own]]
        by_rows = [
            ensemble_gain(scores.row_scores(row), scores.row_scores(now), caution) for row in others
        ]
        others = others[np.argsort(by_rows)[::-1][:SHORTLIST]]
        leads = [
            ensemble_gain(scores.loop_scores(row), scores.loop_scores(now), caution)
            for row in others
        ]
        result.append((now, _taken_row(others, leads, now, least), others))
    return _calibration_of(dataset, result, caution, least)


def calibrate_mappings(
    dataset: CalibrationDataset, said: HeldOutScores, caution: float
) -> PolicyCalibration:
    """Return what has to be promised of another mapping; never enough where little is gained."""
    calibrations = [
        mapping_calibration_at(dataset, said, caution, least) for least in LEAST_GAIN_GRID
    ]
    careful = [
        calibration
        for calibration in calibrations
        if calibration.slower_share <= MOST_SLOWER_SHARE and calibration.gain >= LEAST_USEFUL_GAIN
    ]
    return max(
        careful,
        key=lambda policy_calibration: policy_calibration.gain,
        default=replace(calibrations[-1], least_gain=inf),
    )


def mapping_calibration_at(
    dataset: CalibrationDataset, said: HeldOutScores, caution: float, least: float
) -> PolicyCalibration:
    """Return what comes of being so careful about mappings of isl's schedule."""
    result = []
    for own, now in _default_cases(dataset):
        others = own[dataset.is_isl[own]]
        leads = [
            ensemble_gain(said.loop_scores(row), said.loop_scores(now), caution) for row in others
        ]
        result.append((now, _taken_row(others, leads, now, least), others))
    return _calibration_of(dataset, result, caution, least)


def variant_calibration_at(
    dataset: CalibrationDataset, said: HeldOutScores, least: float
) -> PolicyCalibration:
    """Return what comes of choosing variants by what is promised of isl's schedules in them.

    A case counts if isl's schedule under the default mapping was measured of the program as it was
    written and in another variant.
    """
    result = []
    usual = dataset.is_isl & dataset.is_default
    for case in np.unique(dataset.case_index):
        of_case = np.flatnonzero(dataset.case_index == case)
        variants, firsts = np.unique(
            dataset.variant_index[of_case[usual[of_case]]], return_index=True
        )
        if len(variants) < 2 or variants[0] > dataset.variant_index[of_case].min():
            continue
        now, *others = of_case[usual[of_case]][firsts]
        if dataset.seconds[now] >= SHORTEST_SECONDS:
            leads = [
                ensemble_gain(said.loop_scores(row), said.loop_scores(now), 0.0) for row in others
            ]
            taken = _taken_row(np.array(others), leads, now, least)
            result.append((int(now), taken, np.array([now, *others])))
    return _calibration_of(dataset, result, 0.0, least)


def _default_cases(dataset: CalibrationDataset) -> Iterator[tuple[Array, int]]:
    """Yield the rows of every case that counts, and the one of what is usual."""
    literal = 0
    for corpus in np.unique(dataset.corpus_index)[::-1]:
        if literal >= ENOUGH_CASES:
            return
        for variant in np.unique(dataset.variant_index[dataset.corpus_index == corpus]):
            own = np.flatnonzero(dataset.variant_index == variant)
            usual = own[dataset.is_isl[own] & dataset.is_default[own]]
            if len(usual) and dataset.seconds[usual[0]] >= SHORTEST_SECONDS:
                literal += 1
                yield own, int(usual[0])


def _taken_row(others: Array, leads: Sequence[float], now: int, least: float) -> int:
    place = int(np.argmax(leads))
    return int(others[place]) if leads[place] > least else now


def _calibration_of(
    dataset: CalibrationDataset,
    cases: Sequence[tuple[int, int, Array]],
    caution: float,
    least: float,
) -> PolicyCalibration:
    """Return what came of cases: what was usual in each, what is taken, and of what."""
    if not cases:
        return PolicyCalibration(caution, least, 1.0, 1.0, 0.0, 0.0, 0, 0.0)
    seconds = dataset.seconds
    speed = np.array([seconds[now] / seconds[taken] for now, taken, _ in cases])
    best = np.array([seconds[now] / seconds[others].min() for now, _, others in cases])
    others = sum(bool(now != taken) for now, taken, _ in cases)
    return PolicyCalibration(
        caution, least, _mean(speed), _mean(best), float((speed < SLOWER_RATIO).mean()),
        others / len(cases), len(cases), float(np.log(speed).std() / sqrt(len(cases))),
    )  # fmt: skip


def _mean(values: Array) -> float:
    return float(np.exp(np.log(values).mean()))
