"""The whole of code generation in one place: legal schedule → loops → LLVM IR → object code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from polygym.compiler.codegen.llvm.emit_module import emit_llvm
from polygym.compiler.codegen.llvm.jit import compile_object
from polygym.compiler.codegen.loops.check_bounds import with_proofs
from polygym.compiler.codegen.loops.check_by_running import rehearse
from polygym.compiler.codegen.loops.check_ranges import check_ranges
from polygym.compiler.codegen.loops.generate import generate_loops
from polygym.compiler.codegen.loops.ir import LoopProgram, count_instances
from polygym.compiler.codegen.loops.jam import jam_loops
from polygym.compiler.codegen.loops.lanes import vectorise
from polygym.compiler.codegen.loops.move_initialisers import start_sums
from polygym.compiler.codegen.loops.pack import pack
from polygym.compiler.codegen.loops.peel import peel
from polygym.compiler.codegen.loops.separate import separate
from polygym.compiler.codegen.loops.tile_pack import pack_tiles
from polygym.compiler.codegen.machine import this_machine
from polygym.compiler.codegen.mapping import SEQUENTIAL, Mapping
from polygym.compiler.codegen.sizes import Sizes, known_sizes
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.codegen.trees.tree import Tree, without_annotations
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.isl_budget import DEFAULT_OPERATIONS, bounded
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import InputError, InternalError, LimitError

# What a mapping may cost before a simpler one is taken: isl's operations, of which a program with
# many dependences needs more, and instances in the code, of which each statement has several.
_MOST_OPERATIONS = 800_000
_OPERATIONS_FOR_A_DEPENDENCE = 20_000
_PATIENCE = 3  # with the last thing that can be tried
_INSTANCES_OF_ALL = 60
_INSTANCES_OF_ONE = 40

# What ends one way to make loops, and not the others: limits, and mistakes of isl's.
_SIMPLER_MAY_DO = (InputError, InternalError, LimitError)


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
    tree = build_tree(legal)
    most = _MOST_OPERATIONS + _OPERATIONS_FOR_A_DEPENDENCE * len(dependences(legal.scop))
    hopeless: set[Tree] = set()
    found = _attempts(tree, legal, mapping, sizes, most, hopeless)
    if found is not None:
        return _with_unproved(found, sizes)
    if mapping.leaves_order:
        most = DEFAULT_OPERATIONS
    plain = replace(
        SEQUENTIAL,
        threads=mapping.threads,
        parallel=mapping.parallel,
        reassociate=mapping.reassociate,
    )
    mapped = plan(tree, legal, plain, this_machine(), sizes)
    if without_annotations(tree) not in hopeless:
        with suppress(*_SIMPLER_MAY_DO), bounded("generating loops", most):
            return _with_unproved(_lowered(mapped, legal, plain, sizes), sizes)
    if sizes is not None:
        with suppress(*_SIMPLER_MAY_DO), bounded("generating loops", most):
            return _with_unproved(_lowered(mapped, legal, plain, sizes, whole=True), sizes)
    with bounded("generating loops", most * _PATIENCE):
        return _with_unproved(_lowered(mapped, legal, plain, None, whole=True), sizes)


def _with_unproved(program: LoopProgram, sizes: Sizes | None) -> LoopProgram:
    """Return the loops with what code has to check, since whatever isl returns is not trusted.

    Loops for all sizes are to run at the given ones as well.
    """
    return with_proofs(program, known_sizes(program.scop, sizes))


def _attempts(
    tree: Tree,
    legal: LegalSchedule,
    mapping: Mapping,
    sizes: Sizes | None,
    most: int,
    hopeless: set[Tree],
) -> LoopProgram | None:
    """Return the loops under a mapping or a simpler one, None where isl gives up every time.

    ``hopeless`` gets the trees of which isl makes no loops: another mapping may lead to them again.
    """
    for attempt in _simpler(mapping):
        try:
            with bounded("mapping the schedule to the machine", most):
                mapped = plan(tree, legal, attempt, this_machine(), sizes)
                if without_annotations(mapped) in hopeless:
                    continue
                hopeless.add(without_annotations(mapped))  # unless it turns out otherwise
                program = _lowered(mapped, legal, attempt, sizes)
        except _SIMPLER_MAY_DO:
            continue
        if count_instances(program.body) <= _largest(legal.scop):
            return program
        hopeless.discard(without_annotations(mapped))
    return None


def _largest(scop: Scop) -> int:
    """Return how many instances the code of a mapping may have before a simpler one is taken."""
    return _INSTANCES_OF_ALL + _INSTANCES_OF_ONE * len(scop.statements)


def _simpler(mapping: Mapping) -> Iterator[Mapping]:
    """Yield a mapping, then what is left when tiling, and copying, are given up."""
    if mapping.leaves_order:
        return
    yield mapping
    yield replace(mapping, tile=(), sink=False)
    yield replace(mapping, tile=(), sink=False, jam=1, vectors=1)


def _lowered(
    tree: Tree,
    legal: LegalSchedule,
    mapping: Mapping,
    sizes: Sizes | None,
    *,
    whole: bool = False,
) -> LoopProgram:
    program = generate_loops(tree, legal, sizes, whole=whole)
    check_ranges(program.body, legal.scop)
    rehearse(program.body, tree, legal, sizes)
    program = replace(program, body=peel(program.body, legal.scop, dict(program.sizes or ())))
    if mapping.pack:
        program = pack_tiles(program)
    guarded = frozenset(name for name, _ in program.guarded)
    if mapping.hold:
        program = replace(program, body=start_sums(program.body, program.scop, guarded))
    body = separate(program.body) if mapping.separate else program.body
    done = vectorise(jam_loops(body), program.scop, guarded)
    if mapping.separate and count_instances(done) > _largest(legal.scop):
        done = vectorise(jam_loops(program.body), program.scop, guarded)
    program = replace(program, body=done, mapping=mapping)
    if mapping.pack:
        program = pack(program)
    check_ranges(program.body, program.scop)
    return program


def compile_program(program: LoopProgram, *, is_watched: bool = False) -> bytes:
    """Return the machine code of a loop program as an object file.

    Where loops are as the schedule has them, LLVM is to do what it can. Code that is watched checks
    everything that it relies on.
    """
    level = 3 if program.mapping.leaves_order else 2
    return compile_object(emit_llvm(program, is_watched=is_watched), level)
