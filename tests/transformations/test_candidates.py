"""Candidates: a fixed list without repetition, whose masks are those of brute force."""

from __future__ import annotations

from collections import defaultdict
from math import gcd

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.mapping.knob_domains import WorkSharing
from polygym.mapping.mapping import parse_mapping
from polygym.poly import dependences
from polygym.transformations.candidates import TILE_SIZES, candidate_steps
from polygym.transformations.loop_tree import Body, Loop, LoopTree
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import TransformProgram, TransformState
from polygym.transformations.steps import (
    STEP_TYPES,
    Contract,
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Reorder,
    Reverse,
    SetMapping,
    SetSchedule,
    Shift,
    Skew,
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    Undo,
    UnrollJam,
    Vectorize,
)
from polygym.transformations.tree_steps import UnavailableStepError, apply_tree_step
from tests.oracles.instances import Instance, instances, time_vector
from tests.transformations.by_force import (
    PROGRAMS,
    c_function,
    is_tree_step,
    pairs_by_force,
    program_named,
    run_tree,
    start_of,
    walk_states,
)

THREADS = parse_mapping("threads=2")


def start_named(name: str) -> TransformState:
    """Return the first state of a program, at its sizes, with two threads."""
    program = program_named(name)
    return TransformProgram(program.scop, dict(program.parameters)).start(THREADS)


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_are_fixed_and_without_repetition(name: str) -> None:
    states = walk_states(start_named(name), np.random.default_rng(1), 3)
    for state in (states[0], states[-1]):
        steps = candidate_steps(state)
        assert steps[:2] == (Stop(), Undo())
        assert len(set(steps)) == len(steps)
        assert [parse_step(str(step)) for step in steps] == list(steps)
        assert len({str(step) for step in steps}) == len(steps)
        assert candidate_steps(state) == steps
        kinds = [type(step) for step in steps]
        assert not {SetMapping, SetSchedule} & set(kinds)


@pytest.mark.parametrize("name", ["correlation", "gemm", "jacobi-1d", "random:5", "scalars:6"])
def test_lists_do_not_depend_on_what_is_remembered(name: str) -> None:
    """A limit on isl's operations is reached, or not, whatever has been asked of a program."""
    scop = program_named(name).scop
    dependences._dependences.cache_clear()
    cold = candidate_steps(TransformProgram(scop).start(THREADS))
    warm = TransformProgram(scop).start(THREADS)
    warm.verdicts(cold)
    assert candidate_steps(warm) == cold
    assert candidate_steps(TransformProgram(scop).start(THREADS)) == cold


def test_every_kind_is_offered_somewhere() -> None:
    found: set[type[Step]] = set()
    allowed: set[type[Step]] = set()
    for name in ("gemm", "correlation", "jacobi-1d", "floyd-warshall", "symm"):
        state = start_named(name)
        stored = [step for step in candidate_steps(state) if isinstance(step, Store)][:1]
        others = [state.after(step) for step in stored if state.verdicts([step])[0].is_allowed]
        for own in (state, *others, *walk_states(state, np.random.default_rng(2), 2)[1:]):
            steps = candidate_steps(own)
            found |= {type(step) for step in steps}
            verdicts = own.verdicts(steps)
            allowed |= {type(step) for step, v in zip(steps, verdicts, strict=True) if v.is_allowed}
    assert found == set(STEP_TYPES) - {SetMapping, SetSchedule}
    assert allowed == found


def test_the_list_of_a_product_of_matrices() -> None:
    """What the module's docstring says of it."""
    steps = [str(step) for step in candidate_steps(start_named("gemm"))]
    order = [text for text in steps if text.split()[0] in ("distribute", "interchange", "reverse")]
    assert order == [
        "interchange L3 L4", "distribute L1 before L3", "reverse L1", "reverse L2", "reverse L3",
        "reverse L4",
    ]  # fmt: skip
    assert [text for text in steps if text.startswith("tile L1 ")] == [
        f"tile L1 {size}" for size in TILE_SIZES
    ]


def test_one_thread_has_fewer_steps() -> None:
    program = program_named("gemm")
    alone = candidate_steps(TransformProgram(program.scop).start())
    several = candidate_steps(TransformProgram(program.scop).start(THREADS))
    assert [step for step in several if not isinstance(step, Parallelize)] == list(alone)
    assert any(isinstance(step, Parallelize) for step in several)


def test_arrays_are_stored_once_and_statements_divided_once() -> None:
    state = start_named("symm")
    entries = [step for step in candidate_steps(state) if isinstance(step, Store)]
    stored = state.after(entries[0])
    array = array_of(entries[0])
    left = [step for step in candidate_steps(stored) if isinstance(step, Store)]
    assert not any(step.entry.partition("=")[0].endswith(array) for step in left)
    assert not any(isinstance(step, SplitIndexSet) for step in candidate_steps(stored))
    state = start_named("floyd-warshall")
    cuts = [step for step in candidate_steps(state) if isinstance(step, SplitIndexSet)]
    assert cuts
    divided = state.after(cuts[0])
    assert not any(isinstance(step, SplitIndexSet) for step in candidate_steps(divided))


@pytest.mark.parametrize("name", ["gemm", "symm", "floyd-warshall", "jacobi-1d", "mvt"])
def test_storage_is_offered_where_one_statement_is_divided(name: str) -> None:
    """Entries of arrays that no divided statement touches are those of the source; few others."""
    state = start_named(name)
    steps = candidate_steps(state)
    before = [step for step in steps if isinstance(step, Store)]
    (cut, *_) = [step for step in steps if isinstance(step, SplitIndexSet)]
    divided = state.after(cut)
    stores = [step for step in candidate_steps(divided) if isinstance(step, Store)]
    touched = state.program.touched_arrays(divided.splitting)
    others = [step for step in before if array_of(step) not in touched]
    assert [step for step in stores if array_of(step) not in touched] == others
    assert 0 < len(stores) <= len(others) + 6
    for step, verdict in zip(stores, divided.verdicts(stores), strict=True):
        # Alone, each is proved and priced as it would be without what is known of the source.
        alone = TransformProgram(divided.scop, dict(state.program.sizes)).start(THREADS)
        assert alone.verdicts([step])[0].is_allowed == verdict.is_allowed, step
        if verdict.is_allowed:
            stored = divided.after(step)
            assert stored.version.tables.are_legal([stored.tree]) == [True]
    deeper = [step for step in candidate_steps(divided) if isinstance(step, SplitIndexSet)]
    if deeper:
        twice = divided.after(deeper[0])
        assert not any(isinstance(step, Store) for step in candidate_steps(twice))


def array_of(step: Store) -> str:
    return step.entry.partition("=")[0].rpartition(":")[2]


# Masks by enumeration

TINY = {
    "stencil": c_function(
        "for (int t = 0; t < n; t++) {\n  for (int i = 1; i < n - 1; i++)\n"
        "S:    B[i] = A[i - 1] + A[i + 1];\n  for (int k = 1; k < n - 1; k++)\nT:    A[k] = B[k];\n"
        "}",
        "int n, double A[n], double B[n]",
    ),
    "sums": c_function(
        "for (int i = 0; i < n; i++) {\nR: C[i] = 0;\n  for (int j = 0; j < n; j++)\n"
        "S:    C[i] += A[i][j];\nT:  D[i] = C[i];\n}",
        "int n, double A[n][n], double C[n], double D[n]",
    ),
    "wave": c_function(
        "for (int i = 1; i < n; i++)\n  for (int j = 1; j < n - 1; j++)\n"
        "S:    A[i][j] = A[i - 1][j + 1] + A[i][j - 1];",
        "int n, double A[n][n]",
    ),
    "far": c_function(
        "for (int i = 2; i < n; i++)\n  for (int j = 2; j < n - 1; j++)\n"
        "S:    A[i][j] = A[i - 2][j + 1] + A[i][j - 2];",
        "int n, double A[n][n]",
    ),
    "scalar": c_function(
        "for (int i = 0; i < n; i++) {\nS: w = A[i];\n  for (int j = 0; j < n; j++)\n"
        "T:    B[i][j] = w * j;\n}",
        "int n, double A[n], double B[n][n]",
    ).replace("{\n#pragma", "{\n  double w;\n#pragma", 1),
}  # fmt: skip

SIZE = {"n": 7}


class Enumeration:
    """All instances of a state and its dependent pairs, in terms of where each one runs."""

    def __init__(self, state: TransformState) -> None:
        self.state = state
        self.every = instances(state.scop, SIZE)
        tables = pairs_by_force(state.scop, 4).tables  # small sizes are 3 for one parameter
        self.pairs: list[tuple[Instance, Instance]] = []
        for (first, second), (sources, sinks) in tables.items():
            depths = [state.scop.statement(name).depth for name in (first, second)]
            self.pairs += [
                ((first, tuple(a[: depths[0]].tolist())), (second, tuple(b[: depths[1]].tolist())))
                for a, b in zip(sources, sinks, strict=True)
            ]
        assert self.pairs

    def is_legal(self, tree: LoopTree) -> bool:
        """Whether a tree runs each source before its sink, by running all of it."""
        place: dict[Instance, int] = {}
        for number, (name, group) in enumerate(run_tree(tree, self.every, SIZE)):
            place |= {(name, point): number for point in group}
        assert len(place) == len(self.every)
        return all(place[source] < place[sink] for source, sink in self.pairs)

    def counters(self, loops: tuple[Loop, ...], instance: Instance) -> tuple[int, ...]:
        """Return the counters of loops around an instance."""
        name, point = instance
        return tuple(
            int(np.dot(loop.row(name).iterators, point))
            + sum(SIZE[p] * c for p, c in zip(self.state.tree.parameters, loop.row(name).parameters,
                                              strict=True))
            + loop.row(name).constant
            for loop in loops
        )  # fmt: skip

    def pairs_of(self, loop: Loop) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return pairs in one iteration of the loops around a loop: counters of its chain."""
        tree = self.state.tree
        around, chain = tree.paths[loop.name], tree.chain(loop.name)
        return [
            (self.counters(chain, source), self.counters(chain, sink))
            for source, sink in self.pairs
            if {source[0], sink[0]} <= set(loop.statements)
            and self.counters(around, source) == self.counters(around, sink)
        ]

    def stride(self, loop: Loop) -> int:
        """Return the distance of neighbouring iterations, in one iteration of the loops around."""
        around = self.state.tree.paths[loop.name]
        known: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for instance in self.every:
            if instance[0] in loop.statements:
                known[self.counters(around, instance)] |= {*self.counters((loop,), instance)}
        return gcd(*(value - min(own) for own in known.values() for value in own)) or 1

    def carries(self, loop: Loop) -> bool:
        """Whether two iterations of a loop have to stay in order."""
        return any(source[0] != sink[0] for source, sink in self.pairs_of(loop))


def decide(found: Enumeration, step: Step) -> bool:
    """Decide a step from its meaning."""
    state, tree = found.state, found.state.tree
    match step:
        case Stop():
            return True
        case Undo():
            return state.previous is not None
        case Interchange() | Fuse() | Distribute() | Reorder() | Skew() | Reverse() | Shift():
            try:
                after = apply_tree_step(tree, step, state.version.edge_rows)
            except UnavailableStepError:
                return False
            return after.shape != tree.shape and found.is_legal(after)
        case Tile((_,), _):
            return True
        case Tile(loops, _):
            # Permutable: no pair goes back along any of them.
            chain = tree.chain(loops[0])
            count = len(loops)
            assert tuple(loop.name for loop in chain[:count]) == loops
            return not any(
                b < a
                for source, sink in found.pairs_of(chain[0])
                for a, b in zip(source[:count], sink[:count], strict=True)
            )
        case UnrollJam(_, 1):
            return True
        case UnrollJam(name, count):
            loop = tree.nodes[name]
            assert isinstance(loop, Loop)
            span = count * found.stride(loop)
            return not any(
                0 < sink[0] - source[0] < span and sink[1:] < source[1:]
                for source, sink in found.pairs_of(loop)
            )
        case Vectorize(_, 0):
            return True
        case Vectorize(name, bits):
            loop = tree.nodes[name]
            assert isinstance(loop, Loop)
            span = found.stride(loop) * (1000 if bits is None else bits // 64)
            return not any(
                sink[1:] < source[1:] or (sink[1:] == source[1:] and 0 < sink[0] - source[0] < span)
                for source, sink in found.pairs_of(loop)
            )
        case Parallelize(_, WorkSharing.OFF):
            return True
        case Parallelize(name):
            loop = tree.nodes[name]
            assert isinstance(loop, Loop)
            around = tree.paths[name]
            return not found.carries(loop) and all(found.carries(outer) for outer in around)
        case SplitIndexSet() | Store():
            return True
        case Contract():
            return bool(state.storage.entries) and not state.storage.has_contraction
        case _:
            raise AssertionError(step)


@pytest.mark.parametrize("name", TINY)
def test_masks_by_force(name: str) -> None:
    """Every candidate of the first state and of some others, decided by running all instances."""
    start = start_of(TINY[name], mapping=THREADS)
    states = [start]
    for seed in range(4):
        walk = walk_states(start, np.random.default_rng(seed), 5, lambda s: not is_about_program(s))
        states += [walk[2], walk[-1]]
    outcomes: list[bool] = []
    for state in states:
        found = Enumeration(state)
        assert found.is_legal(state.tree)
        steps = candidate_steps(state)
        for step, verdict in zip(steps, state.verdicts(steps), strict=True):
            if "would change nothing" in verdict.reason and not is_tree_step(step):
                continue  # a mark that is there already
            assert verdict.is_allowed == decide(found, step), (step, verdict, state.tree.text())
            outcomes.append(verdict.is_allowed)
    assert outcomes.count(False) > 20
    assert outcomes.count(True) > 100


def is_about_program(step: object) -> bool:
    """Whether a step is about the statements or arrays of a program."""
    return isinstance(step, SplitIndexSet | Store | Contract)


@pytest.mark.parametrize("name", TINY)
def test_no_tree_step_is_missing(name: str) -> None:
    """Of all steps that can be written with the names of a tree, the list has those that apply.

    Amounts, factors and depths are those of the tables.
    """
    for state in walk_states(
        start_of(TINY[name], mapping=THREADS), np.random.default_rng(3), 3, is_tree_step
    ):
        listed = set(candidate_steps(state))
        names = list(state.tree.nodes)
        loops = [loop.name for loop in state.tree.loops]
        every: list[Step] = [Reverse(loop) for loop in loops]
        every += [Interchange(a, b) for a in loops for b in loops]
        every += [Fuse(a, b, d, 0) for a in names for b in names for d in (1, 2)]
        every += [Reorder(a, b) for a in names for b in names]
        every += [Skew(a, b, 1) for a in loops for b in loops]
        every += [Tile((a, b), (32, 32)) for a in loops for b in loops]
        for step, verdict in zip(every, state.verdicts(every), strict=True):
            if step in listed or not verdict.is_allowed:
                continue
            if isinstance(step, Fuse):  # the deepest one and the next one are listed
                assert step.depth > 1
                continue
            if isinstance(step, Tile):  # the outer one first
                assert Tile(step.loops[::-1], step.sizes) in listed
                continue
            pytest.fail(f"{step} is not listed for\n{state.tree.text()}")


def test_listed_steps_exist_in_the_tree() -> None:
    """Every name is one of the tree's."""

    def names_in(body: Body) -> set[str]:
        found = set()
        for node in body:
            found.add(node.name)
            if isinstance(node, Loop):
                found |= names_in(node.body)
        return found

    for name in ("gemm", "jacobi-1d", "random:0", "scalars:2"):
        state = start_named(name)
        known = names_in(state.tree.body)
        for step in candidate_steps(state):
            if is_about_program(step) or isinstance(step, Stop | Undo):
                continue
            words = str(step).split()[1:]
            own = {w for w in words if w in known}
            assert own, step
            rest = set(words) - own - {"depth", "shift", "before", "off", "static", "dynamic"}
            assert all(word.lstrip("-").isdigit() for word in rest), step


@pytest.mark.parametrize("name", ["symm", "mvt", "floyd-warshall", "gemm"])
def test_steps_about_the_program_are_possible(name: str) -> None:
    """What is suggested of cuts and of storage applies to the source."""
    state = start_named(name)
    own = [step for step in candidate_steps(state) if isinstance(step, SplitIndexSet | Store)]
    assert own
    for step, verdict in zip(own, state.verdicts(own), strict=True):
        if not verdict.is_allowed:
            assert "bytes of new arrays" in verdict.reason
            continue
        result = state.after(step)
        sizes = {p.name: 4 for p in result.scop.parameters}
        times = [time_vector(result.schedule, i, sizes) for i in instances(result.scop, sizes)]
        assert len(set(times)) == len(times)
    with pytest.raises(InputError):
        state.after(Contract())
