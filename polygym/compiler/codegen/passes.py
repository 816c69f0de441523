"""The passes of code generation, in their order: one table.

A legal schedule becomes a tree, the tree becomes loops, the loops become LLVM IR::

    build  plan  |  generate  peel  pack_tiles  move_initialisers  separate  turn_rows  skew_tiles
                 |  unroll_jam  vectorise  pack  part_sums  privatise  stream  |  emit  optimise

A pass is a pure function of what the one before has left and of the :class:`Goal`. What a mapping
does not ask for is left out. :mod:`polygym.compiler.codegen.pipeline` runs the table, checks what
isl has made and what comes out in the end, and decides what to do where a mapping is out of reach;
``polygym show PROGRAM --after PASS`` prints what a pass leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from polygym.compiler.codegen.common.machine import this_machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.codegen.llvm.emit_module import emit_llvm
from polygym.compiler.codegen.llvm.jit import optimise
from polygym.compiler.codegen.loops.generate import generate_loops
from polygym.compiler.codegen.loops.ir import LoopProgram, Node, count_instances
from polygym.compiler.codegen.loops.jam import jam_loops
from polygym.compiler.codegen.loops.lanes import vectorise
from polygym.compiler.codegen.loops.move_initialisers import move_initialisers
from polygym.compiler.codegen.loops.pack import pack
from polygym.compiler.codegen.loops.part_sums import part_sums
from polygym.compiler.codegen.loops.peel import peel
from polygym.compiler.codegen.loops.private import privatise
from polygym.compiler.codegen.loops.separate import separate
from polygym.compiler.codegen.loops.skew_tiles import skew_tiles
from polygym.compiler.codegen.loops.streams import stream
from polygym.compiler.codegen.loops.term_tiles import compute_tiles
from polygym.compiler.codegen.loops.tile_pack import pack_tiles
from polygym.compiler.codegen.loops.turn_rows import turn_rows
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.codegen.trees.tree import Tree
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.legality import LegalSchedule

Before = TypeVar("Before")
After = TypeVar("After")

# How many instances the text of loops may have under a mapping; each statement has several.
_INSTANCES_OF_ALL = 60
_INSTANCES_OF_ONE = 40


@dataclass(frozen=True, slots=True)
class Goal:
    """What code is made of: a legal schedule under a mapping, for all sizes or for given ones.

    ``whole`` loops are not split where what runs in them changes. With ``in_order`` terms of sums
    stay in their tiles, whatever order they may run in.
    """

    legal: LegalSchedule
    mapping: Mapping
    sizes: Sizes | None = None
    whole: bool = False
    in_order: bool = False


class Form(Enum):
    """What a pass leaves."""

    TREE = "tree"
    LOOPS = "loops"
    LLVM = "llvm"


@dataclass(frozen=True, slots=True)
class Pass(Generic[Before, After]):
    """A row of the table: what it ``does`` in one line, and the function.

    It is left out under mappings that do not ask for it.
    """

    name: str
    leaves: Form
    does: str
    run: Callable[[Before, Goal], After]
    is_wanted: Callable[[Mapping], bool] = lambda _: True


def most_instances(scop: Scop) -> int:
    """Return how many instances the code of a mapping may have before a simpler one is taken."""
    return _INSTANCES_OF_ALL + _INSTANCES_OF_ONE * len(scop.statements)


def _build(legal: LegalSchedule, _: Goal) -> Tree:
    return build_tree(legal)


def _plan(tree: Tree, goal: Goal) -> Tree:
    return plan(tree, goal.legal, goal.mapping, this_machine(), goal.sizes, in_order=goal.in_order)


def _generate(tree: Tree, goal: Goal) -> LoopProgram:
    program = generate_loops(tree, goal.legal, goal.sizes, whole=goal.whole)
    return replace(program, mapping=goal.mapping)


def _peel(program: LoopProgram, _: Goal) -> LoopProgram:
    return replace(program, body=peel(program.body, program.scop, dict(program.sizes or ())))


def _pack_tiles(program: LoopProgram, _: Goal) -> LoopProgram:
    return compute_tiles(pack_tiles(program))


def _move_initialisers(program: LoopProgram, _: Goal) -> LoopProgram:
    return replace(program, body=move_initialisers(program.body, program.scop, _guarded(program)))


def _separate(program: LoopProgram, goal: Goal) -> LoopProgram:
    """Separate full tiles, unless the passes that copy loops make too much code of them."""
    body = separate(program.body)
    done = _vectors(jam_loops(body), program)
    if count_instances(done) > most_instances(goal.legal.scop):
        return program
    return replace(program, body=body)


def _turn_rows(program: LoopProgram, _: Goal) -> LoopProgram:
    return turn_rows(program)


def _skew_tiles(program: LoopProgram, _: Goal) -> LoopProgram:
    return skew_tiles(program)


def _unroll_jam(program: LoopProgram, _: Goal) -> LoopProgram:
    return replace(program, body=jam_loops(program.body))


def _vectorise(program: LoopProgram, _: Goal) -> LoopProgram:
    return replace(program, body=_vectors(program.body, program))


def _pack(program: LoopProgram, _: Goal) -> LoopProgram:
    return pack(program)


def _part_sums(program: LoopProgram, goal: Goal) -> LoopProgram:
    mapping = goal.mapping
    bits = mapping.bits_of(this_machine().vector_bits) if mapping.has_vectors else 0
    return part_sums(program, bits, reassociate=mapping.reassociate)


def _privatise(program: LoopProgram, _: Goal) -> LoopProgram:
    return privatise(program)


def _stream(program: LoopProgram, _: Goal) -> LoopProgram:
    return stream(program)


def _emit(program: LoopProgram, _: Goal) -> str:
    return emit_llvm(program)


def _optimise(text: str, goal: Goal) -> str:
    return optimise(text, level(goal.mapping))


def level(mapping: Mapping) -> int:
    """Return at which level LLVM's pipeline runs.

    Where loops are as the schedule has them, LLVM is to do what it can.
    """
    return 3 if mapping.leaves_order else 2


def code_key(planned: Tree, mapping: Mapping) -> Hashable:
    """Return what decides the code of a schedule at given sizes, once its loops are planned.

    Many mappings plan the same loops: tiles larger than the loop, wavefronts where there are none.
    Where their keys are equal so is their code.
    """
    wanted = tuple([one.is_wanted(mapping) for one in LOOPS])
    threads = mapping.threads if mapping.shares else 1
    return planned, wanted, level(mapping), threads, mapping.reassociate


def _vectors(body: Node, program: LoopProgram) -> Node:
    return vectorise(body, program.scop, _guarded(program))


def _guarded(program: LoopProgram) -> frozenset[str]:
    """Return the statements of which some reads are not to be hoisted above a condition."""
    return frozenset(name for name, _ in program.guarded)


BUILD = Pass(
    "build",
    Form.TREE,
    "bands that may be permuted and sequences, found from the dependences",
    _build,
)
PLAN = Pass(
    "plan",
    Form.TREE,
    "tiles, threads, and which loops run in vectors, in copies, in registers",
    _plan,
)
GENERATE = Pass(
    "generate",
    Form.LOOPS,
    "isl's loops in the order of the tree, which is checked by looking and by running",
    _generate,
)
LOOPS: tuple[Pass[LoopProgram, LoopProgram], ...] = (
    Pass(
        "peel",
        Form.LOOPS,
        "iterations in which subscripts wrap around, apart from those in which they do not",
        _peel,
    ),
    Pass(
        "pack_tiles",
        Form.LOOPS,
        "what one tile reads down columns, or multiplies by, goes into a copy (pack=on)",
        _pack_tiles,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "move_initialisers",
        Form.LOOPS,
        "what sets an element of a sum moves right before its terms (registers=on)",
        _move_initialisers,
        lambda mapping: mapping.registers,
    ),
    Pass(
        "separate",
        Form.LOOPS,
        "full tiles get loops of their own, with bounds that are known (separate=on)",
        _separate,
        lambda mapping: mapping.separate,
    ),
    Pass(
        "turn_rows",
        Form.LOOPS,
        "recurrences along rows run in lanes, a row in each, through turned tiles (pack=on)",
        _turn_rows,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "skew_tiles",
        Form.LOOPS,
        "diagonals run in vectors, through copies of which they are rows (pack=on)",
        _skew_tiles,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "unroll_jam",
        Form.LOOPS,
        "iterations of jammed loops run together, the rest one by one",
        _unroll_jam,
    ),
    Pass(
        "vectorise",
        Form.LOOPS,
        "iterations of vector loops become lanes, the rest masked ones",
        _vectorise,
    ),
    Pass(
        "pack",
        Form.LOOPS,
        "other arrays that are read down columns are copied whole beforehand (pack=on)",
        _pack,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "part_sums",
        Form.LOOPS,
        "sums and maxima along a loop run in chains (of integers, or reassociate=on)",
        _part_sums,
        lambda mapping: mapping.registers and not mapping.leaves_order,
    ),
    Pass(
        "privatise",
        Form.LOOPS,
        "arrays that a storage plan calls private get a copy for each thread",
        _privatise,
    ),
    Pass(
        "stream",
        Form.LOOPS,
        "what runs through memory once is stored past the caches, and asked for ahead",
        _stream,
        lambda mapping: not mapping.leaves_order,
    ),
)
EMIT = Pass("emit", Form.LLVM, "LLVM IR as it is emitted", _emit)
OPTIMISE = Pass(
    "optimise",
    Form.LLVM,
    "LLVM IR after LLVM's pipeline for this CPU, level 3 for sequential loops, else 2",
    _optimise,
)

PASSES: tuple[Pass[Any, Any], ...] = (BUILD, PLAN, GENERATE, *LOOPS, EMIT, OPTIMISE)
"""All of them, in their order."""
