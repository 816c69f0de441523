"""The whole of code generation in one place: legal schedule → loops → LLVM IR → object code.

The passes and their order are a table (:mod:`polygym.compiler.codegen.passes`). Here it is run,
under the mapping that was asked for or, where that is out of isl's reach, under a simpler one; and
what isl has made, and what comes out in the end, is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.common.nest_entries import expect_statements
from polygym.compiler.codegen.common.sizes import Sizes, known_sizes
from polygym.compiler.codegen.contraction import contract
from polygym.compiler.codegen.llvm.emit_module import emit_llvm
from polygym.compiler.codegen.llvm.jit import compile_object
from polygym.compiler.codegen.loops.check_bounds import with_proofs
from polygym.compiler.codegen.loops.check_by_running import check_by_running, prepare
from polygym.compiler.codegen.loops.check_ranges import check_ranges
from polygym.compiler.codegen.loops.ir import LoopProgram, count_instances
from polygym.compiler.codegen.passes import (
    BUILD,
    GENERATE,
    LOOPS,
    PLAN,
    Goal,
    level,
    most_instances,
)
from polygym.compiler.codegen.trees.tree import Tree, free_sums_in, without_annotations
from polygym.compiler.ir.scop import Storage
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.isl_budget import DEFAULT_OPERATIONS, bounded
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import InputError, InternalError, LimitError

# What a mapping may cost before a simpler one is taken, in isl's operations, of which a program
# with many dependences needs more.
_MOST_OPERATIONS = 800_000
_OPERATIONS_FOR_A_DEPENDENCE = 20_000
_PATIENCE = 3  # with the last thing that can be tried

# What ends one way to make loops, and not the others: limits, and mistakes of isl's.
_SIMPLER_MAY_DO = (InputError, InternalError, LimitError)


@dataclass(frozen=True, slots=True)
class WayToLoops:
    """How loops came about: their ``tree``, and what every pass over ``loops`` has left.

    The first of the loops are isl's; a pass that was left out leaves what was there. The ``goal``
    has the mapping under which they were made, which may be less than was asked for.
    """

    goal: Goal
    tree: Tree
    loops: tuple[LoopProgram, ...]

    @property
    def program(self) -> LoopProgram:
        """What came of it all."""
        return self.loops[-1]


def lower(
    legal: LegalSchedule, mapping: Mapping = SEQUENTIAL, sizes: Sizes | None = None
) -> LoopProgram:
    """Return the loops that realise a legal schedule on this machine, for all or for given sizes.

    Some schedules are so irregular that tiles of them are out of reach: then they go without, and
    if that does not help, without any mapping but threads, in loops that are not split where what
    runs in them changes: these are slow, but little work for isl. And where isl finds no end even
    to these for the given sizes, or gets them wrong, they are made for all sizes, which is another
    way through isl.

    Effort is counted in isl's operations, not in seconds, so that it does not depend on how busy
    the machine is. (At the very edge of the bound it depends a little on what the process did
    before: isl counts what it allocates, and reuses some.)
    """
    return way_to_loops(legal, mapping, sizes).program


def way_to_loops(legal: LegalSchedule, mapping: Mapping, sizes: Sizes | None) -> WayToLoops:
    """Return the way that :func:`lower` goes: under the mapping, or the first simpler one.

    What was to be private to threads and cannot be gets the windows that the schedule leaves it.
    """
    way = _way(legal, mapping, sizes)
    left = way.program.not_private
    if left:
        smaller = contract(legal, [name for name, _ in left])
        if smaller.scop != legal.scop:
            way = _way(smaller, mapping, sizes)
            *before, last = way.loops
            # What the windows leave as it is was tried again, and may be private now.
            own = {one.name for one in last.scop.arrays if one.storage is Storage.PRIVATE}
            reasons = {**dict(left), **dict(last.not_private)}
            kept = tuple((name, why) for name, why in reasons.items() if name not in own)
            last = replace(last, not_private=kept)
            way = replace(way, loops=(*before, last))
    return _with_proofs(way, sizes)


def _way(legal: LegalSchedule, mapping: Mapping, sizes: Sizes | None) -> WayToLoops:
    expect_statements(mapping.nests, legal.scop)
    asked = Goal(legal, mapping, sizes)
    prepare(legal.scop, sizes)
    tree = BUILD.run(legal, asked)
    most = _MOST_OPERATIONS + _OPERATIONS_FOR_A_DEPENDENCE * len(dependences(legal.scop))
    hopeless: set[Tree] = set()
    found = _attempts(tree, asked, most, hopeless)
    if found is not None:
        return found
    if mapping.leaves_order:
        most = DEFAULT_OPERATIONS
    plain = replace(
        SEQUENTIAL,
        threads=mapping.threads,
        parallel=mapping.parallel,
        reassociate=mapping.reassociate,
    )
    goal = replace(asked, mapping=plain)
    mapped = PLAN.run(tree, goal)
    if without_annotations(tree) not in hopeless:
        with suppress(*_SIMPLER_MAY_DO), bounded("generating loops", most):
            return _lowered(mapped, goal)
    if sizes is not None:
        with suppress(*_SIMPLER_MAY_DO), bounded("generating loops", most):
            return _lowered(mapped, replace(goal, whole=True))
    with bounded("generating loops", most * _PATIENCE):
        found = _lowered(mapped, replace(goal, sizes=None, whole=True))
        if sizes is not None:
            check_by_running(found.loops[0].body, mapped, legal, sizes)
        return found


def _with_proofs(way: WayToLoops, sizes: Sizes | None) -> WayToLoops:
    """Return a way whose last loops have what is proved of them, and what code has to check.

    Loops for all sizes are to run at the given ones as well.
    """
    *before, last = way.loops
    return replace(way, loops=(*before, with_proofs(last, known_sizes(last.scop, sizes))))


def _attempts(tree: Tree, asked: Goal, most: int, hopeless: set[Tree]) -> WayToLoops | None:
    """Return the way under a mapping or a simpler one, None where isl gives up every time.

    ``hopeless`` gets the trees of which isl makes no loops: another mapping may lead to them again.
    """
    for mapping in _simpler(asked.mapping):
        for in_order in (False, True):
            goal = replace(asked, mapping=mapping, in_order=in_order)
            mapped: Tree | None = None
            try:
                with bounded("mapping the schedule to the machine", most):
                    mapped = PLAN.run(tree, goal)
                    if without_annotations(mapped) in hopeless:
                        break
                    hopeless.add(without_annotations(mapped))  # unless it turns out otherwise
                    way = _lowered(mapped, goal)
                if count_instances(way.program.body) <= most_instances(asked.legal.scop):
                    return way
                hopeless.discard(without_annotations(mapped))
            except _SIMPLER_MAY_DO:
                pass
            if mapped is None or not free_sums_in(mapped):
                break  # nothing would be another way
    return None


def _simpler(mapping: Mapping) -> Iterator[Mapping]:
    """Yield a mapping, then what is left when tiling, and copying, are given up."""
    if mapping.leaves_order:
        return
    yield mapping
    yield replace(mapping, tile=(), sink=False, nests=())
    yield replace(mapping, tile=(), sink=False, unroll_jam=1, vector_copies=1, order=(), nests=())


def _lowered(tree: Tree, goal: Goal) -> WayToLoops:
    """Run the passes over the loops of a tree, and check what comes in and what comes out."""
    program = GENERATE.run(tree, goal)
    check_ranges(program.body, goal.legal.scop)
    check_by_running(program.body, tree, goal.legal, goal.sizes)
    loops = [program]
    for each in LOOPS:
        loops.append(each.run(loops[-1], goal) if each.is_wanted(goal.mapping) else loops[-1])
    done = loops[-1]
    check_ranges(done.body, done.scop)
    return WayToLoops(goal, tree, tuple(loops))


def compile_program(program: LoopProgram, *, is_watched: bool = False) -> bytes:
    """Return the machine code of a loop program as an object file.

    Code that is watched checks everything that it relies on.
    """
    return compile_object(emit_llvm(program, is_watched=is_watched), level(program.mapping))
