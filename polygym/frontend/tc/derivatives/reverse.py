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
from dataclasses import dataclass, field, replace
from enum import Enum

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import (
    DefinitionFacts,
    definition_facts,
)
from polygym.frontend.tc.derivatives.emission import StatementEmitter, names_in
from polygym.frontend.tc.derivatives.partials import (
    FLOATS,
    Partial,
    PartialDerivatives,
    summed,
)
from polygym.frontend.tc.derivatives.reductions import ReductionTerms
from polygym.frontend.tc.derivatives.versions import (
    Recomputation,
    VersionedStatement,
    is_version,
    renamed,
    tensor_of,
    version_name,
    versioned,
    versions_in,
)
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, ElementType, Expression, TcDefinition


class InputKind(Enum):
    """What a parameter of a derivative is to the definition that it is derived from."""

    PARAMETER = "a parameter"
    RESULT = "an output"
    DERIVATIVE = "the derivative with respect to an output"
    TANGENT = "the derivative of a parameter"


@dataclass(frozen=True, slots=True)
class DerivativeInput:
    """A parameter of a derivative: a tensor of the definition, or its derivative."""

    kind: InputKind
    tensor: str


@dataclass(frozen=True, slots=True)
class Derivative:
    """A definition that computes derivatives: ``inputs`` are its parameters in their order.

    Its outputs are the derivatives of, or with respect to, ``tensors``.
    """

    definition: TcDefinition
    inputs: tuple[DerivativeInput, ...]
    tensors: tuple[str, ...]


def reverse_derivative(
    definition: TcDefinition,
    constants: Mapping[str, int],
    wanted: Sequence[str],
    given: Collection[str],
) -> Derivative:
    """Return the derivatives with respect to the parameters ``wanted``.

    ``given`` are the outputs with respect to which the derivative is known; with respect to the
    others it is 0. ``constants`` are the values of scalars on which subscripts depend.

    Raises:
        SourceError: the definition makes no sense, or has no derivative.
    """
    facts = definition_facts(definition, constants)
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
        self.varying |= {version_name(name, 0) for name in self.wanted}
        for statement in self.statements:
            kept = statement.before in self.varying and statement.keeps
            if self.facts.tensors[statement.facts.tensor].type in FLOATS and (
                kept or self.partials.depends(statement.value)
            ):
                self.varying.add(statement.after)

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
        return self._assemble(names)

    def _derivative_inputs(self) -> dict[str, str]:
        """Name the derivatives with respect to the outputs that are given."""
        names = {}
        for output in self.facts.definition.outputs:
            if output.name in self.given and self.last[output.name] in self.varying:
                names[output.name] = self.emitter.new_name(f"d_{output.name}")
                self.adjoints[output.name] = names[output.name]
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
                self._contribute(statement, part)
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
            self._contribute(statement, part)

    def _contribute(self, statement: VersionedStatement, part: Partial) -> None:
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
            self._converted(part.derivative, tensor),
            statement.facts,
            (*statement.conditions, *part.conditions),
            is_first=before is None,
        )

    def _accumulator(self, tensor: str, version: str) -> str:
        """Return the name under which a derivative is added up."""
        output = self.outputs.get(tensor, "")
        if version == version_name(tensor, 0) and output in self.emitter.declared:
            return output
        return self.emitter.new_name(f"d_{tensor}")

    def _converted(self, value: Expression, tensor: str) -> Expression:
        """Return a value in the type in which the derivative of a tensor is added up."""
        kinds = {facts.type for facts in self.facts.tensors.values() if facts.type in FLOATS}
        if len(kinds) == 1 and kinds <= {ElementType.FLOAT, ElementType.DOUBLE}:
            return value
        kind = self.facts.tensors[tensor].type
        wide = ElementType.DOUBLE if kind is ElementType.DOUBLE else ElementType.FLOAT
        return tree.ConvertExpression(wide, value, arithmetic.NOWHERE)

    def _return(self, tensor: str, name: str) -> None:
        """Emit an output that is not added up in place."""
        adjoint, kind = self.adjoints.get(tensor), self.facts.tensors[tensor].type

        def value(subscripts: tuple[Expression, ...]) -> Expression:
            if adjoint is None:
                return arithmetic.ZERO
            read = arithmetic.element(adjoint, subscripts)
            return tree.ConvertExpression(kind, read, arithmetic.NOWHERE)

        self.emitter.fill(name, tensor, value)

    def _assemble(self, derivatives: Mapping[str, str]) -> Derivative:
        """Put the definition together: what is computed again, then the derivatives."""
        backward, self.emitter.statements = self.emitter.statements, []
        parameters = {parameter.name for parameter in self.facts.definition.parameters}
        available = {version_name(name, 0): name for name in parameters}
        for output in self.facts.definition.outputs:
            name = output.name
            if name in parameters:
                name = self.emitter.new_name(name)
            available.setdefault(self.last[output.name], name)
        again = Recomputation(self.statements, available, self.emitter)
        again.compute(versions_in(backward))
        statements = tuple(
            replace(
                statement.with_expressions(lambda part: renamed(part, again.names)),
                tensor=statement.tensor,
            )
            for statement in (*self.emitter.statements, *backward)
        )
        results = tuple(self._declared(tensor, name) for tensor, name in self.outputs.items())
        made = _Signature(self.facts, statements, results, available, derivatives, self.last)
        inputs, declared = made.parameters()
        own = self.facts.definition
        definition = TcDefinition(
            f"{own.name}_gradient", declared, results, statements, own.location
        )
        return Derivative(definition, inputs, self.wanted)

    def _declared(self, tensor: str, name: str) -> tree.TcOutput:
        parameter = next(p for p in self.facts.definition.parameters if p.name == tensor)
        return tree.TcOutput(parameter.type, parameter.sizes, name, arithmetic.NOWHERE)


@dataclass(frozen=True, slots=True)
class _Signature:
    """The parameters of a derivative: what its statements read, and what gives sizes a value."""

    facts: DefinitionFacts
    statements: Sequence[tree.TcStatement]
    results: Sequence[tree.TcOutput]
    available: Mapping[str, str]
    derivatives: Mapping[str, str]
    last: Mapping[str, str]

    def parameters(self) -> tuple[tuple[DerivativeInput, ...], tuple[tree.TcParameter, ...]]:
        """Return what they are, and their declarations."""
        definition = self.facts.definition
        read = {
            part.name
            for statement in self.statements
            for part in tree.parts_of(*statement.expressions)
            if isinstance(part, tree.NameUse | tree.ElementOrCall)
        }
        sizes = size_locations(definition).keys() & names_in(
            *(part for statement in self.statements for part in statement.expressions),
            *(size for result in self.results for size in result.sizes or ()),
        )
        inputs: list[tuple[DerivativeInput, tree.TcParameter]] = []
        for output in definition.outputs:
            if output.name in self.derivatives:
                self._add(inputs, InputKind.DERIVATIVE, output.name, self.derivatives[output.name])
        for output in definition.outputs:
            name = self.available[self.last[output.name]]
            if name in read and self.last[output.name] != version_name(output.name, 0):
                self._add(inputs, InputKind.RESULT, output.name, name)
        known = {size for _, parameter in inputs for size in _sizes(parameter)}
        front = []
        for parameter in definition.parameters:
            gives = sizes & set(_sizes(parameter)) - known
            if parameter.name in read or gives:
                front.append((DerivativeInput(InputKind.PARAMETER, parameter.name), parameter))
                known |= set(_sizes(parameter))
        inputs = [*front, *inputs]
        return tuple(entry for entry, _ in inputs), tuple(made for _, made in inputs)

    def _add(
        self,
        inputs: list[tuple[DerivativeInput, tree.TcParameter]],
        kind: InputKind,
        tensor: str,
        name: str,
    ) -> None:
        """Add an output, or its derivative, with names for sizes that have none."""
        facts = self.facts.tensors[tensor]
        known = size_locations(self.facts.definition)
        sizes: list[tree.NameUse | tree.NumberLiteral] = []
        for dimension, extent in enumerate(facts.extents):
            is_named = isinstance(extent, tree.NameUse) and extent.name in known
            if isinstance(extent, tree.NumberLiteral) or is_named:
                assert isinstance(extent, tree.NumberLiteral | tree.NameUse)
                sizes.append(extent)
                continue
            text = f"{tensor}_{dimension}"
            while text in self.facts.names or text in self.available.values():
                text += "_"
            sizes.append(arithmetic.name(text))
        entry = DerivativeInput(kind, tensor)
        parameter = tree.TcParameter(facts.type, tuple(sizes), name, arithmetic.NOWHERE)
        inputs.append((entry, parameter))


def _sizes(parameter: tree.TcParameter) -> tuple[str, ...]:
    return tuple(size.name for size in parameter.sizes if isinstance(size, tree.NameUse))
