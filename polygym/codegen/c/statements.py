"""Statement instances and their expressions as C.

A subscript that is computed is checked where it is used. Conditions that are known to hold, since
a loop runs in bounds that are read from memory, are left out.
"""

from collections.abc import Callable

from polygym.codegen.analysis.loop_data_bounds import KnownConditions
from polygym.codegen.c.index_text import UNARY_PRECEDENCE, print_index
from polygym.codegen.loopir import ir
from polygym.ir.data_bounds import holds_by
from polygym.ir.expressions import (
    Access,
    Conditional,
    Expression,
    Gather,
    IteratorValue,
    Update,
    walk,
)
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, StorageClass


def print_assignment(program: ir.LoopProgram, instance: ir.Instance, known: KnownConditions) -> str:
    """Return an instance as an assignment, under its condition if it has one."""
    statement = program.scop.statement(instance.statement)
    text = expression_printer(program, instance)
    body = _where_known(statement.body, known.get(statement.name, frozenset()))
    match body:
        case Update(access, condition, computed, value):
            guard = "" if condition is None else f"if ({text(condition)}) "
            element = text(Gather(access, computed, value.type))
            return f"{guard}{element} = {text(value)};"
        case _:
            target = _element_text(program.scop.array(statement.write.array), instance.write)
            return f"{target} = {text(body)};"


def _where_known(body: Expression, known: frozenset[Expression]) -> Expression:
    """Return what a body is where conditions are known to hold."""
    match body:
        case Update(access, condition, computed, value):
            holds = condition is None or holds_by(condition, known)
            return Update(access, None if holds else condition, computed, value)
        case Conditional(condition, then, _) if holds_by(condition, known):
            return then
        case _:
            return body


def expression_printer(
    program: ir.LoopProgram, instance: ir.Instance
) -> Callable[[Expression], str]:
    """Return what prints expressions of an instance."""
    statement = program.scop.statement(instance.statement)
    reads = {
        access: _element_text(program.scop.array(access.array), subscripts)
        for access, subscripts in zip(statement.reads, instance.reads, strict=True)
    }
    values = dict(zip(statement.iterators, instance.iterators, strict=True))

    nodes = walk(statement.body)
    types = {node.name: node.type for node in nodes if isinstance(node, IteratorValue)}

    def load(access: Access) -> str:
        return reads[access]

    def iterator(name: str) -> str:
        return f"(({types[name].value}){print_index(values[name], UNARY_PRECEDENCE)})"

    subscripts_of = dict(zip(statement.reads, instance.reads, strict=True))

    def gather(access: Access, computed: tuple[str, ...]) -> str:
        array = program.scop.array(access.array)
        texts = [print_index(subscript) for subscript in subscripts_of[access]]
        for dimension, text in zip(access.gathered, computed, strict=True):
            size = array.c_extents[dimension]
            said = f"{access.text}, dimension {dimension} of {array.name}"
            texts[dimension] = f'polygym_in({text}, {size}, "{said}")'
        return array.name + "".join(f"[{text}]" for text in texts)

    return lambda expression: c_expression(expression, load, iterator, gather=gather)


def _element_text(array: Array, subscripts: tuple[ir.Index, ...]) -> str:
    """Return an element as C; a scalar behind a pointer argument is dereferenced."""
    if not array.rank and array.storage_class is StorageClass.ARGUMENT:
        return f"(*{array.name})"
    return array.name + "".join(f"[{print_index(subscript)}]" for subscript in subscripts)
