"""A definition with its names erased: two that differ in names alone have one text.

Tensors are numbered as they come, parameters first, then outputs, then temporaries; sizes and
indices too::

    def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
    (float(N0, N1) T0, float(N1, N2) T1) -> (T2) { T2(i0, i1) +=! T0(i0, i2) * T1(i2, i1) }
"""

from typing import assert_never

from polygym.frontend.tc.semantics.name_resolution import names_of_expression, size_locations
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import statement_text
from polygym.frontend.tc.syntax.tree import rename_statement


def canonical_text(definition: tree.TcDefinition) -> str:
    """Return the text of a definition without its names."""
    shared = {name: f"N{place}" for place, name in enumerate(size_locations(definition))}
    tensors = [parameter.name for parameter in definition.parameters]
    tensors += [output.name for output in definition.outputs]
    tensors += [statement.tensor for statement in definition.statements]
    shared |= {name: f"T{place}" for place, name in enumerate(dict.fromkeys(tensors))}
    parameters = ", ".join(
        _declaration_text(parameter, shared) for parameter in definition.parameters
    )
    outputs = ", ".join(_declaration_text(output, shared) for output in definition.outputs)
    body = " ".join(
        statement_text(_renamed(statement, shared)) for statement in definition.statements
    )
    return f"({parameters}) -> ({outputs}) {{ {body} }}"


def _declaration_text(one: tree.TcParameter | tree.TcOutput, names: dict[str, str]) -> str:
    sizes = one.sizes or ()
    texts = [names[size.name] if isinstance(size, tree.NameUse) else size.text for size in sizes]
    kind = "" if one.type is None else one.type.value
    shape = f"({', '.join(texts)})" if texts else ""
    return f"{kind}{shape} {names[one.name]}".strip()


def _renamed(statement: tree.TcStatement, shared: dict[str, str]) -> tree.TcStatement:
    """Return a statement with its indices and the names of its values numbered as they come."""
    names = dict(shared)

    def see(name: str) -> None:
        if name not in names:
            names[name] = f"i{len(names) - len(shared)}"

    for index in statement.indices:
        see(index.name)
    parts: list[tree.Expression] = [statement.value]
    for entry in statement.where:
        match entry:
            case tree.WhereRange(name, lower, upper):
                see(name)
                parts += [lower, upper]
            case tree.WhereValue(name, value):
                see(name)
                parts.append(value)
            case tree.WhereExists(expression):
                parts.append(expression)
            case _:
                assert_never(entry)
    for part in parts:
        for use in names_of_expression(part):
            if isinstance(use, tree.NameUse):
                see(use.name)

    return rename_statement(statement, names)
