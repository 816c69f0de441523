"""Arrays that are private to threads: memory for one iteration at a time instead of for all.

An array that a plan calls private has an element for every iteration, as an expanded one, until all
other passes are done: so nothing of what they do can go wrong by memory that is shared. Then, in
the text of the loops as they will run, loops are looked for of which

1. every element is touched in one iteration alone, and
2. the iterations follow each other on whichever thread they run: the loops are outside of all that
   holds the elements in registers, and inside of, or the same as, every parallel loop.

Memory for one iteration is enough then, whatever the order of things in it: the elements that an
iteration touches have places of their own, and when it is over nobody asks for them again. It lies
on the stack of the function that runs the iterations, or in the thread's slot of a block
(:mod:`polygym.codegen.analysis.private_memory`). ::

    parallel for c0 = 0 .. n - 1 by 4:                  parallel for c0 = 0 .. n - 1 by 4:
      w[c0] = 0;  …  w[c0 + 3] = 0;                →      w[0] = 0;  …  w[3] = 0;
      for k:  w[c0] += …;  …  w[c0 + 3] += …              for k:  w[0] += …;  …  w[3] += …

Of every dimension the iteration needs the places from the least subscript, a function of the
counters around, to the greatest. Both conditions and the lengths are decided by isl, for the loops
as they are: tiles, wavefronts, copies of iterations, lanes are loops and subscripts like others.
The innermost loops are taken with which both hold, since they need the least memory, and LLVM keeps
what has constant subscripts in registers.

Where there are no such loops (a value is seen in another iteration of the parallel loop, by a copy
behind the region, in another nest) the array stays what it is, and the program says why.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import prod

import islpy as isl

from polygym.codegen.analysis import footprint
from polygym.codegen.analysis.private_memory import private_array_bytes
from polygym.codegen.common import loop_annotation
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.linear_sums import subtract_indices
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.errors import InputError
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Array, StorageClass
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_budget import attempt_bounded, unbounded_operations
from polygym.poly.transform.storage.memory_cost import array_bytes, format_bytes


@dataclass(frozen=True, slots=True)
class PrivateLayout:
    """Where an array's elements are in the memory of one iteration.

    ``origins`` has, for the number of every loop whose iterations have such memory, the first place
    of each dimension, in terms of the counters around; ``lengths`` are the same for all of them.
    A dimension of length 1 is left out.
    """

    origins: Mapping[int, tuple[ir.Index, ...]]
    lengths: tuple[int, ...]

    def private_subscripts(
        self, subscripts: tuple[ir.Index, ...], loop: int
    ) -> tuple[ir.Index, ...]:
        """Return where an element is in the memory of an iteration of a loop."""
        return tuple(
            subtract_indices(subscript, first)
            for subscript, first, length in zip(
                subscripts, self.origins[loop], self.lengths, strict=True
            )
            if length > 1
        )


def privatize(program: ir.LoopProgram) -> ir.LoopProgram:
    """Return the program with its private arrays in the threads' own memory, where that is right.

    Raises:
        InputError: an array that may be nothing but private is not.
    """
    wanted = [
        array for array in program.scop.arrays if array.storage_class in PRIVATE_STORAGE_CLASSES
    ]
    if not wanted:
        return program
    left = TUNING.max_pooled_bytes
    before, program = program.body, replace(program, body=footprint.with_named_lanes(program))
    named = program.body
    for array in wanted:
        layout = _private_layout(program, array)
        if isinstance(layout, PrivateLayout):
            size = array.type.size * prod(layout.lengths)
            if size <= left:
                left -= size
                program = _privatize_array(program, array, layout)
                continue
            layout = f"a thread would need {size:,} bytes for it, and {left:,} are left"
        program = _keep_shared(program, array, layout)
    return replace(program, body=before) if program.body is named else program


def private_array_sizes(program: ir.LoopProgram) -> tuple[tuple[str, int | str], ...]:
    """Return what each private array takes of a thread's memory, or why it is none; loops are done.

    Bytes come first, then reasons.
    """
    taken = (
        (array.name, private_array_bytes(program, array.name))
        for array in program.scop.arrays
        if array.storage_class is StorageClass.PRIVATE
    )
    return (*taken, *program.privatization_failures)


def private_array_texts(figures: Iterable[tuple[str, int | str]]) -> tuple[str, ...]:
    """Return for people what private arrays take, or why they are none.

    >>> private_array_texts([("w_1", 8), ("s_1", "its values are seen later")])
    ('w_1: 8 bytes for each thread', 's_1 is not private: its values are seen later')
    """
    return tuple(
        f"{name} is not private: {what}"
        if isinstance(what, str)
        else f"{name}: {what:,} bytes for each thread"
        for name, what in figures
    )


def _keep_shared(program: ir.LoopProgram, array: Array, reason: str) -> ir.LoopProgram:
    """Return the program with an array that has an element for every iteration after all."""
    if array.storage_class is StorageClass.ONLY_PRIVATE:
        sizes = program.sizes
        taken = "" if sizes is None else f", {format_bytes(array_bytes(array, dict(sizes)))}"
        elements = "".join(f"[{extent}]" for extent in array.c_extents)
        raise InputError(
            f"storage: {array.name} cannot be private under this schedule and mapping: {reason}; "
            "and an element for every iteration would take more memory than is allowed: "
            f"{array.type.value} {array.name}{elements}{taken}"
        )
    arrays = _with_array(program.scop.arrays, replace(array, storage_class=StorageClass.SCRATCH))
    return replace(
        program,
        scop=replace(program.scop, arrays=arrays),
        privatization_failures=(*program.privatization_failures, (array.name, reason)),
    )


def _with_array(arrays: Sequence[Array], changed: Array) -> tuple[Array, ...]:
    return tuple(changed if array.name == changed.name else array for array in arrays)


def _private_layout(program: ir.LoopProgram, array: Array) -> PrivateLayout | str:
    """Return where the elements of an array are in its threads' memory, or why they are not."""
    touches = footprint.accesses_of(program, array.name)
    if not touches:
        return PrivateLayout({}, (1,) * array.rank)
    least, most = _depth_range(touches, array.name)
    if least > most:
        return "its values are used where no iteration of one loop on one thread has all of them"
    reason = ""
    try:
        with unbounded_operations(), attempt_bounded(TUNING.privatization_operations):
            elements = [footprint.access_relation(touch, program) for touch in touches]
            for depth in range(most, least - 1, -1):
                if not _is_iteration_private(touches, elements, depth):
                    reason = "its values are used in several iterations of the loops around them"
                    # What is not apart in outer loops is not in inner ones.
                    if depth == most > least and not _is_iteration_private(
                        touches, elements, least
                    ):
                        break
                    continue
                layout = _layout_at_depth(program, touches, elements, depth)
                if layout is not None:
                    return layout
                reason = "how much an iteration needs of it has no bound that is known"
    except isl.Error:
        reason = "the loops are too irregular to tell which iterations use it"
    return reason


def _depth_range(touches: Sequence[footprint.LoopAccess], array: str) -> tuple[int, int]:
    """Return the least and the greatest number of loops around the memory of an iteration."""
    statements = frozenset(touch.statement for touch in touches)
    least, most = 1, min(len(touch.path.loops) for touch in touches)
    for touch in touches:
        for number, loop in enumerate(touch.path.loops):
            if isinstance(loop.annotation, loop_annotation.ParallelLoop):
                least = max(least, number + 1)
            if not _is_sequential_for(loop.annotation, statements, array):
                most = min(most, number)
    return least, most


def _is_sequential_for(
    annotation: loop_annotation.LoopAnnotation, statements: frozenset[str], array: str
) -> bool:
    """Whether a loop's iterations follow each other on a thread, and nothing of the array waits."""
    match annotation:
        case loop_annotation.SequentialLoop():
            return True
        case loop_annotation.ParallelLoop(_, sums, held):
            apart = all(name != array for name, _ in sums)
            return apart and (held is None or held.statements.isdisjoint(statements))
        case loop_annotation.ScalarReplacement(held_statements):
            return held_statements.isdisjoint(statements)
        case _:
            return False


def _is_iteration_private(
    touches: Sequence[footprint.LoopAccess], elements: Sequence[isl.Map], depth: int
) -> bool:
    """Whether every element is touched in one iteration of the loops at a depth alone."""
    result: isl.Map | None = None
    for touch, relation in zip(touches, elements, strict=True):
        number = isl.Val(touch.path.loop_numbers[depth - 1])
        own = footprint.at_depth(relation, depth).insert_dims(isl.dim_type.in_, 0, 1)
        own = own.fix_val(isl.dim_type.in_, 0, number)
        result = own if result is None else result.union(own)
    assert result is not None
    return bool(result.coalesce().is_injective())


def _layout_at_depth(
    program: ir.LoopProgram,
    touches: Sequence[footprint.LoopAccess],
    elements: Sequence[isl.Map],
    depth: int,
) -> PrivateLayout | None:
    """Return the places in the memory of an iteration of the loops at a depth, if it is bounded."""
    rank = len(touches[0].subscripts)
    first: dict[int, tuple[ir.Index, ...]] = {}
    lengths = [1] * rank
    for number in dict.fromkeys(touch.path.loop_numbers[depth - 1] for touch in touches):
        here = [
            place
            for place, loop_access in enumerate(touches)
            if loop_access.path.loop_numbers[depth - 1] == number
        ]
        own = [touches[place] for place in here]
        together = footprint.at_depth(elements[here[0]], depth)
        for place in here[1:]:
            together = together.union(footprint.at_depth(elements[place], depth))
        begins = []
        for dimension in range(rank):
            span = footprint.origin_and_length(program, own, together.coalesce(), dimension, depth)
            if span is None:
                return None
            begins.append(span[0])
            lengths[dimension] = max(lengths[dimension], span[1])
        first[number] = tuple(begins)
    return PrivateLayout(first, tuple(lengths))


def _privatize_array(
    program: ir.LoopProgram, array: Array, places: PrivateLayout
) -> ir.LoopProgram:
    """Return the program in which an array is in the memory of one iteration."""
    statements = {statement.name: statement for statement in program.scop.statements}
    numbers = count()

    def moved(instance: ir.Instance, loop: int) -> ir.Instance:
        statement = statements[instance.statement]
        write, *reads = (
            places.private_subscripts(subscripts, loop)
            if access.array == array.name
            else subscripts
            for access, subscripts in zip(
                (statement.write, *statement.reads), (instance.write, *instance.reads), strict=True
            )
        )
        return replace(instance, write=write, reads=tuple(reads))

    def walk(node: ir.Node, loop: int | None) -> ir.Node:
        """Return a node; ``loop`` is the one around it whose iterations have the memory."""
        match node:
            case ir.Loop(body=body):
                number = next(numbers)
                return replace(node, body=walk(body, number if number in places.origins else loop))
            case ir.Instance():
                return node if loop is None else moved(node, loop)
            case _:
                return ir.map_children(node, lambda part: walk(part, loop))

    body = walk(program.body, None)
    lengths = [length for length in places.lengths if length > 1]
    small = replace(
        array,
        extents=tuple(f"{{ [({length})] }}" for length in lengths),
        c_extents=tuple(map(str, lengths)),
        storage_class=StorageClass.PRIVATE,
    )
    extents = tuple(
        tuple(map(ir.IndexConstant, lengths)) if declared.name == array.name else own
        for declared, own in zip(program.scop.arrays, program.extents, strict=True)
    )
    scop = replace(program.scop, arrays=_with_array(program.scop.arrays, small))
    return replace(program, scop=scop, body=body, extents=extents)


PASS = loop_pass(
    "privatize", "privatization of the arrays that a storage plan calls private", privatize
)
