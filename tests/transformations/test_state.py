"""States: verdicts against steps, counterexamples by enumeration, marks, splitting, storage."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import pairwise, permutations, product
from math import gcd

import numpy as np
import pytest

from polygym.errors import InputError, LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.knob_domains import WorkSharing
from polygym.mapping.mapping import parse_mapping, require_statements
from polygym.poly.legality import LegalSchedule, Violation, find_violation
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.poly.spaces import farkas
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.storage.apply import apply_plan
from polygym.transformations.candidates import candidate_steps
from polygym.transformations.iteration_blocks import IterationBlock
from polygym.transformations.loop_tree import Loop, loop_tree_of
from polygym.transformations.mapping_steps import PermittedOrder
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import (
    IllegalStepError,
    StepVerdict,
    TransformProgram,
    TransformState,
)
from polygym.transformations.steps import (
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    Undo,
    UnrollJam,
    Vectorize,
)
from polygym.transformations.tree_steps import UnavailableStepError, with_chain_order
from tests.c_programs import SMALL_PROGRAMS, small_parameters
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.instances import instances
from tests.rotation import NIGHTLY
from tests.transformations.by_force import (
    PROGRAMS,
    PairsByForce,
    c_function,
    check_tree,
    check_violation,
    in_one_line,
    pairs_by_force,
    program_named,
    run_tree,
    scop_named,
    start_of,
    walk_states,
)

THREADS = parse_mapping("threads=2")


def after(state: TransformState, *texts: str) -> TransformState:
    """Return the state after steps."""
    for text in texts:
        state = state.after(parse_step(text))
    return state


def start_named(name: str) -> TransformState:
    """Return the first state of a program, at its sizes, with two threads."""
    program = program_named(name)
    return TransformProgram(program.scop, dict(program.parameters)).start(THREADS)


# Verdicts and steps


def check_state(state: TransformState) -> None:
    """Check that a state is legal and that its mapping fits the program."""
    check_tree(state.tree)
    LegalSchedule(state.scop, state.schedule)
    mapping = state.mapping
    assert parse_mapping(str(mapping)) == mapping
    require_statements(mapping.nests, state.scop)
    assert mapping.threads == state.base.threads


def check_verdict(state: TransformState, step: Step, verdict: StepVerdict) -> bool:
    """Check a verdict against the step itself; return whether it is allowed."""
    try:
        result = state.after(step)
    except IllegalStepError as error:
        assert (verdict.is_allowed, verdict.is_illegal, verdict.state) == (False, True, None), step
        check_example(state, step, error)
        return False
    except InputError as error:
        refused = StepVerdict(False, str(error))
    else:
        refused = None
    if refused is not None:
        assert verdict == refused, step
        return False
    assert verdict.is_allowed, (step, verdict.reason)
    assert not verdict.reason
    if verdict.state is not None:
        assert verdict.state == result
    if isinstance(step, Undo):
        assert result is state.previous
    else:
        assert result.previous is state
        assert result.steps == (*state.steps, step)
    check_state(result)
    return True


def check_example(state: TransformState, step: Step, error: IllegalStepError) -> None:
    """Check a counterexample: it is one for an order that the step permits."""
    violation = error.violation
    assert violation is not None
    assert str(violation) in str(error)
    broken = [
        order for order in state.orders_of(step) if state._permitted.violation(order) == violation
    ]
    assert broken, step
    check_violation(state.scop, broken[0].tree.schedule, violation)
    check_block(state, broken[0], violation)


def check_block(state: TransformState, order: PermittedOrder, violation: Violation) -> None:
    """Check that a pair is in one block of iterations, if the order is that of a block."""
    if order.block is None:
        return
    loop = state.tree.nodes[order.block.loop]
    assert isinstance(loop, Loop)
    source, sink = violation.dependence.source, violation.dependence.sink
    sizes = [violation.parameters[name] for name in state.tree.parameters]

    def counter(one: Loop, statement: str, point: tuple[int, ...]) -> int:
        row = one.row(statement)
        return int(np.dot([*row.iterators, *row.parameters, row.constant], [*point, *sizes, 1]))

    for outer in (*state.tree.paths[loop.name], loop):
        before = counter(outer, source, violation.source_instance)
        behind = counter(outer, sink, violation.sink_instance)
        if outer is loop:
            stride = state.version.blocks._span(state.tree, IterationBlock(loop.name, 1))
            assert 0 < behind - before < order.block.count * stride
        else:
            assert before == behind


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_verdicts_are_those_of_the_steps(name: str) -> None:
    """Candidates of the first state and of another one, nightly all of them."""
    states = walk_states(start_named(name), np.random.default_rng(11), 4)
    for state in states[::4]:
        steps = candidate_steps(state)
        verdicts = state.verdicts(steps)
        assert len(verdicts) == len(steps)
        apart = 1 if NIGHTLY else 1 + len(steps) // 25
        some = range(0, len(steps), apart)
        assert sum(check_verdict(state, steps[k], verdicts[k]) for k in some) >= 1
        # One at a time the answers are the same.
        assert [state.verdicts([steps[k]])[0] for k in some] == [verdicts[k] for k in some]


@pytest.mark.parametrize("name", ["gemm", "symm", "jacobi-1d", "scalars:2"])
def test_verdicts_of_one_program(name: str) -> None:
    """Some programs whatever rotates."""
    state = start_named(name)
    steps = [*candidate_steps(state), parse_step("mapping pack=off"), parse_step("mapping tile=x")]
    outcomes = [
        check_verdict(state, step, verdict)
        for step, verdict in zip(steps, state.verdicts(steps), strict=True)
    ]
    assert any(outcomes)
    assert not all(outcomes)
    assert outcomes[-2:] == [True, False]


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_states_of_walks_are_legal(name: str) -> None:
    for seed in range(2):
        states = walk_states(start_named(name), np.random.default_rng(seed), 10)
        assert len(states) > 3
        for state in states:
            check_state(state)


def test_nothing_is_allowed_after_stop() -> None:
    start = start_named("floyd-warshall")
    over = start.after(Stop())
    assert over.is_over
    steps = [*candidate_steps(start), parse_step("mapping pack=off")]
    assert not any(verdict.is_allowed for verdict in over.verdicts(steps))
    for text in ("undo", "stop", "tile L1 8", "split S0: i = k", "mapping pack=off"):
        with pytest.raises(UnavailableStepError, match="expected no step after stop"):
            over.after(parse_step(text))
    # That nothing is allowed here is not remembered of the program.
    assert start.verdicts([parse_step("split S0: i = k")])[0].is_allowed


def test_undo_returns_an_equal_state() -> None:
    first = start_named("gemm")
    second = after(first, "distribute L1 before L3", "interchange L3 L4", "tile L4 L3 16 16")
    states = [second]
    while states[-1].previous is not None:
        states.append(states[-1].after(Undo()))
    assert [len(state.steps) for state in states] == [3, 2, 1, 0]
    assert states[-1] == first
    assert states[1] == after(first, "distribute L1 before L3", "interchange L3 L4")
    assert states[1].mapping == first.mapping
    with pytest.raises(UnavailableStepError, match="expected a step to take back, found none"):
        first.after(Undo())


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "scalars:4", "random:5"])
def test_walks_are_undone_and_redone(name: str) -> None:
    states = walk_states(start_named(name), np.random.default_rng(4), 8)
    last = states[-1]
    again = states[0]
    for step in last.steps:
        again = again.after(parse_step(str(step)))
    assert again == last
    assert again.mapping == last.mapping
    for state in reversed(states[:-1]):
        last = last.after(Undo())
        assert last == state
        assert last.schedule == state.schedule


def test_a_step_that_isl_cannot_decide_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither generators nor isl have an answer: the error has no example, but a reason."""
    monkeypatch.setattr(farkas, "_MOST_GENERATORS", 1)
    state = start_of(two_deep(NESTS["(1,0)"]).replace("void f", "void too_long"))
    steps = [parse_step("reverse L2"), parse_step("tile L1 L2 8 8"), parse_step("tile L1 8")]
    assert [verdict.is_allowed for verdict in state.verdicts(steps)] == [True] * 3

    def give_up(*_: object) -> None:
        raise LimitError("checking the schedule took too long")

    monkeypatch.setattr("polygym.transformations.legality.find_violation", give_up)
    monkeypatch.setattr("polygym.transformations.state.find_violation", give_up)
    assert [verdict.is_allowed for verdict in state.verdicts(steps)] == [False, False, True]
    with pytest.raises(IllegalStepError, match="not proved to be legal within") as caught:
        state.after(steps[0])
    assert caught.value.violation is None


def written_steps(state: TransformState, generator: np.random.Generator) -> list[Step]:
    """Return random steps, most of which are in no list of candidates."""
    nodes, loops = [*state.tree.nodes, "L99"], [loop.name for loop in state.tree.loops]
    bodies = [state.tree.body, *(loop.body for loop in state.tree.loops)]
    beside = [(a.name, b.name) for body in bodies for a, b in pairwise(body)] or [("L1", "L1")]
    sizes = [parameter.name for parameter in state.scop.parameters]

    def some(values: list) -> object:
        return values[generator.integers(len(values))]

    amounts = ["0", "1", "-1", "2", *sizes, *(f"-{size}+1" for size in sizes), f"{some(loops)}-1"]
    texts = []
    for _ in range(8):
        first, second = some(beside)
        texts += [
            f"fuse {first} {second} depth {generator.integers(1, 3)} shift {some(amounts)}",
            f"fuse {first} {second} shift {some(amounts)} sink {some([first, second])}",
            f"fuse {some(nodes)} {some(nodes)} sink {some(nodes)}",
            f"reorder {some(nodes)} {some(nodes)}",
            f"distribute {some(loops)} before {some(nodes)}",
            f"skew {some(loops)} {some(loops)} {generator.integers(-2, 3)}",
            f"shift {some(nodes)} {some(loops)} {generator.integers(-2, 3)}",
            f"interchange {some(loops)} {some(loops)}",
            f"tile {some(loops)} {some(loops)} 8 16",
        ]
    return [parse_step(text) for text in texts]


@pytest.mark.parametrize(
    "name", ["gemm", "jacobi-2d", "lu", "correlation", "random:3", "scalars:8"]
)
def test_steps_that_are_written_by_hand(name: str) -> None:
    """Verdicts of any steps are those of isl, and the trees are sound, legal or not."""
    generator = np.random.default_rng(9)
    state = start_named(name)
    kinds = set()
    for _ in range(6):
        steps = written_steps(state, generator)
        verdicts = state.verdicts(steps)
        for step, verdict in zip(steps, verdicts, strict=True):
            kinds.add((verdict.is_allowed, verdict.is_illegal))
            if isinstance(step, Tile) or not (verdict.is_allowed or verdict.is_illegal):
                continue
            (order,) = state.orders_of(step)
            tree = order.tree
            check_tree(tree)
            is_legal = find_violation(state.scop, tree.schedule) is None
            assert verdict.is_allowed == is_legal, step
            if verdict.state is not None:
                assert verdict.state.tree == tree
                assert loop_tree_of(tree.schedule).shape == tree.shape, step
        allowed = [own.state for own in verdicts if own.state is not None]
        state = allowed[generator.integers(len(allowed))] if allowed else state
    assert kinds == {(True, False), (False, True), (False, False)}


# Steps about the mapping


def is_permutable(state: TransformState, chain: tuple[Loop, ...], first: int, last: int) -> bool:
    """Whether the loops of a chain from one to another may stand in any order."""
    places = range(first, last + 1)
    for order in permutations(places):
        whole = (*range(first), *order, *range(last + 1, len(chain)))
        tree = with_chain_order(state.tree, chain, whole)
        if find_violation(state.scop, tree.schedule) is not None:
            return False
    return True


class Runs:
    """The dependent pairs of a state at small sizes, with the counters of loops around both."""

    def __init__(self, state: TransformState, larger: int) -> None:
        self.state = state
        self.pairs = pairs_by_force(state.scop, larger)
        self.sizes = {n: v + larger for n, v in small_parameters(state.scop).items()}
        self.every = instances(state.scop, self.sizes)

    def counters(self, statement: str, points: np.ndarray, loops: tuple[Loop, ...]) -> np.ndarray:
        """Return the counters of loops for instances of a statement: a column each."""
        rows = [loop.row(statement) for loop in loops]
        matrix = np.array([(*row.iterators, *row.parameters, row.constant) for row in rows])
        return points @ matrix.T.reshape(points.shape[1], len(rows))

    def pairs_in(self, loop: Loop) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
        """Return the pairs with both instances in a loop, at one iteration of those around it."""
        around = self.state.tree.paths[loop.name]
        result = []
        for (first, second), (sources, sinks) in self.pairs.tables.items():
            if first not in loop.statements or second not in loop.statements:
                continue
            same = (
                self.counters(first, sources, around) == self.counters(second, sinks, around)
            ).all(axis=1)
            result.append((first, second, sources[same], sinks[same]))
        return result

    def stride(self, loop: Loop) -> int:
        """Return the distance of neighbouring iterations, in one iteration of the loops around."""
        tree = self.state.tree
        known: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for name, point in self.every:
            if name in loop.statements:
                numbers = np.array([[*point, *(self.sizes[p] for p in tree.parameters), 1]])
                row = self.counters(name, numbers, (*tree.paths[loop.name], loop))[0].tolist()
                known[tuple(row[:-1])].add(row[-1])
        return gcd(*(value - min(own) for own in known.values() for value in own)) or 1

    def carries(self, loop: Loop) -> bool:
        """Whether a dependence is between two iterations of a loop."""
        return any(
            (self.counters(first, sources, (loop,)) != self.counters(second, sinks, (loop,))).any()
            for first, second, sources, sinks in self.pairs_in(loop)
        )

    def reverses(self, loop: Loop, times: object) -> bool:
        """Whether some pair in a loop is out of order where its counters are changed to times.

        Pairs with one time are in the order of the tree.
        """
        chain = self.state.tree.chain(loop.name)
        for first, second, sources, sinks in self.pairs_in(loop):
            before = times(self.counters(first, sources, chain))
            behind = times(self.counters(second, sinks, chain))
            signs = np.sign(behind - before)
            leading = (signs != 0).argmax(axis=1)
            if (signs[np.arange(len(signs)), leading] < 0).any():
                return True
        return False


def is_reversed_by_tiles(runs: Runs, loop: Loop, sizes: tuple[int, ...]) -> bool:
    """Whether blocks of so many loops run some pair backwards."""

    def times(counters: np.ndarray) -> np.ndarray:
        return np.concatenate([counters[:, : len(sizes)] // sizes, counters], axis=1)

    return runs.reverses(loop, times)


def is_reversed_by_jam(runs: Runs, loop: Loop, count: int) -> bool:
    """Whether iterations of a loop that run together in the loops in it run a pair backwards.

    Blocks of so many iterations begin at any of them.
    """
    span = count * runs.stride(loop)

    def times(first: int, counters: np.ndarray) -> np.ndarray:
        together, inner = counters[:, :1], counters[:, 1:]
        return np.concatenate([(together - first) // span, inner, together], axis=1)

    return any(runs.reverses(loop, partial(times, first)) for first in range(span))


def is_reversed_by_vectors(runs: Runs, loop: Loop, count: int) -> bool:
    """Whether lanes have an order, in a loop that is innermost: the last one first, too."""
    span = count * runs.stride(loop)

    def times(first: int, sign: int, counters: np.ndarray) -> np.ndarray:
        own, inner = counters[:, :1], counters[:, 1:]
        return np.concatenate([inner, (own - first) // span, sign * own], axis=1)

    return any(
        runs.reverses(loop, partial(times, first, sign))
        for first in range(span)
        for sign in (1, -1)
    )


NESTS = {
    "(1,-1)": "S: A[i][j] = A[i - 1][j + 1];",
    "(1,0) (0,1)": "S: A[i][j] = A[i - 1][j] + A[i][j - 1];",
    "(1,0)": "S: A[i][j] = A[i - 1][j];",
    "(0,1)": "S: A[i][j] = A[i][j - 1];",
    "(2,-1)": "S: A[i][j] = A[i - 2][j + 1];",
    "(1,1)": "S: A[i][j] = A[i - 1][j - 1];",
    "none": "S: A[i][j] = B[i][j];",
    "transpose": "S: A[i][j] = A[j][i];",
    "(3,-1)": "S: A[i + 1][j] = A[i - 2][j + 1];",
    "(0,3)": "S: A[i][j + 1] = A[i][j - 2];",
    "(2,0) (3,-1)": "S: A[i + 1][j] = A[i - 1][j] + A[i - 2][j + 1];",
    "(2,-1) two": "{\nS: A[i + 1][j] = B[i][j];\nT: B[i + 1][j] = A[i][j + 1];\n}",
    "two": "{\nS: A[i][j] = B[i - 1][j];\nT: B[i][j] = A[i][j - 1];\n}",
    "two back": "{\nS: A[i][j] = B[i - 1][j + 1];\nT: B[i][j] = A[i][j];\n}",
    "sum": "S: C[i] += A[i][j];",
    "column sum": "S: C[j] += A[i][j];",
}


def two_deep(body: str) -> str:
    return c_function(
        f"for (int i = 2; i < n - 1; i++)\n  for (int j = 2; j < n - 1; j++)\n{body}",
        "int n, double A[n][n], double B[n][n], double C[n]",
    )


LARGER = {"three": 3, "jacobi-1d": 3, "by two": 8, "doubling": 12}
"""By how much sizes are larger than the smallest ones: more pairs, and longer distances."""


def mapping_programs() -> list[str]:
    return [
        *NESTS,
        "three",
        "by two",
        "doubling",
        "jacobi-1d",
        "seidel-2d",
        "gemm",
        "doitgen",
        "trmm",
    ]


def state_for_mapping(name: str) -> TransformState:
    if name in NESTS:
        return start_of(two_deep(NESTS[name]), mapping=THREADS)
    if name == "three":
        text = c_function(
            "for (int i = 1; i < n; i++)\n  for (int j = 1; j < n - 1; j++)\n"
            "    for (int k = 1; k < n - 1; k++)\n"
            "S:      A[j][k] = A[j][k] + A[j + 1][k - 1];",
            "int n, double A[n][n]",
        )
        return start_of(text, mapping=THREADS)
    if name == "by two":
        text = c_function(
            "for (int i = 4; i < n; i += 2)\n  for (int j = 0; j < n - 1; j++)\n"
            "S:    A[i][j] = A[i - 4][j + 1];",
            "int n, double A[n][n]",
        )
        return start_of(text, mapping=THREADS)
    if name == "doubling":
        text = c_function(
            "for (int i = 2; 2 * i < n; i++)\n  for (int j = 0; j < n - 1; j++)\n"
            "S:    A[2 * i][j] = A[i][j + 1];",
            "int n, double A[n][n]",
        )
        return start_of(text, mapping=THREADS)
    return start_named(name)


def variants(state: TransformState) -> list[TransformState]:
    """Return a state and some with other orders of its loops, all legal."""
    result = [state]
    for text in ("interchange L1 L2", "skew L2 L1 1", "skew L3 L1 1", "skew L3 L2 1"):
        try:
            result.append(state.after(parse_step(text)))
        except InputError:
            continue
    try:
        result.append(after(result[-1], "interchange L1 L2"))
    except InputError:
        pass
    return result


@pytest.mark.parametrize("name", mapping_programs())
def test_steps_about_the_mapping_by_force(name: str) -> None:
    """Each against its meaning, on all pairs of instances."""
    larger = 5 if name in NESTS else LARGER.get(name, 1)
    for state in variants(state_for_mapping(name)):
        runs = Runs(state, larger)
        tree = state.tree
        for loop in tree.loops:
            chain = tree.chain(loop.name)
            for last in range(1, len(chain)):
                step = Tile(tuple(member.name for member in chain[: last + 1]), (8,) * (last + 1))
                allowed = state.verdicts([step])[0].is_allowed
                assert allowed == is_permutable(state, chain, 0, last), step
                # Not squares only: those of A[i][j] = A[j][i] are in order.
                choices = product(range(2, 7) if larger > 1 else (2,), repeat=last + 1)
                broken = any(is_reversed_by_tiles(runs, loop, sizes) for sizes in choices)
                assert not (allowed and broken), step
                if larger > 1:
                    assert allowed != broken, step
            parallel = state.verdicts([parse_step(f"parallel {loop.name} static")])[0]
            around = [member for member in tree.paths[loop.name] if not runs.carries(member)]
            assert parallel.is_allowed == (not runs.carries(loop) and not around), loop.name
            assert parallel.is_illegal == (runs.carries(loop) and not around), loop.name
            is_perfect = not any(isinstance(node, Loop) for node in chain[-1].body)
            vector = state.verdicts([Vectorize(loop.name)])[0]
            jam = state.verdicts([UnrollJam(loop.name, 4)])[0]
            if not is_perfect:
                assert "expected only loops right inside each other" in vector.reason
                assert not jam.is_allowed
                assert not jam.is_illegal
                continue
            # Small sizes have no longer distances than 16.
            assert vector.is_allowed == (not is_reversed_by_vectors(runs, loop, 16)), loop.name
            for bits in (128, 256, 512):
                allowed = state.verdicts([Vectorize(loop.name, bits)])[0].is_allowed
                broken = is_reversed_by_vectors(runs, loop, bits // 64)
                assert allowed == (not broken), (loop.name, bits)
            if len(chain) > 1:
                for count in (2, 3, 4, 5, 8):
                    allowed = state.verdicts([UnrollJam(loop.name, count)])[0].is_allowed
                    broken = is_reversed_by_jam(runs, loop, count)
                    assert allowed == (not broken), (loop.name, count, tree.text())
            else:
                assert "expected a loop with a loop in it" in jam.reason


def test_the_programs_above_have_steps_of_both_kinds() -> None:
    found = set()
    for name in NESTS:
        state = state_for_mapping(name)
        for text in ("tile L1 L2 8 8", "parallel L1", "vectorize L1", "vectorize L2",
                     "unroll_jam L1 2", "parallel L2"):  # fmt: skip
            found.add((text, state.verdicts([parse_step(text)])[0].is_allowed))
    assert len(found) == 12


def test_loops_that_are_tiled_over_one_between() -> None:
    """L2 between L1 and L3 may have negative distances, where L1 has carried the pair."""
    text = c_function(
        "for (int i = 1; i < n - 1; i++)\n  for (int j = 1; j < n - 1; j++)\n"
        "    for (int k = 1; k < n - 1; k++)\nS:      A[i][j][k] = A[i - 1][j + 1][k];",
        "int n, double A[n][n][n]",
    )
    state = start_of(text)
    verdicts = state.verdicts(
        [parse_step(f"tile {text}") for text in ("L1 L3 8 8", "L1 L2 8 8", "L2 L3 8 8", "L3 8")]
    )
    assert [verdict.is_allowed for verdict in verdicts] == [True, False, True, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tile L1 L1 8 8", "expected every loop once"),
        ("tile L1 L3 8 8", "expected a perfect nest with L1 around L3"),
        ("tile S 8", "S: expected a loop, found a statement"),
        ("tile L9 8", "L9: expected one of"),
        ("unroll_jam L1 2", "expected only loops right inside each other in L1"),
        ("unroll_jam L2 2", "expected a loop with a loop in it"),
        ("vectorize L1", "expected only loops right inside each other in L1"),
        ("vectorize T off", "T: expected a loop, found a statement"),
        ("parallel L2", "expected the outermost parallel loop, found L1 around it"),
        ("parallel T", "T: expected a loop, found a statement"),
    ],
)
def test_unavailable_steps_about_the_mapping(text: str, reason: str) -> None:
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++) {\nS: C[i] = i;\n  for (int j = 0; j < n; j++)\n"
            "T:    A[i][j] = C[i];\n}\nfor (int k = 0; k < n; k++)\nU: B[k] = 1;",
            "int n, double A[n][n], double B[n], double C[n]",
        ),
        mapping=THREADS,
    )
    with pytest.raises(UnavailableStepError, match=reason):
        after(state, text)


def test_one_thread_has_no_parallel_loops() -> None:
    state = start_of(two_deep(NESTS["none"]))
    with pytest.raises(UnavailableStepError, match="expected several threads, found 1"):
        after(state, "parallel L1")
    assert not any(str(step).startswith("parallel") for step in candidate_steps(state))


# Marks and the mapping


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["tile L1 L2 16 32"], "S:tile=16x32x1"),
        (["tile L1 8"], "S:tile=8x1"),
        (["tile L2 8"], "S:tile=1x8x1"),
        (["tile L1 8", "interchange L1 L2"], "S:tile=1x8x1"),
        (["interchange L1 L2", "tile L1 8"], "S:tile=1x8x1"),
        (["tile L1 L2 16 32", "interchange L1 L2"], "S:tile=32x16x1"),
        (["tile L1 8", "tile L1 16"], "S:tile=16x1"),
        (["tile L1 L2 1 1"], "S:tile=off"),
        (["tile L1 8", "tile L1 1"], "S:tile=off"),
        (["vectorize L2"], "S:order=2"),
        (["vectorize L1"], "S:order=1"),
        (["vectorize L1", "interchange L1 L2"], "S:order=2"),
        (["vectorize L2", "vectorize L1"], "S:order=1"),
        (["vectorize L2 512"], "S:vector_bits=512 S:order=2"),
        (["vectorize L2 off"], "S:vector_bits=0"),
        (["vectorize L2 512", "vectorize L1 off"], "S:vector_bits=0"),
        (["unroll_jam L1 4"], "S:unroll_jam=4 S:order=1x2"),
        (["unroll_jam L1 4", "vectorize L2 256"], "S:vector_bits=256 S:unroll_jam=4 S:order=1x2"),
        (["parallel L1"], "S:parallel=dynamic"),
        (["parallel L1 static"], "S:parallel=static"),
        (["parallel L1 static", "parallel L1 off"], "S:parallel=off"),
        (["mapping tile=4", "tile L1 8"], "tile=4 S:tile=8x1"),
        (["tile L1 8", "mapping tile=4"], "tile=4 S:tile=8x1"),
        (["mapping S:pack=off", "tile L1 8"], "S:tile=8x1"),
        (["mapping S:sink=off", "tile L1 8"], "S:tile=8x1 S:sink=off"),
    ],
)
def test_marks_are_options_of_the_nest(texts: list[str], expected: str) -> None:
    state = start_of(two_deep(NESTS["none"]), mapping=THREADS)
    if any("S:pack" in text for text in texts):
        with pytest.raises(InputError):
            after(state, *texts)
        return
    assert str(after(state, *texts).mapping) == str(parse_mapping(f"threads=2 {expected}"))


def test_marks_follow_their_loops() -> None:
    """Through a skew, a distribution and a fusion; a loop that is gone takes its mark along."""
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++) {\n  for (int j = 0; j < n; j++)\nS:    A[i][j] = i;\n"
            "  for (int k = 0; k < n; k++)\nT:    B[i][k] = A[i][k];\n}",
            "int n, double A[n][n], double B[n][n]",
        )
    )
    marked = after(state, "tile L3 8")
    assert str(marked.mapping) == "T:tile=8x1"
    apart = after(marked, "distribute L1 before L3")
    assert [loop.name for loop in apart.tree.loops] == ["L1", "L2", "L4", "L3"]
    assert str(apart.mapping) == "T:tile=1x8x1"
    turned = after(apart, "interchange L4 L3")
    assert str(turned.mapping) == "T:tile=8x1"
    skewed = after(turned, "skew L4 L3 1")
    assert str(skewed.mapping) == "T:tile=8x1"
    gone = after(marked, "fuse L2 L3")
    assert [loop.name for loop in gone.tree.loops] == ["L1", "L2"]
    assert str(gone.mapping) == "default"


def test_nests_have_marks_of_their_own() -> None:
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++)\nS: A[i] = i;\nfor (int k = 0; k < n; k++) {\n"
            "T: B[k] = A[k];\nU: C[k] = B[k];\n}",
            "int n, double A[n], double B[n], double C[n]",
        ),
        mapping=THREADS,
    )
    both = after(state, "parallel L1 static", "vectorize L1 256", "tile L2 16", "vectorize L2 off")
    expected = "threads=2 S:vector_bits=256 S:order=1 S:parallel=static U:tile=16x1 U:vector_bits=0"
    assert both.mapping == parse_mapping(expected)
    # The nest of several statements has its options by the last of their names.
    joined = after(both, "fuse L1 L2")
    assert joined.mapping == parse_mapping(
        "threads=2 U:vector_bits=256 U:order=1 U:parallel=static"
    )


def test_a_mark_that_is_there_already_is_unavailable() -> None:
    state = after(start_of(two_deep(NESTS["none"]), mapping=THREADS), "tile L1 8", "vectorize L2")
    for text in ("tile L1 8", "vectorize L2", "mapping tile=auto"):
        verdict = state.verdicts([parse_step(text)])[0]
        assert not verdict.is_allowed, text
    with pytest.raises(UnavailableStepError, match="it would change nothing"):
        after(state, "tile L1 8")


# Splitting


@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        ("floyd-warshall", "S0: i = k, j = k"),
        ("gemm", "S1: 2*k < nk"),
        ("lu", "S0: j < 2"),
        ("jacobi-1d", "S0: i = 1; S1: i < 3"),
        ("trisolv", "S1: 2*j < i"),
    ],
)
def test_splitting_keeps_the_order(name: str, cuts: str) -> None:
    """Before and after, also with loops that were moved before."""
    start = start_named(name)
    generator = np.random.default_rng(3)
    for state in walk_states(start, generator, 3, lambda step: not is_program_step(step)):
        try:
            divided = state.after(SplitIndexSet(cuts))
        except InputError as error:
            pytest.fail(str(error))
        check_state(divided)
        assert len(divided.scop.statements) > len(state.scop.statements)
        sizes = small_parameters(state.scop)
        before = in_one_line(run_tree(state.tree, instances(state.scop, sizes), sizes))
        behind = in_one_line(run_tree(divided.tree, instances(divided.scop, sizes), sizes))
        whole = {piece.name: piece.name.rpartition("_")[0] for piece in divided.scop.statements}
        known = {statement.name for statement in state.scop.statements}
        assert [(name if name in known else whole[name], point) for name, point in behind] == before
        assert divided.marks == state.marks
        assert divided.after(Undo()) == state


def is_program_step(step: object) -> bool:
    """Whether a step is about the program's statements or storage."""
    return str(step).split()[0] in ("split", "store", "contract")


def test_pieces_are_moved_apart() -> None:
    """The pieces of a split are statements: a loop is distributed between them."""
    state = after(start_named("trisolv"), "split S1: j < 3", "distribute L1 before L2")
    names = [statement.name for statement in state.scop.statements]
    assert names == ["S0", "S1_0", "S1_1", "S2"]
    check_state(state)
    assert state.tree.nodes["L2"].statements == ("S1_0", "S1_1")


def test_options_of_a_divided_statement_are_those_of_its_pieces() -> None:
    state = after(start_named("floyd-warshall"), "mapping S0:tile=8 sink=off", "tile L3 4")
    divided = after(state, "split S0: i = k")
    assert [name for name, _ in divided.base.nests] == ["S0_0", "S0_1", "S0_2"]
    assert str(divided.base) == ("threads=2 sink=off S0_0:tile=8 S0_1:tile=8 S0_2:tile=8")
    check_state(divided)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["split S0: i = k", "split S0_0: j = k"], "S0_0"),
        (["split S0: i = k", "split S0: j = k"], "S0 has been divided already"),
        (["split S7: i = k"], "the statements of .* are S0"),
        (["split S0: i = q"], "found q"),
        (["split S0: i < 0"], "all instances are on one side"),
        (["split S0 i = k"], "S0 i = k"),
    ],
)
def test_splits_that_are_refused(texts: list[str], reason: str) -> None:
    state = start_named("floyd-warshall")
    *before, last = texts
    state = after(state, *before)
    with pytest.raises(InputError, match=reason):
        after(state, last)


def test_statements_are_divided_before_their_arrays_are_stored() -> None:
    state = after(start_of(SCALAR), "store w=expand:i")
    with pytest.raises(UnavailableStepError, match="expected to divide statements before storing"):
        after(state, "split S: i = 3")
    check_results(after(start_of(SCALAR), "split S: i < 3", "store w=expand:i"))


# Storage


SCALAR = c_function(
    "for (int i = 0; i < n; i++) {\nS: w = A[i] * 2.0;\nT: B[i] = w + 1.0;\n}",
    "int n, double A[n], double B[n]",
).replace("{\n#pragma", "{\n  double w;\n#pragma", 1)

TWO_ARRAYS = c_function(
    "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nS:    x[i] = x[i] + A[i][j];\n"
    "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nT:    y[i] = y[i] + A[j][i];",
    "int n, double A[n][n], double x[n], double y[n]",
)


def check_results(state: TransformState) -> None:
    """Run a state's loops and those of the source, and compare what others can see."""
    source = state.program.scop
    sizes = small_parameters(source)
    start = random_arrays(source, sizes, np.random.default_rng(1))
    expected = {name: values.copy() for name, values in start.items()}
    run_in_order(source, sizes, expected)
    scop = apply_plan(apply_splitting(source, state.splitting), state.storage)
    kept = [array.name for array in scop.arrays if array.name in start]
    ran = {name: start[name].copy() for name in kept}  # the program has memory for new ones
    run_natively(scop, state.schedule, sizes, ran, state.mapping)
    seen = [array.name for array in source.arrays if array.is_observable]
    assert seen
    for name in seen:
        np.testing.assert_array_equal(ran[name], expected[name], err_msg=name)


def test_storage_makes_steps_legal() -> None:
    """With an element of w for each iteration the loop carries nothing."""
    state = start_of(SCALAR, mapping=THREADS)
    for text in ("distribute L1 before T", "parallel L1", "reverse L1", "vectorize L1"):
        with pytest.raises(IllegalStepError):
            after(state, text)
        for stored in ("store w=expand:i", "store w=expand", "store w=private:i"):
            check_state(after(state, stored, text))
    check_results(after(state, "store w=expand:i", "distribute L1 before T", "reverse L1"))


def test_storage_of_two_arrays() -> None:
    """Copies of the second are before everything and behind everything, whatever has moved."""
    state = start_of(TWO_ARRAYS)
    first = after(state, "store x=expand:i,j")
    copies = [name for name in first.tree.paths if name not in state.tree.paths]
    assert len(copies) > 2
    for texts in (["store y=expand:i,j"], ["reorder L1 L3", "store y=expand:j"]):
        both = after(first, *texts)
        check_state(both)
        assert len(both.storage.entries) == 2
        check_results(both)
        verdict = first.verdicts([parse_step(texts[-1])])[0]
        assert verdict.is_allowed
    assert first.tree.next_number <= min(
        int(name[1:]) for name in both.tree.paths if name[0] == "L" and name not in first.tree.paths
    )


@pytest.mark.parametrize("name", ["mvt", "gemver", "gramschmidt", "symm", "durbin", "scalars:2"])
def test_stored_programs_have_the_same_results(name: str) -> None:
    generator = np.random.default_rng(5)
    state = start_named(name)
    entries = [step for step in candidate_steps(state) if isinstance(step, Store)]
    assert entries
    for _ in range(3):
        state = start_named(name)
        steps = [entries[k] for k in generator.permutation(len(entries))[:2]]
        for step in steps:
            if state.verdicts([step])[0].is_allowed:
                state = state.after(step)
        assert not state.storage.is_source
        walk = walk_states(state, generator, 3, lambda step: not is_program_step(step))
        check_results(walk[-1])


def test_contraction() -> None:
    state = start_of(SCALAR)
    with pytest.raises(UnavailableStepError, match="expected an array that is expanded"):
        after(state, "contract")
    stored = after(state, "store w=expand:i")
    contracted = after(stored, "contract")
    assert contracted.storage.has_contraction
    assert str(contracted.storage) == "w=expand:i contract"
    assert contracted.scop == stored.scop
    assert contracted.tree == stored.tree
    with pytest.raises(UnavailableStepError):
        after(contracted, "contract")
    assert contracted.after(Undo()) == stored
    more = after(contracted, "tile L1 8")
    assert more.storage.has_contraction
    check_results(after(contracted, "vectorize L1"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("store w", "storage: expected"),
        ("store q=expand", "q"),
        ("store w=dead", "expected one of ARRAY=expand"),
        ("store w=copy", "expected one of ARRAY=expand"),
        ("store overlap:32", "expected one of ARRAY=expand"),
        ("store w=expand:i B=expand", "expected one of ARRAY=expand"),
        ("store keep", "expected one of ARRAY=expand"),
        ("store w=expand:z", "z"),
    ],
)
def test_entries_that_are_refused(text: str, reason: str) -> None:
    state = start_of(SCALAR)
    verdict = state.verdicts([parse_step(text)])[0]
    assert not verdict.is_allowed
    assert not verdict.is_illegal
    with pytest.raises(InputError, match=reason) as caught:
        after(state, text)
    assert verdict.reason == str(caught.value)


def test_an_entry_that_is_there_already_is_unavailable() -> None:
    state = after(start_of(SCALAR), "store w=expand:i")
    with pytest.raises(UnavailableStepError, match="it would change nothing"):
        after(state, "store w=expand:i")


def test_new_arrays_have_a_limit() -> None:
    scop = parse_text(SCALAR)
    small = TransformProgram(scop, {"n": 1000}, memory_limit=7999).start()
    step = parse_step("store w=expand:i")
    verdict = small.verdicts([step])[0]
    assert not verdict.is_allowed
    with pytest.raises(UnavailableStepError, match="at most 7,999 bytes of new arrays") as caught:
        small.after(step)
    assert verdict.reason == str(caught.value)
    assert "8,000" in verdict.reason
    large = TransformProgram(scop, {"n": 1000}, memory_limit=8000).start()
    assert large.verdicts([step])[0].is_allowed
    assert large.after(step).storage.entries


# Steps by hand


def test_a_schedule_by_hand() -> None:
    state = after(start_of(two_deep(NESTS["(1,0)"])), "tile L1 8")
    given = after(state, "schedule { S[i, j] -> [j, i] }")
    assert given.tree.text() == "L3 (S: j)\n  L4 (S: i)\n    S"
    assert given.marks == ()
    with pytest.raises(IllegalStepError, match=r"schedule \{.*the schedule breaks the") as caught:
        after(state, "schedule { S[i, j] -> [-i, j] }")
    violation = caught.value.violation
    assert violation is not None
    assert violation.source_instance != violation.sink_instance
    for text in ("schedule { S[i, j] -> [j] }", "schedule { T[i] -> [i] }", "schedule {"):
        with pytest.raises(InputError):
            after(state, text)


def test_isl_schedules_as_starts() -> None:
    for name in ("gemm", "jacobi-2d", "fdtd-2d"):
        scop = scop_named(name)
        state = TransformProgram(scop).start(schedule=isl_schedule(scop))
        check_state(state)
        typed = after(start_named(name), f"schedule {isl_schedule(scop)}")
        assert typed.tree.shape == state.tree.shape


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mapping threads=4", "expected threads=2, found 4"),
        ("mapping sequential", "expected threads=2, found 1"),
        ("mapping reassociate=on", "reassociation cannot be changed here"),
        ("mapping tile=x", "tile"),
        ("mapping S9:tile=8", "S9"),
        ("mapping frobnicate=1", "frobnicate"),
        ("mapping threads=2", "it would change nothing"),
    ],
)
def test_mappings_that_are_refused(text: str, reason: str) -> None:
    state = start_of(two_deep(NESTS["none"]), mapping=THREADS)
    with pytest.raises(InputError, match=reason):
        after(state, text)


def test_mappings_by_hand() -> None:
    state = start_of(two_deep(NESTS["none"]), mapping=THREADS)
    result = after(state, "mapping tile=16x32 pack=off", "mapping tile=off")
    assert str(result.mapping) == "threads=2 tile=off pack=off"
    assert result.marks == ()
    check_state(result)


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_walks_over_small_programs(name: str) -> None:
    """Strides, guards, six loops: each state is legal, and in the order that it says."""
    scop: Scop = parse_text(SMALL_PROGRAMS[name])
    pairs: PairsByForce | None = None
    for seed in range(2):
        start = TransformProgram(scop).start(THREADS)
        for state in walk_states(start, np.random.default_rng(seed), 6):
            check_state(state)
            pairs = pairs_by_force(state.scop)
            assert pairs.is_legal(state.schedule)
    assert pairs is not None
    assert pairs.tables


def test_sharing_is_part_of_the_text() -> None:
    state = start_of(two_deep(NESTS["none"]), mapping=THREADS)
    for sharing in WorkSharing:
        result = after(state, f"parallel L1 {sharing.value}")
        assert dict(result.mapping.for_nest(["S"]))["parallel"] is sharing
