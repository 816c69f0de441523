"""Definition of a graph operator: everything that polygym knows of it.

A new primitive operator is one :class:`GraphOperator` in a module of this package. Shape
inference, the reference, node costs, generated code, the ONNX files, PyTorch and the verification
of rules read it from there. Definitions import neither ONNX nor PyTorch; both come as arguments.

A node's children stand in the order of ``parameters``: N is a number, S a text, T a tensor, P a
split. The functions of a definition take the children in this order, literals as values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from polygym.graphs.operators.types import Data, TensorType, parse_numbers
from polygym.rewrite.term import Head, Term

if TYPE_CHECKING:
    from polygym.graphs.operators.element_text import NumberText


Array: TypeAlias = np.ndarray[Any, Any]

Value: TypeAlias = "Array | tuple[Array, ...] | Head"
"""Value of a node: an array, the arrays of a split or of a bundle, a literal."""


class OnnxWriter(Protocol):
    """Part of :class:`polygym.graphs.onnx.exporter.emitter.OnnxEmitter` for definitions."""

    def name(self, one: Term, part: int = 0) -> str:
        """Return the name of a node's value."""

    def tensor(self, one: Term) -> TensorType:
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

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Names and kinds of the children."""
        return tuple((child[:-2], child[-1]) for child in self.takes.split())

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


def literal_numbers(literal: Head) -> tuple[int, ...]:
    """Return the numbers of a literal: a shape, a permutation, axes."""
    return parse_numbers(literal) if isinstance(literal, str) else (int(literal),)
