"""Footprint of loops in an array, as isl relations computed from the loops alone.

An access in the text is a relation from the values of the counters around it to elements. ::

    for c0 = 0 .. n - 1 by 4:  lanes l = c0 .. c0 + 3:   w[l] = …

    { [c0, l] -> [l] : 0 <= c0 < n and c0 mod 4 = 0 and c0 <= l <= c0 + 3 }

The relation may have more than what really happens (a lane that a mask leaves out, a condition that
isl's language does not have), and never less.

Where what loops touch of an array begins, and how far it reaches: small memory for part of it.

In ``for c0: for i = 4 * c0 .. 4 * c0 + 3: w[i] = …`` an iteration of c0 touches w from 4 * c0 on,
four elements, whatever c0 is. Both are found by isl for the loops as they are: of the subscripts
where the loops inside begin, and of 0, each may be the first place, plus a number; the one is taken
from which the greatest subscript is not far in any iteration.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import islpy as isl

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import min_max_operands, substitute, substitute_in
from polygym.codegen.loopir.linear_sums import add_indices, from_linear_sum, to_linear_sum
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_values import to_int

_ISL_SYMBOLS = (
    ir.INFIX_SYMBOLS | dict.fromkeys(ir.REMAINDERS, "mod") | {ir.IndexOperator.EQUAL: "="}
)


@dataclass(frozen=True, slots=True)
class InstancePath:
    """The way down the text to an instance: loops, outermost first, their numbers, conditions.

    Loops are numbered in the order of the text; a condition comes with whether it holds.
    """

    loops: tuple[ir.Loop, ...] = ()
    loop_numbers: tuple[int, ...] = ()
    conditions: tuple[tuple[ir.Index, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class LoopAccess:
    """An access to an array in the text: the statement, the way to it, lanes, and subscripts."""

    statement: str
    path: InstancePath
    lanes: ir.Lanes | None
    subscripts: tuple[ir.Index, ...]


def instances_with_paths(body: ir.Node) -> Iterator[tuple[ir.Instance, InstancePath]]:
    """Yield every instance of the text with the way down to it."""
    count = 0

    def walk(node: ir.Node, way: InstancePath) -> Iterator[tuple[ir.Instance, InstancePath]]:
        nonlocal count
        match node:
            case ir.Block(children):
                for child in children:
                    yield from walk(child, way)
            case ir.Loop(body=inside):
                number, count = count, count + 1
                loops, numbers = (*way.loops, node), (*way.loop_numbers, number)
                yield from walk(inside, replace(way, loops=loops, loop_numbers=numbers))
            case ir.Guard(condition, then, otherwise):
                for branch, holds in ((then, True), (otherwise, False)):
                    if branch is not None:
                        known = (*way.conditions, (condition, holds))
                        yield from walk(branch, replace(way, conditions=known))
            case ir.Instance():
                yield node, way
            case _:
                assert_never(node)

    yield from walk(body, InstancePath())


def with_named_lanes(program: ir.LoopProgram) -> ir.Node:
    """Return the body with a name of its own for what counts the lanes of an instance.

    Passes call it as the counter of the loop that the lanes were made of, which is around it still.
    """
    taken = {loop.variable for loop in ir.loops_in(program.body)} | set(program.scop.names)
    names: dict[str, str] = {}

    def named(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Instance):
            return ir.map_children(node, named)
        if node.lanes is None:
            return node
        variable = node.lanes.variable
        if variable not in names:
            names[variable] = f"{variable}_lane"
            while names[variable] in taken:
                names[variable] += "_"
            taken.add(names[variable])
        name = names[variable]
        own = substitute_in(replace(node, lanes=None), {variable: ir.IndexVariable(name)})
        assert isinstance(own, ir.Instance)
        return replace(own, lanes=replace(node.lanes, variable=name))

    return named(program.body)


def accesses_of(
    program: ir.LoopProgram, array: str, *, writes: bool | None = None
) -> tuple[LoopAccess, ...]:
    """Return the accesses to an array, equal ones of an instance once.

    They are those that write, or those that read, as ``writes`` says; all if it is None.
    """
    statements = {statement.name: statement for statement in program.scop.statements}
    result = []
    for instance, way in instances_with_paths(program.body):
        statement = statements[instance.statement]
        is_written = statement.write.array == array and writes is not False
        own = [instance.write] if is_written else []
        own += [
            subscripts
            for access, subscripts in zip(statement.reads, instance.reads, strict=True)
            if access.array == array and not writes
        ]
        for subscripts in dict.fromkeys(own):
            result.append(LoopAccess(statement.name, way, instance.lanes, subscripts))
    return tuple(result)


def access_relation(touch: LoopAccess, program: ir.LoopProgram) -> isl.Map:
    """Return the relation from the counters around an access, and its lane, to elements.

    Raises:
        isl.Error: a subscript or a bound is nothing that isl's language has.
    """
    sizes = dict(program.sizes or ())
    names = [loop.variable for loop in touch.path.loops]
    conditions = [text for loop in touch.path.loops for text in _bound_texts(loop, sizes)]
    conditions += [_condition_text(*condition, sizes) for condition in touch.path.conditions]
    if touch.lanes is not None:
        lane, base = touch.lanes.variable, isl_index_text(touch.lanes.base, sizes)
        names.append(lane)
        conditions.append(f"{base} <= {lane} <= {base} + {touch.lanes.width - 1}")
    known = [parameter.name for parameter in program.scop.parameters]
    if len({*names, *known}) < len(names) + len(known):
        raise isl.Error("two counters of one name")  # which isl would take for equal ones
    texts = []
    for chosen, subscripts in _case_split(touch.subscripts):
        own = [*conditions, *(_condition_text(*constraint, sizes) for constraint in chosen)]
        results = ", ".join(isl_index_text(index, sizes) for index in subscripts)
        where = f" : {' and '.join(own)}" if own else ""
        texts.append(f"[{', '.join(names)}] -> [{results}]{where}")
    result = isl.Map(f"{parameter_prefix(program)}{{ {'; '.join(texts)} }}")
    if program.sizes is not None:
        return result
    return result.intersect_params(isl.Set(program.scop.context))


def _case_split(
    indices: tuple[ir.Index, ...], known: tuple[tuple[ir.Index, bool], ...] = ()
) -> Iterator[tuple[tuple[tuple[ir.Index, bool], ...], tuple[ir.Index, ...]]]:
    """Yield what indices are without choices between values, and under which conditions.

    ``(i > 0 ? i - 1 : n)`` is i - 1 where i > 0 holds, and n where it does not.
    """
    operation = next((part for index in indices for part in min_max_parts(index)), None)
    if operation is None:
        yield known, indices
        return
    condition, then, otherwise = operation.operands
    for holds, value in ((True, then), (False, otherwise)):
        own = tuple(_substitute_part(index, operation, value) for index in indices)
        yield from _case_split(own, (*known, (condition, holds)))


def min_max_parts(index: ir.Index) -> Iterator[ir.IndexOperation]:
    """Yield the choices in an index between values without choices."""
    if isinstance(index, ir.IndexOperation):
        for operand in index.operands:
            yield from min_max_parts(operand)
        if index.operator is ir.IndexOperator.SELECT:
            yield index


def _substitute_part(index: ir.Index, part: ir.Index, value: ir.Index) -> ir.Index:
    """Return an index with a value in the place of a part of it."""
    if index == part:
        return value
    if not isinstance(index, ir.IndexOperation):
        return index
    operands = (_substitute_part(operand, part, value) for operand in index.operands)
    return replace(index, operands=tuple(operands))


def _condition_text(condition: ir.Index, holds: bool, sizes: Mapping[str, int]) -> str:
    text = isl_index_text(condition, sizes)
    return text if holds else f"not {text}"


def parameter_prefix(program: ir.LoopProgram) -> str:
    """Return what stands before a relation's text: the parameters, if they are not known."""
    if program.sizes is not None:
        return ""
    return f"[{', '.join(parameter.name for parameter in program.scop.parameters)}] -> "


def _bound_texts(loop: ir.Loop, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield what a loop's bounds say of its counter."""
    name = loop.variable
    for piece in min_max_operands(loop.lower, ir.IndexOperator.MAXIMUM):
        yield f"{name} >= {isl_index_text(piece, sizes)}"
    for piece in min_max_operands(loop.upper, ir.IndexOperator.MINIMUM):
        yield f"{name} <= {isl_index_text(piece, sizes)}"
    if loop.step > 1:
        yield f"({name} - {isl_index_text(loop.lower, sizes)}) mod {loop.step} = 0"


def isl_index_text(index: ir.Index, sizes: Mapping[str, int]) -> str:
    """Return an index in isl's language, with known sizes in their places."""
    match index:
        case ir.IndexConstant(value):
            return str(value)  # isl's reader knows 8 * c0, and not (8) * c0
        case ir.IndexVariable(name):
            return str(sizes[name]) if name in sizes else name
        case ir.IndexOperation(operator, operands):
            parts = [isl_index_text(operand, sizes) for operand in operands]
            match operator:
                case ir.IndexOperator.NEGATE:
                    return f"(-{parts[0]})"
                case _ if operator in ir.QUOTIENTS:
                    return f"floor({parts[0]}/{parts[1]})"
                case ir.IndexOperator.MINIMUM | ir.IndexOperator.MAXIMUM:
                    name = "min" if operator is ir.IndexOperator.MINIMUM else "max"
                    return f"{name}({', '.join(parts)})"
                case ir.IndexOperator.SELECT:
                    raise isl.Error("a choice between values where none is expected")
                case _:
                    return f"({f' {_ISL_SYMBOLS[operator]} '.join(parts)})"
        case _:
            assert_never(index)


def at_depth(relation: isl.Map, depth: int) -> isl.Map:
    """Return a relation from the outermost counters alone."""
    inner = relation.dim(isl.dim_type.in_) - depth
    return relation.project_out(isl.dim_type.in_, depth, inner)


def origin_and_length(
    program: ir.LoopProgram,
    touches: Sequence[LoopAccess],
    together: isl.Map,
    dimension: int,
    depth: int,
) -> tuple[ir.Index, int] | None:
    """Return the first place of a dimension that needs the fewest, and how many that are."""
    rank = together.dim(isl.dim_type.out)
    own = together.project_out(isl.dim_type.out, dimension + 1, rank - dimension - 1)
    own = own.project_out(isl.dim_type.out, 0, dimension)
    best: tuple[ir.Index, int] | None = None
    for begin in _origin_candidates(touches, dimension, depth):
        span = _offset_range(program, touches[0], own, begin, depth)
        if span is None:
            continue
        low, high = span
        if best is None or high - low + 1 < best[1]:
            shifted = add_indices(begin, ir.IndexConstant(low))
            best = shifted, high - low + 1
        if best[1] == 1:
            break
    return best


def _origin_candidates(touches: Sequence[LoopAccess], dimension: int, depth: int) -> list[ir.Index]:
    """Return what may be the first place: subscripts where the loops inside begin, and 0."""
    result: dict[ir.Index, None] = {}
    for touch in touches:
        for index in _at_lower_bounds(touch.subscripts[dimension], touch, depth):
            if not any(min_max_parts(index)):
                result[from_linear_sum(to_linear_sum(index))] = None
    return [*list(result)[: TUNING.max_origin_candidates], ir.IndexConstant(0)]


def _at_lower_bounds(index: ir.Index, touch: LoopAccess, depth: int) -> Iterator[ir.Index]:
    """Yield an index with the counters of the loops inside at the pieces of their lower bounds."""
    choices: list[ir.Index] = [index]
    if touch.lanes is not None:
        choices = [substitute(index, {touch.lanes.variable: touch.lanes.base})]
    for loop in reversed(touch.path.loops[depth:]):
        lows = min_max_operands(loop.lower, ir.IndexOperator.MAXIMUM)
        choices = [substitute(choice, {loop.variable: low}) for choice in choices for low in lows]
        choices = choices[: TUNING.max_origin_candidates]
    yield from choices


def _offset_range(
    program: ir.LoopProgram, touch: LoopAccess, subscripts: isl.Map, begin: ir.Index, depth: int
) -> tuple[int, int] | None:
    """Return how far subscripts are from a place, at least and at most; None without bounds."""
    sizes = dict(program.sizes or ())
    names = ", ".join(loop.variable for loop in touch.path.loops[:depth])
    place = isl_index_text(begin, sizes)
    start = isl.Map(f"{parameter_prefix(program)}{{ [{names}] -> [{place}] }}")
    both = subscripts.flat_range_product(start).range()
    far = both.apply(isl.Map("{ [s, b] -> [s - b] }"))
    if far.is_empty():
        return 0, 0
    low, high = far.dim_min_val(0), far.dim_max_val(0)
    return (to_int(low), to_int(high)) if low.is_int() and high.is_int() else None
