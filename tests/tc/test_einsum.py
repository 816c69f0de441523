"""``einsum`` beside PyTorch's and NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.tc import einsum

torch = pytest.importorskip("torch")

SMALL = {"mapping": "sequential", "schedule": "original"}
EQUATIONS = {
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "ij,jk": ((3, 4), (4, 5)),
    "ba": ((3, 4),),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "iij,jk->ki": ((3, 3, 2), (2, 4)),
    "ij->": ((3, 4),),
    "i,j->ij": ((3,), (4,)),
    "i,i->": ((3,), (3,)),
    ",i->i": ((), (3,)),
    "->": ((),),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 5)),
    "ab,bc,de,ce->a": ((2, 3), (3, 4), (3, 5), (4, 5)),
    "ij,kl->i": ((2, 3), (4, 5)),
    "...ij,...jk->...ik": ((5, 2, 3), (3, 4)),
    "...,...": ((2, 1, 4), (3, 1)),
    "i...,i...->...": ((3, 2, 4), (3, 4)),
    "...i->...": ((2, 3, 4),),
    "b...a->a...b": ((2, 3, 4, 5),),
    "i...j->ij": ((2, 3, 4),),
    "Ab,bA->Ab": ((2, 3), (3, 2)),
    " i j , j -> i ": ((2, 3), (3,)),
    "ij,ij->ij": ((1, 4), (3, 1)),
}


def operands(shapes: tuple[tuple[int, ...], ...], dtype: Any) -> list[Any]:
    generator = torch.Generator().manual_seed(len(shapes))
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(equation: str) -> None:
    tensors = [tensor.requires_grad_() for tensor in operands(EQUATIONS[equation], torch.double)]
    results = []
    for function in (einsum(equation, **SMALL), lambda *given: torch.einsum(equation, *given)):
        result = function(*tensors)
        first = torch.autograd.grad(result.pow(2).sum(), tensors, create_graph=True)
        second = torch.autograd.grad(sum(part.pow(2).sum() for part in first), tensors)
        results.append((result, *first, *second))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_equations(data: st.DataObject) -> None:
    """Two operands or three, with repeated indices, sums, and some dimensions of size 1 or 0."""
    sizes = {letter: data.draw(st.sampled_from((0, 1, 2, 3))) for letter in "ijkl"}
    parts = data.draw(st.lists(st.text("ijkl", max_size=3), min_size=2, max_size=3))
    letters = sorted(set("".join(parts)))
    result = "".join(data.draw(st.permutations(letters)))[: data.draw(st.integers(0, 3))]
    equation = f"{','.join(parts)}->{result}"
    given_arrays = [
        np.random.default_rng(n).integers(-3, 4, [sizes[letter] for letter in part]).astype(float)
        for n, part in enumerate(parts)
    ]
    expected = np.einsum(equation, *given_arrays)
    np.testing.assert_array_equal(einsum(equation, **SMALL)(*given_arrays), expected)


@pytest.mark.parametrize(("equation", "shapes"), [("ij,jk", ((2, 0), (0, 3))), ("i->", ((0,),))])
def test_sums_of_nothing(equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = [np.ones(shape) for shape in shapes]
    np.testing.assert_array_equal(einsum(equation)(*arrays), np.einsum(equation, *arrays))


def test_an_operator_serves_types_and_ranks() -> None:
    product = einsum("...i,i->...", **SMALL)
    assert product([[1.5, 2.0]], [2.0, 1.0]).tolist() == [5.0]
    assert product(np.ones((2, 2, 3), np.float32), np.ones(3, np.float32)).dtype == np.float32
    assert product(np.arange(3), np.arange(3)).dtype == np.int64
    assert product.operator(np.ones(3), np.ones(3)) is product.operator(np.ones(2), np.ones(2))
    assert repr(product) == "<einsum '...i,i->...'>"


REFUSED = {
    "ij,jk->ii": "each index once in the result, found i twice",
    "ij->k": "k is an index of the result and of no operand",
    "i1->i": "expected letters",
    "i.j->i": "expected letters",
    "...i...->i": "expected letters",
    "ij->i->j": "expected letters",
}


@pytest.mark.parametrize("equation", REFUSED)
def test_refused_equations(equation: str) -> None:
    with pytest.raises(InputError, match=REFUSED[equation]):
        einsum(equation)


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,jk", ((2, 3),), r"expected 2 operand\(s\), found 1"),
        ("ij,jk", ((2, 3), (3,)), r"operand 1: expected 2 dimension\(s\), found 1"),
        ("ij...", ((2,),), r"expected 2 dimension\(s\) or more, found 1"),
        ("ij,jk", ((2, 3), (4, 5)), "j: expected one size, found 3 and 4"),
        ("ii", ((1, 3),), "i: expected one size, found 1 and 3"),
        ("...,...", ((2,), (3,)), r"\.\.\.: expected one size, found 2 and 3"),
    ],
)
def test_refused_operands(
    equation: str, shapes: tuple[tuple[int, ...], ...], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        einsum(equation, *(np.ones(shape) for shape in shapes))


def test_refused_types() -> None:
    with pytest.raises(InputError, match="of one type, found float32 and float64"):
        einsum("i,i", np.ones(2), np.ones(2, np.float32))
    with pytest.raises(InputError, match="such as float32, found complex128"):
        einsum("i->i", np.ones(2, complex))
    with pytest.raises(InputError, match="an equation such as"):
        einsum(3)


def test_calls_that_repeat() -> None:
    operator = einsum("ij,j->i", **SMALL)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(operator(a, b), a @ b)
        np.testing.assert_array_equal(operator(a[:, :1], b), a[:, :1].repeat(3, 1) @ b)
        np.testing.assert_array_equal(operator(a.tolist(), b), a @ b)
        assert torch.equal(operator(torch.tensor(a), torch.tensor(b)), torch.tensor(a @ b))
    with pytest.raises(InputError, match="j: expected one size"):
        operator(a, b[:2])


def test_options_are_checked_at_once() -> None:
    with pytest.raises(InputError, match="found 'thread'"):
        einsum("ij->i", thread=2)
    with pytest.raises(InputError, match="found 'out'"):
        einsum("ij->i", np.ones((2, 2)), out=np.ones(2))
