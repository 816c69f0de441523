"""Operators of the library beside PyTorch's: results, two derivatives, NaN, empty tensors."""

from __future__ import annotations

from typing import Any

import pytest

from polygym.tc.comprehension import define
from tests.tc.library_cases import NAMES, Case, cases

torch = pytest.importorskip("torch")

SMALL = {"mapping": "sequential", "schedule": "original"}
CASES = cases(torch)


def results_of(function: Any, case: Case, tensors: list[Any]) -> list[Any]:
    """Return results, and first and second derivatives by the tensors."""
    given = [tensor.clone().requires_grad_() for tensor in tensors]
    results = function(*case.first, *given, *case.last)
    results = results if isinstance(results, tuple) else (results,)
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(r.shape, dtype=r.dtype, generator=generator) for r in results]
    total = sum((r * weight).sum() for r, weight in zip(results, weights, strict=True))
    first = torch.autograd.grad(total, given, create_graph=True)
    slope = sum(part.pow(2).sum() for part in first) + 0 * sum(tensor.sum() for tensor in given)
    second = torch.autograd.grad(slope, given)
    return [part.detach() for part in (*results, *first, *second)]


def assert_equal(found: list[Any], expected: list[Any], tolerance: float = 1e-9) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_every_name_has_a_case() -> None:
    assert {case.name for case in CASES} == {*NAMES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results(case: Case) -> None:
    tensors = case.tensors(torch)
    expected = case.reference(*case.first, *tensors, *case.last)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for name, dtype in ((f"{case.name}:double", torch.double), (case.name, torch.float32)):
        last = [part.to(dtype) if part.is_floating_point() else part for part in case.last]
        given = [tensor.to(dtype) for tensor in tensors]
        found = define(f"tc:{name}", **SMALL)(*case.first, *given, *last)
        found = found if isinstance(found, tuple) else (found,)
        assert all(part.dtype == dtype for part in found)
        tolerance = 1e-12 if dtype is torch.double else 1e-4
        assert_equal([part.double() for part in found], list(expected), tolerance)


# Hidden keys have no second derivative in PyTorch, whose first one is made of infinite parts.
@pytest.mark.rotates
@pytest.mark.parametrize("case", [c for c in CASES if c.name != "attention_masked"], ids=str)
def test_derivatives(case: Case) -> None:
    operator, tensors = define(f"tc:{case.name}:double", **SMALL), case.tensors(torch)
    found, expected = (
        results_of(function, case, tensors) for function in (operator, case.reference)
    )
    assert_equal(found, expected)


def test_the_first_derivative_of_hidden_keys() -> None:
    case = next(case for case in CASES if case.name == "attention_masked")
    found = []
    for function in (define("tc:attention_masked:double", **SMALL), case.reference):
        given = [tensor.requires_grad_() for tensor in case.tensors(torch)]
        result = function(*given, *case.last)
        found.append([result, *torch.autograd.grad(result.pow(2).sum(), given)])
    assert_equal(*found)


SPECIAL = ("nan", "inf", "-inf")
# Operators that add up whole rows, where every special number gives NaN, and those that do not.
PASSING = (
    "log_softmax",
    "cross_entropy",
    "standardize",
    "gelu_tanh",
    "max_pool2d",
    "average_pool2d",
    "conv2d_general",
    "attention",
    "lstm_cell",
    "gru_cell",
    "embedding",
    "resize_bilinear",
    "batch_norm",
)


@pytest.mark.rotates
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("name", PASSING)
def test_nan_and_infinities(name: str, special: str) -> None:
    case = next(case for case in CASES if case.name == name)
    operator = define(f"tc:{name}:double", **SMALL)
    found = []
    for function in (operator, case.reference):
        tensors = case.tensors(torch)
        tensors[0].view(-1)[1] = float(special)
        given = [tensor.requires_grad_() for tensor in tensors]
        results = function(*case.first, *given, *case.last)
        results = results if isinstance(results, tuple) else (results,)
        gradients = torch.autograd.grad(sum(part.sum() for part in results), given)
        found.append([*results, *gradients])
    assert_equal(*found)


def test_windows_with_equal_elements_and_nan() -> None:
    case = next(case for case in CASES if case.name == "max_pool2d")
    image = case.tensors(torch)[0].sign()
    image[0, 0, 1:3, 2:4], image[0, 1, 4:], image[1] = float("nan"), float("-inf"), float("-inf")
    operator = define("tc:max_pool2d:double", **SMALL)
    found, expected = (results_of(f, case, [image]) for f in (operator, case.reference))
    assert_equal(found, expected)


EMPTY: dict[str, tuple[tuple[int, ...], ...]] = {
    "gelu": ((0,),),
    "attention": ((2, 3, 4), (2, 0, 4), (2, 0, 6)),
    "linear": ((3, 0), (2, 0), (2,)),
    "log_softmax": ((0, 4),),
    "standardize": ((0, 4),),
    "embedding": ((6, 0),),
    "conv2d_general": ((0, 2, 3, 6, 7), (2, 2, 3, 3, 2)),
    "max_pool2d": ((0, 2, 6, 7),),
    "average_pool2d": ((0, 2, 6, 7),),
    "resize_bilinear": ((0, 2, 6, 7),),
    "gru_cell": ((0, 2), (0, 3), (3, 3, 2), (3, 3, 3), (3, 3), (3, 3)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_tensors(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    operator = define(f"tc:{name}:double", **SMALL)
    found = []
    for function in (operator, case.reference):
        given = [torch.ones(s, dtype=torch.double, requires_grad=True) for s in EMPTY[name]]
        result = function(*case.first, *given, *case.last)
        found.append([result, *torch.autograd.grad(result.sum(), given)])
    assert_equal(*found)


def test_targets_that_are_no_classes() -> None:
    operator = define("tc:cross_entropy", **SMALL)
    with pytest.raises(IndexError, match="leaves I"):
        operator(-100, torch.ones(2, 3), torch.tensor([0, 3]))
    every = operator(-100, torch.ones(2, 3), torch.tensor([-100, -100]))
    assert every.isnan()
