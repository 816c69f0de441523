"""PyTorch's tensors as arguments and results, where the caller has imported PyTorch.

polygym never imports it: who has tensors has done so. A tensor in main memory is an array that
shares its memory, and so is the other way around; nothing is copied but what is not contiguous.
Those of bfloat16 change hands as integers, since NumPy does not know the type.

Gradients follow where the operator has a comprehension for them. Then a call is a function of
PyTorch's autograd: what the gradient's comprehension reads is saved, and it is called when PyTorch
asks for gradients.

The gradient of a comprehension, which is another comprehension, or several.

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

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.frontend.tc.syntax.tree import Declaration, ElementType
from polygym.ir.types import ScalarType
from polygym.programs import dtypes as outputs
from polygym.tc.arguments import dtype_of

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
        if parameter.type in _FLOATS
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


Compute = Callable[[Sequence[Any], Any], list[np.ndarray]]
"""An operator on arrays: the arguments, and the memory of its outputs or None."""


def torch_if_used(arguments: Sequence[Any], out: Any = None) -> Any:
    """Return PyTorch if there is a tensor among arguments or outputs, else None."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None:
        return None
    for argument in arguments:
        # Asking a class of PyTorch's takes as long as the rest of a call: arrays are known by type.
        if type(argument) is not np.ndarray and isinstance(argument, tensor):
            return torch
    if out is not None and any(isinstance(output, tensor) for output in _listed(out)):
        return torch
    return None


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, list | tuple) else [out]


def as_arrays(torch: Any, definition: TcDefinition, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with arrays in place of tensors, which share their memory."""
    result = list(arguments)
    for place, argument in enumerate(result):
        if isinstance(argument, torch.Tensor):
            result[place] = _array(torch, argument, definition, place)
    return result


def call_with_tensors(
    torch: Any,
    definition: TcDefinition,
    compute: Compute,
    gradient: Gradient | None,
    arguments: Sequence[Any],
    out: Any,
) -> list[Any]:
    """Compute with tensors; results are tensors, those of ``out`` where it is given.

    Raises:
        InputError: a tensor is not in main memory, or asks for a gradient that there is not.
    """
    arrays = as_arrays(torch, definition, arguments)
    asking = [
        place
        for place, argument in enumerate(arguments)
        if isinstance(argument, torch.Tensor) and argument.requires_grad
    ]
    if not (asking and torch.is_grad_enabled() and len(arguments) == len(definition.parameters)):
        return _computed(torch, definition, compute, arrays, out)
    names = [definition.parameters[place].name for place in asking]
    if out is not None:
        raise InputError(
            f"{definition.name}: out: expected none where a gradient is asked for (by "
            f"{names[0]}); call it under torch.no_grad(), or on {names[0]}.detach()"
        )
    for name in names:
        if gradient is None or name not in gradient.parameters:
            raise InputError(
                f"{definition.name}: {name} asks for a gradient (requires_grad), of which "
                f"{definition.name} knows none: with_gradient() says how it is computed, from a "
                f"comprehension that returns {derivative_name(name)}; else call it under "
                f"torch.no_grad(), or on {name}.detach()"
            )
    assert gradient is not None
    function = _function(torch)
    result = function.apply(definition, compute, gradient, *arguments)
    return [result] if isinstance(result, torch.Tensor) else list(result)


def _computed(
    torch: Any, definition: TcDefinition, compute: Compute, arrays: Sequence[Any], out: Any
) -> list[Any]:
    if out is None:
        return [_tensor(torch, array) for array in compute(arrays, None)]
    given = _listed(out)
    places = []
    for output in given:
        tensor = isinstance(output, torch.Tensor)
        if tensor and output.requires_grad and torch.is_grad_enabled():
            raise InputError(
                f"{definition.name}: out: expected a tensor that asks for no gradient, found one "
                "with requires_grad"
            )
        places.append(_array(torch, output, definition, None) if tensor else output)
    compute(arrays, places)
    for output in given:
        if isinstance(output, torch.Tensor):
            torch.autograd.graph.increment_version(output)  # autograd sees that it was written to
    return given


def _array(torch: Any, tensor: Any, definition: TcDefinition, place: int | None) -> Any:
    """Return a tensor's memory as an array; ``place`` is which argument it is, None for ``out``."""
    if tensor.is_cpu and tensor.layout is torch.strided:
        try:
            plain = tensor.detach()
            is_read_negated = place is not None and plain.is_neg()
            plain = plain.resolve_neg() if is_read_negated else plain
            if plain.dtype is torch.bfloat16:
                return plain.view(torch.int16).numpy().view(outputs.dtype_of(ScalarType.BFLOAT))
            return plain.numpy()
        except (TypeError, RuntimeError) as error:
            wrong = f"no tensor of {tensor.dtype} that NumPy has: {error}"
    elif tensor.layout is not torch.strided:
        wrong = f"expected a dense tensor, found {tensor.layout}"
    else:
        wrong = f"expected a tensor in main memory, found one on {tensor.device}; .cpu() copies it"
    names = [parameter.name for parameter in definition.parameters]
    name = "out" if place is None else names[place] if place < len(names) else str(place)
    raise InputError(f"{definition.name}: {name}: {wrong}")


def _tensor(torch: Any, array: np.ndarray) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _derivatives(
    torch: Any, part: GradientPart, known: Mapping[str, Any], wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a part of a gradient computes, by the names of the parameters that ask for it.

    ``wanted`` has their shapes and types.
    """
    read = as_arrays(torch, part.definition, [known[name] for name in part.reads])
    result = {}
    for name, array in zip(part.parameters, part.compute(read, None), strict=True):
        if name in wanted:
            if (array.shape, array.dtype) != wanted[name]:
                shape, dtype = wanted[name]
                raise InputError(
                    f"{part.definition.name}: {derivative_name(name)}: expected {dtype} of shape "
                    f"{shape}, as {name} is, found {array.dtype} of shape {array.shape}"
                )
            result[name] = _tensor(torch, array)
    return result


@lru_cache(maxsize=2)
def _function(torch: Any) -> Any:
    """Return the function of autograd that every operator with a gradient is."""

    class OnceDifferentiable(torch.autograd.Function):  # type: ignore[misc]
        """A gradient as it is, of which there is no derivative by what it was computed from.

        Without it a gradient would count as a constant, and what is derived of it would be wrong.
        """

        @staticmethod
        def forward(ctx: Any, name: str, gradient: Any, *_: Any) -> Any:
            """Return the gradient."""
            ctx.name = name
            return gradient.view_as(gradient)

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            """Refuse."""
            raise InputError(
                f"{ctx.name}: expected first derivatives alone, found one of a gradient: the "
                "gradients of comprehensions have none"
            )

    class Differentiated(torch.autograd.Function):  # type: ignore[misc]
        """A comprehension and its gradient."""

        @staticmethod
        def forward(
            ctx: Any,
            definition: TcDefinition,
            compute: Compute,
            gradient: Gradient,
            *arguments: Any,
        ) -> Any:
            """Compute, and save what the gradient reads."""
            names = [parameter.name for parameter in definition.parameters]
            outputs = [output.name for output in definition.outputs]
            arrays = as_arrays(torch, definition, arguments)
            results = _computed(torch, definition, compute, arrays, None)
            known = dict(zip([*names, *outputs], [*arguments, *results], strict=True))
            read = [name for name in gradient.reads if name in known]
            tensors = [name for name in read if isinstance(known[name], torch.Tensor)]
            ctx.save_for_backward(*(known[name] for name in tensors))
            ctx.tensors = tensors
            ctx.others = {name: known[name] for name in read if name not in tensors}
            ctx.definition, ctx.gradient = definition, gradient
            ctx.shapes = [getattr(argument, "shape", None) for argument in arguments]
            unread = [name for name in outputs if derivative_name(name) not in gradient.reads]
            ctx.mark_non_differentiable(*(results[outputs.index(name)] for name in unread))
            return results[0] if len(results) == 1 else tuple(results)

        @staticmethod
        def backward(ctx: Any, *asked: Any) -> tuple[Any, ...]:
            """Return the gradients of the arguments."""
            with torch.no_grad():
                gradients = Differentiated.gradients(ctx, asked)
            # What a gradient depends on, where somebody may derive it (create_graph=True).
            read = [tensor for tensor in (*ctx.saved_tensors, *asked) if tensor is not None]
            changing = [tensor for tensor in read if tensor.requires_grad]
            if torch.is_grad_enabled() and changing:
                name = ctx.definition.name
                gradients = [
                    None if found is None else OnceDifferentiable.apply(name, found, *changing)
                    for found in gradients
                ]
            return (None, None, None, *gradients)  # of definition, compute and gradient: none

        @staticmethod
        def gradients(ctx: Any, asked: Sequence[Any]) -> list[Any]:
            """Return the gradients of the arguments; None of those that ask for none."""
            definition, gradient = ctx.definition, ctx.gradient
            outputs = [derivative_name(output.name) for output in definition.outputs]
            known: Mapping[str, Any] = ctx.others | dict(
                zip([*ctx.tensors, *outputs], [*ctx.saved_tensors, *asked], strict=True)
            )
            wanted = {
                parameter.name: (tuple(ctx.shapes[place]), dtype_of(parameter.type))
                for place, parameter in enumerate(definition.parameters)
                if ctx.needs_input_grad[place + 3]
            }
            derivatives: dict[str, Any] = {}
            for part in gradient.parts:
                if not wanted.keys().isdisjoint(part.parameters):
                    derivatives |= _derivatives(torch, part, known, wanted)
            return [derivatives.get(parameter.name) for parameter in definition.parameters]

    return Differentiated
