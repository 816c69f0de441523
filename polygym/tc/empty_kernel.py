"""Results for arrays without elements.

A statement of which no instance runs leaves what it begins with: 0 in a sum, 1 in a product. So a
matrix product over nothing is 0, and a batch of nothing has results without elements. Code is
compiled for what other statements compute from that. A result that is a maximum of nothing is
refused, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.derivatives.analysis import DefinitionFacts
from polygym.frontend.tc.derivatives.emptiness import remaining_definition
from polygym.frontend.tc.semantics.types import SCALAR_TYPES
from polygym.frontend.tc.syntax.tree import AssignKind
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.programs.dtypes import dtype_of
from polygym.tc.builder import BuildOptions, KernelBuilder
from polygym.tc.kernel import ArrayBinding, CompiledKernel
from polygym.tc.size_values import evaluate, known_facts


@dataclass(frozen=True, slots=True)
class ComputedOutputs:
    """Code for what remains: ``arguments`` are those that it reads, ``outputs`` what it computes.

    Both are places in the definition.
    """

    kernel: CompiledKernel
    arguments: tuple[int, ...]
    outputs: tuple[int, ...]

    def __call__(self, arguments: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """Return the outputs that are computed."""
        results = self.kernel([arguments[place] for place in self.arguments])
        return dict(zip(self.outputs, results, strict=True))


@dataclass(frozen=True, slots=True)
class EmptyKernel:
    """The results of a definition for certain sizes, of which some are 0."""

    outputs: tuple[ArrayBinding, ...]
    values: tuple[int, ...]
    computed: ComputedOutputs | None = None

    def __call__(
        self, arguments: Sequence[np.ndarray], out: Sequence[np.ndarray | None] | None = None
    ) -> list[np.ndarray]:
        """Return the outputs, as a compiled kernel does."""
        results = []
        memory = [None] * len(self.outputs) if out is None else out
        known = {} if self.computed is None else self.computed(arguments)
        for number, (place, value) in enumerate(zip(self.outputs, self.values, strict=True)):
            given = memory[number]
            array = np.empty(place.shape, place.dtype) if given is None else given
            if number in known:
                array[...] = known[number]
            else:
                array[...] = value if place.argument is None else arguments[place.argument]
            results.append(array)
        return results


def empty_kernel(
    definition: TcDefinition, sizes: Mapping[str, int], constants: Mapping[str, int]
) -> EmptyKernel:
    """Return the results for sizes of which some are 0.

    Raises:
        InputError: a result is a minimum or maximum of nothing, or reads an element that is not.
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
    known = tuple(0 if value is None else value for value in values)
    computed = _computed(facts, sizes) if None in values else None
    return EmptyKernel(tuple(bindings), known, computed)


def _value(facts: DefinitionFacts, tensor: str, sizes: Mapping[str, int]) -> int | None:
    """Return the value of the elements of an output, None where it has to be computed."""
    result = 0
    for statement in facts.statements:
        if statement.tensor != tensor:
            continue
        counts = [evaluate(values.count, sizes) for values in statement.ranges.values()]
        is_extreme = statement.assign in (AssignKind.MINIMUM, AssignKind.MAXIMUM)
        if min(counts, default=1) > 0 or (is_extreme and statement.initializes):
            return None
        if statement.initializes:
            result = 1 if statement.assign is AssignKind.MULTIPLY else 0
    return result


def _computed(facts: DefinitionFacts, sizes: Mapping[str, int]) -> ComputedOutputs:
    """Return code for the statements that run."""
    definition = facts.definition
    remaining = remaining_definition(facts, sizes, evaluate)
    if remaining is None:
        raise InputError(
            f"{definition.name}: expected arrays with elements to compute results from, found one "
            "without"
        )
    builder = KernelBuilder(remaining, BuildOptions(mapping=SEQUENTIAL_MAPPING))
    inputs = [parameter.name for parameter in remaining.parameters]
    outputs = [output.name for output in remaining.outputs]
    return ComputedOutputs(
        builder.kernel({}),
        tuple(n for n, one in enumerate(definition.parameters) if one.name in inputs),
        tuple(n for n, one in enumerate(definition.outputs) if one.name in outputs),
    )
