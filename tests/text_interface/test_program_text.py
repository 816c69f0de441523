"""Programs as text: names of loops, and bounds that are those of the instances."""

import re
from collections import defaultdict

import numpy as np
import pytest

from polygym.text_interface.program_text import program_text
from polygym.transformations.loop_tree import walk
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import TransformState
from tests.text_interface.sessions import session_of
from tests.transformations.by_force import instances_of, is_tree_step, walk_states

_HEAD = re.compile(r" *(L\d+): for \((\w+) = (.+); \2 <= (.+); \2\+\+\) \{(?:  // .*)?")


def value_of(text: str, names: dict[str, int]) -> int:
    """Return the value of an affine form such as ``2t + n - 1``."""
    return int(eval(re.sub(r"(\d)([A-Za-z_])", r"\1*\2", text), {}, names))


def check_bounds(state: TransformState) -> None:
    """Check that bounds are the least and greatest counters for each outer iteration."""
    every, sizes = instances_of(state.scop)
    heads = {}
    for line in program_text(state).splitlines():
        if match := _HEAD.fullmatch(line):
            heads[match[1]] = match.groups()[1:]
    assert set(heads) == {loop.name for loop in state.tree.loops}
    for node, around in walk(state.tree.body):
        if node.name not in heads:
            continue
        found = defaultdict(list)
        for name, point in every:
            if name in node.statements:
                rows = [loop.row(name) for loop in (*around, node)]
                values = [
                    sum(a * x for a, x in zip(row.iterators, point, strict=True))
                    + sum(
                        a * sizes[p]
                        for a, p in zip(row.parameters, state.tree.parameters, strict=True)
                    )
                    + row.constant
                    for row in rows
                ]
                found[tuple(values[:-1])].append(values[-1])
        _, low, high = heads[node.name]
        counters = [heads[loop.name][0] for loop in around]
        for outer, values in found.items():
            names = {**sizes, **dict(zip(counters, outer, strict=True))}
            assert low == "..." or value_of(low, names) == min(values)
            assert high == "..." or value_of(high, names) == max(values)


@pytest.mark.parametrize("program", ["gemm", "jacobi-2d", "lu", "trisolv", "random:3"])
def test_bounds_are_those_of_the_instances(program: str) -> None:
    state = session_of(program).state
    rng = np.random.default_rng(2)
    for step in walk_states(state, rng, 5, is_tree_step):
        check_bounds(step)


def test_the_text_of_a_program_and_its_marks() -> None:
    state = session_of("gemm").state
    for line in ("interchange L3 L4", "tile L4 L3 16 8", "vectorize L2 256", "reverse L1"):
        state = state.after(parse_step(line))
    assert program_text(state) == (
        "L1: for (c1 = -ni + 1; c1 <= 0; c1++) {  // c1 = -i in S0, S1\n"
        "  L2: for (j = 0; j <= nj - 1; j++) {  // vectorize 256\n"
        "    S0: C[i][j] *= beta;\n"
        "  }\n"
        "  L4: for (j = 0; j <= nj - 1; j++) {  // tile 16\n"
        "    L3: for (k = 0; k <= nk - 1; k++) {  // tile 8\n"
        "      S1: C[i][j] += alpha * A[i][k] * B[k][j];\n"
        "    }\n"
        "  }\n"
        "}"
    )


def test_a_counter_that_is_no_iterator_is_called_after_its_loop() -> None:
    state = session_of("jacobi-1d").state.after(parse_step("fuse L2 L3 shift 1"))
    assert "L2: for (c2 = 1; c2 <= n - 1; c2++) {  // c2 = i in S0; c2 = i + 1 in S1" in (
        program_text(state)
    )
