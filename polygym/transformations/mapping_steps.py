"""Steps about the mapping: the orders that they permit, and the marks that they leave.

A step about the mapping is legal if and only if every order is that it may need::

    tile L1 L2         each of the loops can be moved outermost among them
    unroll_jam L1 4    L1 can be moved innermost, for pairs in a block of 4 iterations
    vectorize L2       L2 can be moved innermost and reversed there
    vectorize L2 256   L2 can be moved innermost, and reversed for pairs in a vector
    parallel L1        L1 can be reversed

A loop that can be reversed carries no dependence: a distance of at least 1 would become negative.
Blocks are those of :mod:`polygym.transformations.iteration_blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from polygym.mapping.knob_domains import WorkSharing
from polygym.poly.legality import Violation, find_violation
from polygym.transformations.iteration_blocks import IterationBlock
from polygym.transformations.loop_marks import Marks, with_marks, without_in_nest
from polygym.transformations.loop_tree import Loop, LoopTree
from polygym.transformations.program import ProgramVersion
from polygym.transformations.steps import (
    MappingStep,
    Parallelize,
    Reverse,
    Step,
    Tile,
    UnrollJam,
    Vectorize,
)
from polygym.transformations.tree_steps import (
    UnavailableStepError,
    apply_tree_step,
    expect_chain,
    loop_named,
    with_chain_order,
)


@dataclass(frozen=True, slots=True)
class PermittedOrder:
    """An order of instances that must respect all pairs, or with a block those that are in it."""

    tree: LoopTree
    block: IterationBlock | None = None


@dataclass(frozen=True)
class PermittedOrders:
    """The orders that steps about the mapping permit, of one tree with so many threads.

    Steps that differ only in numbers share their trees.
    """

    tree: LoopTree
    version: ProgramVersion
    threads: int
    _trees: dict[object, LoopTree] = field(default_factory=dict, init=False, repr=False)

    def of(self, step: MappingStep) -> list[PermittedOrder]:
        """Return orders that are all legal if and only if the step is."""
        tree = self.tree
        match step:
            case Tile(loops, sizes):
                return [PermittedOrder(tree) for tree in self._tile_trees(loops, sizes)]
            case UnrollJam(name, count):
                chain = self._innermost_chain(name, step)
                if len(chain) < 2:
                    raise UnavailableStepError(f"{step}: expected a loop with a loop in it")
                if count == 1:
                    return []
                return [PermittedOrder(self._innermost(chain), IterationBlock(name, count))]
            case Vectorize(name, bits):
                if bits == 0:
                    loop_named(tree, name)
                    return []
                chain = self._innermost_chain(name, step)
                moved = self._innermost(chain)
                backwards = self._reversed(moved, name)
                return [PermittedOrder(moved), PermittedOrder(backwards, self._vector(name, bits))]
            case Parallelize(name, sharing):
                loop_named(tree, name)
                if self.threads == 1:
                    raise UnavailableStepError(f"{step}: expected several threads, found 1")
                if sharing is WorkSharing.OFF:
                    return []
                self._expect_outermost_parallel(name, step)
                return [PermittedOrder(self._reversed(tree, name))]
            case _:
                assert_never(step)

    def are_legal(self, orders: Sequence[PermittedOrder]) -> list[bool]:
        """Decide orders, all of them with one test for any number of iterations."""
        trees = {id(order.tree): order.tree for order in orders}
        verdicts = self.version.tables.are_legal(list(trees.values()), self.tree)
        legal = dict(zip(trees, verdicts, strict=True))
        return [legal[id(order.tree)] or self._is_legal_in_block(order) for order in orders]

    def _is_legal_in_block(self, order: PermittedOrder) -> bool:
        blocks = self.version.blocks
        return order.block is not None and blocks.is_legal(self.tree, order.block, order.tree)

    def violation(self, order: PermittedOrder) -> Violation | None:
        """Return a pair that an order breaks.

        Raises:
            LimitError: isl would take too long.
        """
        if order.block is None:
            return find_violation(self.version.scop, order.tree.schedule)
        return self.version.blocks.violation(self.tree, order.block, order.tree)

    def reason(self, step: Step) -> str:
        """Return why a step needs an order that is illegal, as the beginning of a sentence."""
        match step:
            case Tile():
                return "blocks need loops in any order, but in one "
            case UnrollJam(name, count):
                return f"{count} iterations of {name} run together in the loops in it, but then "
            case Vectorize(name, bits):
                width = f"a vector of {bits} bits" if bits else "a vector of any width"
                return f"{width} needs {name} innermost and no dependence in it, but then "
            case Parallelize(name):
                return f"threads run the iterations of {name} in any order, but in one "
            case _:
                return ""

    def _vector(self, name: str, bits: int | None) -> IterationBlock | None:
        """Return the iterations in one vector of a loop; None for any width."""
        if bits is None:
            return None
        widest = self.version.scop.widest_element(loop_named(self.tree, name).statements)
        return IterationBlock(name, max(1, bits // (8 * widest)))

    def _expect_outermost_parallel(self, name: str, step: Step) -> None:
        outer = self.tree.paths[name]
        reversed_ = [self._reversed(self.tree, loop.name) for loop in outer]
        for loop, is_parallel in zip(
            outer, self.version.tables.are_legal(reversed_, self.tree), strict=True
        ):
            if is_parallel:
                raise UnavailableStepError(
                    f"{step}: expected the outermost parallel loop, found {loop.name} around it"
                )

    def _tile_trees(self, loops: tuple[str, ...], sizes: tuple[int, ...]) -> list[LoopTree]:
        for name in loops:
            loop_named(self.tree, name)
        if len(set(loops)) < len(loops):
            raise UnavailableStepError(f"tile {' '.join(loops)}: expected every loop once")
        if len(loops) == 1:
            return []
        ordered = sorted(loops, key=lambda name: len(self.tree.paths[name]))
        chain = expect_chain(self.tree, ordered[0], ordered[-1])
        names = [loop.name for loop in chain]
        missing = [name for name in loops if name not in names]
        if missing:
            raise UnavailableStepError(
                f"tile {' '.join(loops)}: expected loops of one perfect nest, {', '.join(names)}; "
                f"found {', '.join(missing)}"
            )
        places = [place for place, name in enumerate(names) if name in loops]
        return [
            self._in_order(chain, (place, *(k for k in range(len(chain)) if k != place)))
            for place in places[1:]
        ]

    def _innermost(self, chain: tuple[Loop, ...]) -> LoopTree:
        """Return the tree with the first loop of a perfect nest inside of the others."""
        return self._in_order(chain, (*range(1, len(chain)), 0))

    def _in_order(self, chain: tuple[Loop, ...], order: tuple[int, ...]) -> LoopTree:
        return self._tree((chain[0].name, order), lambda: with_chain_order(self.tree, chain, order))

    def _reversed(self, tree: LoopTree, name: str) -> LoopTree:
        edge_rows = self.version.edge_rows
        return self._tree((id(tree), name), lambda: apply_tree_step(tree, Reverse(name), edge_rows))

    def _tree(self, key: object, make: Callable[[], LoopTree]) -> LoopTree:
        if key not in self._trees:
            self._trees[key] = make()
        return self._trees[key]

    def _innermost_chain(self, name: str, step: Step) -> tuple[Loop, ...]:
        loop_named(self.tree, name)
        chain = self.tree.chain(name)
        if any(isinstance(node, Loop) for node in chain[-1].body):
            raise UnavailableStepError(
                f"{step}: expected only loops right inside each other in {name}, found loops "
                "beside other nodes"
            )
        return chain


def marked(tree: LoopTree, marks: Marks, step: MappingStep) -> Marks:
    """Return the marks with those of a step."""
    match step:
        case Tile(loops, sizes):
            for name, size in zip(loops, sizes, strict=True):
                marks = with_marks(marks, name, tile=size)
        case UnrollJam(name, count):
            marks = without_in_nest(marks, tree.nest_of(name), tree, jam=None)
            marks = with_marks(marks, name, jam=count)
        case Vectorize(name, bits):
            nest = tree.nest_of(name)
            marks = without_in_nest(marks, nest, tree, is_vector_loop=False, vector_bits=None)
            marks = with_marks(marks, name, is_vector_loop=bits != 0, vector_bits=bits)
        case Parallelize(name, sharing):
            marks = without_in_nest(marks, tree.nest_of(name), tree, sharing=None)
            marks = with_marks(marks, name, sharing=sharing)
    return marks


def with_marks_of_copies(before: LoopTree, marks: Marks, after: LoopTree) -> Marks:
    """Return the marks with those of the loops that a distribution has copied."""
    known = dict(marks)
    for loop in after.loops:
        if loop.name not in before.nodes:
            depth = len(after.paths[loop.name])
            original = before.paths[loop.statements[0]][depth]
            if original.name in known:
                marks = (*marks, (loop.name, known[original.name]))
    return tuple(sorted(marks))
