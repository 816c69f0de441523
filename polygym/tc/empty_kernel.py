"""Results for arrays without elements, which no code computes.

A statement of which no instance runs leaves what it begins with: 0 in a sum, 1 in a product. So a
matrix product over nothing is 0, and a batch of nothing has results without elements. What other
statements would compute from that is refused, as is a maximum of nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.derivatives.analysis import DefinitionFacts
from polygym.frontend.tc.semantics.types import SCALAR_TYPES
from polygym.frontend.tc.syntax.tree import AssignKind
from polygym.programs.dtypes import dtype_of
from polygym.tc.kernel import ArrayBinding
from polygym.tc.size_values import evaluate, known_facts


@dataclass(frozen=True, slots=True)
class EmptyKernel:
    """The results of a definition for certain sizes, of which some are 0."""

    outputs: tuple[ArrayBinding, ...]
    values: tuple[int, ...]

    def __call__(
        self, arguments: Sequence[np.ndarray], out: Sequence[np.ndarray | None] | None = None
    ) -> list[np.ndarray]:
        """Return the outputs, as a compiled kernel does."""
        results = []
        memory = [None] * len(self.outputs) if out is None else out
        for place, value, given in zip(self.outputs, self.values, memory, strict=True):
            array = np.empty(place.shape, place.dtype) if given is None else given
            array[...] = value if place.argument is None else arguments[place.argument]
            results.append(array)
        return results


def empty_kernel(
    definition: TcDefinition, sizes: Mapping[str, int], constants: Mapping[str, int]
) -> EmptyKernel:
    """Return the results for sizes of which some are 0.

    Raises:
        InputError: a result would have to be computed.
    """
    facts = known_facts(definition, tuple(constants.items()))
    names = [parameter.name for parameter in definition.parameters]
    bindings, values = [], []
    for number, output in enumerate(definition.outputs):
        tensor = facts.tensors[output.name]
        shape = tuple(max(evaluate(extent, sizes), 0) for extent in tensor.extents)
        argument = names.index(output.name) if output.name in names else None
        values.append(_value(facts, output.name, sizes) if 0 not in shape else 0)
        dtype = dtype_of(SCALAR_TYPES[tensor.type])
        updated = argument is not None
        bindings.append(ArrayBinding(argument, number, shape, dtype, updated, True))
    return EmptyKernel(tuple(bindings), tuple(values))


def _value(facts: DefinitionFacts, tensor: str, sizes: Mapping[str, int]) -> int:
    """Return the value of the elements of an output."""
    result = 0
    for statement in facts.statements:
        if statement.tensor != tensor:
            continue
        counts = [evaluate(values.count, sizes) for values in statement.ranges.values()]
        is_extreme = statement.assign in (AssignKind.MINIMUM, AssignKind.MAXIMUM)
        if min(counts, default=1) > 0 or (is_extreme and statement.initializes):
            raise InputError(
                f"{facts.definition.name}: {tensor}: expected arrays with elements to compute it "
                "from, found one without"
            )
        if statement.initializes:
            result = 1 if statement.assign is AssignKind.MULTIPLY else 0
    return result
