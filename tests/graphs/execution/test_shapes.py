"""Convolutions, pools, products and what moves elements, over shapes that hypothesis finds."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from polygym.graphs.ir.build import (
    concat,
    conv,
    graph_input,
    make_node,
    matmul,
    pool,
    relu,
    transpose,
    weight,
)
from polygym.graphs.ir.build import shape_of as shape_of
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check

_SETTINGS = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
_SMALL, _EXTENT = st.integers(1, 3), st.integers(1, 9)
_PADDING = st.sampled_from(["same", "valid", "1-0-0-1", "0-1-2-0"])


def _assume_sensible(node: Term) -> None:
    try:
        shape_of(node)
    except Inadmissible:
        assume(False)


@given(_SMALL, _SMALL, _SMALL, _EXTENT, _EXTENT, _SMALL, _SMALL, _SMALL, _PADDING, st.booleans())
@_SETTINGS
def test_convolutions(
    groups: int,
    inner: int,
    each: int,
    height: int,
    width: int,
    rows: int,
    columns: int,
    stride: int,
    padding: str,
    is_turned: bool,
) -> None:
    shape = (2, groups * inner, height, width)
    image = graph_input("x", *shape)
    if is_turned:
        image = transpose(graph_input("x", height, 2, width, groups * inner), (1, 3, 0, 2))
    kernel = weight("w", groups * each, inner, rows, columns)
    root = conv(image, kernel, (stride, max(stride - 1, 1)), padding, "relu")
    _assume_sensible(root)
    check(root)


@given(st.sampled_from(["max", "avg"]), _EXTENT, _EXTENT, _SMALL, _SMALL, _SMALL, _PADDING)
@_SETTINGS
def test_pools(
    kind: str, height: int, width: int, rows: int, columns: int, stride: int, padding: str
) -> None:
    root = pool(kind, graph_input("x", 1, 3, height, width), (rows, columns), (stride, 2), padding)
    _assume_sensible(root)
    check(root)


@given(_SMALL, _SMALL, _EXTENT, _EXTENT, st.booleans(), st.booleans())
@_SETTINGS
def test_products(
    batch: int, rows: int, inner: int, columns: int, is_turned: bool, is_known: bool
) -> None:
    left = graph_input("x", batch, rows, inner)
    make = weight if is_known else graph_input
    right = make("y", batch, inner, columns)
    if is_turned:
        right = transpose(make("y", batch, columns, inner), (0, 2, 1))
    check(matmul(left, right, "tanh"))


@given(st.permutations(range(4)), st.tuples(_SMALL, _SMALL, _EXTENT, _SMALL), st.integers(0, 3))
@_SETTINGS
def test_moves(order: list[int], shape: tuple[int, int, int, int], axis: int) -> None:
    turned = transpose(relu(graph_input("x", *shape)), order)
    joined = concat(axis, [turned, relu(turned)])
    extent = shape_of(joined)[axis]
    check(make_node("slice", axis, extent // 2, extent, 1, joined), joined)


@given(st.integers(0, 2), st.integers(1, 40), st.booleans())
@_SETTINGS
def test_a_single_row(ones: int, length: int, is_normalized: bool) -> None:
    row = graph_input("x", *(1,) * ones, length)
    if is_normalized:
        root = make_node("layer-norm", 1e-5, row, weight("s", length), weight("m", length))
    else:
        root = make_node("softmax", ones, row)
    check(relu(root))
