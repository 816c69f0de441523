"""The passes of code generation, in their order: one table.

A legal schedule becomes a tree, the tree becomes loops, the loops become LLVM IR::

    build  plan  |  generate  peel  pack_tiles  move_initialisers  separate  turn_rows  skew_tiles
                 |  unroll_jam  vectorise  pack  part_sums  privatise  stream  |  emit  optimise

A pass is a pure function of what the one before has left and of the :class:`CodegenRequest`. What a
mapping does not ask for is left out. :mod:`polygym.codegen.pipeline` runs the table, checks what
isl has made and what comes out in the end, and decides what to do where a mapping is out of reach;
``polygym show PROGRAM --after PASS`` prints what a pass leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimise
from polygym.codegen.loopir.ir import LoopProgram, Node, count_instances
from polygym.codegen.recurrences.recurrence_lanes.transform import apply_recurrence_lanes
from polygym.codegen.recurrences.skewed_copies.transform import apply_skewed_copies
from polygym.codegen.recurrences.streams.transform import apply_streams
from polygym.codegen.transforms.accumulators import split_accumulators
from polygym.codegen.transforms.array_packing import pack_arrays
from polygym.codegen.transforms.factor_tiles import precompute_factors
from polygym.codegen.transforms.full_tile_separation import separate_full_tiles
from polygym.codegen.transforms.peeling import peel_loops
from polygym.codegen.transforms.privatization import privatize
from polygym.codegen.transforms.reduction_init import sink_reduction_init
from polygym.codegen.transforms.tile_packing import pack_tiles
from polygym.codegen.transforms.unroll_and_jam import jam_loops
from polygym.codegen.transforms.vectorization import vectorize
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.ir.scop import Scop
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes
from polygym.poly.legality import LegalSchedule

PassInput = TypeVar("PassInput")
PassOutput = TypeVar("PassOutput")

# How many instances the text of loops may have under a mapping; each statement has several.
_BASE_INSTANCES = 60
_INSTANCES_PER_STATEMENT = 40


@dataclass(frozen=True, slots=True)
class CodegenRequest:
    """What code is made of: a legal schedule under a mapping, for all sizes or for given ones.

    ``keeps_loops_whole`` loops are not split where what runs in them changes. With
    ``keep_term_order`` terms of sums stay in their tiles, whatever order they may run in.
    """

    legal: LegalSchedule
    mapping: Mapping
    sizes: Sizes | None = None
    keeps_loops_whole: bool = False
    keeps_term_order: bool = False


class Representation(Enum):
    """What a pass leaves."""

    TREE = "tree"
    LOOPS = "loops"
    LLVM = "llvm"


@dataclass(frozen=True, slots=True)
class Pass(Generic[PassInput, PassOutput]):
    """A row of the table: what it ``summary`` in one line, and the function.

    It is left out under mappings that do not ask for it.
    """

    name: str
    produces: Representation
    summary: str
    run: Callable[[PassInput, CodegenRequest], PassOutput]
    is_enabled: Callable[[Mapping], bool] = lambda _: True


def max_instances(scop: Scop) -> int:
    """Return how many instances the code of a mapping may have before a simpler one is taken."""
    return _BASE_INSTANCES + _INSTANCES_PER_STATEMENT * len(scop.statements)


def _build(legal: LegalSchedule, _: CodegenRequest) -> Tree:
    return build_tree(legal)


def _plan(tree: Tree, goal: CodegenRequest) -> Tree:
    return plan_tree(
        tree,
        goal.legal,
        goal.mapping,
        this_machine(),
        goal.sizes,
        keep_term_order=goal.keeps_term_order,
    )


def _generate(tree: Tree, goal: CodegenRequest) -> LoopProgram:
    program = generate_loops(tree, goal.legal, goal.sizes, whole=goal.keeps_loops_whole)
    return replace(program, mapping=goal.mapping)


def _peel(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return replace(program, body=peel_loops(program.body, program.scop, dict(program.sizes or ())))


def _pack_tiles(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return precompute_factors(pack_tiles(program))


def _sink_reduction_init(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return replace(
        program, body=sink_reduction_init(program.body, program.scop, _guarded_statements(program))
    )


def _separate(program: LoopProgram, goal: CodegenRequest) -> LoopProgram:
    """Separate full tiles, unless the passes that copy loops make too much code of them."""
    body = separate_full_tiles(program.body)
    done = _vectorized(jam_loops(body), program)
    if count_instances(done) > max_instances(goal.legal.scop):
        return program
    return replace(program, body=body)


def _recurrence_lanes(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return apply_recurrence_lanes(program)


def _skewed_copies(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return apply_skewed_copies(program)


def _unroll_jam(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return replace(program, body=jam_loops(program.body))


def _vectorize(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return replace(program, body=_vectorized(program.body, program))


def _pack_arrays(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return pack_arrays(program)


def _split_accumulators(program: LoopProgram, goal: CodegenRequest) -> LoopProgram:
    mapping = goal.mapping
    bits = mapping.vector_bits_on(this_machine().vector_bits) if mapping.has_vectors else 0
    return split_accumulators(program, bits, reassociate=mapping.reassociate)


def _privatize(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return privatize(program)


def _stream(program: LoopProgram, _: CodegenRequest) -> LoopProgram:
    return apply_streams(program)


def _emit(program: LoopProgram, _: CodegenRequest) -> str:
    return emit_llvm(program)


def _optimize(text: str, goal: CodegenRequest) -> str:
    return optimise(text, optimization_level(goal.mapping))


def optimization_level(mapping: Mapping) -> int:
    """Return at which level LLVM's pipeline runs.

    Where loops are as the schedule has them, LLVM is to do what it can.
    """
    return 3 if mapping.keeps_schedule_order else 2


def code_key(planned: Tree, mapping: Mapping) -> Hashable:
    """Return what decides the code of a schedule at given sizes, once its loops are planned.

    Many mappings plan the same loops: tiles larger than the loop, wavefronts where there are none.
    Where their keys are equal so is their code.
    """
    wanted = tuple([one.is_enabled(mapping) for one in LOOP_PASSES])
    threads = mapping.threads if mapping.is_parallel else 1
    return planned, wanted, optimization_level(mapping), threads, mapping.reassociate


def _vectorized(body: Node, program: LoopProgram) -> Node:
    return vectorize(body, program.scop, _guarded_statements(program))


def _guarded_statements(program: LoopProgram) -> frozenset[str]:
    """Return the statements of which some reads are not to be hoisted above a condition."""
    return frozenset(name for name, _ in program.guarded_reads)


BUILD = Pass(
    "build",
    Representation.TREE,
    "bands that may be permuted and sequences, found from the dependences",
    _build,
)
PLAN = Pass(
    "plan",
    Representation.TREE,
    "tiles, threads, and which loops run in vectors, in copies, in registers",
    _plan,
)
GENERATE = Pass(
    "generate",
    Representation.LOOPS,
    "isl's loops in the order of the tree, which is checked by looking and by running",
    _generate,
)
LOOP_PASSES: tuple[Pass[LoopProgram, LoopProgram], ...] = (
    Pass(
        "peel",
        Representation.LOOPS,
        "iterations in which subscripts wrap around, apart from those in which they do not",
        _peel,
    ),
    Pass(
        "pack_tiles",
        Representation.LOOPS,
        "what one tile reads down columns, or multiplies by, goes into a copy (pack=on)",
        _pack_tiles,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "move_initialisers",
        Representation.LOOPS,
        "what sets an element of a sum moves right before its terms (scalar_replacement=on)",
        _sink_reduction_init,
        lambda mapping: mapping.scalar_replacement,
    ),
    Pass(
        "separate",
        Representation.LOOPS,
        "full tiles get loops of their own, with bounds that are known (separate=on)",
        _separate,
        lambda mapping: mapping.separate,
    ),
    Pass(
        "turn_rows",
        Representation.LOOPS,
        "recurrences along rows run in lanes, a row in each, through turned tiles (pack=on)",
        _recurrence_lanes,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "skew_tiles",
        Representation.LOOPS,
        "diagonals run in vectors, through copies of which they are rows (pack=on)",
        _skewed_copies,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "unroll_jam",
        Representation.LOOPS,
        "iterations of jammed loops run together, the rest one by one",
        _unroll_jam,
    ),
    Pass(
        "vectorise",
        Representation.LOOPS,
        "iterations of vector loops become lanes, the rest masked ones",
        _vectorize,
    ),
    Pass(
        "pack",
        Representation.LOOPS,
        "other arrays that are read down columns are copied whole beforehand (pack=on)",
        _pack_arrays,
        lambda mapping: mapping.pack,
    ),
    Pass(
        "part_sums",
        Representation.LOOPS,
        "sums and maxima along a loop run in chains (of integers, or reassociate=on)",
        _split_accumulators,
        lambda mapping: mapping.scalar_replacement and not mapping.keeps_schedule_order,
    ),
    Pass(
        "privatise",
        Representation.LOOPS,
        "arrays that a storage plan calls private get a copy for each thread",
        _privatize,
    ),
    Pass(
        "stream",
        Representation.LOOPS,
        "what runs through memory once is stored past the caches, and asked for ahead",
        _stream,
        lambda mapping: not mapping.keeps_schedule_order,
    ),
)
EMIT = Pass("emit", Representation.LLVM, "LLVM IR as it is emitted", _emit)
OPTIMIZE = Pass(
    "optimise",
    Representation.LLVM,
    "LLVM IR after LLVM's pipeline for this CPU, level 3 for sequential loops, else 2",
    _optimize,
)

PASSES: tuple[Pass[Any, Any], ...] = (BUILD, PLAN, GENERATE, *LOOP_PASSES, EMIT, OPTIMIZE)
"""All of them, in their order."""
