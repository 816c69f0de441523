"""Rehearsal refuses loops whose instances or order are wrong, wherever they became wrong."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.loopir.index_arithmetic import add_constant, substitute_in
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    Node,
)
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.codegen.validate.execution import check_by_execution
from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from tests.codegen.mapped_programs import scop_of

Tampering = Callable[[Node], Node | None]


def generated(name: str, mapping: str) -> tuple[Node, Tree, LegalSchedule]:
    scop = scop_of(name)
    legal = LegalSchedule(scop, isl_schedule(scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), Machine())
    return generate_loops(tree, legal).body, tree, legal


def everywhere(node: Node, tamper: Tampering) -> Iterator[Node]:
    """Yield the node with one place in it changed, for every place that can be."""
    changed = tamper(node)
    if changed is not None:
        yield changed
    match node:
        case Block(children):
            for place, child in enumerate(children):
                for other in everywhere(child, tamper):
                    yield Block((*children[:place], other, *children[place + 1 :]))
        case Loop(body=body):
            for other in everywhere(body, tamper):
                yield replace(node, body=other)
        case Guard(then=then, otherwise=otherwise):
            for other in everywhere(then, tamper):
                yield replace(node, then=other)
            if otherwise is not None:
                for other in everywhere(otherwise, tamper):
                    yield replace(node, otherwise=other)
        case Instance():
            return


def shorter(node: Node) -> Node | None:
    return replace(node, upper=add_constant(node.upper, -1)) if isinstance(node, Loop) else None


def later(node: Node) -> Node | None:
    return replace(node, lower=add_constant(node.lower, 1)) if isinstance(node, Loop) else None


def twice(node: Node) -> Node | None:
    return Block((node, node)) if isinstance(node, Instance) else None


def gone(node: Node) -> Node | None:
    return Guard(IndexConstant(0), node, None) if isinstance(node, Instance) else None


def elsewhere(node: Node) -> Node | None:
    """Move an instance to the neighbour of the one that should run."""
    if not isinstance(node, Instance) or not node.iterators:
        return None
    first, *others = node.iterators
    return replace(node, iterators=(add_constant(first, 1), *others))


def swapped(node: Node) -> Node | None:
    """Exchange the first two of several nodes."""
    match node:
        case Block((first, second, *others)):
            return Block((second, first, *others))
    return None


CASES = [("product", "tile=4"), ("product", "default"), ("lu", "tile=3x2"), ("fields", "tile=3")]


@pytest.mark.parametrize(("name", "mapping"), CASES)
def test_what_isl_made_passes(name: str, mapping: str) -> None:
    body, tree, legal = generated(name, mapping)
    check_by_execution(body, tree, legal)
    # What follows would prove nothing if the loops had no places to change.
    assert list(everywhere(body, later))


@pytest.mark.parametrize("tamper", [twice, gone, elsewhere])
@pytest.mark.parametrize(("name", "mapping"), CASES[:3])
def test_wrong_instances_are_refused(name: str, mapping: str, tamper: Tampering) -> None:
    body, tree, legal = generated(name, mapping)
    for wrong in list(everywhere(body, tamper))[:6]:
        with pytest.raises(LimitError, match="do not run every instance once"):
            check_by_execution(wrong, tree, legal)


@pytest.mark.parametrize("tamper", [shorter, later])
def test_wrong_bounds_are_refused(tamper: Tampering) -> None:
    body, tree, legal = generated("product", "sequential")
    for wrong in everywhere(body, tamper):
        with pytest.raises(LimitError, match="do not run every instance once"):
            check_by_execution(wrong, tree, legal)


def test_a_wrong_order_of_statements_is_refused() -> None:
    body, tree, legal = generated("jacobi", "tile=off")
    refused = 0
    for wrong in everywhere(body, swapped):
        with pytest.raises(LimitError, match="in the wrong order"):
            check_by_execution(wrong, tree, legal)
        refused += 1
    assert refused


def test_a_loop_that_runs_backwards_is_refused() -> None:
    body, tree, legal = generated("seidel", "sequential")

    def backwards(node: Node) -> Node | None:
        """Count a loop down: c becomes lower + upper - c inside."""
        if not isinstance(node, Loop) or not isinstance(node.body, Loop | Instance):
            return None
        ends = IndexOperation(IndexOperator.ADD, (node.lower, node.upper))
        turned = IndexOperation(IndexOperator.SUBTRACT, (ends, IndexVariable(node.variable)))
        return replace(node, body=substitute_in(node.body, {node.variable: turned}))

    refused = 0
    for wrong in everywhere(body, backwards):
        with pytest.raises(LimitError, match="in the wrong order"):
            check_by_execution(wrong, tree, legal)
        refused += 1
    assert refused == 3


def test_loops_that_run_far_too_often_are_refused() -> None:
    body, tree, legal = generated("product", "sequential")
    idle = Loop(
        "w0", IndexConstant(1), IndexConstant(10_000_000), 1, Guard(IndexConstant(0), body, None)
    )
    with pytest.raises(LimitError, match="far more often"):
        check_by_execution(Block((body, idle)), tree, legal)


LARGE = {"n": 61, "m": 67, "p": 71, "t": 40}


def large(legal: LegalSchedule) -> dict[str, int]:
    """Return sizes at which there are too many instances to run all."""
    return {parameter.name: LARGE.get(parameter.name, 61) for parameter in legal.scop.parameters}


@pytest.mark.parametrize(("name", "mapping"), [*CASES, ("jacobi", "sequential")])
def test_long_loops_pass(name: str, mapping: str) -> None:
    body, tree, legal = generated(name, mapping)
    check_by_execution(body, tree, legal, large(legal))


@pytest.mark.parametrize("tamper", [shorter, later, gone, elsewhere])
@pytest.mark.parametrize(("name", "mapping"), [("product", "tile=4"), ("lu", "sequential")])
def test_what_is_missing_at_an_end_of_long_loops_is_seen(
    name: str, mapping: str, tamper: Tampering
) -> None:
    """A sample of what runs is right; that a corner does not run is seen as it is looked for."""
    body, tree, legal = generated(name, mapping)
    changed = list(everywhere(body, tamper))
    assert changed
    for wrong in changed:
        with pytest.raises(LimitError, match="do not run every instance once"):
            check_by_execution(wrong, tree, legal, large(legal))


@pytest.mark.parametrize("order", ["[0, 0]", "[i, 0]", "[i + j, 0]", "[2i, 2j]"])
def test_instances_that_share_a_time_are_run_by_loops_without_members(order: str) -> None:
    """All instances at one time, or many: what no member says is no reason to refuse loops."""
    scop = parse_text(
        "void f(int n, double A[n][n]) {\n#pragma scop\nfor (int i = 0; i < n; i++)\n"
        "for (int j = 0; j < n; j++) A[i][j] = A[i][j] * 2;\n#pragma endscop\n}"
    )
    legal = LegalSchedule(scop, parse_schedule(f"[n] -> {{ S0[i, j] -> {order} }}", scop))
    for mapping in ("sequential", "default"):
        assert lower(legal, parse_mapping(mapping), {"n": 900}).sizes == (("n", 900),)


def test_what_runs_once_more_in_long_loops_is_seen() -> None:
    """The last iteration of the innermost loop runs an instance of the one before it again."""
    body, tree, legal = generated("product", "sequential")
    seen = 0

    def again(node: Node) -> Node | None:
        """Run an instance at the iteration after its own, too, if that is the last."""
        if not isinstance(node, Loop) or not isinstance(node.body, Instance):
            return None
        late = substitute_in(
            node.body, {node.variable: add_constant(IndexVariable(node.variable), -1)}
        )
        last = IndexOperation(IndexOperator.EQUAL, (IndexVariable(node.variable), node.upper))
        return replace(node, body=Block((node.body, Guard(last, late, None))))

    for wrong in everywhere(body, again):
        seen += 1
        with pytest.raises(LimitError, match=r"every instance once|wrong order"):
            check_by_execution(wrong, tree, legal, large(legal))
    assert seen


def test_loops_that_isl_gets_wrong_for_large_sizes_are_not_used() -> None:
    """Isl runs one instance of S2 three times, whatever it is told; all else is right."""
    program = load_program("cholesky", parameters={"n": 74})
    schedule = (
        "[n] -> { S0[i, j, k] -> [i + 6j + k - 4, 4i + 3j + 7k + 4, 5j + 6k + 5, "
        "10j + 6k + 2n + 1]; S1[i, j] -> [i + 7j, 4i + 10j + 2, 11j + 4, 16j + 2n]; S2[i, k] -> "
        "[5i + 3k - 1, 8i + 6k + 2, 4i + 7k + 2, 10i + 6k + 2n - 2]; S3[i] -> [8i, 14i, 11i, "
        "16i + 2n - 2] }"
    )
    legal = LegalSchedule(program.scop, parse_schedule(schedule, program.scop))
    for mapping in ("sequential", "default"):
        with pytest.raises(LimitError, match="too irregular"):
            lower(legal, parse_mapping(mapping), {"n": 74})
