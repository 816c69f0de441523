"""Reverse mode: the derivatives of some number with respect to parameters, as a definition.

With d_T for the derivative with respect to the tensor T, the statements are taken from the last to
the first. Of ``T(s) += v`` every element e that v reads gets

    d_e += d_T(s) · ∂v/∂e,      for all values of the indices of the statement.

Where e is the element ``A(r)``, with subscripts r of the indices, that is the comprehension
``d_A(r) += d_T(s) * ...``: the access that read is the access that assigns, with a computed
subscript if there was one, and under the conditions under which it read. Of ``O(i) +=! I(i + k) *
K(k)`` it is ``d_I(i + k) +=! d_O(i) * K(k)`` and ``d_K(k) +=! d_O(i) * I(i + k)``. The ranges of i
and k are those of the statement.

What the statement has assigned anew had no influence before: there the derivative with respect to
the version before is 0. Values that are read again are parameters or outputs, or computed again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import (
    DefinitionFacts,
    definition_facts,
)
from polygym.frontend.tc.derivatives.emission import StatementEmitter
from polygym.frontend.tc.derivatives.partials import (
    Partial,
    PartialDerivatives,
    summed,
)
from polygym.frontend.tc.derivatives.reductions import ReductionTerms
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
    version_name,
    versioned,
)
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, ElementType, Expression, TcDefinition


def reverse_derivative(
    definition: TcDefinition,
    constants: Mapping[str, int],
    wanted: Sequence[str],
    given: Collection[str],
    sizes: Mapping[str, int] | None = None,
) -> Derivative:
    """Return the derivatives with respect to the parameters ``wanted``.

    ``given`` are the outputs with respect to which the derivative is known; with respect to the
    others it is 0. ``constants`` are the values of scalars on which subscripts depend; with
    ``sizes`` the derivative is for these alone.

    Raises:
        SourceError: the definition makes no sense, or has no derivative.
    """
    facts = definition_facts(definition, constants, sizes)
    return _ReverseMode(facts, tuple(wanted), frozenset(given)).result()


@dataclass
class _ReverseMode:
    """The statements so far; ``adjoints`` has the name of each tensor's derivative, if not 0."""

    facts: DefinitionFacts
    wanted: tuple[str, ...]
    given: frozenset[str]
    emitter: StatementEmitter = field(init=False)
    statements: list[VersionedStatement] = field(init=False)
    last: dict[str, str] = field(init=False)
    outputs: dict[str, str] = field(default_factory=dict)
    adjoints: dict[str, str] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    varying: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find what depends on the wanted parameters."""
        self.emitter = StatementEmitter(self.facts)
        self.statements, self.last = versioned(self.facts)
        self.varying = varying_versions(self.facts, self.statements, self.wanted)

    @property
    def partials(self) -> PartialDerivatives:
        """The derivatives of expressions."""
        return PartialDerivatives(self.varying.__contains__, is_version)

    def result(self) -> Derivative:
        """Return the whole definition."""
        names = self._derivative_inputs()
        self._name_outputs()
        for statement in reversed(self.statements):
            self._reverse(statement)
        for tensor, name in self.outputs.items():
            if self.adjoints.get(tensor) != name:
                self._return(tensor, name)
        results = tuple(self._declared(tensor, name) for tensor, name in self.outputs.items())
        made = DerivativeParts(self.emitter, self.statements, self.last, names, results)
        return made.assembled("gradient", self.wanted)

    def _derivative_inputs(self) -> dict[DerivativeInput, str]:
        """Name the derivatives with respect to the outputs that are given."""
        names = {}
        for output in self.facts.definition.outputs:
            if output.name in self.given and self.last[output.name] in self.varying:
                name = self.emitter.new_name(f"d_{output.name}")
                self.adjoints[output.name] = name
                names[DerivativeInput(InputKind.DERIVATIVE, output.name)] = name
        self.fixed |= set(names.values())
        return names

    def _name_outputs(self) -> None:
        """Name the derivatives that are returned; those that are added up in place are declared."""
        updated = {output.name for output in self.facts.definition.outputs}
        for tensor in self.wanted:
            name = self.outputs[tensor] = self.emitter.new_name(f"d_{tensor}")
            is_wide = self.facts.tensors[tensor].type in (ElementType.FLOAT, ElementType.DOUBLE)
            if is_wide and tensor not in updated:
                self.emitter.declared.add(name)

    def _reverse(self, statement: VersionedStatement) -> None:
        """Emit the derivatives of one statement."""
        facts = statement.facts
        adjoint = self.adjoints.get(facts.tensor)
        if adjoint is None:
            return
        if statement.after not in self.varying:
            del self.adjoints[facts.tensor]
            return
        derivative = arithmetic.element(adjoint, statement.subscripts)
        terms = ReductionTerms(self.emitter, statement, self.facts.tensors[facts.tensor])
        found = summed(terms.partials(self.partials, derivative))
        own = [part for part in found if part.element.name == statement.before]
        for part in found:
            if part.element.name != statement.before:
                self._contribute(statement, part, adjoint)
        self._step_back(statement, adjoint, terms, own)

    def _step_back(
        self,
        statement: VersionedStatement,
        adjoint: str,
        terms: ReductionTerms,
        own: Sequence[Partial],
    ) -> None:
        """Go from the derivative of the version after a statement to that of the one before."""
        facts = statement.facts
        tensor = facts.tensor
        if statement.before is None or statement.before not in self.varying:
            del self.adjoints[tensor]
            return
        if facts.assign is AssignKind.ADD and not facts.initializes and not own:
            return
        del self.adjoints[tensor]
        if statement.keeps:
            name = self.emitter.new_name(f"d_{tensor}")
            terms.carry(name, adjoint)
            self.adjoints[tensor] = name
        for part in own:
            self._contribute(statement, part, adjoint)

    def _contribute(self, statement: VersionedStatement, part: Partial, adjoint: str) -> None:
        """Add a derivative to that of the tensor of the element."""
        tensor = tensor_of(part.element.name)
        before = self.adjoints.get(tensor)
        name = before
        if name is None or name in self.fixed:
            name = self._accumulator(tensor, part.element.name)
            self.adjoints[tensor] = name
            if before is not None:
                copied = before
                self.emitter.fill(name, tensor, lambda e: arithmetic.element(copied, e))
        self.emitter.accumulate(
            name,
            tensor,
            part.element.arguments,
            self.emitter.converted(part.derivative, tensor),
            statement.facts.ranges,
            (*statement.conditions, *part.conditions),
            adjoint=adjoint,
            is_first=before is None,
        )

    def _accumulator(self, tensor: str, version: str) -> str:
        """Return the name under which a derivative is added up."""
        output = self.outputs.get(tensor, "")
        if version == version_name(tensor, 0) and output in self.emitter.declared:
            return output
        return self.emitter.new_name(f"d_{tensor}")

    def _return(self, tensor: str, name: str) -> None:
        """Emit an output that is not added up in place."""
        adjoint, kind = self.adjoints.get(tensor), self.facts.tensors[tensor].type

        def value(subscripts: tuple[Expression, ...]) -> Expression:
            if adjoint is None:
                return arithmetic.ZERO
            read = arithmetic.element(adjoint, subscripts)
            return tree.ConvertExpression(kind, read, arithmetic.NOWHERE)

        self.emitter.fill(name, tensor, value)

    def _declared(self, tensor: str, name: str) -> tree.TcOutput:
        parameter = next(p for p in self.facts.definition.parameters if p.name == tensor)
        return tree.TcOutput(parameter.type, parameter.sizes, name, arithmetic.NOWHERE)
