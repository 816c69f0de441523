"""The part of a definition that runs where some sizes are 0.

A statement of which no instance runs assigns nothing, or the neutral element where it begins with
that. The others stay, with numbers in place of sizes. For N = 0::

    def f(float(M, N) A) -> (O) { T(m) +=! A(m, n)   O(m) = T(m) + 1 }
    def f() -> (float(3) O) { T(m) = float(0) where m in 0:3   O(m) = T(m) + 1 where m in 0:3 }
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import DefinitionFacts, StatementFacts
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, TcDefinition

_INFINITY = tree.NumberLiteral(inf, "INFINITY", arithmetic.NOWHERE)
_NEUTRAL = {
    AssignKind.ADD: arithmetic.ZERO,
    AssignKind.MULTIPLY: arithmetic.ONE,
    AssignKind.MINIMUM: _INFINITY,
    AssignKind.MAXIMUM: arithmetic.negative(_INFINITY),
}
_EXTREMES = (AssignKind.MINIMUM, AssignKind.MAXIMUM)


def remaining_definition(
    facts: DefinitionFacts,
    sizes: Mapping[str, int],
    evaluate: Callable[[tree.Expression, Mapping[str, int]], int],
) -> TcDefinition | None:
    """Return the definition for these sizes, of what is not empty; None if there is none.

    There is none where a result is a minimum or a maximum of nothing, or is computed from a
    parameter without elements.
    """
    definition = facts.definition
    outputs = {output.name for output in definition.outputs}
    statements = []
    for place, statement in enumerate(facts.statements):
        made = _remaining(statement, facts, sizes, evaluate)
        if made is None:
            continue
        if made[1] and statement.assign in _EXTREMES and statement.tensor in outputs:
            return None
        statements.append(replace(made[0], location=definition.statements[place].location))
    read = {name for s in statements for name in tree.names_read(*s.expressions)}
    assigned = {statement.tensor for statement in statements}
    extents = {
        name: tuple(arithmetic.number(max(evaluate(e, sizes), 0)) for e in tensor.extents)
        for name, tensor in facts.tensors.items()
    }
    parameters = tuple(
        replace(parameter, sizes=extents[parameter.name])
        for parameter in definition.parameters
        if parameter.name in read | assigned
    )
    if any(arithmetic.ZERO in parameter.sizes for parameter in parameters):
        return None
    return replace(
        definition,
        parameters=parameters,
        outputs=tuple(
            replace(output, type=facts.tensors[output.name].type, sizes=extents[output.name])
            for output in definition.outputs
            if output.name in assigned
        ),
        statements=tuple(statements),
    )


def _remaining(
    statement: StatementFacts,
    facts: DefinitionFacts,
    sizes: Mapping[str, int],
    evaluate: Callable[[tree.Expression, Mapping[str, int]], int],
) -> tuple[tree.TcStatement, bool] | None:
    """Return a statement, and whether it only begins; None if it does nothing."""

    def known(expression: tree.Expression) -> tree.Expression:
        if isinstance(expression, tree.NameUse) and expression.name in sizes:
            return arithmetic.signed(sizes[expression.name])
        return tree.with_operands(expression, known)

    ends = {
        index: (evaluate(r.lower, sizes), evaluate(r.upper, sizes))
        for index, r in statement.ranges.items()
    }
    empty = {index for index, (lower, upper) in ends.items() if upper <= lower}
    left = {name for part in statement.subscripts for name in arithmetic.names_in(part)} & {*ends}
    if empty & left or (empty and not statement.initializes):
        return None
    value, assign, kept = known(statement.value), statement.assign, {*ends}
    if empty:
        element_type = facts.tensors[statement.tensor].type
        value = tree.ConvertExpression(element_type, _NEUTRAL[assign], arithmetic.NOWHERE)
        assign, kept = AssignKind.SET, left
    ranges = tuple(
        tree.WhereRange(
            index, arithmetic.signed(lower), arithmetic.signed(upper), arithmetic.NOWHERE
        )
        for index, (lower, upper) in ends.items()
        if index in kept
    )
    conditions = tuple(
        tree.WhereCondition(known(condition), arithmetic.NOWHERE)
        for condition in statement.conditions
        if not empty
    )
    return (
        tree.TcStatement(
            statement.tensor,
            tuple(map(known, statement.subscripts)),
            assign,
            statement.initializes and not empty,
            value,
            (*ranges, *conditions),
            arithmetic.NOWHERE,
        ),
        bool(empty),
    )
