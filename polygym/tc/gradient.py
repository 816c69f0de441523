"""The gradient of a comprehension, which is another comprehension, or several.

Names say what is what. For ``mm(A, B) -> (C)``::

    def mm_gradient(float(M, K) A, float(K, N) B, float(M, N) d_C) -> (d_A, d_B) {
      d_A(m, k) +=! d_C(m, n) * B(k, n)
      d_B(k, n) +=! A(m, k) * d_C(m, n)
    }

``d_C`` is the derivative of whatever is differentiated with respect to C. A gradient may read the
parameters, the outputs (the maximum that a softmax has found, say) and the derivatives of outputs;
it returns derivatives of parameters, not necessarily of all. Derivatives that have little to do
with each other, as those of a convolution with respect to its image and to its kernel, may come
from comprehensions of their own: then only those that are asked for are computed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.syntax.tree import ElementType, TcOutput, TcParameter

_FLOATS = (ElementType.FLOAT16, ElementType.BFLOAT16, ElementType.FLOAT, ElementType.DOUBLE)


@dataclass(frozen=True, eq=False)
class GradientPart:
    """A definition that computes derivatives, and what makes it do so on arrays."""

    definition: TcDefinition
    compute: Callable[[Sequence[Any], Any], list[np.ndarray]]

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of what it reads, in order."""
        return tuple(parameter.name for parameter in self.definition.parameters)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of which it knows the derivative."""
        return tuple(output.name.removeprefix("d_") for output in self.definition.outputs)


@dataclass(frozen=True, eq=False)
class Gradient:
    """All that computes derivatives of one operator."""

    parts: tuple[GradientPart, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of what any part reads, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.reads))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of which it knows the derivative."""
        return tuple(name for part in self.parts for name in part.parameters)


def derivative_name(name: str) -> str:
    """Return the name of a tensor's derivative."""
    return f"d_{name}"


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
    readable: dict[str, TcParameter | TcOutput] = {**parameters, **outputs, **derivatives}
    for parameter in by.parameters:
        if parameter.name not in readable:
            raise InputError(
                f"{said}: parameter {parameter.name}: expected one of {', '.join(readable)}"
            )
        _check_type_and_rank(said, parameter, readable[parameter.name])
    returnable = {
        derivative_name(name): parameter
        for name, parameter in parameters.items()
        if parameter.type in _FLOATS
    }
    for result in by.outputs:
        if result.name not in returnable:
            raise InputError(
                f"{said}: output {result.name}: expected one of {', '.join(returnable) or '(none)'}"
            )
        _check_type_and_rank(said, result, returnable[result.name])


def _check_type_and_rank(
    said: str, found: TcParameter | TcOutput, expected: TcParameter | TcOutput
) -> None:
    """Refuse another type or rank, where both are declared."""
    if None not in (found.type, expected.type) and found.type is not expected.type:
        assert found.type is not None
        assert expected.type is not None
        raise InputError(
            f"{said}: {found.name}: expected {expected.type.value}, as {expected.name} is, found "
            f"{found.type.value}"
        )
    if found.sizes is None or expected.sizes is None:
        return
    if len(found.sizes) != len(expected.sizes):
        raise InputError(
            f"{said}: {found.name}: expected {len(expected.sizes)} dimension(s), as many as "
            f"{expected.name} has, found {len(found.sizes)}"
        )
