"""Operators that are derived from one: its gradients, its derivatives along a direction, batches.

Each is made when it is asked for, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.derivatives.batching import batched_definition
from polygym.frontend.tc.derivatives.forward import forward_derivative
from polygym.frontend.tc.derivatives.reverse import reverse_derivative
from polygym.frontend.tc.derivatives.signature import Derivative, DerivativeInput, InputKind
from polygym.poly.isl_budget import exclusive_isl
from polygym.tc.arguments import sizes_of_arguments
from polygym.tc.gradients import BatchedOperator, GradientPart, Operator


@dataclass(frozen=True, eq=False)
class WrittenGradients:
    """Written gradients of one operator; ``is_automatic`` says that others are derived."""

    parts: tuple[GradientPart, ...] = ()
    is_automatic: bool = True


@dataclass(eq=False)
class DerivedOperators:
    """What has been derived from a definition; ``like`` makes an operator of another one."""

    definition: TcDefinition
    like: Callable[[TcDefinition], Operator]
    required_constants: tuple[str, ...]
    written: WrittenGradients = WrittenGradients()
    _made: dict[Any, Any] = field(default_factory=dict)

    def copy(self, like: Callable[[TcDefinition], Operator]) -> DerivedOperators:
        """Return a copy of which another gradient may be written."""
        return replace(self, like=like, _made={})

    def gradient_parts(
        self, wanted: tuple[str, ...], arguments: Sequence[Any]
    ) -> tuple[GradientPart, ...]:
        """Return what computes the derivatives of parameters, as far as there is something."""
        parts = [part for part in self.written.parts if not set(wanted).isdisjoint(part.tensors)]
        known = {name for part in parts for name in part.tensors}
        rest = tuple(name for name in wanted if name not in known)
        if not rest or not self.written.is_automatic:
            return tuple(parts)
        return (*parts, self.gradient(rest, arguments))

    def gradient(self, wanted: tuple[str, ...], arguments: Sequence[Any]) -> GradientPart:
        """Return the derived gradient."""
        outputs = [output.name for output in self.definition.outputs]

        def derive(constants: Mapping[str, int], sizes: Mapping[str, int] | None) -> Derivative:
            return reverse_derivative(self.definition, constants, wanted, outputs, sizes)

        return self._derivative(("gradient", wanted), arguments, derive)

    def tangent_part(self, varying: tuple[str, ...], arguments: Sequence[Any]) -> GradientPart:
        """Return what computes the derivatives of the outputs along those of parameters."""

        def derive(constants: Mapping[str, int], sizes: Mapping[str, int] | None) -> Derivative:
            return forward_derivative(self.definition, constants, varying, sizes)

        return self._derivative(("tangent", varying), arguments, derive)

    @exclusive_isl()
    def batched(self, parameters: tuple[bool, ...]) -> BatchedOperator:
        """Return the operator on batches of some of its arguments, along a first dimension."""
        if parameters not in self._made:
            names = [parameter.name for parameter in self.definition.parameters]
            chosen = [name for name, is_one in zip(names, parameters, strict=True) if is_one]
            definition, tensors = batched_definition(self.definition, chosen)
            self._made[parameters] = BatchedOperator(
                self.like(definition),
                tuple(name in tensors for name in names),
                tuple(output.name in tensors for output in self.definition.outputs),
            )
        made: BatchedOperator = self._made[parameters]
        return made

    @exclusive_isl()
    def _derivative(
        self,
        kind: tuple[str, tuple[str, ...]],
        arguments: Sequence[Any],
        derive: Callable[[Mapping[str, int], Mapping[str, int] | None], Derivative],
    ) -> GradientPart:
        """Return an operator for a derivative: for all sizes, or those of arguments if need be."""
        names = [parameter.name for parameter in self.definition.parameters]
        given = dict(zip(names, arguments, strict=True))
        constants = {name: int(given[name]) for name in self.required_constants}
        key: tuple[Any, ...] = (*kind, *constants.values())
        if key not in self._made:
            self._made[key] = self._for_all_sizes(derive, constants)
        if self._made[key] is None:
            shapes = {
                name: argument.shape if hasattr(argument, "shape") else np.shape(argument)
                for name, argument in given.items()
            }
            sizes = sizes_of_arguments(self.definition, shapes)
            key = (*key, *sizes.values())
            if key not in self._made:
                self._made[key] = self._part(derive(constants, sizes))
        made: GradientPart = self._made[key]
        return made

    def _for_all_sizes(
        self,
        derive: Callable[[Mapping[str, int], Mapping[str, int] | None], Derivative],
        constants: Mapping[str, int],
    ) -> GradientPart | None:
        try:
            return self._part(derive(constants, None))
        except InputError:
            return None  # its ranges have too many cases; or there is none, which is said later

    def _part(self, derivative: Derivative) -> GradientPart:
        operator = self.like(derivative.definition)
        return GradientPart(operator, derivative.inputs, derivative.tensors)


def compare_gradients(
    operator: Operator, derived: DerivedOperators, given: Sequence[np.ndarray], seed: int
) -> None:
    """Refuse written gradients that differ from the derived one by more than rounding."""
    definition = derived.definition
    results = operator.compute(given, None)
    rng = np.random.default_rng(seed)
    names = [parameter.name for parameter in definition.parameters]
    outputs = [output.name for output in definition.outputs]
    known: dict[DerivativeInput, Any] = {
        DerivativeInput(InputKind.PARAMETER, n): v for n, v in zip(names, given, strict=True)
    }
    for name, result in zip(outputs, results, strict=True):
        known[DerivativeInput(InputKind.RESULT, name)] = result
        change = np.asarray(rng.normal(size=result.shape)).astype(result.dtype)
        known[DerivativeInput(InputKind.DERIVATIVE, name)] = change
    for part in derived.written.parts:
        own = derived.gradient(part.tensors, given)
        found, expected = (
            one.operator.compute([known[entry] for entry in one.inputs], None)
            for one in (part, own)
        )
        for name, value, other in zip(part.tensors, found, expected, strict=True):
            scale = float(np.abs(other).max(initial=0)) + 1e-30
            tolerance = scale * 1e3 * float(np.finfo(other.dtype).eps)
            if not np.allclose(value, other, rtol=0, atol=tolerance, equal_nan=True):
                worst = float(np.nanmax(np.abs(value - other)))
                raise InputError(
                    f"{part.operator.definition.name}: d_{name} is not the derivative of "
                    f"{definition.name}: it differs by {worst:.3g}, where the largest is "
                    f"{scale:.3g}"
                )
