"""The whole of code generation in one place: legal schedule → loops → LLVM IR → object code.

The passes and their order are a table (:mod:`polygym.codegen.passes`). Here it is run,
under the mapping that was asked for or, where that is out of isl's reach, under a simpler one; and
what isl has made, and what comes out in the end, is checked.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from polygym.codegen.coalescing.transform import coalesce_loops
from polygym.codegen.contraction import contract_legal
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import compile_object, optimization_level
from polygym.codegen.loopir.ir import LoopProgram, count_instances
from polygym.codegen.loopir.pass_types import CodegenRequest, max_instances
from polygym.codegen.passes import BUILD, GENERATE, LOOP_PASSES, PLAN
from polygym.codegen.tree.ir import Tree, without_annotations
from polygym.codegen.validate.bounds import with_bounds_proofs
from polygym.codegen.validate.execution import check_by_execution, prepare_probes
from polygym.codegen.validate.ranges import check_ranges
from polygym.errors import InputError, InternalError, LimitError
from polygym.ir.scop import StorageClass
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping, require_statements
from polygym.mapping.sizes import Sizes, known_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.dependences import dependences
from polygym.poly.isl_budget import DEFAULT_OPERATIONS, bounded_operations
from polygym.poly.legality import LegalSchedule

# What ends one way to make loops, and not the others: limits, and mistakes of isl's.
_RETRYABLE_ERRORS = (InputError, InternalError, LimitError)


@dataclass(frozen=True, slots=True)
class LoweringTrace:
    """How loops came about: their ``tree``, and what every pass over ``loops`` has left.

    The first of the loops are isl's; a pass that was left out leaves what was there. The
    ``request`` has the mapping under which they were made, which may be less than was asked for.
    """

    request: CodegenRequest
    tree: Tree
    loops: tuple[LoopProgram, ...]

    @property
    def program(self) -> LoopProgram:
        """What came of it all."""
        return self.loops[-1]


def lower(
    legal: LegalSchedule, mapping: Mapping = SEQUENTIAL_MAPPING, sizes: Sizes | None = None
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
    return lowering_trace(legal, mapping, sizes).program


def lowering_trace(legal: LegalSchedule, mapping: Mapping, sizes: Sizes | None) -> LoweringTrace:
    """Return the way that :func:`lower` goes: under the mapping, or the first simpler one.

    What was to be private to threads and cannot be gets the windows that the schedule leaves it.
    """
    way = _trace(legal, mapping, sizes)
    left = way.program.privatization_failures
    if left:
        smaller = contract_legal(legal, [name for name, _ in left])
        if smaller.scop != legal.scop:
            way = _trace(smaller, mapping, sizes)
            *before, last = way.loops
            # What the windows leave as it is was tried again, and may be private now.
            own = {
                array.name
                for array in last.scop.arrays
                if array.storage_class is StorageClass.PRIVATE
            }
            reasons = {**dict(left), **dict(last.privatization_failures)}
            kept = tuple((name, why) for name, why in reasons.items() if name not in own)
            last = replace(last, privatization_failures=kept)
            way = replace(way, loops=(*before, last))
    return _with_proofs(way, sizes)


def request_for(legal: LegalSchedule, mapping: Mapping, sizes: Sizes | None) -> CodegenRequest:
    """Return what the passes are asked for: short loops are coalesced where loops may change."""
    if not mapping.keeps_schedule_order:
        legal = coalesce_loops(legal)
    return CodegenRequest(legal, mapping, sizes)


def _trace(legal: LegalSchedule, mapping: Mapping, sizes: Sizes | None) -> LoweringTrace:
    require_statements(mapping.nests, legal.scop)
    asked = request_for(legal, mapping, sizes)
    legal = asked.legal
    prepare_probes(legal.scop, sizes)
    tree = BUILD.run(legal, asked)
    most = TUNING.mapping_operations + TUNING.operations_per_dependence * len(
        dependences(legal.scop)
    )
    hopeless: set[Tree] = set()
    trace = _first_success(tree, asked, most, hopeless)
    if trace is not None:
        return trace
    if mapping.keeps_schedule_order:
        most = DEFAULT_OPERATIONS
    plain = replace(
        SEQUENTIAL_MAPPING,
        threads=mapping.threads,
        parallel=mapping.parallel,
        reassociate=mapping.reassociate,
    )
    goal = replace(asked, mapping=plain)
    mapped = PLAN.run(tree, goal)
    if without_annotations(tree) not in hopeless:
        with suppress(*_RETRYABLE_ERRORS), bounded_operations("generating loops", most):
            return _run_passes(mapped, goal)
    if sizes is not None:
        with suppress(*_RETRYABLE_ERRORS), bounded_operations("generating loops", most):
            return _run_passes(mapped, replace(goal, keeps_loops_whole=True))
    with bounded_operations("generating loops", most * TUNING.last_attempt_factor):
        trace = _run_passes(mapped, replace(goal, sizes=None, keeps_loops_whole=True))
        if sizes is not None:
            check_by_execution(trace.loops[0].body, mapped, legal, sizes)
        return trace


def _with_proofs(way: LoweringTrace, sizes: Sizes | None) -> LoweringTrace:
    """Return a way whose last loops have what is proved of them, and what code has to check.

    Loops for all sizes are to run at the given ones as well.
    """
    *before, last = way.loops
    return replace(way, loops=(*before, with_bounds_proofs(last, known_sizes(last.scop, sizes))))


def _first_success(
    tree: Tree, request: CodegenRequest, max_operations: int, failed_trees: set[Tree]
) -> LoweringTrace | None:
    """Return the way under a mapping or a simpler one, None where isl gives up every time.

    ``failed_trees`` gets the trees of which isl makes no loops: another mapping may lead to them
    again.
    """
    for mapping in _simpler_mappings(request.mapping):
        previous: Tree | None = None
        for in_order in (False, True):
            goal = replace(request, mapping=mapping, keeps_order_in_tiles=in_order)
            mapped: Tree | None = None
            try:
                with bounded_operations("mapping the schedule to the machine", max_operations):
                    mapped = PLAN.run(tree, goal)
                    if mapped == previous or without_annotations(mapped) in failed_trees:
                        break
                    failed_trees.add(without_annotations(mapped))  # unless it turns out otherwise
                    way = _run_passes(mapped, goal)
                if count_instances(way.program.body) <= max_instances(request.legal.scop):
                    return way
                failed_trees.discard(without_annotations(mapped))
            except _RETRYABLE_ERRORS:
                pass
            if (previous := mapped) is None:
                break
    return None


def _simpler_mappings(mapping: Mapping) -> Iterator[Mapping]:
    """Yield a mapping, then what is left when tiling, and copying, are given up."""
    if mapping.keeps_schedule_order:
        return
    yield mapping
    yield replace(mapping, tile=(), sink=False, nests=())
    yield replace(mapping, tile=(), sink=False, unroll_jam=1, vector_copies=1, order=(), nests=())


def _run_passes(tree: Tree, goal: CodegenRequest) -> LoweringTrace:
    """Run the passes over the loops of a tree, and check what comes in and what comes out."""
    program = GENERATE.run(tree, goal)
    check_ranges(program.body, goal.legal.scop)
    check_by_execution(program.body, tree, goal.legal, goal.sizes)
    loops = [program]
    for each in LOOP_PASSES:
        loops.append(each.run(loops[-1], goal) if each.is_enabled(goal.mapping) else loops[-1])
    done = loops[-1]
    check_ranges(done.body, done.scop)
    return LoweringTrace(goal, tree, tuple(loops))


def compile_program(program: LoopProgram, *, is_watched: bool = False) -> bytes:
    """Return the machine code of a loop program as an object file.

    Code that is watched checks everything that it relies on.
    """
    return compile_object(
        emit_llvm(program, is_instrumented=is_watched), optimization_level(program.mapping)
    )
