"""Operators that PyTorch's compiler and exporter know: entries of ``torch.library``.

Code that ``torch.compile`` or ``torch.export`` traces has no data, only shapes; ``torch.jit.trace``
would take results for constants. There a call becomes one of an operator that is registered with
PyTorch: its name, the shapes of its results, its derivatives, and what it does with data. The
derivatives are operators of the same kind.

One is registered for each definition with its options, at its first use under a tracer. Its name
ends with a digest, so that two processes with one definition agree on it, as an exported program
needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from polygym.errors import InputError
from polygym.frontend.tc.semantics.types import SCALAR_TYPES
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import definition_text
from polygym.programs.dtypes import dtype_of as dtype_of_scalar
from polygym.tc.gradients import Operator
from polygym.tc.size_values import evaluate, known_facts
from polygym.tc.torch_autograd import gradients, save_for_gradients
from polygym.tc.torch_tensors import as_arrays, compute_with_arrays, is_recorded

_REGISTERED: dict[str, Any] = {}


def is_traced(torch: Any) -> bool:
    """Whether a tracer is at work, so that tensors may have no data."""
    return torch.compiler.is_compiling() or is_recorded(torch)


def traced_call(torch: Any, operator: Operator, arguments: Sequence[Any]) -> list[Any]:
    """Call an operator under a tracer; results are tensors."""
    entry = getattr(torch.ops.polygym, registered(operator))
    parameters = operator.definition.parameters
    constants = operator.required_constants
    given = [
        argument
        if parameter.name in constants or isinstance(argument, torch.Tensor)
        else torch.as_tensor(argument, dtype=_torch_type(torch, parameter.type))
        for parameter, argument in zip(parameters, arguments, strict=True)
    ]
    found = entry(*given)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def registered(operator: Operator) -> str:
    """Return the name of an operator in ``torch.ops.polygym``, where it is from now on."""
    text = f"{definition_text(operator.definition)} {operator.options_text}"
    digest = sha256(text.encode()).hexdigest()[:16]
    own = operator.definition.name
    name = f"{own if own.isidentifier() else 'tc'}_{digest}"
    if name not in _REGISTERED:
        _REGISTERED[name] = _register(f"polygym::{name}", operator)
    return name


# What torch.compiler.assume_constant_result does, without importing PyTorch: the compiler calls the
# function when it traces a call of it, and takes the result for a constant.
registered._dynamo_marked_constant = True  # type: ignore[attr-defined]


def registered_entry(operator: Operator) -> Any:
    """Return an operator in ``torch.ops.polygym``.

    Raises:
        InputError: PyTorch has not been imported.
    """
    if "torch" not in sys.modules:
        raise InputError("torch_operator: expected PyTorch to be imported")
    return getattr(sys.modules["torch"].ops.polygym, registered(operator))


def _torch_type(torch: Any, scalar: tree.ElementType) -> Any:
    return getattr(torch, dtype_of_scalar(SCALAR_TYPES[scalar]).name)


def _schema(operator: Operator) -> str:
    parts = [
        f"{'SymInt' if parameter.name in operator.required_constants else 'Tensor'} a{place}"
        for place, parameter in enumerate(operator.definition.parameters)
    ]
    results = ", ".join("Tensor" for _ in operator.definition.outputs)
    return f"({', '.join(parts)}) -> ({results})"


def _register(name: str, operator: Operator) -> Any:
    torch: Any = sys.modules["torch"]
    is_single = len(operator.definition.outputs) == 1

    def compute(*arguments: Any) -> tuple[Any, ...]:
        arrays = as_arrays(torch, operator.definition, arguments)
        return tuple(compute_with_arrays(torch, operator, arrays, None))

    def shapes(*arguments: Any) -> tuple[Any, ...]:
        return tuple(
            arguments[0].new_empty(shape, dtype=_torch_type(torch, kind))
            if isinstance(arguments[0], torch.Tensor)
            else torch.empty(shape, dtype=_torch_type(torch, kind))
            for shape, kind in result_shapes(operator, arguments)
        )

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        results, asked = (output,) if is_single else output, ctx.needs_input_grad[: len(inputs)]
        save_for_gradients(torch, ctx, operator, inputs, results, asked)

    def first(function: Callable[..., Any]) -> Callable[..., Any]:
        return (lambda *arguments: function(*arguments)[0]) if is_single else function

    entry = torch.library.custom_op(name, first(compute), mutates_args=(), schema=_schema(operator))
    entry.register_fake(first(shapes))
    entry.register_autograd(lambda ctx, *asked: gradients(ctx, asked), setup_context=setup_context)
    return entry


def result_shapes(
    operator: Operator, arguments: Sequence[Any]
) -> list[tuple[tuple[Any, ...], tree.ElementType]]:
    """Return the shapes and types of the results; sizes may be symbols of PyTorch's."""
    definition = operator.definition
    sizes: dict[str, Any] = {}
    constants: dict[str, int] = {}
    for parameter, argument in zip(definition.parameters, arguments, strict=True):
        if parameter.name in operator.required_constants:
            constants[parameter.name] = int(argument)
        for dimension, size in enumerate(parameter.sizes):
            if isinstance(size, tree.NameUse):
                sizes.setdefault(size.name, argument.shape[dimension])
    facts = known_facts(definition, tuple(constants.items())).tensors
    return [
        (
            tuple(evaluate(extent, sizes) for extent in facts[output.name].extents),
            facts[output.name].type,
        )
        for output in definition.outputs
    ]
