"""One row of the table of ONNX operators that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from polygym.graphs.onnx.nodes.onnx_node import OnnxNode
from polygym.rewrite.term import Term

__all__ = ["ImportFunction", "OnnxImport"]

ImportFunction: TypeAlias = Callable[[OnnxNode], Term | tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class OnnxImport:
    """A name, what makes terms of a node, and the attributes that it understands."""

    name: str
    translate: ImportFunction
    attributes: str = ""
