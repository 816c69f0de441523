"""Forward mode: the derivatives of outputs along a direction of the parameters, as a definition.

With t_T for the derivative of the tensor T, each statement ``T(s) += v`` has one beside it,

    t_T(s) += Σ ∂v/∂e · t_e      over the elements e that v reads,

with the same subscripts, ranges and conditions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import (
    FLOATS,
    DefinitionFacts,
    definition_facts,
    wide_type,
)
from polygym.frontend.tc.derivatives.emission import StatementEmitter
from polygym.frontend.tc.derivatives.partials import Partial, PartialDerivatives
from polygym.frontend.tc.derivatives.reductions import EXTREMES, ReductionTerms
from polygym.frontend.tc.derivatives.signature import (
    Derivative,
    DerivativeInput,
    DerivativeParts,
    InputKind,
)
from polygym.frontend.tc.derivatives.versions import (
    VersionedStatement,
    is_version,
    tensor_of,
    varying_versions,
    versioned,
)
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, Expression, TcDefinition


def forward_derivative(
    definition: TcDefinition,
    constants: Mapping[str, int],
    varying: Sequence[str],
    sizes: Mapping[str, int] | None = None,
) -> Derivative:
    """Return the derivatives of the outputs, given those of the parameters ``varying``.

    ``constants`` are the values of scalars on which subscripts depend; with ``sizes`` the
    derivative is for these alone.

    Raises:
        SourceError: the definition makes no sense, or has no derivative.
    """
    return _ForwardMode(definition_facts(definition, constants, sizes), tuple(varying)).result()


@dataclass
class _ForwardMode:
    """The statements so far; ``tangents`` has the name of each tensor's derivative, if not 0."""

    facts: DefinitionFacts
    varying: tuple[str, ...]
    emitter: StatementEmitter = field(init=False)
    statements: list[VersionedStatement] = field(init=False)
    last: dict[str, str] = field(init=False)
    versions: set[str] = field(init=False)
    tangents: dict[str, str] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find what depends on the parameters."""
        self.emitter = StatementEmitter(self.facts)
        self.statements, self.last = versioned(self.facts)
        self.versions = varying_versions(self.facts, self.statements, self.varying)

    def result(self) -> Derivative:
        """Return the whole definition."""
        given = {}
        for tensor in self.varying:
            name = self.tangents[tensor] = self.emitter.new_name(f"t_{tensor}")
            given[DerivativeInput(InputKind.TANGENT, tensor)] = name
        self.fixed |= set(given.values())
        for statement in self.statements:
            self._forward(statement)
        outputs = [
            output
            for output in self.facts.definition.outputs
            if self.facts.tensors[output.name].type in FLOATS
        ]
        results = tuple(self._returned(output) for output in outputs)
        made = DerivativeParts(self.emitter, self.statements, self.last, given, results)
        return made.assembled("tangent", tuple(output.name for output in outputs))

    def _forward(self, statement: VersionedStatement) -> None:
        """Emit the derivative of one statement."""
        facts, tensor = statement.facts, statement.facts.tensor
        before = self.tangents.get(tensor)
        if statement.after not in self.versions:
            if before is not None:
                del self.tangents[tensor]
            return
        terms = ReductionTerms(self.emitter, statement, self.facts.tensors[tensor])
        partials = PartialDerivatives(self.versions.__contains__, is_version)
        value: Expression = arithmetic.ZERO
        wide = wide_type(self.facts.tensors[tensor].type)
        one = tree.ConvertExpression(wide, arithmetic.ONE, arithmetic.NOWHERE)
        for part in terms.partials(partials, one):  # one that divides no integers as such
            value = arithmetic.plus(value, self._term(part))
        name, is_filled = self._target(statement, terms, before)
        self.tangents[tensor] = name
        is_set = facts.assign is AssignKind.SET and not is_filled
        assign = AssignKind.SET if is_set else AssignKind.ADD
        begins = facts.initializes and not is_filled
        if assign is AssignKind.ADD and not begins and value is arithmetic.ZERO:
            return
        self.emitter.add(
            name,
            statement.subscripts,
            assign,
            self.emitter.converted(value, tensor),
            facts.ranges,
            statement.conditions,
            initializes=begins,
        )

    def _term(self, part: Partial) -> Expression:
        """Return a partial derivative times the derivative of the element."""
        name = self.tangents[tensor_of(part.element.name)]
        tangent = arithmetic.element(name, part.element.arguments)
        term = arithmetic.times(part.derivative, tangent)
        whole = arithmetic.all_of(part.conditions)
        return term if whole is None else arithmetic.choice(whole, term, arithmetic.ZERO)

    def _target(
        self, statement: VersionedStatement, terms: ReductionTerms, before: str | None
    ) -> tuple[str, bool]:
        """Return the name of the derivative that a statement assigns, or goes on with.

        Whether its elements have got values already, too.
        """
        facts, tensor = statement.facts, statement.facts.tensor
        if statement.before is None or not statement.keeps:
            is_free = before is None or before in self.fixed
            return (self.emitter.new_name(f"t_{tensor}") if is_free else str(before)), False
        changes = facts.assign in (AssignKind.MULTIPLY, *EXTREMES) and not facts.initializes
        if before is not None and before not in self.fixed and not changes:
            return before, False
        name = self.emitter.new_name(f"t_{tensor}")
        if before is None:
            self.emitter.fill(name, tensor, lambda _: arithmetic.ZERO)
        else:
            terms.carry(name, before)
        return name, True

    def _returned(self, output: tree.TcOutput) -> tree.TcOutput:
        """Return the declaration of an output's derivative; emit one that is 0, or given."""
        tensor = output.name
        tangent, kind = self.tangents.get(tensor), self.facts.tensors[tensor].type
        parameters = self.facts.definition.parameters
        sizes = next((p.sizes for p in parameters if p.name == tensor), output.sizes)
        if tangent is None or tangent in self.fixed:
            name = self.emitter.new_name(f"t_{tensor}")

            def value(e: tuple[Expression, ...]) -> Expression:
                return arithmetic.ZERO if tangent is None else arithmetic.element(tangent, e)

            self.emitter.fill(name, tensor, value)
            tangent = name
        return tree.TcOutput(kind, sizes, tangent, arithmetic.NOWHERE)
