"""A rule applied to shapes and numbers once more, by other means than verification's."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygym.graphs.ir.build import make_node
from polygym.graphs.ir.domain import compute_literal
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.operators.registry import infer_node
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData, shape_text
from polygym.rewrite.term import Term, is_variable, term


def concrete(pattern: Term, binding: dict[str, Data]) -> tuple[Term, Any]:
    """Return a pattern with inputs and literals for its variables, and what it is."""
    if is_variable(pattern):
        data = binding[str(pattern.head)]
        if isinstance(data, NumberData | TextData):
            return term(data.value), data
        assert isinstance(data, TensorType)
        name = f"{str(pattern.head)[1:]}@{shape_text(data.shape)}:{data.dtype}"
        return make_node("input", name), TensorType(data.shape, data.dtype)
    made = [concrete(child, binding) for child in pattern.children]
    children, datas = tuple(node for node, _ in made), tuple(data for _, data in made)
    if children and str(pattern.head).startswith("="):
        value = compute_literal(str(pattern.head)[1:], datas)
        return term(value), infer_node(value, ())
    return term(pattern.head, *children), infer_node(pattern.head, datas)


def both_sides(
    source: Term, target: Term, binding: dict[str, Data], values: dict[str, Any]
) -> list[np.ndarray[Any, Any]]:
    """Return what both sides are worth, the parts of pairs one after the other."""
    arrays = {name[1:]: value for name, value in values.items() if isinstance(value, np.ndarray)}
    terms = [concrete(side, binding)[0] for side in (source, target)]
    with np.errstate(all="ignore"):
        return evaluate(terms, arrays)
