"""A definition with its names erased: two that differ in names alone have one text.

Tensors are numbered as they come, parameters first, then outputs, then temporaries; sizes and
indices too::

    def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
    (float(N0, N1) T0, float(N1, N2) T1) -> (T2) { T2(i0, i1) +=! T0(i0, i2) * T1(i2, i1) }
"""

from __future__ import annotations

from typing import assert_never

from polygym.compiler.frontend.tc.printer import statement_text
from polygym.compiler.frontend.tc.renaming import renamed
from polygym.compiler.frontend.tc.resolve import names_in, sizes_of
from polygym.compiler.frontend.tc.syntax import (
    Definition,
    Exists,
    Expression,
    In,
    Let,
    Name,
    Output,
    Parameter,
    Statement,
)


def canonical(definition: Definition) -> str:
    """Return the text of a definition without its names."""
    shared = {name: f"N{place}" for place, name in enumerate(sizes_of(definition))}
    tensors = [one.name for one in definition.parameters]
    tensors += [one.name for one in definition.outputs]
    tensors += [one.tensor for one in definition.statements]
    shared |= {name: f"T{place}" for place, name in enumerate(dict.fromkeys(tensors))}
    parameters = ", ".join(_declared(one, shared) for one in definition.parameters)
    outputs = ", ".join(_declared(one, shared) for one in definition.outputs)
    body = " ".join(statement_text(_renamed(one, shared)) for one in definition.statements)
    return f"({parameters}) -> ({outputs}) {{ {body} }}"


def _declared(one: Parameter | Output, names: dict[str, str]) -> str:
    sizes = one.sizes or ()
    texts = [names[size.name] if isinstance(size, Name) else size.text for size in sizes]
    kind = "" if one.type is None else one.type.value
    shape = f"({', '.join(texts)})" if texts else ""
    return f"{kind}{shape} {names[one.name]}".strip()


def _renamed(statement: Statement, shared: dict[str, str]) -> Statement:
    """Return a statement with its indices and the names of its values numbered as they come."""
    names = dict(shared)

    def see(name: str) -> None:
        if name not in names:
            names[name] = f"i{len(names) - len(shared)}"

    for index in statement.indices:
        see(index.name)
    parts: list[Expression] = [statement.value]
    for entry in statement.where:
        match entry:
            case In(name, lower, upper):
                see(name)
                parts += [lower, upper]
            case Let(name, value):
                see(name)
                parts.append(value)
            case Exists(expression):
                parts.append(expression)
            case _:
                assert_never(entry)
    for part in parts:
        for found in names_in(part):
            if isinstance(found, Name):
                see(found.name)

    return renamed(statement, names)
