"""The arrays that an observation has beside the usual ones where a program is transformed.

==============  ====================================================================================
``loops``       a row for every loop of the loop tree: its place, its length, its marks
``loop_of``     the innermost loop around each statement, from 1; 0 for none
``choices``     a row for every action: the step that it is, and the loops that it names
``question``    how far the episode is
``nests``       the nests of the schedule, as in Optimize-v0
``nest_of``     the nest of each statement, from 1; 0 for none
``candidate``   the features of the whole candidate, as in Optimize-v0
==============  ====================================================================================

Numbers of things, sizes and lengths are log2(1 + x). Loops are in the order of the tree, each
before those in it. No column depends on names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np

from polygym.codegen.tree.analysis.trip_counts import row_trip_count
from polygym.mapping.knob_domains import WorkSharing
from polygym.mapping.sizes import Sizes
from polygym.mdp.observation import arrays
from polygym.mdp.observation.arrays import logarithm, numbers_of, scaled
from polygym.mdp.observation.mapping_arrays import mapping_arrays
from polygym.mdp.transforming import StepOffer
from polygym.transformations.loop_marks import LoopMarks, marks_of
from polygym.transformations.loop_tree import Loop
from polygym.transformations.state import TransformState
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

MOST_TREE_LOOPS = 48
"""A program with more loops shows its first ones. Steps about the others are offered all the same:
of a loop without a row their columns have the number of statements alone."""


def hidden_loops(state: TransformState) -> int:
    """Return how many loops of a state have no row."""
    return max(0, len(state.tree.loops) - MOST_TREE_LOOPS)


@dataclass(frozen=True)
class TreeLoop:
    """A loop of a tree in a state, with what an observation shows of it."""

    state: TransformState
    loop: Loop
    sizes: Sizes

    @cached_property
    def length(self) -> int:
        """How many iterations it has at most at the program's sizes."""
        statement = self.state.scop.statement(
            max(self.loop.statements, key=lambda name: len(self.state.tree.paths[name]))
        )
        row = self.loop.row(statement.name)
        return max(1, row_trip_count(statement, row, self.state.tree.parameters, self.sizes))

    @property
    def depth(self) -> int:
        """How many loops are around it."""
        return len(self.state.tree.paths[self.loop.name])

    @property
    def parent(self) -> int:
        """The place of the loop around it, from 1; 0 for none."""
        around = self.state.tree.paths[self.loop.name]
        return self.state.tree.loops.index(around[-1]) + 1 if around else 0

    @property
    def is_innermost(self) -> bool:
        """Whether there are no loops in it."""
        return not any(isinstance(node, Loop) for node in self.loop.body)

    @property
    def marks(self) -> LoopMarks:
        """Its marks."""
        return marks_of(self.state.marks, self.loop.name)

    @property
    def coefficient_sum(self) -> int:
        """The largest sum of absolute coefficients of iterators in its rows."""
        return max(sum(map(abs, row.iterators)) for row in self.loop.rows)


LOOPS = (
    scaled("exists", "1", lambda at: 1),
    scaled("depth", "the number of loops around it", lambda at: at.depth),
    scaled("parent", "the loop around it, from 1; 0 for none", lambda at: at.parent),
    scaled("statements", "their number in it", lambda at: logarithm(len(at.loop.statements))),
    scaled("nodes", "loops and statements in its body", lambda at: logarithm(len(at.loop.body))),
    scaled("length", "its iterations at most", lambda at: logarithm(at.length)),
    scaled("innermost", "1 if no loop is in it", lambda at: at.is_innermost),
    scaled(
        "chain", "loops right inside each other from it on",
        lambda at: len(at.state.tree.chain(at.loop.name)),
    ),
    scaled("terms", "the largest sum of a row's coefficients", lambda at: at.coefficient_sum),
    scaled("band", "its position in its permutable band, from 1",
           lambda at: at.state.band_positions[at.loop.name] + 1),
    scaled("tile", "its tile size", lambda at: logarithm(at.marks.tile or 0)),
    scaled("jam", "its iterations that run together", lambda at: logarithm(at.marks.jam or 0)),
    scaled("vector", "1 if it is the vector loop", lambda at: at.marks.is_vector_loop),
    scaled("static", "1 if in static chunks", lambda at: at.marks.sharing is WorkSharing.STATIC),
    scaled("dynamic", "1 if in dynamic chunks", lambda at: at.marks.sharing is WorkSharing.DYNAMIC),
    scaled("sequential", "1 if in one thread", lambda at: at.marks.sharing is WorkSharing.OFF),
    scaled("hidden", "loops of the program that have no row",
           lambda at: logarithm(hidden_loops(at.state))),
)  # fmt: skip
"""The columns of ``loops``, of a :class:`TreeLoop`."""


@lru_cache(maxsize=16384)
def names_in_step(step: Step) -> tuple[str, str]:
    """Return the first two loops or statements that a step names; empty for none."""
    match step:
        case Interchange(first, second) | Reorder(first, second):
            return first, second
        case Fuse(first, second):
            return first, second
        case Distribute(first, second) | Shift(first, second) | Skew(first, second):
            return first, second
        case Reverse(name) | UnrollJam(name) | Vectorize(name) | Parallelize(name):
            return name, ""
        case Tile(loops):
            return loops[0], loops[-1] if len(loops) > 1 else ""
        case Stop() | Undo() | SplitIndexSet() | Store() | Contract():
            return "", ""
        case SetMapping() | SetSchedule():
            return "", ""


def _amount(step: Step) -> float:
    """Return the number of a step: a shift, a factor, a size."""
    match step:
        case Skew(_, _, amount) | Shift(_, _, amount):
            return amount
        case Fuse(_, _, _, shift):
            return shift
        case Tile(_, sizes):
            return logarithm(sizes[0])
        case UnrollJam(_, count):
            return logarithm(count)
        case Vectorize(_, bits):
            return logarithm(bits or 0)
        case _:
            return 0


def _is_off(step: Step) -> bool:
    """Whether a step turns something off."""
    match step:
        case Vectorize(_, 0) | Parallelize(_, WorkSharing.OFF) | UnrollJam(_, 1):
            return True
        case _:
            return False


def _is_step(kind: type[Step]) -> arrays.Column:
    name = kind.syntax.split()[0]
    return scaled(f"is_{name}", "the kind of the step", lambda at: isinstance(at, kind))


_SHOWN = [
    place
    for place, column in enumerate(LOOPS)
    if column.name not in ("exists", "parent", "statements", "hidden")
]


def _of_node(name: str, doc: str) -> tuple[arrays.Column, ...]:
    """Return the columns of a node that a step names, which :func:`choices_array` fills in."""
    return (
        scaled(f"{name}_statements", f"the number of statements in {doc}", lambda _: 0),
        *(
            scaled(f"{name}_{LOOPS[place].name}", f"of {doc}: {LOOPS[place].doc}", lambda _: 0)
            for place in _SHOWN
        ),
    )


CHOICES = (
    scaled("allowed", "1 if the mask has it", lambda _: 0),
    *map(_is_step, STEP_TYPES),
    arrays.Column("amount", "its shift, factor, size or count", _amount, -64.0, 64.0),
    scaled("depth", "how many loops are fused", lambda at: getattr(at, "depth", 0)),
    scaled("loops", "how many loops are tiled", lambda at: len(getattr(at, "loops", ()))),
    scaled("off", "1 if it turns something off", _is_off),
    scaled(
        "static", "1 if in static chunks",
        lambda at: getattr(at, "sharing", None) is WorkSharing.STATIC,
    ),
    *_of_node("first", "the first loop or statement that it names"),
    *_of_node("second", "the second one"),
)  # fmt: skip
"""The columns of ``choices``, of a step; :func:`choices_array` fills in the mask and the nodes."""

LOOP_COLUMNS = arrays.names_of(LOOPS)
CHOICE_COLUMNS = arrays.names_of(CHOICES)


def transform_arrays(actions: int) -> Mapping[str, arrays.ArraySpec]:
    """Return the arrays by name."""
    of_mapping = mapping_arrays()
    return MappingProxyType(
        {
            "question": of_mapping["question"],
            "choices": arrays.spec_of(CHOICES, np.float32, (actions,)),
            "nests": of_mapping["nests"],
            "nest_of": of_mapping["nest_of"],
            "candidate": of_mapping["candidate"],
            "loops": arrays.spec_of(LOOPS, np.float32, (MOST_TREE_LOOPS,)),
            "loop_of": arrays.ArraySpec((arrays.MOST_STATEMENTS,), np.int8, 0, MOST_TREE_LOOPS),
        }
    )


def loops_array(state: TransformState, sizes: Sizes) -> arrays.Array:
    """Return the table ``loops``."""
    array = np.zeros((MOST_TREE_LOOPS, len(LOOPS)), np.float32)
    for row, loop in zip(array, state.tree.loops, strict=False):
        row[:] = numbers_of(LOOPS, TreeLoop(state, loop, sizes))
    return array


def loop_of_statements(state: TransformState) -> arrays.Array:
    """Return the array ``loop_of``."""
    array = np.zeros(arrays.MOST_STATEMENTS, np.int8)
    places = {loop.name: place for place, loop in enumerate(state.tree.loops, start=1)}
    for place, (name, _) in enumerate(state.tree.iterators[: arrays.MOST_STATEMENTS]):
        around = state.tree.paths[name]
        number = places[around[-1].name] if around else 0
        array[place] = number if number <= MOST_TREE_LOOPS else 0
    return array


def choices_array(offer: StepOffer | None, loops: arrays.Array, actions: int) -> arrays.Array:
    """Return the table ``choices``; None where nothing is offered any more.

    ``loops`` is the table of that name, whose rows those of named loops repeat.
    """
    array = np.zeros((actions, len(CHOICES)), np.float32)
    if offer is None:
        return array
    tree = offer.state.tree
    places = {loop.name: place for place, loop in enumerate(tree.loops[:MOST_TREE_LOOPS])}
    nodes = np.zeros((len(tree.nodes) + 1, _NODE), np.float32)
    rows = {}
    for place, (name, node) in enumerate(tree.nodes.items()):
        rows[name] = place
        nodes[place, 0] = logarithm(len(node.statements))
        if name in places:
            nodes[place, 1:] = loops[places[name], _SHOWN]
    steps = offer.steps[:actions]
    array[: len(steps), :_OWN] = [_own_numbers(step) for step in steps]
    array[: len(steps), 0] = offer.mask()[:actions]
    for number, start in enumerate((_OWN, _OWN + _NODE)):
        named = [rows.get(names_in_step(step)[number], -1) for step in steps]
        array[: len(steps), start : start + _NODE] = nodes[named]
    return array


@lru_cache(maxsize=16384)
def _own_numbers(step: Step) -> tuple[float, ...]:
    """Return the columns of a step that depend on nothing else."""
    return tuple(numbers_of(CHOICES[:_OWN], step))


_NODE = 1 + len(_SHOWN)
_OWN = len(CHOICES) - 2 * _NODE
