"""Calls of programs within terms: arguments bound by ``let``, sizes taken from their types.

A program's term has names for its parameters and sizes. Where it is called they become the
variables of binders; a size that the arguments' types say is put in, others are the ``size`` of an
argument. A function that is written out has the variables around it under names that no text has,
so that it is a program as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.rewrite.term import Term, term
from polygym.terms.language import types
from polygym.terms.language.nodes import bound, index_of, let, variable
from polygym.terms.language.program import TermProgram
from polygym.terms.language.scopes import NameScope, TypedTerm, note_sizes, size_accessors
from polygym.terms.language.substitution import bind_names, substitute

_OUTER = "outer {}"


def call_program(callee: TermProgram, values: Sequence[TypedTerm], scope: NameScope) -> TypedTerm:
    """Return a call; ``values`` are read where those before them are bound already."""
    depth = len(scope.names)
    levels = {_OUTER.format(level): level for level in range(depth)}
    sizes: dict[str, TypedTerm] = {}
    bindings = [value.term for value in values]
    for at, ((name, wanted), value) in enumerate(zip(callee.parameters, values, strict=True)):
        levels[name] = depth + at
        note_sizes(sizes, wanted, value.type)
        if wanted == types.INTEGER and value.size is not None:
            sizes.setdefault(name, value)
    for at, (_, wanted) in enumerate(callee.parameters):
        for size, way in size_accessors(wanted, lambda leaf: leaf):
            if size not in sizes and size in callee.sizes and size not in levels:
                distance = len(bindings) - 1 - at
                levels[size] = len(bindings) + depth
                bindings.append(way(bound(distance, values[at].type)))
    images = {
        name: value.term for name, value in sizes.items() if name not in levels and value.term
    }
    body = bind_names(callee.body, levels, depth + len(bindings), images)
    for binding in reversed(bindings):
        body = let(binding, body)
    known = {name: value.size for name, value in sizes.items()}
    kind = types.with_sizes(
        callee.result, lambda size: known.get(size) if isinstance(size, str) else size
    )
    return TypedTerm(body, kind, _size_of(callee.body, known))


def _size_of(body: Term, known: dict[str, types.VectorSize]) -> types.VectorSize:
    """Return the size that a program's value is, if it is one: a parameter or a number."""
    if isinstance(body.head, int):
        return body.head
    return known.get(str(body.head).partition(":")[0])


def program_of_function(
    name: str, kind: types.Type, body: TypedTerm, scope: NameScope
) -> TermProgram:
    """Return the program of a function whose body was read within a scope and its argument."""
    depth = len(scope.names)
    name = f"{name} {depth}"  # no text has such a name, nor has a size

    def image(index: int, leaf: Term) -> Term:
        if index == 0:
            return variable(name, kind)
        return variable(_OUTER.format(depth - index), _kind(leaf))

    return TermProgram("lam", ((name, kind),), body.type, substitute(body.term, image))


def _kind(leaf: Term) -> types.Type:
    assert index_of(leaf) >= 0
    return types.type_from_text(str(leaf.head).partition(":")[2])


def function_of_program(callee: TermProgram, scope: NameScope) -> TypedTerm:
    """Return the function that a program of one argument is."""
    ((_, kind),) = callee.parameters
    inner = scope.within("", kind)
    called = call_program(callee, [TypedTerm(bound(0, kind), kind)], inner)
    head = f"lam:{types.erase_sizes(kind)}"
    return TypedTerm(term(head, called.term), types.FunctionType(kind, called.type))
