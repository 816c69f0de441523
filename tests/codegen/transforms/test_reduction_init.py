"""What sets elements right before their sums: where it moves to, and when it must stay."""

from dataclasses import astuple

import numpy as np
import pytest

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.loopir.ir import Block, Instance, Loop, LoopProgram, Node
from polygym.codegen.pipeline import lower
from polygym.codegen.transforms.reduction_init import sink_reduction_init
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.loops import events

SIZES = {"n": 7, "m": 9, "k": 5}


def text(body: str) -> str:
    return f"""
void f(int n, int m, int k, double C[n][m], double D[n][m], double A[n][k], double B[k][m]) {{
#pragma scop
{body}
#pragma endscop
}}
"""


EACH = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
SET = f"{EACH} C[i][j] = 0;"
SUM = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
  for (int l = 0; l < k; l++) C[i][j] += A[i][l] * B[l][j];"""


def before_and_after(body: str) -> tuple[LoopProgram, Node]:
    """Return loops that hold what they sum, and what becomes of them."""
    scop = parse_text(text(body))
    legal = LegalSchedule(scop, original_schedule(scop))
    mapping = parse_mapping("tile=off unroll_jam=1 vector_bits=off")
    tree = plan_tree(build_tree(legal), legal, mapping, this_machine(), SIZES)
    program = generate_loops(tree, legal, SIZES)
    return program, sink_reduction_init(program.body, scop, frozenset())


def count_nests(node: Node) -> int:
    """Return how many loops stand at the top."""
    match node:
        case Block(children):
            return sum(map(count_nests, children))
        case Loop():
            return 1
        case _:
            return 0


def set_right_before(node: Node, statement: str) -> bool:
    """Whether a statement stands beside a loop, with all of the loops around both."""
    match node:
        case Block(children):
            kinds = [type(child) for child in children]
            if kinds == [Instance, Loop] and children[0].statement == statement:
                return True
            return any(set_right_before(child, statement) for child in children)
        case Loop():
            return set_right_before(node.body, statement)
        case _:
            return False


MOVING = {
    "zero": f"{SET}\n{SUM}",
    "scaled": f"{EACH} C[i][j] *= 3;\n{SUM}",
    "from another array": f"{EACH} C[i][j] = D[i][j];\n{SUM}",
    "other order": f"for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) C[i][j] = 0;\n{SUM}",
    "shifted": f"""for (int i = 3; i < n + 3; i++) for (int j = 1; j <= m; j++)
      C[i - 3][j - 1] = D[i - 3][j - 1];\n{SUM}""",
    "others between": f"""{SET}
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) D[i][j] = 2;\n{SUM}""",
    "below common loops": """for (int i = 0; i < n; i++) {
      for (int j = 0; j < m; j++) C[i][j] = 0;
      for (int j = 0; j < m; j++) for (int l = 0; l < k; l++) C[i][j] += A[i][l] * B[l][j];
    }""",
    "a triangle": """for (int i = 0; i < n; i++) for (int j = i; j < m; j++) C[i][j] = 0;
    for (int i = 0; i < n; i++) for (int j = i; j < m; j++)
      for (int l = 0; l < k; l++) C[i][j] += A[i][l] * B[l][j];""",
}

STAYING = {
    "only part": f"{SET.replace('j < m', 'j < m - 1')}\n{SUM}",
    "more": f"{SET}\n{SUM.replace('j < m', 'j < m - 1')}",
    "a triangle of a square": f"{SET.replace('j = 0', 'j = i')}\n{SUM}",
    "another order of bounds": f"""for (int j = 0; j < m; j++) for (int i = 0; i <= j && i < n; i++)
      C[i][j] = 0;\n{SUM}""",
    "read between": f"""{SET}
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) D[i][j] = C[i][m - 1 - j];\n{SUM}""",
    "its source is overwritten": f"""{EACH} C[i][j] = D[i][j];
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) D[i][j] = 2;\n{SUM}""",
    "the sum reads others": f"{SET}\n{SUM.replace('A[i][l]', 'C[i][0]')}",
    "it reads others": f"{EACH} C[i][j] = D[i][j] + C[0][0];\n{SUM}",
    "set again and again": f"""for (int h = 0; h < 3; h++)
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) C[i][j] = h;\n{SUM}""",
    "a column": f"for (int i = 0; i < n; i++) C[i][4] = 0;\n{SUM}",
}


@pytest.mark.parametrize("name", MOVING)
def test_what_sets_the_elements_of_a_sum_moves_to_it(name: str) -> None:
    program, moved = before_and_after(MOVING[name])
    setting = program.scop.statements[0].name
    assert count_nests(moved) == max(1, count_nests(program.body) - 1)
    assert set_right_before(moved, setting)
    own = [[e[:2] for e in map(astuple, events(node, SIZES))] for node in (program.body, moved)]
    assert sorted(own[0]) == sorted(own[1]), "the same instances"


@pytest.mark.parametrize("name", STAYING)
def test_what_does_not_fit_stays(name: str) -> None:
    program, moved = before_and_after(STAYING[name])
    assert list(events(program.body, SIZES)) == list(events(moved, SIZES))


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", ["default", "tile=off separate=on vector_bits=256"])
@pytest.mark.parametrize("name", [*MOVING, *STAYING])
def test_no_result_changes(name: str, mapping: str) -> None:
    scop = parse_text(text((MOVING | STAYING)[name]))
    sizes = {"n": 13, "m": 21, "k": 6}
    arrays = random_arrays(scop, sizes, np.random.default_rng(7))
    runs = []
    for way in ("sequential", mapping):
        runs.append({key: values.copy() for key, values in arrays.items()})
        run_natively(
            scop,
            original_schedule(scop),
            sizes,
            runs[-1],
            parse_mapping(way),
            is_known=way == mapping,
        )
    for key, values in runs[0].items():
        assert runs[1][key].tobytes() == values.tobytes(), key


@pytest.mark.parametrize(
    "before",
    [
        "C[i][j] = 1; D[i][j] = C[i][0];",
        "C[i][j] *= 2; D[i][j] = C[j][i]; C[i][j] += 1;",
        "C[i][j] = 3; C[i][0] = 4;",
        "C[i][j] = C[0][j] + 1;",
    ],
)
def test_elements_with_two_names_are_in_memory_for_both(before: str) -> None:
    """What stands right before a sum may touch its element as another one's."""
    total = "for (int l = 0; l < k; l++) C[i][j] += A[i][l] * B[l][j];"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++)"
    scop = parse_text(text(f"{loops} {{ {before} {total} }}").replace("[m]", "[n]"))
    sizes = {"n": 9, "m": 9, "k": 4}
    arrays = random_arrays(scop, sizes, np.random.default_rng(7))
    expected = {key: values.copy() for key, values in arrays.items()}
    run_in_order(scop, sizes, expected)
    mapping = parse_mapping("tile=off vector_bits=off unroll_jam=1")
    run_natively(scop, original_schedule(scop), sizes, arrays, mapping, is_known=True)
    for key, values in expected.items():
        assert arrays[key].tobytes() == values.tobytes(), key


def test_the_first_value_is_never_loaded() -> None:
    """Besides A and B: C, but not where it is set to zero right before."""
    loads = {}
    for name in ("zero", "scaled", "only part"):
        scop = parse_text(text(MOVING.get(name) or STAYING[name]))
        legal = LegalSchedule(scop, original_schedule(scop))
        program = lower(legal, parse_mapping("tile=off vector_bits=off unroll_jam=1"), SIZES)
        loads[name] = emit_llvm(program).count("load double")
    assert loads == {"zero": 2, "scaled": 3, "only part": 3}
