"""Arrays that are not contiguous are read as they lie, and written through views."""

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from polygym.errors import InputError
from polygym.foreign import libc
from polygym.poly.transform.storage.argument_layout import stored_layout
from polygym.tc.comprehension import Comprehension, define

MM = "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
BASE = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)

VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[:, 1:4, 2:5],
    "turned": lambda x: x.transpose(2, 0, 1) if isinstance(x, np.ndarray) else x.permute(2, 0, 1),
    "backwards": lambda x: x[::-1, :, ::-1],
    "steps": lambda x: x[::2, :, ::2],
    "broadcast": lambda x: np.broadcast_to(x[0, :, :1], (3, 5, 6)),
    "one": lambda x: x[1:2, :, 3:4],
    "one value": lambda x: np.broadcast_to(x[2:3, 2:3, 2:3], (4, 2, 3)),
}


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that has an entry for each call that copies what is not contiguous."""
    calls: list[int] = []
    compute = Comprehension.compute

    def counted(self: Comprehension, arguments: Any, out: Any) -> list[np.ndarray]:
        calls.append(1)
        return compute(self, arguments, out)

    monkeypatch.setattr(Comprehension, "compute", counted)
    return calls


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_read_as_they_lie(name: str, copies: list[int]) -> None:
    operator = define(
        "def f(float(A, B, C) X) -> (Y) { Y(i, j, k) = 2 * X(i, j, k) + X(A - 1 - i, j, k) }"
    )
    view = VIEWS[name](BASE)
    expected = 2 * view + view[::-1]
    assert (operator(view) == expected).all()
    operator.compile(view, strided=True)
    operator(view)
    del copies[:]
    assert (operator(view) == expected).all()
    other = VIEWS[name](BASE + 1)
    assert (operator(other) == 3 + expected).all()
    assert not copies
    assert (operator(view.copy()) == expected).all()


@pytest.mark.parametrize("name", ["slice", "turned"])
def test_tensors_are_read_as_they_lie(name: str, copies: list[int]) -> None:
    operator = define("def f(float(A, B, C) X) -> (Y) { Y(i, j, k) = 2 * X(i, j, k) }")
    view = VIEWS[name](torch.from_numpy(BASE))
    operator.compile(view, strided=True)
    operator(view)
    del copies[:]
    assert torch.equal(operator(view), 2 * view)
    assert not copies
    view.requires_grad_()
    operator(view).sum().backward()
    assert view.grad is not None
    assert (view.grad == 2).all()


def test_windows_that_overlap_are_copied() -> None:
    windows = as_strided(np.arange(6, dtype=np.float32), (3, 4), (4, 4))
    assert stored_layout((3, 4), (1, 1)) is None
    operator = define("def f(float(N, M) X) -> (Y) { Y(i, j) = X(i, j) }")
    operator.compile(windows, strided=True)
    for _ in range(2):
        assert (operator(windows) == windows).all()


def test_what_is_looked_up_or_updated_has_to_be_contiguous() -> None:
    lookup = define("def f(float(N, D) X, int(M) I) -> (Y) { Y(m, d) = X(I(m), d) }")
    index = np.array([1, 0], np.int32)
    with pytest.raises(InputError, match="X: expected contiguous memory"):
        lookup.compile(BASE[0, :, :3], index, strided=True)
    assert (lookup(BASE[0, :, :3], index) == BASE[0, [1, 0], :3]).all()
    update = define("def f(float(N) X, float(N) S) -> (S) { S(i) += X(i) }")
    with pytest.raises(InputError, match="S: expected contiguous memory"):
        update.compile(BASE[0, 0], BASE[0, 0, ::-1], strided=True)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return a shape and strides; many are no part of a dense array."""
    rank = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    return shape, [draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, -1, -4, -12])) for _ in shape]


@settings(max_examples=300, deadline=None)
@given(layouts())
def test_a_layout_names_the_elements_of_the_view(case: tuple[list[int], list[int]]) -> None:
    shape, strides = case
    layout = stored_layout(shape, strides)
    if layout is None:
        return
    for place in np.ndindex(*shape):
        expected = layout.offset + sum(p * s for p, s in zip(place, strides, strict=True))
        assert 0 <= expected < layout.span
        element = 0
        for extent, (dimension, sign, constant) in zip(
            layout.extents, layout.subscripts, strict=True
        ):
            subscript = constant + (0 if dimension is None else sign * place[dimension])
            assert 0 <= subscript < extent
            element = element * extent + subscript
        assert element == expected


@pytest.mark.parametrize("text", [MM, "tc:matmul"])
def test_nothing_is_read_behind_the_last_element(text: str) -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    whole = np.frombuffer(memory, np.float32)
    libc.protect(whole.ctypes.data + 2 * page, page, 0)  # nobody may read it
    try:
        rng = np.random.default_rng(0)
        whole[: 2 * page // 4] = rng.integers(-4, 5, 2 * page // 4)
        rows = whole[: 2 * page // 4].reshape(-1, 64)[-20:]  # ends where the page does
        operator = define(text, threads=1)
        for A in (rows[:, -17:], rows[:, -17:].T, rows[::-1, -33:]):
            B = rng.integers(-4, 5, (A.shape[1], 19)).astype(np.float32)
            for given in ((A, B), (B.T.copy(), A.T)):
                operator.compile(*given, strided=True)
                for _ in range(2):
                    assert (operator(*given) == given[0] @ given[1]).all()
    finally:
        libc.protect(whole.ctypes.data + 2 * page, page, mmap.PROT_READ | mmap.PROT_WRITE)


def test_results_are_written_through_views() -> None:
    operator = define(MM)
    A, B = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    memory = np.zeros((3, 5), np.float32)
    for view in (memory[:, 1:3], memory[::-1, ::4], memory.reshape(5, 3).T[:, :2]):
        memory[...] = 0
        assert operator(A, B, out=view) is view
        assert (view == 4).all()
        assert (memory == 4).sum() == 6
    tensor = torch.zeros(2, 3).T
    operator(torch.ones(3, 4), torch.ones(4, 2), out=tensor)
    assert (tensor == 4).all()


def test_memory_that_overlaps_itself_is_refused() -> None:
    operator = define(MM)
    A, B = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    for strides in ((4, 4), (0, 4), (-4, 4)):
        with pytest.raises(InputError, match="of its own for each element"):
            operator(A, B, out=as_strided(np.zeros(20, np.float32)[8:], (3, 2), strides))
    with pytest.raises(InputError, match="of its own for each element"):
        operator(torch.ones(3, 4), torch.ones(4, 2), out=torch.zeros(1, 2).expand(3, 2))


def test_out_is_checked_at_every_call() -> None:
    operator = define(MM, mapping="sequential")
    a, b = np.ones((4, 3), np.float32).T, np.ones((4, 2), np.float32)
    operator.compile(a, b, strided=True)
    for wrong in (np.empty((1, 1), np.float32), [np.empty((3, 2), np.float32)] * 2):
        for _ in range(3):
            with pytest.raises(InputError, match="out"):
                operator(a, b, out=wrong)
    right = np.empty((3, 2), np.float32)
    for _ in range(3):
        assert operator(a, b, out=right) is right
        np.testing.assert_array_equal(right, a @ b)


def test_contiguous_arguments_get_the_options_too() -> None:
    operator = define(MM, mapping="sequential")
    a, b = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    before = operator.compile(a, b)
    assert operator.compile(a, b, strided=True, schedule="original", mapping="tile=4") is not before
