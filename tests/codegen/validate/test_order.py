"""The order of isl's loops is judged exactly; what it refuses breaks a dependence."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest

from polybench import Dataset
from polygym.codegen.generation import loop_generation
from polygym.codegen.loopir.ir import Block, Guard, Instance, Loop, Node, count_instances
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.build import build_tree
from polygym.codegen.validate import execution
from polygym.codegen.validate.order import WrongLoopsError, check_legal_order
from polygym.errors import LimitError
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from tests.codegen.mapped_programs import scop_of

# A legal schedule of correlation: isl runs S9(0, j) before S6(0), which makes what it reads.
MISORDERED = """
[m, n] -> { S0[j] -> [-3j - 4, -6j - 3n - 3, -3j - n - 4, -5j - n - 8, j, 0, 0];
S1[j, i] -> [-3j - 4, -6j - 3n - 3, -3j + i - n - 4, -4j - n - 7, j, i, 1];
S2[j] -> [-3j - 4, -6j - 3n - 3, -3j - 3, -4j - n - 6, j, 0, 2];
S3[j] -> [-j - 4, -6j - 6, -3j - 3, -4j - 2n - 5, j, 0, 3];
S4[j, i] -> [-j - 4, -6j - 6, -3j - 3, -4j + i - n - 5, j, i, 4];
S5[j] -> [-j - 2, -6j - 6, -3j - 2, -3j - 5, j, 0, 5];
S6[j] -> [-j, 0, -2j, -3j - 4, j, 0, 6]; S7[j] -> [0, 0, -2j, -3, j, 0, 7];
S8[i, j] -> [3i - 2, i - 6j - 6, -j - 3, i - j - n - 2, i, j, 8];
S9[i, j] -> [5i, i, 0, 0, i, j, 9]; S10[i] -> [n - 1, 0, n, i + n - 2, i, 0, 10];
S11[i, j] -> [3n - 5, -6j + 6n - 3, j - m + 1, 0, i, j, 11];
S12[i, j, k] -> [2k + 3n - 3, 3k + 6n - 6, k, 2k + 1, i, j, 12];
S13[i, j] -> [-i + j + 5n - 6, -3i + 3j + 12n - 15, -i + j + n - 2, 2i + 2n, i, j, 13];
S14[] -> [0, -3m - 3n - 6, -m - 2, -1, 0, 0, 14] }
"""

PATIENT = EvaluationOptions(timeout_factor=1e5, compile_seconds=60.0)

SIZES = {"n": 40, "m": 37, "k": 41, "t": 11}


def misordered() -> tuple[LegalSchedule, dict[str, int]]:
    program = load_program("correlation", dataset=Dataset.MEDIUM)
    return LegalSchedule(program.scop, parse_schedule(MISORDERED, program.scop)), dict(
        program.parameters
    )


@pytest.mark.parametrize("whole", [False, True])
def test_loops_that_isl_gets_wrong_are_refused(whole: bool) -> None:
    legal, sizes = misordered()
    with pytest.raises(WrongLoopsError, match="in the wrong order"):
        loop_generation.generate_loops(build_tree(legal), legal, sizes, whole=whole)


@pytest.mark.parametrize("mapping", [DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping(threads=2)])
def test_loops_for_all_sizes_take_their_place(mapping: Mapping) -> None:
    legal, sizes = misordered()
    program = lower(legal, mapping, sizes)
    assert program.sizes is None
    assert count_instances(program.body) == len(legal.scop.statements)
    execution.check_by_execution(program.body, build_tree(legal), legal, sizes)


# A legal schedule of heat-3d; when isl may split its loops, there is no end to them.
IRREGULAR = """
[tsteps, n] -> { S0[t, i, j, k] -> [4t + 2j - 2k - 2tsteps - 2, 4t + 2i + 2j + 2k + 2tsteps
+ 2n - 2, 9t - 4j + 2k - n - 5, 4t - 2n + 1]; S1[t, i, j, k] -> [4t + 2j - 2k - 2tsteps,
4t + 2i + 2j + 2k + 2tsteps + 2n, 9t - 4j + 2k - n, 4t - 2n + 2] }
"""


@pytest.mark.parametrize("mapping", [DEFAULT_MAPPING, Mapping(threads=2)])
def test_loops_that_are_not_split_take_their_place(mapping: Mapping) -> None:
    program = load_program("heat-3d", dataset=Dataset.MEDIUM)
    schedule = parse_schedule(IRREGULAR, program.scop)
    loop_program = lower(LegalSchedule(program.scop, schedule), mapping, dict(program.parameters))
    assert count_instances(loop_program.body) == 2
    with Evaluator(program, PATIENT) as evaluator:
        assert evaluator.evaluate(schedule, mapping).is_ok


def rearranged(node: Node) -> Iterator[Node]:
    """Yield the node with the children of one block turned round, for every block."""
    match node:
        case Block(children):
            if len(children) > 1:
                yield Block(children[::-1])
            for place, child in enumerate(children):
                for other in rearranged(child):
                    yield Block((*children[:place], other, *children[place + 1 :]))
        case Loop(body=body):
            for other in rearranged(body):
                yield replace(node, body=other)
        case Guard(then=then):
            for other in rearranged(then):
                yield replace(node, then=other)
        case Instance():
            return


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", ["jacobi", "lu", "product", "recurrence"])
def test_statements_in_the_wrong_order_are_refused(name: str, is_known: bool) -> None:
    """Every block of the original order turned round breaks a dependence of these programs."""
    scop = scop_of(name)
    sizes = {p.name: SIZES[p.name] for p in scop.parameters} if is_known else None
    legal = LegalSchedule(scop, original_schedule(scop))
    refused = []

    def spy(body, counters, numbers, scop, sizes, sums) -> None:  # type: ignore[no-untyped-def]
        assert not sums
        check_legal_order(body, counters, numbers, scop, sizes)
        for wrong in rearranged(body):
            with pytest.raises(LimitError, match="in the wrong order"):
                check_legal_order(wrong, counters, numbers, scop, sizes)
            refused.append(wrong)
        half = counters[0].intersect_domain(counters[0].domain().lexmin())
        with pytest.raises(LimitError, match="every instance once"):
            check_legal_order(body, [half, *counters[1:]], numbers, scop, sizes)

    with patch.object(loop_generation, "check_legal_order", spy):
        loop_generation.generate_loops(build_tree(legal), legal, sizes)
    assert refused


def sampled(name: str, body_of: Callable[[Node], Iterator[Node]]) -> int:
    """Run a sample of what is made of isl's loops; return how many that were."""
    scop = scop_of(name)
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {p.name: SIZES.get(p.name, 43) for p in scop.parameters}
    tree = build_tree(legal)
    body = loop_generation.generate_loops(tree, legal, sizes).body
    count = 0
    with patch.object(execution, "TUNING", replace(TUNING, max_checked_instances=0)):
        for node in body_of(body):
            execution.check_by_execution(node, tree, legal, sizes)
            count += 1
    return count


@pytest.mark.parametrize("name", ["jacobi", "lu", "product", "statistics", "fields"])
def test_samples_of_large_sizes_pass(name: str) -> None:
    assert sampled(name, lambda body: iter([body])) == 1


@pytest.mark.parametrize("name", ["lu", "product", "statistics"])
def test_samples_of_large_sizes_show_a_wrong_order(name: str) -> None:
    """In these programs the statements of each block have different values along the tree."""
    with pytest.raises(LimitError, match="in the wrong order"):
        sampled(name, rearranged)
