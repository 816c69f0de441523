"""Whatever the mapping, the program computes the same bits, also when every loop is shared out.

One seed in four is built *watched*: that code checks all that it relies on as it runs.
"""

import pytest

from tests.codegen.mapped_programs import PROGRAMS, REFUSED, disagreement
from tests.oracles.threads import every_loop_shared


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_mappings_of_random_schedules(name: str) -> None:
    with every_loop_shared():
        answers = [disagreement(name, seed, is_watched=seed % 4 == 3) for seed in range(6)]
    assert [said for said in answers if said not in (None, REFUSED)] == []
    assert answers.count(REFUSED) < 4


def test_threads_are_among_them() -> None:
    """Some of the mappings above ask for threads, and get them."""
    with every_loop_shared() as forks:
        assert {disagreement("product", seed) for seed in range(8)} <= {None, REFUSED}
    assert set(forks.asked) >= {2} or set(forks.asked) >= {4}


def test_code_that_divides_in_128_bits_is_linked() -> None:
    assert disagreement("transposed", 1016) is None
