"""Functions for JAX: operators that ``jax.jit``, ``jax.grad`` and ``jax.vmap`` take.

JAX traces functions with arguments that have no data. There an operator is a callback
(``jax.pure_callback``) with shapes of results that are known, and derivatives that are operators
again. polygym never imports JAX: who has its arrays has done so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc.derivatives.analysis import FLOATS
from polygym.frontend.tc.derivatives.signature import DerivativeInput, InputKind
from polygym.tc.arguments import check_argument_count, dtype_of
from polygym.tc.gradients import Operator
from polygym.tc.torch_operators import result_shapes


def jax_function(operator: Operator) -> Callable[..., Any]:
    """Return an operator as a function of JAX's arrays, differentiable in reverse mode.

    Scalars on which subscripts depend have to be Python's numbers.

    Raises:
        InputError: JAX has not been imported.
    """
    if "jax" not in sys.modules:
        raise InputError("jax_function: expected JAX to be imported")
    jax = sys.modules["jax"]

    def function(*arguments: Any) -> Any:
        results = _call(jax, operator, arguments)
        return results[0] if len(results) == 1 else results

    return function


def _call(jax: Any, operator: Operator, arguments: Sequence[Any]) -> tuple[Any, ...]:
    definition = operator.definition
    names = [parameter.name for parameter in definition.parameters]
    check_argument_count(definition.name, names, arguments)
    fixed = {name: int(arguments[names.index(name)]) for name in operator.required_constants}
    given = [
        _array(jax, operator, place, argument)
        for place, argument in enumerate(arguments)
        if names[place] not in fixed
    ]

    def complete(arrays: Sequence[Any]) -> list[Any]:
        rest = iter(arrays)
        return [fixed[name] if name in fixed else next(rest) for name in names]

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def compute(*arrays: Any) -> Any:
        shapes = tuple(
            jax.ShapeDtypeStruct(tuple(map(int, shape)), dtype_of(kind))
            for shape, kind in result_shapes(operator, complete(arrays))
        )
        return jax.pure_callback(
            lambda *known: tuple(operator.compute(complete([np.asarray(k) for k in known]), None)),
            shapes,
            *arrays,
            vmap_method="sequential",
        )

    def forward(*arrays: Any) -> Any:
        results = compute(*arrays)
        return results, (arrays, results)

    def backward(saved: Any, asked: Sequence[Any]) -> tuple[Any, ...]:
        arrays, results = saved
        return _gradients(jax, operator, fixed, complete(arrays), results, asked)

    compute.defvjp(forward, backward)
    return tuple(compute(*given))


def _gradients(
    jax: Any,
    operator: Operator,
    fixed: dict[str, int],
    arguments: Sequence[Any],
    results: Sequence[Any],
    asked: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the gradients of the arrays among the arguments, None of whole numbers."""
    definition = operator.definition
    parameters = [parameter.name for parameter in definition.parameters]
    outputs = [output.name for output in definition.outputs]
    known = {
        DerivativeInput(kind, name): value
        for kind, names, values in (
            (InputKind.PARAMETER, parameters, arguments),
            (InputKind.RESULT, outputs, results),
            (InputKind.DERIVATIVE, outputs, asked),
        )
        for name, value in zip(names, values, strict=True)
    }
    gradients: list[Any] = []
    for parameter in definition.parameters:
        if parameter.name in fixed:
            continue
        if parameter.type not in FLOATS:
            gradients.append(None)
            continue
        # One at a time: JAX leaves out those that nothing reads.
        (part,) = operator.gradient_parts((parameter.name,), arguments)
        found = _call(jax, part.operator, [known[entry] for entry in part.inputs])
        gradients.append(found[part.tensors.index(parameter.name)])
    return tuple(gradients)


def _array(jax: Any, operator: Operator, place: int, value: Any) -> Any:
    """Return an argument as an array of JAX's.

    Raises:
        InputError: it is an array of another type.
    """
    parameter = operator.definition.parameters[place]
    dtype = dtype_of(parameter.type)
    if not hasattr(value, "dtype"):
        value = jax.numpy.asarray(value, dtype)
    if value.dtype != dtype and not (value.dtype.kind == dtype.kind == "i"):
        raise InputError(
            f"{operator.definition.name}: {parameter.name}: expected elements of type {dtype}, "
            f"found {value.dtype}"
        )
    return value
