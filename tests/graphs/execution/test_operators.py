"""Every operator through a compiled comprehension, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.execution import compile_model
from polygym.graphs.ir.build import (
    binary,
    concat,
    conv,
    graph_input,
    make_node,
    matmul,
    pool,
    relu,
    reshape,
    shape_literal,
    split,
    transpose,
    unary,
    weight,
)
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import DTYPES, ELEMENT_BYTES, numpy_type
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check, model_of

X, Y, W = graph_input("x", 3, 5), graph_input("y", 3, 5), weight("w", 5, 4)
UNARY = [name for name, operator in OPERATORS.items() if operator.is_unary]
IMAGE, CUBE = graph_input("image", 2, 6, 7, 8), graph_input("cube", 3, 4, 5)
POSITIVE = unary("exp", X)


def _first(x: Term, axis: int, at: int) -> Term:
    return split(axis, at, x)[0]


CASES: dict[str, Term] = {
    **{name: unary(name, POSITIVE if name in ("log", "sqrt") else X) for name in sorted(UNARY)},
    **{name: unary(name, unary("tanh", X)) for name in ("asin", "acos", "atanh")},
    "acosh": unary("acosh", binary("add", POSITIVE, unary("exp", POSITIVE))),
    "remainder": binary("remainder", X, Y),
    "reduce-prod": make_node("reduce-prod", "0-2", 0, CUBE),
    "reduce-prod of all": make_node("reduce-prod", "0-1-2", 1, CUBE),
    "softmax of one row": make_node("softmax", 1, graph_input("row", 1, 5)),
    "layer-norm of one row": make_node(
        "layer-norm", 1e-5, graph_input("row", 5), weight("scale", 5), weight("bias", 5)
    ),
    **{name: binary(name, X, Y) for name in "ewadd ewmul add sub mul div minimum maximum".split()},
    "pow": binary("pow", POSITIVE, Y),
    "add of a row": binary("add", X, graph_input("row", 5)),
    "mul outer": binary("mul", graph_input("column", 3, 1), graph_input("row", 5)),
    "add of a scalar": binary("add", X, graph_input("scalar")),
    **{name: binary(name, X, Y) for name in ("less", "equal")},
    "equal to itself": binary("equal", X, X),
    "less than a row": binary("less", X, graph_input("row", 5)),
    "where": make_node("where", binary("less", X, Y), X, Y),
    "where of a column": make_node(
        "where", relu(graph_input("column", 3, 1)), X, graph_input("scalar")
    ),
    "clip": make_node("clip", -0.5, 0.5, X),
    "leaky-relu": make_node("leaky-relu", 0.1, X),
    "elu": make_node("elu", 0.7, X),
    "matmul": matmul(X, W),
    "matmul relu": matmul(X, W, "relu"),
    "matmul gelu": matmul(X, W, "gelu"),
    "matmul of batches": matmul(graph_input("p", 2, 3, 4, 5), graph_input("q", 2, 3, 5, 6)),
    "matmul by one": matmul(graph_input("p", 2, 3, 5), W, "tanh"),
    "matmul turned": matmul(transpose(X, (1, 0)), Y),
    "matmul both turned": matmul(transpose(X, (1, 0)), transpose(graph_input("z", 4, 3), (1, 0))),
    "conv same": conv(IMAGE, weight("k", 4, 6, 3, 3), (1, 1), "same", "relu"),
    "conv valid": conv(IMAGE, weight("k", 4, 6, 3, 3), (1, 1), "valid", "sigmoid"),
    "conv strided": conv(IMAGE, weight("k", 4, 6, 3, 3), (2, 2), "same"),
    "conv of said pads": conv(IMAGE, weight("k", 4, 6, 3, 2), (2, 1), "1-0-2-1"),
    "conv in groups": conv(IMAGE, weight("k", 4, 3, 3, 3), (1, 1), "same", "relu"),
    "conv depthwise": conv(IMAGE, weight("k", 6, 1, 3, 3), (2, 2)),
    "conv depthwise twice": conv(IMAGE, weight("k", 12, 1, 1, 3)),
    "conv by one": conv(IMAGE, weight("k", 5, 6, 1, 1)),
    "conv to one": conv(graph_input("z", 1, 3, 3, 3), weight("k", 5, 3, 3, 3), (1, 1), "valid"),
    "conv with an input": conv(IMAGE, graph_input("k", 4, 6, 3, 3)),
    "poolmax": pool("max", IMAGE, (3, 3), (2, 2), "valid"),
    "poolmax same": pool("max", IMAGE, (3, 2), (2, 1), "same"),
    "poolavg": pool("avg", IMAGE, (2, 3), (2, 2), "valid", "relu"),
    "poolavg same": pool("avg", IMAGE, (3, 3), (2, 2), "same"),
    "poolavg of all": pool("avg", IMAGE, (7, 8)),
    "transpose": transpose(IMAGE, (0, 2, 3, 1)),
    "transpose after matmul": transpose(matmul(X, W), (1, 0)),
    "reshape": reshape(X, (15,)),
    "reshape turned": relu(reshape(transpose(X, (1, 0)), (15,))),
    "concat2": concat(0, [X, Y]),
    "concat3 inside": concat(1, [X, relu(Y), X]),
    "concat of channels": concat(1, [graph_input("p", 1, 2, 3), relu(graph_input("q", 1, 4, 3))]),
    "split0": relu(_first(X, 0, 2)),
    "split1": split(1, 2, X)[1],
    "enlarge": make_node("enlarge", graph_input("k", 4, 3, 1, 3), graph_input("large", 4, 3, 3, 3)),
    "merge": make_node("merge", graph_input("k", 8, 3, 3, 3), 2, 4),
    "merge of all": make_node("merge", graph_input("k", 8, 3, 1, 1), 4, 4),
    **{f"softmax {axis}": make_node("softmax", axis, CUBE) for axis in range(3)},
    "softmax of long rows": make_node("softmax", 1, graph_input("long", 3, 37)),
    "reduce-max of long rows": make_node("reduce-max", 1, 0, graph_input("long", 3, 37)),
    "reduce-max of even rows": make_node("reduce-max", "0-2", 0, graph_input("long", 3, 2, 48)),
    "layer-norm": make_node("layer-norm", 1e-5, CUBE, weight("scale", 5), weight("bias", 5)),
    "reduce-sum": make_node("reduce-sum", 1, 0, CUBE),
    "reduce-sum of integers": make_node("reduce-sum", 1, 0, graph_input("n", 2, 3, dtype="int32")),
    "reduce-sum of known integers": binary(
        "add",
        graph_input("n", 3, dtype="int32"),
        make_node("reduce-sum", 0, 0, weight("m", 2, 3, dtype="int32")),
    ),
    "reduce-sum of all": make_node("reduce-sum", "0-1-2", 0, CUBE),
    "reduce-mean": make_node("reduce-mean", shape_literal((0, 2)), 1, CUBE),
    "reduce-max": make_node("reduce-max", shape_literal((1, 2)), 0, CUBE),
    "gather": make_node(
        "gather", 0, weight("table", 7, 3), graph_input("ids", 2, 4, dtype="int64")
    ),
    "gather inside": make_node("gather", 1, CUBE, graph_input("ids", 2, dtype="int32")),
    "gather one": make_node("gather", 1, CUBE, graph_input("id", dtype="int32")),
    "slice": make_node("slice", 1, 1, 5, 2, X),
    "slice, then more": relu(make_node("slice", 1, 1, 5, 2, X)),
    "pad": make_node("pad", 1.5, "1-0-2-3", X),
    "expand": make_node("expand", graph_input("column", 3, 1), "2-3-5"),
    "expand, then more": binary("add", X, make_node("expand", graph_input("column", 3, 1), "3-5")),
    "cast to float64": make_node("cast", "float64", X),
    "cast to int64": make_node("cast", "int64", X),
    "round to half": make_node("round-to", "float16", X),
    "round to bfloat16": make_node("round-to", "bfloat16", X),
    "cast of integers": make_node("cast", "float32", graph_input("ids", 3, dtype="int32")),
    "integers": binary(
        "sub", graph_input("ids", 3, dtype="int64"), graph_input("more", dtype="int64")
    ),
    "poolmax of integers": pool("max", graph_input("counts", 1, 2, 4, 5, dtype="int32"), (2, 2)),
    "double": matmul(
        graph_input("p", 2, 3, dtype="float64"), graph_input("q", 3, 2, dtype="float64")
    ),
    "double gelu": unary("gelu", graph_input("p", 2, 3, dtype="float64")),
}


def test_a_result_that_is_seen_otherwise_is_not_written_over() -> None:
    """Its memory is copied at the end, turned, and needed by nothing else before."""
    product = matmul(X, W)
    check(transpose(product, (1, 0)), transpose(unary("exp", relu(product)), (1, 0)))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ["quotient", "remainder"])
def test_division_of_integers_never_traps(name: str, dtype: str) -> None:
    """Truncated as in C and PyTorch; 0 where C has no value; the least by -1 wraps."""
    least = int(np.iinfo(dtype).min)
    x = np.array([7, -7, 7, -7, 0, 5, -5, least, least, least], dtype)
    y = np.array([2, 2, -2, -2, 3, 0, 0, -1, 1, 0], dtype)
    inputs = [graph_input(letter, x.size, dtype=dtype) for letter in "xy"]
    model = model_of(binary(name, *inputs))
    (by_reference,) = evaluate([term for _, term in model.graph.outputs], {"x": x, "y": y})
    result = compile_model(model)(x, y)
    np.testing.assert_array_equal(result, by_reference)
    expected = [3, -3, -3, 3, 0] if name == "quotient" else [1, -1, 1, -1, 0]
    assert result[:7].tolist() == [*expected, 0, 0]
    assert result[7:].tolist() == ([least, least, 0] if name == "quotient" else [0, 0, 0])


@pytest.mark.parametrize("dtype", [name for name in ELEMENT_BYTES if name not in DTYPES])
def test_types_of_inputs_and_results(dtype: str) -> None:
    """They are cast to be computed with, there and back."""
    wide = "int64" if "int" in dtype else "float32"
    x = graph_input("x", 3, 5, dtype=dtype)
    term = make_node("cast", dtype, binary("add", *[make_node("cast", wide, x)] * 2))
    model = model_of(term)
    values = np.array([[0, 1, 2, 3, 100]] * 3).astype(numpy_type(dtype))
    result = compile_model(model)(values)
    assert result.dtype == values.dtype
    doubled = (values.astype(wide) * 2).astype(numpy_type(dtype))
    np.testing.assert_array_equal(result, doubled)


@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(name: str) -> None:
    check(CASES[name])


def test_all_operators_are_here() -> None:
    seen: set[str] = set()
    for term in CASES.values():
        stack = [term]
        while stack:
            part = stack.pop()
            seen.add(str(part.head))
            stack.extend(part.children)
    # Other tests join results, and divide integers.
    assert set(OPERATORS) - seen == {"noop", "quotient"}


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "gelu", "gelu-tanh", "erf", "exp", "elu"])
def test_functions_are_accurate_everywhere(name: str) -> None:
    from tests.graphs.execution.cases import outputs_in_torch

    values = np.concatenate([np.linspace(-12, 12, 4001), [0.0, -0.0, 1e-20, 40.0, -40.0, np.nan]])
    row = values.astype(np.float32)
    head = make_node(name, 1.0, graph_input("x", row.size)) if name == "elu" else None
    model = model_of(head or unary(name, graph_input("x", row.size)))
    result = compile_model(model)(row)
    (expected,) = outputs_in_torch(model.graph, {"x": row})
    np.testing.assert_allclose(result, expected, rtol=2e-6, atol=1e-6)
