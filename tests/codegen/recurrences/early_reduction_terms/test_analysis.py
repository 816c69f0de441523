"""Terms of sums that run before their tile: which these are, nothing lost, and where none are."""

from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.common.reduction_order import reorderable_reductions
from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Branch, Leaf, SequenceNode, Tree, reordered_reductions_in
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.codegen.tree.printer import print_tree
from polygym.codegen.validate.order import timestamps_along
from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import random_mapping
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.instances import trace
from tests.oracles.mapped_trees import Run, check_tree
from tests.oracles.random_schedules import random_legal_schedule
from tests.oracles.reduction_order import conflicts_by_force

HEAD = "void f(int r, int n, {kind} t[n][n], {kind} w[n][n], {kind} v[n]) {{\n#pragma scop\n"
TRIANGLE = """
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {{
      {before}
      for (int k = i + 1; k < j; k++)
        {term}
      {after}
    }}
"""
SQUARE = """
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {{
      {before}
      for (int k = 0; k < {end}; k++)
        {term}
      {after}
    }}
"""
MAXIMUM, SUM, BITS = "maximum", "sum", "bits"
TERMS = {
    MAXIMUM: "t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];",
    SUM: "t[i][j] += t[i][k] * t[k][j];",
    BITS: "t[i][j] ^= t[i][k] + t[k + 1][j];",
    "difference": "t[i][j] -= t[i][k] * w[k][j];",
    "no reduction": "t[i][j] = t[i][k] < t[i][j] - t[k][j] + v[j] ? t[i][k] : t[i][j];",
}
BEFORE = {
    MAXIMUM: "t[i][j] = t[i][j] >= t[i + 1][j] ? t[i][j] : t[i + 1][j];",
    SUM: "t[i][j] += t[i][j - 1];",
    BITS: "t[i][j] ^= t[i + 1][j - 1] + v[j];",
    "difference": "t[i][j] -= w[j][i];",
    "set": "t[i][j] = w[i][j];",
    "nothing": "",
}
AFTER = {
    "read": "v[i] = t[i][j] - v[i];",
    "read by another": "w[i][j] ^= t[i][j];",
    "added to": "t[i][j] += w[j][i];",
    "nothing": "",
}
ENDS = ("i", "j", "(i < j ? i : j)", "n - 1 - i")


def text_of(body: str, kind: str = "int") -> str:
    return f"{HEAD.format(kind=kind)}{body}#pragma endscop\n}}\n"


def folded(term: str = TERMS[MAXIMUM], before: str = "", after: str = "", kind: str = "int") -> str:
    return text_of(TRIANGLE.format(before=before, term=term, after=after), kind)


NUSSINOV = folded(before=f"{BEFORE[MAXIMUM]}\n      t[i][j] = t[i][j] > v[j] ? t[i][j] : v[j];")


def planned(scop: Scop, mapping: str, size: int) -> tuple[LegalSchedule, Tree, dict[str, int]]:
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {parameter.name: size for parameter in scop.parameters}
    return (
        legal,
        plan_tree(build_tree(legal), legal, parse_mapping(mapping), Machine(), sizes),
        sizes,
    )


def first_branches(tree: Tree) -> list[Branch]:
    match tree:
        case Leaf():
            return []
        case Band(child=child):
            return first_branches(child)
        case SequenceNode(branches):
            result = [
                branch
                for branch in branches
                if branch.predicate and not branch.predicate.is_complement
            ]
            return [
                *result,
                *(branch for part in branches for branch in first_branches(part.child)),
            ]


@pytest.mark.parametrize("mapping", ["tile=2", "tile=3 threads=2", "tile=2 threads=3 diamond=off"])
@pytest.mark.parametrize("operator", [MAXIMUM, SUM, BITS])
def test_what_has_to_keep_its_order_does(operator: str, mapping: str) -> None:
    scop = parse_text(folded(TERMS[operator], after=AFTER["read"]))
    legal, tree, sizes = planned(scop, mapping, 13)
    (branch,) = first_branches(tree)
    (name,) = branch.statements
    assert reordered_reductions_in(tree) == {reorderable_reductions(scop, name, reassociate=False)}
    run = trace(scop, original_schedule(scop), sizes)
    pairs = conflicts_by_force(scop, run, reordered_reductions_in(tree), sizes)
    check_tree(tree, Run(scop, sizes, run, frozenset(pairs)), legal.schedule.parameters)


def test_most_terms_run_before_their_tile() -> None:
    scop = parse_text(NUSSINOV)
    legal, tree, sizes = planned(scop, "tile=2", 32)
    (branch,) = first_branches(tree)
    (name,) = branch.statements
    assert "where" in print_tree(tree, scop, legal.schedule)
    times = timestamps_along(tree, legal, name)
    terms = [(i, j, k) for i in range(32) for j in range(i + 1, 32) for k in range(i + 1, j)]
    # What is in the first branch has its number, 0, behind those of two tiles.
    first = sum(times(*term, *sizes.values())[2] == 0 for term in terms)
    assert 0.6 * len(terms) < first < len(terms)


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        (NUSSINOV, "tile=2 scalar_replacement=off"),
        (NUSSINOV, "tile=2 vector_bits=off"),
        (NUSSINOV, "tile=off"),
        (NUSSINOV, "tile=2x3"),
        (NUSSINOV, "tile=8"),  # so few tiles that there is nothing between the ends
        (folded(TERMS[SUM], kind="double"), "tile=2"),
        (folded(TERMS[SUM], kind="float"), "tile=2"),
    ],
)
def test_where_terms_stay(text: str, mapping: str) -> None:
    assert first_branches(planned(parse_text(text), mapping, 16)[1]) == []


def test_where_elements_are_set_in_the_same_tile_terms_stay() -> None:
    scop = parse_text(folded(before="t[i][j] = w[i][j];"))
    legal, sizes = LegalSchedule(scop, original_schedule(scop)), {"n": 16}
    tree = plan_tree(build_tree(legal), legal, parse_mapping("tile=2"), Machine(), sizes)
    assert first_branches(tree) == []


def test_sums_of_floats_run_so_if_they_may_be_taken_in_any_order() -> None:
    scop = parse_text(folded(TERMS[SUM], kind="double"))
    assert first_branches(planned(scop, "tile=2 reassociate=on", 16)[1])


def test_terms_that_run_too_early_are_refused() -> None:
    scop = parse_text(NUSSINOV)
    legal, tree, sizes = planned(scop, "tile=4", 24)
    generate_loops(tree, legal, sizes)
    for condition in range(2):
        with pytest.raises(LimitError, match="in the wrong order"):
            generate_loops(_widened(tree, condition), legal, sizes)


def _widened(tree: Tree, place: int) -> Tree:
    """Return a tree with one more tile on one side in the first branch."""
    match tree:
        case Leaf():
            return tree
        case Band(statements, members, child):
            return Band(statements, members, _widened(child, place))
        case SequenceNode(branches):
            return SequenceNode(tuple(_wider(branch, place) for branch in branches))


def _wider(branch: Branch, place: int) -> Branch:
    if branch.predicate is None:
        return replace(branch, child=_widened(branch.child, place))
    (conditions,) = branch.predicate.conditions
    factors, constant = conditions[place]
    wider = (*conditions[:place], (factors, constant + 1), *conditions[place + 1 :])
    return replace(branch, predicate=replace(branch.predicate, conditions=(wider,)))


def disagreement(text: str, seed: int, mapping: Mapping) -> str | None:
    """Run a program under one schedule and mapping; say what differs from its own order."""
    scop, rng = parse_text(text), np.random.default_rng(seed)
    schedule = isl_schedule(scop)
    if seed % 8 == 0:
        schedule = random_legal_schedule(scop, rng, rows=int(rng.integers(1, 3)))
    elif seed % 8 == 1:
        schedule = original_schedule(scop)
    parameters = {"r": 2, "n": int(rng.choice([7, 16, 17, 24, 33, 40]))}
    parameters = {parameter.name: parameters[parameter.name] for parameter in scop.parameters}
    arrays = random_arrays(scop, parameters, rng)
    for array in arrays.values():  # numbers whose sums wrap around
        limits = np.iinfo(array.dtype)
        array[...] = rng.integers(limits.min, limits.max, size=array.shape, dtype=array.dtype)
    expected = {name: array.copy() for name, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    try:
        run_natively(scop, schedule, parameters, arrays, mapping, is_known=True)
    except LimitError:
        return None
    for name, array in arrays.items():
        if array.tobytes() != expected[name].tobytes():
            return f"{name} differs with {parameters}, {schedule}, {mapping}"
    return None


def random_text(rng: np.random.Generator) -> str:
    """Return a program in which sums read what others have summed up, once or in two rounds."""
    operator = str(rng.choice(list(TERMS), p=[0.35, 0.3, 0.25, 0.05, 0.05]))
    likely = [operator] * 9 if operator in BEFORE else []
    before = BEFORE[str(rng.choice([*likely, *BEFORE]))]
    term, after = TERMS[operator], AFTER[str(rng.choice(list(AFTER)))]
    if rng.random() < 0.9:
        body = TRIANGLE.format(before=before, term=term, after=after)
    else:
        before = "" if "1" in before else before
        term = term.replace("k + 1", "k")
        body = SQUARE.format(before=before, term=term, after=after, end=rng.choice(ENDS))
    if rng.random() < 0.3:
        body = f"  for (int s = 0; s < r; s++) {{\n{body}  }}\n"
    return text_of(body, str(rng.choice(["int", "long"])))


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_vectors_have_the_same_bits(threads: int) -> None:
    scop = parse_text(NUSSINOV)
    _, tree, _ = planned(scop, f"threads={threads}", 150)
    assert first_branches(tree)
    sizes, rng = {"n": 150}, np.random.default_rng(5)
    arrays = random_arrays(scop, sizes, rng)
    expected = {name: array.copy() for name, array in arrays.items()}
    run_in_order(scop, sizes, expected)
    schedule = isl_schedule(scop)
    run_natively(scop, schedule, sizes, arrays, Mapping(threads=threads), is_known=True)
    for name, array in arrays.items():
        assert array.tobytes() == expected[name].tobytes()


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_have_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng([43, seed])
    text = random_text(rng)
    size = int(rng.choice([2, 3, 4]))
    mapping = Mapping(threads=1 + seed % 3, tile=(size,))
    if seed % 4 == 3:  # of some kind, in such tiles
        mapping = replace(random_mapping(rng), threads=1 + seed % 3, tile=(size,))
    answer = disagreement(text, seed, mapping)
    assert answer is None, f"{answer}\n{text}"
