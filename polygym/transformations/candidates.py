"""Steps that a state offers, legal or not, in a fixed order.

The list is finite: pairs of loops of perfect nests, neighbours, parts of bodies, and sizes from
tables. Steps about the order of instances come first, then those about the program's storage, then
those about the mapping. Example, a product of matrices in the order of the text: distribute, three
interchanges, skews by 1 and -1, reversals, tile sizes for four loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from polygym.errors import InputError, LimitError
from polygym.mapping.knob_domains import WorkSharing
from polygym.poly.dependences import dependences
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.transform.splitting.conditions import Splitting
from polygym.poly.transform.splitting.suggestions import candidate_splittings
from polygym.poly.transform.storage.plan import StorageEntry
from polygym.poly.transform.storage.variants import (
    WebVariants,
    some_storage_variants,
    storage_variants,
)
from polygym.transformations.loop_tree import Body, Loop, LoopTree, StatementNode, walk
from polygym.transformations.state import StepVerdict, TransformProgram, TransformState
from polygym.transformations.steps import (
    Contract,
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Reorder,
    Reverse,
    Shift,
    Skew,
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    TreeStep,
    Undo,
    UnrollJam,
    Vectorize,
)

OFFERED_STEPS: tuple[type[Step], ...] = (
    Interchange, Fuse, Distribute, Reorder, Skew, Reverse, Shift, SplitIndexSet, Store, Contract,
    Parallelize, Vectorize, UnrollJam, Tile,
)  # fmt: skip
"""The kinds of steps behind ``stop`` and ``undo``, in their order."""

TILE_SIZES = (8, 16, 32, 64, 128, 256)
BLOCK_SIZES = (16, 32, 64)
JAM_COUNTS = (1, 2, 4, 8)
VECTOR_BITS = (None, 256)
FUSE_SHIFTS = (0, 1, 2)
MOST_SHIFT = 64
SKEW_FACTORS = (1, -1)
SHIFT_AMOUNTS = (1, -1)

LeastShift = Callable[[LoopTree, Loop, Loop], int | None]

_ISL_OPERATIONS = 400_000
_MOST_CUTS = 8
_MOST_PAIRS = 8
_MOST_PROOFS = 3
"""Proofs about arrays of divided statements that are tried for each division."""


def candidate_steps(state: TransformState) -> tuple[Step, ...]:
    """Return the steps, ``stop`` and ``undo`` first."""
    tree = state.tree
    return (
        Stop(),
        Undo(),
        *order_steps(tree, state.version.tables.least_shift),
        *_program_steps(state),
        *_mapping_steps(state),
    )


def legal_steps(state: TransformState, kinds: Any = Step) -> list[tuple[Step, StepVerdict]]:
    """Return the steps that are allowed, those of some kinds alone, with their verdicts."""
    steps = [step for step in candidate_steps(state) if isinstance(step, kinds)]
    pairs = zip(steps, state.verdicts(steps), strict=True)
    return [(step, verdict) for step, verdict in pairs if verdict.is_allowed]


def sample_by_kind(steps: Sequence[Step], rng: np.random.Generator) -> int:
    """Return the place of a random step: each kind is as likely as every other."""
    places: dict[type[Step], list[int]] = {}
    for place, step in enumerate(steps):
        places.setdefault(type(step), []).append(place)
    own = list(places.values())[int(rng.integers(len(places)))]
    return own[int(rng.integers(len(own)))]


def order_steps(tree: LoopTree, least_shift: LeastShift | None = None) -> Iterator[TreeStep]:
    """Yield the steps about the order of instances; ``least_shift`` finds shifts of fusions."""
    for loop in tree.loops:
        for inner in tree.chain(loop.name)[1:]:
            yield Interchange(loop.name, inner.name)
    for body in _bodies(tree.body):
        for first, second in pairwise(body):
            if isinstance(first, Loop) or isinstance(second, Loop):
                loops = [node for node in (first, second) if isinstance(node, Loop)]
                reach = min(len(tree.chain(member.name)) for member in loops)
                for shift in _fuse_shifts(tree, loops, least_shift):
                    yield Fuse(first.name, second.name, 1, shift)
                if reach > 1:
                    yield Fuse(first.name, second.name, reach, 0)
    for loop in tree.loops:
        for node in tree.chain(loop.name)[-1].body[1:]:
            yield Distribute(loop.name, node.name)
    for body in _bodies(tree.body):
        for first, second in pairwise(body):
            yield Reorder(first.name, second.name)
    for loop in tree.loops:
        for other in (*tree.paths[loop.name], *tree.chain(loop.name)[1:]):
            for factor in SKEW_FACTORS:
                yield Skew(loop.name, other.name, factor)
    for loop in tree.loops:
        yield Reverse(loop.name)
    for loop in tree.loops:
        parts = tree.chain(loop.name)[-1].body
        for node in parts[1:]:
            for amount in SHIFT_AMOUNTS:
                yield Shift(node.name, loop.name, amount)


def _fuse_shifts(
    tree: LoopTree, loops: list[Loop], least_shift: LeastShift | None
) -> tuple[int, ...]:
    """Return shifts of a fusion: small ones, and the least that the dependences permit."""
    if len(loops) < 2:
        return (0,)
    least = least_shift(tree, *loops) if least_shift is not None else None
    if least is None or not FUSE_SHIFTS[-1] < least <= MOST_SHIFT:
        return FUSE_SHIFTS
    return (*FUSE_SHIFTS, least)


def _mapping_steps(state: TransformState) -> Iterator[Step]:
    tree = state.tree
    if state.base.threads > 1:
        for loop in tree.loops:
            if len(tree.paths[loop.name]) < 2:
                yield Parallelize(loop.name, WorkSharing.STATIC)
                yield Parallelize(loop.name, WorkSharing.DYNAMIC)
        for nest in tree.nests:
            yield Parallelize(nest.name, WorkSharing.OFF)
    for loop in tree.loops:
        if not _has_inner_branches(loop, tree):
            for bits in VECTOR_BITS:
                yield Vectorize(loop.name, bits)
    for nest in tree.nests:
        yield Vectorize(nest.name, 0)
    for loop in tree.loops:
        if len(tree.chain(loop.name)) > 1 and not _has_inner_branches(loop, tree):
            for count in JAM_COUNTS:
                yield UnrollJam(loop.name, count)
    for body in _bodies(tree.body):
        for node in body:
            if isinstance(node, Loop) and not _continues_chain(node, tree):
                yield from _block_steps(tree.chain(node.name))
    for loop in tree.loops:
        for size in TILE_SIZES:
            yield Tile((loop.name,), (size,))


def _continues_chain(loop: Loop, tree: LoopTree) -> bool:
    """Whether a loop is all there is in the loop around it."""
    around = tree.paths[loop.name]
    return bool(around) and len(around[-1].body) == 1


def _block_steps(chain: tuple[Loop, ...]) -> Iterator[Step]:
    for first, last in combinations(range(len(chain)), 2):
        names = tuple(member.name for member in chain[first : last + 1])
        for size in BLOCK_SIZES:
            yield Tile(names, (size,) * len(names))


def _has_inner_branches(loop: Loop, tree: LoopTree) -> bool:
    last = tree.chain(loop.name)[-1]
    return any(isinstance(node, Loop) for node in last.body)


def _program_steps(state: TransformState) -> Iterator[Step]:
    yield from map(SplitIndexSet, _cuts(state))
    for entry in _entries(state):
        yield Store(str(entry))
    yield Contract()


def _cuts(state: TransformState) -> tuple[str, ...]:
    """Return the divisions that the dependences suggest, of statements that are whole."""
    if not state.storage.is_source:
        return ()
    known = state.program.memo("cuts", lambda: _suggestions(state.program))
    divided = {name for name, _ in state.splitting.statements}
    return tuple(text for text, statements in known if divided.isdisjoint(statements))


def _suggestions(program: TransformProgram) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return cuts with their statements, and pairs of cuts of one statement.

    Whether they are found in time depends on no other question asked before.
    """
    try:
        dependences(program.scop)
        with attempt_bounded(_ISL_OPERATIONS), bounded_operations("looking for cuts"):
            suggested = candidate_splittings(program.scop, ranges=False)[:_MOST_CUTS]
    except (InputError, LimitError):
        return ()
    both = []
    for first, second in combinations(suggested, 2):
        if len(first.statements) == 1 == len(second.statements):
            (name, one), (other, more) = *first.statements, *second.statements
            if name == other:
                both.append(Splitting(((name, (*one, *more)),)))
    return tuple(
        (str(cuts), frozenset(name for name, _ in cuts.statements))
        for cuts in (*suggested, *both[:_MOST_PAIRS])
    )


def _entries(state: TransformState) -> tuple[StorageEntry, ...]:
    """Return what may become of arrays that stand in the way of loops.

    Where a statement is divided few of its arrays are: each proof takes tens of milliseconds. Where
    several are there are too many programs.
    """
    program, splitting = state.program, state.splitting
    if len(splitting.statements) > 1:
        return ()
    entries = program.memo("entries", lambda: _variants(lambda: storage_variants(program.scop)))
    if splitting.statements:
        touched = program.touched_arrays(splitting)
        divided = program.version(splitting).scop
        some = program.memo(
            ("entries", splitting),
            lambda: _variants(lambda: some_storage_variants(divided, touched, _MOST_PROOFS)),
        )
        entries = (*(entry for entry in entries if entry.array not in touched), *some)
    taken = {entry.array for entry in state.storage.entries}
    return tuple(entry for entry in entries if entry.array not in taken)


def _variants(find: Callable[[], tuple[WebVariants, ...]]) -> tuple[StorageEntry, ...]:
    """Return the entries of webs, each that expands along loops once more for threads.

    None where isl takes too long.
    """
    try:
        webs = find()
    except (InputError, LimitError):
        return ()
    return tuple(
        variant
        for web in webs
        for entry in web.entries
        for variant in (entry, *([replace(entry, is_privatized=True)] if entry.loops else []))
    )


def _bodies(body: Body) -> Iterator[Body]:
    yield body
    for node, _ in walk(body):
        if not isinstance(node, StatementNode):
            yield node.body
