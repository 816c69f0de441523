"""Parameters and outputs of a derivative, and what they are to the definition it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.emission import StatementEmitter
from polygym.frontend.tc.derivatives.versions import (
    Recomputation,
    VersionedStatement,
    version_name,
    versions_in,
)
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import TcDefinition
from polygym.pickling import pickle_by_name


class InputKind(Enum):
    """What a parameter of a derivative is to the definition that it is derived from."""

    PARAMETER = "a parameter"
    RESULT = "an output"
    DERIVATIVE = "the derivative with respect to an output"
    TANGENT = "the derivative of a parameter"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DerivativeInput:
    """A parameter of a derivative: a tensor of the definition, or its derivative."""

    kind: InputKind
    tensor: str


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Derivative:
    """A definition that computes derivatives: ``inputs`` are its parameters in their order.

    Its outputs are the derivatives of, or with respect to, ``tensors``.
    """

    definition: TcDefinition
    inputs: tuple[DerivativeInput, ...]
    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DerivativeParts:
    """The statements of a derivative, and the names of what it is given and what it returns.

    ``given`` are the derivatives that are parameters, by the tensors they belong to.
    """

    emitter: StatementEmitter
    statements: Sequence[VersionedStatement]
    last: Mapping[str, str]
    given: Mapping[DerivativeInput, str]
    results: Sequence[tree.TcOutput]

    def assembled(self, suffix: str, tensors: tuple[str, ...]) -> Derivative:
        """Put the definition together: what is computed again, then the derivatives."""
        facts = self.emitter.facts
        body, self.emitter.statements = self.emitter.statements, []
        available = self._available()
        again = Recomputation(self.statements, available, self.emitter)
        again.compute(versions_in(body))
        statements = tuple(
            statement.with_expressions(lambda part: tree.renamed(part, again.names))
            for statement in (*self.emitter.statements, *body)
        )
        inputs, parameters = self._parameters(statements, available)
        own = facts.definition
        definition = TcDefinition(
            f"{own.name}_{suffix}", parameters, tuple(self.results), statements, own.location
        )
        return Derivative(definition, inputs, tensors)

    def _available(self) -> dict[str, str]:
        """Return the versions that are parameters: the parameters, and the outputs."""
        definition = self.emitter.facts.definition
        names = {parameter.name for parameter in definition.parameters}
        available = {version_name(name, 0): name for name in names}
        for output in definition.outputs:
            last = self.last[output.name]
            if last not in available:
                taken = output.name in names
                available[last] = self.emitter.new_name(output.name) if taken else output.name
        return available

    def _parameters(
        self, statements: Sequence[tree.TcStatement], available: Mapping[str, str]
    ) -> tuple[tuple[DerivativeInput, ...], tuple[tree.TcParameter, ...]]:
        """Return what statements read, and what gives sizes a value."""
        definition = self.emitter.facts.definition
        read = tree.names_read(*(part for s in statements for part in s.expressions))
        sizes = size_locations(definition).keys() & arithmetic.names_in(
            *(part for statement in statements for part in statement.expressions),
            *(size for result in self.results for size in result.sizes or ()),
        )
        shapes: dict[str, tuple[tree.NameUse | tree.NumberLiteral, ...]] = {}
        inputs = [
            (entry, self._declared(entry.tensor, name, shapes))
            for entry, name in self.given.items()
            if name in read
        ]
        for output in definition.outputs:
            last = self.last[output.name]
            if available[last] in read and last != version_name(output.name, 0):
                entry = DerivativeInput(InputKind.RESULT, output.name)
                inputs.append((entry, self._declared(output.name, available[last], shapes)))
        known = {size for _, parameter in inputs for size in _sizes(parameter)}
        front = []
        for parameter in definition.parameters:
            own = set(_sizes(parameter))
            if parameter.name in read or sizes & own - known:
                front.append((DerivativeInput(InputKind.PARAMETER, parameter.name), parameter))
                known |= own
        whole = [*front, *inputs]
        return tuple(entry for entry, _ in whole), tuple(parameter for _, parameter in whole)

    def _declared(
        self,
        tensor: str,
        name: str,
        shapes: dict[str, tuple[tree.NameUse | tree.NumberLiteral, ...]],
    ) -> tree.TcParameter:
        """Return a parameter that is as large as a tensor, with names for sizes that have none."""
        facts = self.emitter.facts
        if tensor not in shapes:
            known = size_locations(facts.definition)
            shapes[tensor] = tuple(
                extent
                if isinstance(extent, tree.NumberLiteral)
                or (isinstance(extent, tree.NameUse) and extent.name in known)
                else arithmetic.name(self.emitter.new_name(f"{tensor}_{dimension}"))
                for dimension, extent in enumerate(facts.tensors[tensor].extents)
            )
        kind = facts.tensors[tensor].type
        return tree.TcParameter(kind, shapes[tensor], name, arithmetic.NOWHERE)


def _sizes(parameter: tree.TcParameter) -> tuple[str, ...]:
    return tuple(size.name for size in parameter.sizes if isinstance(size, tree.NameUse))
