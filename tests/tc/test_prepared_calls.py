"""Calls that repeat take a short way, with every check that protects memory."""

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from polygym.errors import InputError
from polygym.tc.comprehension import Comprehension, define

ADD = "def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }"
SCALE = "def scale(float(N) X, float s) -> (Y) { Y(i) = s * X(i) }"
SHIFT = "def shift(int k, float(N) X) -> (Y) { Y(i) = X(i + k) }"
LOOKUP = "def lookup(float(N) X, int(M) I) -> (Y) { Y(m) = X(I(m)) }"


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that has an entry for each call that is checked from the beginning."""
    calls: list[int] = []
    compute = Comprehension.compute

    def counted(self: Comprehension, arguments: Any, out: Any) -> list[np.ndarray]:
        calls.append(1)
        return compute(self, arguments, out)

    monkeypatch.setattr(Comprehension, "compute", counted)
    return calls


@pytest.mark.parametrize(
    ("text", "arguments", "others", "expected"),
    [
        (ADD, (array(1, 2), array(3, 4)), (array(5, 6), array(7, 8)), [12, 14]),
        (SCALE, (array(1, 2), 2.0), (array(5, 6), 2.0), [10, 12]),
        (SHIFT, (1, array(1, 2, 3)), (1, array(4, 5, 6)), [5, 6]),
    ],
    ids=["arrays", "float", "constant"],
)
@pytest.mark.parametrize("wrap", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
@pytest.mark.parametrize("has_out", [False, True])
def test_the_second_call_goes_the_short_way(
    text: str,
    arguments: tuple[Any, ...],
    others: tuple[Any, ...],
    expected: list[float],
    wrap: Callable[[Any], Any],
    has_out: bool,
    long_ways: list[int],
) -> None:
    operator = define(text)
    given, again = (
        [wrap(value.copy()) if isinstance(value, np.ndarray) else value for value in values]
        for values in (arguments, others)
    )
    memory = wrap(np.zeros(len(expected), np.float32))
    options = {"out": memory} if has_out else {}
    operator(*given, **options)
    assert long_ways == [1]
    result = operator(*again, **options)
    assert long_ways == [1]
    assert type(result) is type(memory)
    assert result.tolist() == expected
    assert not has_out or result is memory


def test_two_results_an_updated_parameter_and_temporaries() -> None:
    text = """def f(float(N) X, float(N) S) -> (S, M) {
        T(i) = X(i) * 2
        S(i) += T(i)
        M(i) = S(i) + T(i)
    }"""
    operator = define(text)
    for _ in range(3):
        before = array(10, 20)
        total, last = operator(array(1, 2), before)
        assert total.tolist() == [12, 24]
        assert last.tolist() == [14, 28]
        assert before.tolist() == [10, 20]


def test_a_constant_behind_the_arrays() -> None:
    operator = define("def shift(float(N) X, int k) -> (Y) { Y(i) = X(i + k) }")
    for _ in range(3):
        assert operator(array(1, 2, 3), 1).tolist() == [2, 3]


def test_a_constant_as_an_array_is_read_each_time() -> None:
    operator = define(SHIFT)
    for k in (1, 2, 0, 1):
        assert operator(np.int32(k), array(1, 2, 3)).tolist() == [1, 2, 3][k:]
        assert operator(np.array(k, np.int32), array(1, 2, 3)).tolist() == [1, 2, 3][k:]
        assert operator(torch.tensor(k), torch.tensor([1.0, 2, 3])).tolist() == [1, 2, 3][k:]


def test_numbers_that_are_equal_are_not_the_same() -> None:
    operator = define("def f(float(N) X, float s) -> (Y) { Y(i) = copysignf(X(i), s) }")
    for number, sign in ((0.0, 1), (-0.0, -1), (0.0, 1), (1, 1), (True, 1)):
        assert operator(array(1), number).tolist() == [sign]
    scale = define(SCALE)
    for _ in range(2):
        assert np.isnan(scale(array(1), float("nan"))).all()


@pytest.mark.parametrize("count", [1, 2])
def test_memory_of_outputs_is_looked_at_each_time(count: int) -> None:
    operator = define(ADD)
    A, B = array(1, 2, 3), array(4, 5, 6)
    memory = array(0, 0, 0, 0)
    for _ in range(count):
        operator(A, B, out=memory[:3])
    operator(memory[:3], B, out=memory[1:])  # read before it is written
    assert memory.tolist() == [5, 9, 12, 15]
    fixed = array(0, 0, 0)
    fixed.setflags(write=False)
    with pytest.raises(InputError, match="memory to write to"):
        operator(A, B, out=fixed)
    both = define("def f(float(N) X) -> (Y, Z) { Y(i) = X(i) Z(i) = -X(i) }")
    for _ in range(count):
        both(A, out=(array(0, 0, 0), array(0, 0, 0)))
    with pytest.raises(InputError, match="do not overlap"):
        both(A, out=(memory[:3], memory[1:]))


def test_an_array_that_is_not_aligned_is_copied() -> None:
    operator = define(ADD)
    operator(array(1, 2), array(3, 4))
    shifted = np.zeros(9, np.uint8)[1:].view(np.float32)
    shifted[:] = [5, 6]
    assert not shifted.flags.aligned
    assert operator(shifted, array(1, 1)).tolist() == [6, 7]


def test_a_masked_array_is_refused_each_time() -> None:
    operator = define(ADD)
    operator(array(1, 2), array(3, 4))
    for _ in range(2):
        with pytest.raises(InputError, match="without a mask"):
            operator(np.ma.masked_array(array(1, 2), [True, False]), array(3, 4))


def test_indices_are_looked_at_each_time() -> None:
    operator = define(LOOKUP)
    X, places = array(1, 2, 3), np.array([2, 0], np.int32)
    for _ in range(2):
        assert operator(X, places).tolist() == [3, 1]
    with pytest.raises(IndexError):
        operator(X, np.array([3, 0], np.int32))


def test_turned_arrays_are_no_contiguous_ones() -> None:
    operator = define("def f(float(N, M) X) -> (Y) { Y(i, j) = X(i, j) }")
    X = np.arange(9, dtype=np.float32).reshape(3, 3)
    for _ in range(3):
        assert (operator(X) == X).all()
        assert (operator(X.T) == X.T).all()
        assert (operator(X[::-1]) == X[::-1]).all()
        assert (operator(np.broadcast_to(X[0], (3, 3))) == X[0]).all()


def test_a_kernel_that_is_chosen_takes_over(long_ways: list[int]) -> None:
    operator = define(ADD)
    for _ in range(2):
        operator(array(1, 2), array(3, 4))
    chosen = operator.compile(array(1, 2), array(3, 4), mapping="vector_bits=0")
    used: list[int] = []
    run = chosen.run  # type: ignore[union-attr]
    chosen.run = lambda *given: used.append(1) or run(*given)  # type: ignore
    for _ in range(2):
        assert operator(array(1, 2), array(3, 4)).tolist() == [4, 6]
    assert used  # the first call goes by the arrays, the second by their addresses


def test_gradients_are_asked_for_after_calls_without() -> None:
    operator = define(ADD)
    A, B = torch.ones(2), torch.ones(2)
    for _ in range(2):
        operator(A, B)
    A.requires_grad_()
    with torch.no_grad():
        for _ in range(2):
            assert not operator(A, B).requires_grad
    operator(A, B).sum().backward()
    assert A.grad is not None
    assert A.grad.tolist() == [1, 1]
    weight = torch.nn.Parameter(torch.ones(2))
    for _ in range(2):
        assert operator(weight, B).requires_grad
        with torch.no_grad():
            assert not operator(weight, B).requires_grad


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_transformations_are_seen_after_calls_without() -> None:
    operator = define(ADD)
    A, B = torch.arange(2.0), torch.ones(2)
    for _ in range(2):
        operator(A, B)
    pairs = torch.stack([A, A + 1])
    assert torch.func.vmap(operator, in_dims=(0, None))(pairs, B).tolist() == [[1, 2], [2, 3]]
    _, tangent = torch.func.jvp(lambda a: operator(a, B), (A,), (B,))
    assert tangent.tolist() == [1, 1]
    compiled = torch.compile(lambda a, b: operator(a, b) * 2, fullgraph=True, backend="eager")
    assert compiled(A, B).tolist() == [2, 4]


def test_negated_and_sparse_tensors_after_plain_ones() -> None:
    operator = define(ADD)
    for _ in range(2):
        operator(torch.ones(2), torch.ones(2))
    negated = torch._neg_view(torch.ones(2))
    for _ in range(2):
        assert operator(negated, torch.zeros(2)).tolist() == [-1, -1]
    with pytest.raises(InputError, match="dense"):
        operator(torch.ones(2).to_sparse(), torch.ones(2))


def test_what_is_written_to_has_a_new_version() -> None:
    operator = define(ADD)
    memory = torch.zeros(2)
    versions = []
    for _ in range(3):
        operator(torch.ones(2), torch.ones(2), out=memory)
        versions.append(memory._version)
    assert versions == sorted(set(versions))


@pytest.mark.timing
@pytest.mark.parametrize("wrap", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_a_call_takes_a_few_additions(wrap: Callable[[Any], Any]) -> None:
    operator = define(ADD, threads=1)
    A, B = wrap(array(1, 2)), wrap(array(3, 4))
    operator(A, B)
    own, addition = (
        min(timeit.repeat(function, number=100, repeat=300))
        for function in (lambda: operator(A, B), lambda: A + B)
    )
    assert own < 20 * addition
