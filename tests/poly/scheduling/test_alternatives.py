"""A few schedules of every program: legal, different, and isl is asked three times at most."""

from unittest.mock import patch

import pytest

import polybench
from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling import alternatives as module
from polygym.poly.scheduling.alternatives import DEFAULT_CANDIDATES, default_candidates
from polygym.poly.scheduling.baselines import original_schedule, schedule_by
from polygym.poly.scheduling.strategy import ISL, ORIGINAL, FixedStrategy, Fusion, IslOptions
from polygym.programs import load_scop

MINIMUM, PARALLEL = IslOptions(Fusion.MINIMUM), IslOptions(Fusion.PARALLEL)

# isl takes a second for each schedule of these.
_SLOW = ("heat-3d", "deriche", "adi")
NIGHTLY = pytest.mark.nightly
QUICK = [kernel.name for kernel in polybench.KERNELS if kernel.name not in _SLOW]


@pytest.mark.rotates
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=NIGHTLY) for n in _SLOW)])
def test_few_are_legal_and_different(name: str) -> None:
    scop = load_scop(name)
    schedules = default_candidates(scop)
    assert list(schedules) == [
        fixed_strategy for fixed_strategy in DEFAULT_CANDIDATES if fixed_strategy in schedules
    ]
    assert next(iter(schedules)) == ISL
    assert original_schedule(scop) in schedules.values()
    assert len(set(schedules.values())) == len(schedules)
    assert all(is_legal(scop, schedule) for schedule in schedules.values())
    assert all(schedule_by(strategy, scop) == schedule for strategy, schedule in schedules.items())


def asked(name: str) -> list[FixedStrategy]:
    """Return what isl is asked for on the way to a few schedules of a program."""
    calls: list[FixedStrategy] = []

    def counting(strategy: FixedStrategy, scop: Scop) -> Schedule:
        calls.append(strategy)
        return schedule_by(strategy, scop)

    with patch.object(module, "schedule_by", counting):
        default_candidates.__wrapped__(load_scop(name))
    return [fixed_strategy for fixed_strategy in calls if fixed_strategy != ORIGINAL]


@pytest.mark.parametrize(
    ("name", "strategies"),
    [
        ("gramschmidt", [ISL, MINIMUM, PARALLEL]),
        ("lu", [ISL, MINIMUM, PARALLEL]),
        ("gemm", [ISL, MINIMUM]),  # its outermost loops are parallel
        ("jacobi-2d", [ISL, MINIMUM]),  # it is skewed
        ("deriche", [ISL, MINIMUM]),  # it has very many dependences
    ],
)
def test_isl_is_asked_three_times_at_most(name: str, strategies: list[FixedStrategy]) -> None:
    assert asked(name) == strategies


def test_gramschmidt_has_one_without_fusion_of_what_differs_in_depth() -> None:
    """Its columns in parallel inside of k: a loop over j that nothing but j's statements share."""
    scop = load_scop("gramschmidt")
    by_hand = parse_schedule(
        "{ S4[k,j] -> [0,k,j,0,0]; S0[k] -> [1,k,0,0,0]; S1[k,i] -> [1,k,1,i,0]; "
        "S2[k] -> [1,k,2,0,0]; S3[k,i] -> [1,k,3,i,0]; S5[k,j,i] -> [1,k,4,j,i]; "
        "S6[k,j,i] -> [1,k,5,j,i] }",
        scop,
    )
    assert default_candidates(scop)[PARALLEL] == by_hand
    assert default_candidates(scop)[ISL] != by_hand


def test_what_isl_does_not_find_is_left_out() -> None:
    def never(strategy: FixedStrategy, scop: Scop) -> Schedule:
        if strategy == ORIGINAL:
            return original_schedule(scop)
        raise LimitError("isl's scheduler: too long")

    scop = load_scop("mvt")
    with patch.object(module, "schedule_by", never):
        assert default_candidates.__wrapped__(scop) == {ORIGINAL: original_schedule(scop)}
