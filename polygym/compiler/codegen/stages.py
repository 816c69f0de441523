"""What each pass of code generation leaves, for people: trees, loops as C, LLVM IR.

The passes are those of :mod:`polygym.compiler.codegen.passes`, on the way that a program really
takes: where the mapping is out of isl's reach, all of them are shown as they were under the simpler
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from polygym.compiler.codegen.c_printer import print_c
from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.codegen.loops.ir import LoopProgram
from polygym.compiler.codegen.passes import (
    BUILD,
    EMIT,
    GENERATE,
    LOOPS,
    OPTIMISE,
    PASSES,
    PLAN,
    Form,
    Goal,
    Pass,
)
from polygym.compiler.codegen.pipeline import WayToLoops, way_to_loops
from polygym.compiler.codegen.trees.printer import print_tree
from polygym.compiler.codegen.trees.tree import Tree
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import InputError

_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Stage:
    """What there is after a pass; ``changed`` says whether the pass has made it another.

    ``goal`` has the mapping under which it was made, which may be less than was ``asked`` for.
    """

    after: Pass[Any, Any]
    asked: Mapping
    goal: Goal
    value: Tree | LoopProgram | str
    changed: bool = True

    @property
    def text(self) -> str:
        """The tree, the loops as C with what each has been given to do, or the LLVM IR."""
        legal = self.goal.legal
        match self.value:
            case str():
                return f"; {self._heading}\n{self.value}"
            case LoopProgram():
                return print_c(self.value, self._heading, annotated=True)
            case _:
                return f"{self._heading}\n\n{print_tree(self.value, legal.scop, legal.schedule)}"

    @property
    def _heading(self) -> str:
        notes = [f"{self.goal.legal.scop.name} after {self.after.name}: {self.after.does}"]
        notes += [] if self.changed else ["here it has changed nothing"]
        notes += [simpler] if (simpler := self.asked.simplified(self.goal.mapping)) else []
        return "; ".join(notes)


def pass_named(name: str) -> Pass[Any, Any]:
    """Return the pass of a name.

    Raises:
        InputError: there is none.
    """
    found = next((one for one in PASSES if one.name == name), None)
    if found is None:
        raise InputError(
            f"expected a pass of code generation, found {name[:_LONGEST_NAME]!r}; there are, in "
            f"their order:\n{list_of_passes()}"
        )
    return found


def stage_after(
    found: Pass[Any, Any],
    legal: LegalSchedule,
    mapping: Mapping = SEQUENTIAL,
    sizes: Sizes | None = None,
) -> Stage:
    """Return what a pass leaves of a schedule under a mapping, for all sizes or for given ones."""
    if found is BUILD:
        goal = Goal(legal, mapping, sizes)
        return Stage(found, mapping, goal, BUILD.run(legal, goal))
    way = way_to_loops(legal, mapping, sizes)
    value, changed = _left_by(found, way)
    return Stage(found, mapping, way.goal, value, changed)


def list_of_passes() -> str:
    """Return the passes in their order, a line each."""
    width = max(len(one.name) for one in PASSES)
    return "\n".join(f"  {one.name:{width}}  {one.does}" for one in PASSES)


def _left_by(found: Pass[Any, Any], way: WayToLoops) -> tuple[Tree | LoopProgram | str, bool]:
    """Return what a pass leaves on a way to loops, and whether it has changed anything."""
    match found.leaves:
        case Form.TREE:
            assert found is PLAN
            return way.tree, way.tree != BUILD.run(way.goal.legal, way.goal)
        case Form.LOOPS:
            if found is GENERATE:
                return way.loops[0], True
            before, after = way.loops[LOOPS.index(found) :][:2]
            return after, after != before
        case Form.LLVM:
            emitted = EMIT.run(way.program, way.goal)
            return emitted if found is EMIT else OPTIMISE.run(emitted, way.goal), True
        case _:
            assert_never(found.leaves)
