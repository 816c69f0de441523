"""How much of an array is alive at a time: compared with brute force, and used."""

import islpy as isl
import pytest

from polygym.codegen.contraction import certain_order, contract_legal
from polygym.codegen.tree.build import build_tree
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import original_order
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.contraction import contract_arrays, liveness_windows
from polygym.poly.transform.storage.memory_cost import new_arrays
from polygym.poly.transform.storage.plan import parse_storage
from tests.oracles.instances import instances, pairs, trace
from tests.poly.transform.storage.random_plans import scop_of

FIBONACCI = """
void f(int n, double x[n]) {
  double f[n + 2];
#pragma scop
  f[0] = 1.0;
  f[1] = 2.0;
  for (int i = 2; i < n; i++)
    f[i] = f[i - 1] + f[i - 2];
  for (int i = 2; i < n; i++)
    x[i] = 1.0;
#pragma endscop
}
"""
CASES = (
    ("two_recurrences", "a=expand b=expand c=expand"),
    ("symmetric", "t=expand"),
    ("live_after", "s=expand"),
    ("between_nests", "t=expand u=expand"),
    ("row_used_again", "row=expand:k"),
    ("conditional", "w=expand"),
)


def under(name: str, plan: str) -> Scop:
    return apply_plan(scop_of(name), parse_storage(plan))


def total_order(scop: Scop) -> isl.UnionMap:
    order = original_order(scop)
    return order.lex_lt_union_map(order)


def windows_by_force(scop: Scop, array: str, size: int) -> tuple[int, ...]:
    """Return the windows in the order of the text, from the definition, at one size."""
    sizes = {parameter.name: size for parameter in scop.parameters}
    run = trace(scop, original_schedule(scop), sizes)
    lives: list[tuple[tuple[int, ...], int, int]] = []  # element, written, last read
    writes: list[tuple[tuple[int, ...], int]] = []
    current: dict[tuple[int, ...], list[int]] = {}
    for time, instance in enumerate(run.order):
        for name, element in run.reads[instance]:
            if name == array:
                current[element][1] = time
        for name, element in run.writes[instance]:
            if name == array:
                if element in current:
                    lives.append((element, *current[element]))
                current[element] = [time, time]
                writes.append((element, time))
    lives += [(element, *span) for element, span in current.items()]
    distances = {
        tuple(a - b for a, b in zip(element, other, strict=True))
        for element, begin, end in lives
        for other, time in writes
        if begin < time < end
    }
    rank = scop.array(array).rank
    windows = [0] * rank
    for place in reversed(range(rank)):
        here = [
            abs(distance[place])
            for distance in distances
            if all(
                distance[k] % windows[k] == 0 if windows[k] else distance[k] == 0
                for k in range(rank)
                if k != place
            )
        ]
        windows[place] = max(here, default=0) + 1
        if windows[place] >= size - 2:
            windows[place] = 0  # it grows with the size
    return tuple(windows)


@pytest.mark.parametrize(("name", "plan"), CASES)
def test_windows_in_the_order_of_the_text(name: str, plan: str) -> None:
    scop = under(name, plan)
    order = total_order(scop)
    for array in new_arrays(scop):
        assert liveness_windows(scop, order, array.name) == windows_by_force(scop, array.name, 6)


def test_two_of_the_numbers_of_fibonacci() -> None:
    scop = apply_plan(parse_text(FIBONACCI), parse_storage("f=rename contract"))
    assert liveness_windows(scop, total_order(scop), "f_1") == (2,)
    contracted = contract_legal(LegalSchedule(scop, original_schedule(scop))).scop
    assert contracted.array("f_1").c_extents == ("2",)
    statement = contracted.statement("S2")
    written = isl.Map(statement.write.relation).intersect_domain(isl.Set(statement.domain))
    assert dict(pairs(written, {"n": 5})) == {(2,): (0,), (3,): (1,), (4,): (0,)}
    with pytest.raises(InputError, match="would not see the value"):
        contract_arrays(scop, original_schedule(scop), {"f_1": (1,)})


@pytest.mark.parametrize(("name", "plan"), CASES)
def test_what_is_certain_in_a_tree_holds_in_every_order_of_it(name: str, plan: str) -> None:
    """Compared with the definition, pair by pair: none of a parallel loop, all of a sequential."""
    scop = under(name, plan)
    legal = LegalSchedule(scop, original_schedule(scop))
    certain = certain_order(scop, build_tree(legal))
    assert certain.is_subset(total_order(scop))
    sizes = {parameter.name: 3 for parameter in scop.parameters}
    assert len(instances(scop, sizes)) > 3
    assert build_tree(contract_legal(legal)) == build_tree(legal)


def test_parallel_loops_keep_what_makes_them_parallel() -> None:
    scop = under("symmetric", "t=expand contract")
    inner = LegalSchedule(scop, original_schedule(scop))
    assert contract_legal(inner).scop.array("t_1").c_extents == ("n",)
    text = "{ S0[i,j] -> [0,i,j,0]; S1[i,j,k] -> [1,j,k,i]; S2[i,j,k] -> [1,j,i,-i+k]; "
    text += "S3[i,j] -> [1,j,i,0] }"
    outer = LegalSchedule(scop, parse_schedule(text, scop))
    assert contract_legal(outer).scop.array("t_1").c_extents == ("m", "n")
