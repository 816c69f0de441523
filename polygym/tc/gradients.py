"""Gradients of an operator: comprehensions that compute derivatives, written or derived.

A written gradient says by names what it reads. For ``mm(A, B) -> (C)``::

    def mm_gradient(float(M, K) A, float(K, N) B, float(M, N) d_C) -> (d_A, d_B) {
      d_A(m, k) +=! d_C(m, n) * B(k, n)
      d_B(k, n) +=! A(m, k) * d_C(m, n)
    }

``d_C`` is the derivative of whatever is differentiated with respect to C. A gradient may read the
parameters, the outputs (the maximum that a softmax has found, say) and the derivatives of outputs;
it returns derivatives of parameters, not necessarily of all. Derivatives that have little to do
with each other, as those of a convolution with respect to its image and to its kernel, may come
from comprehensions of their own: then only those that are asked for are computed.

What no written gradient returns is derived (:mod:`polygym.frontend.tc.derivatives`) when it is
asked for. Either way a gradient is an operator, of which there are gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.derivatives.analysis import FLOATS
from polygym.frontend.tc.derivatives.signature import DerivativeInput, InputKind
from polygym.frontend.tc.syntax.tree import Declaration


class Operator(Protocol):
    """An operator as its gradients see it."""

    definition: TcDefinition
    required_constants: tuple[str, ...]
    options_text: str

    def __call__(self, *arguments: Any) -> Any:
        """Compute; differentiable where the arguments are."""

    def compute(self, arguments: Sequence[Any], out: Any) -> list[np.ndarray]:
        """Compute with arrays."""

    def gradient_parts(
        self, wanted: tuple[str, ...], arguments: Sequence[Any]
    ) -> tuple[GradientPart, ...]:
        """Return what computes the derivatives of parameters; the arguments have the scalars."""

    def tangent_part(self, varying: tuple[str, ...], arguments: Sequence[Any]) -> GradientPart:
        """Return what computes the derivatives of the outputs along those of parameters."""

    def batched(self, parameters: tuple[bool, ...]) -> BatchedOperator:
        """Return the operator on batches of some of its arguments."""


@dataclass(frozen=True, eq=False)
class BatchedOperator:
    """An operator on batches: which arguments and which results have one dimension more."""

    operator: Operator
    are_batched: tuple[bool, ...]
    results: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class GradientPart:
    """An operator that computes derivatives of, or by, ``tensors`` from ``inputs``."""

    operator: Operator
    inputs: tuple[DerivativeInput, ...]
    tensors: tuple[str, ...]


def derivative_name(name: str) -> str:
    """Return the name of a tensor's derivative."""
    return f"d_{name}"


def written_part(of: TcDefinition, by: Operator) -> GradientPart:
    """Return a written gradient as a part."""
    parameters = {parameter.name for parameter in of.parameters}
    outputs = {output.name for output in of.outputs}

    def source(name: str) -> DerivativeInput:
        if name in parameters:
            return DerivativeInput(InputKind.PARAMETER, name)
        if name in outputs:
            return DerivativeInput(InputKind.RESULT, name)
        return DerivativeInput(InputKind.DERIVATIVE, name.removeprefix("d_"))

    return GradientPart(
        by,
        tuple(source(parameter.name) for parameter in by.definition.parameters),
        tuple(output.name.removeprefix("d_") for output in by.definition.outputs),
    )


def check_gradient(definition: TcDefinition, gradients: Sequence[TcDefinition]) -> None:
    """Refuse definitions that cannot be the gradient of another one, as far as names say it.

    Raises:
        InputError: a name is none of those that it may be, or a type or a rank does not fit, or
            two compute the same.
    """
    first: dict[str, TcDefinition] = {}
    for part in gradients:
        _check_part(definition, part)
        for output in part.outputs:
            if output.name in first:
                raise InputError(
                    f"{part.name}, the gradient of {definition.name}: {output.name} is computed "
                    f"by {first[output.name].name} already"
                )
            first[output.name] = part


def _check_part(of: TcDefinition, by: TcDefinition) -> None:
    """Refuse a definition that cannot be a part of the gradient of another one.

    Raises:
        InputError: a name is none of those that it may be, or a type or a rank does not fit.
    """
    said = f"{by.name}, the gradient of {of.name}"
    parameters = {parameter.name: parameter for parameter in of.parameters}
    outputs = {output.name: output for output in of.outputs}
    if both := [name for name in parameters if name in outputs]:
        raise InputError(
            f"{said}: {of.name} updates {both[0]}, whose name would stand for two values; expected "
            "no parameter that is an output too"
        )
    derivatives = {derivative_name(name): output for name, output in outputs.items()}
    if twice := [name for name in derivatives if name in parameters or name in outputs]:
        raise InputError(f"{said}: {of.name} has a tensor of its own that is called {twice[0]}")
    readable: dict[str, Declaration] = {**parameters, **outputs, **derivatives}
    for parameter in by.parameters:
        if parameter.name not in readable:
            raise InputError(
                f"{said}: parameter {parameter.name}: expected one of {', '.join(readable)}"
            )
        _check_type_and_rank(said, parameter, readable[parameter.name])
    returnable = {
        derivative_name(name): parameter
        for name, parameter in parameters.items()
        if parameter.type in FLOATS
    }
    for result in by.outputs:
        if result.name not in returnable:
            raise InputError(
                f"{said}: output {result.name}: expected one of {', '.join(returnable) or '(none)'}"
            )
        _check_type_and_rank(said, result, returnable[result.name])


def _check_type_and_rank(said: str, actual: Declaration, expected: Declaration) -> None:
    """Refuse another type or rank, where both are declared."""
    if None not in (actual.type, expected.type) and actual.type is not expected.type:
        assert actual.type is not None
        assert expected.type is not None
        raise InputError(
            f"{said}: {actual.name}: expected {expected.type.value}, as {expected.name} is, found "
            f"{actual.type.value}"
        )
    if actual.sizes is None or expected.sizes is None:
        return
    if len(actual.sizes) != len(expected.sizes):
        raise InputError(
            f"{said}: {actual.name}: expected {len(expected.sizes)} dimension(s), as many as "
            f"{expected.name} has, found {len(actual.sizes)}"
        )
