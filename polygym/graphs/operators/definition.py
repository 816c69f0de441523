"""Definition of a graph operator: everything that polygym knows of it.

A new primitive operator is one :class:`GraphOperator` in a module of this package. Shape
inference, the reference, node costs, generated code, the ONNX files, PyTorch and the verification
of rules read it from there. Definitions import neither ONNX nor PyTorch; both come as arguments.

A node's children stand in the order of ``parameters``: N is a number, S a text, T a tensor, P a
split. Products and convolutions may have a bias after them. The functions of a definition take the
children in this order, literals as values.

Texts of numbers and functions in comprehensions, in the type of the elements.

Code for ``exp`` runs in vectors, functions of the C library run element by element. In single
precision, ``tanh`` and ``erf`` are therefore written with ``exp``, and with polynomials near zero.
Their error is a few units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from polygym.graphs.operators.types import Data, TensorType, parse_numbers
from polygym.rewrite.term import Head, Term

_COMPREHENSION_TYPES = {"float32": "float", "float64": "double"}

# tanh(x) = x + x³ P(x²) for |x| < 5/8, erf(x) = x Q(x²) for |x| < 1, 1 - erf(x) = exp(R(x)) for
# 1 ≤ x ≤ 4; beyond 4 erf is 1 in single precision. Polynomials whose largest relative error (of
# erf for R) is least; what is computed by them is within 3e-7 of the value, relatively. Constants
# first.
_TANH = (-0.33333281, 0.13331442, -0.053739704, 0.020639051, -0.0057049496)
_ERF = (
    1.1283791, -0.37612626, 0.11283585, -0.026853811, 0.0051883273, -0.0008010189, 7.8538462e-05,
)  # fmt: skip
_ERFC = (
    -0.00035367231, -1.1270403, -0.63822532, -0.10303767, 0.021805465, -0.0029396450, 0.00018557796,
)  # fmt: skip


def tc_type(dtype: str) -> str:
    """Return a type of elements in the language of comprehensions."""
    return _COMPREHENSION_TYPES.get(dtype, dtype)


def literal_text(value: float, dtype: str) -> str:
    """Return a number as a literal of a type.

    >>> literal_text(0.1, "float32"), literal_text(-2, "int64"), literal_text(-np.inf, "float64")
    ('0.1f', '(-2)', '(-1.0 / 0.0)')
    >>> literal_text(-(2**31), "int32")
    '(-2147483647 - 1)'
    """
    if dtype.startswith("int"):
        least = int(np.iinfo(dtype).min)
        if value == least:
            # Its absolute value is no number of this type.
            return f"({least + 1} - 1)"
        return str(int(value)) if value >= 0 else f"({int(value)})"
    suffix = "f" if dtype == "float32" else ""
    if np.isinf(value):
        return f"({'-' if value < 0 else ''}1.0{suffix} / 0.0{suffix})"
    text = str(np.float32(value) if suffix else np.float64(value))
    text = text if any(mark in text for mark in ".e") else f"{text}.0"
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


@dataclass(frozen=True, slots=True)
class NumberText:
    """Writer of numbers, and of functions that take several operations, in one element type."""

    dtype: str

    def __call__(self, value: float) -> str:
        """Return a number as a literal."""
        return literal_text(float(value), self.dtype)

    def tanh(self, x: str) -> str:
        """Return the hyperbolic tangent of a text."""
        if self.dtype != "float32":
            return f"tanh({x})"
        square = f"({x} * {x})"
        near = f"{x} + {x} * {square} * {_polynomial(_TANH, square)}"
        return f"(abs({x}) < 0.625f ? {near} : 1.0f - 2.0f / (exp(2.0f * {x}) + 1.0f))"

    def erf(self, x: str) -> str:
        """Return the error function of a text."""
        if self.dtype != "float32":
            return f"erf({x})"
        near = f"{x} * {_polynomial(_ERF, f'({x} * {x})')}"
        bounded = f"(abs({x}) > 4.0f ? 4.0f : abs({x}))"  # min would turn NaN into a number
        far = f"1.0f - exp({_polynomial(_ERFC, bounded)})"
        return f"(abs({x}) < 1.0f ? {near} : {x} < 0.0f ? -({far}) : {far})"


def _polynomial(coefficients: Sequence[float], x: str) -> str:
    """Return a polynomial by Horner's rule.

    >>> _polynomial((1.0, 2.0, -3.0), "x")
    '(1.0f + x * (2.0f + x * (-3.0f)))'
    """
    *others, last = coefficients
    result = literal_text(last, "float32")
    for coefficient in reversed(others):
        result = f"({literal_text(coefficient, 'float32')} + {x} * {result})"
    return result


Array: TypeAlias = np.ndarray[Any, Any]

Value: TypeAlias = "Array | tuple[Array, ...] | Head"
"""Value of a node: an array, the arrays of a split or of a bundle, a literal."""


class OnnxWriter(Protocol):
    """Part of :class:`polygym.graphs.onnx.exporter.OnnxEmitter` for definitions."""

    def name(self, node: Term, part: int = 0) -> str:
        """Return the name of a node's value."""

    def tensor(self, node: Term) -> TensorType:
        """Return the type of a node."""

    def constant(self, values: Any, dtype: str) -> str:
        """Return the name of a constant."""

    def cast(self, name: str, dtype: str) -> str:
        """Write a conversion to another element type."""

    def operator(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Write a node and return the name of its result."""

    def operator_outputs(
        self, kind: str, *inputs: str, results: int = 1, **attributes: Any
    ) -> tuple[str, ...]:
        """Write a node and return the names of its results."""


@dataclass(frozen=True, slots=True)
class OnnxMapping:
    """An ONNX operator with the same tensors; literals are attributes, in the same order.

    ``attributes`` are the names and ONNX's defaults, ``fixed`` the attributes that never change.
    The importer reads the operator too, unless ``reads`` is false; ``variadic`` ones fold pairs.
    """

    kind: str
    attributes: Mapping[str, int | float] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    reads: bool = False
    variadic: bool = False

    def write(self, writer: OnnxWriter, *children: Term) -> str:
        """Write the node of an operator."""
        literals, tensors = children[: len(self.attributes)], children[len(self.attributes) :]
        values = {
            name: type(default)(child.head)
            for (name, default), child in zip(self.attributes.items(), literals, strict=True)
        }
        return writer.operator(self.kind, *map(writer.name, tensors), **values, **self.fixed)


@dataclass(frozen=True, slots=True, eq=False)
class GraphOperator:
    """An operator: its children, its meaning, and its translations."""

    name: str
    takes: str
    """Children: ``"axis:N x:T"``."""
    doc: str
    infer: Callable[..., Data]
    """Type of the node, from the types of the children; refuses with ``Inadmissible``."""
    reference: Callable[..., Value]
    """Value in NumPy, the oracle of everything faster."""
    torch: str | Callable[..., Callable[..., Any]] = ""
    """Path of a function in PyTorch; or (torch, literals and types …) → function of tensors."""
    onnx: OnnxMapping | Callable[..., str | tuple[str, ...]] | None = None
    """Operator of ONNX; or (writer, children …) → names of the results that it writes."""
    element: str | Callable[..., str] | None = None
    """Text of an element of the result from elements ``{0}``, ``{1}``; literals may enter it."""
    operations: int | Callable[..., int] = 0
    """Operations per element; or (type of the result, types of the children …) → all of them."""
    moved: Callable[..., int] | None = None
    """(bytes of the result, types of the tensors …) → bytes moved; ``None`` is each once."""
    is_free: bool | Callable[..., bool] = False
    """Whether the node only renames memory, for all or for certain children."""
    needs_floating: bool = False
    """Whether integers are refused."""
    onnx_needs_floating: bool = False
    """Whether ONNX refuses integers that graphs have."""
    is_inexact: bool = False
    """Whether results on integers are rounded."""
    needs_positive: bool = False
    """Whether rules with it are also verified on positive numbers."""
    optional: str = ""
    """A last child that a node may leave out: ``"bias:T"``."""

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Names and kinds of the children that every node has."""
        return _parameters(self.takes)

    def parameters_of(self, count: int) -> tuple[tuple[str, str], ...]:
        """Names and kinds of the children of a node with so many, or of the fewest."""
        every = _parameters(f"{self.takes} {self.optional}")
        return every if count == len(every) else self.parameters

    @property
    def is_unary(self) -> bool:
        """Whether it is a function of one element alone."""
        return self.takes == "x:T"

    def element_text(self, number: NumberText, literals: tuple[Head, ...]) -> str:
        """Return the text of an element; the operator has one."""
        assert self.element is not None
        return self.element if isinstance(self.element, str) else self.element(number, *literals)

    def write_onnx(self, writer: OnnxWriter, *children: Term) -> str | tuple[str, ...]:
        """Write the node into an ONNX graph; return the names of its results."""
        assert self.onnx is not None
        write = self.onnx.write if isinstance(self.onnx, OnnxMapping) else self.onnx
        return write(writer, *children)


def _parameters(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((child[:-2], child[-1]) for child in text.split())


def literal_numbers(literal: Head) -> tuple[int, ...]:
    """Return the numbers of a literal: a shape, a permutation, axes."""
    return parse_numbers(literal) if isinstance(literal, str) else (int(literal),)
