"""Calls with tensors on a GPU, with stand-ins for PyTorch's tensors and for the driver.

The stand-in of the driver has the memory of this process and computes nothing, so what is looked at
is what is launched, with which memory, and what comes back.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polygym.tc
from polygym.errors import InputError, MissingDeviceError
from polygym.foreign import cuda_driver
from polygym.tc import gpu_calls
from polygym.tc.torch_tensors import is_on_gpu
from tests.runtime.device.conftest import driver, library_folder  # noqa: F401
from tests.runtime.device.fake_driver import FakeDriver

TEMPORARY = "def f(float(N,M) A) -> (s) { t(i) +=! A(i,j)  s(i) = t(i) * t(i) }"
PLACE = SimpleNamespace(index=0)
OTHER = SimpleNamespace(index=1)


class FakeTensor:
    """A tensor on a GPU whose memory is an array of NumPy."""

    is_cuda = True

    def __init__(self, array: np.ndarray, place: Any = PLACE, requires_grad: bool = False) -> None:
        self.array, self.device, self.requires_grad = array, place, requires_grad

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __int__(self) -> int:
        return int(self.array)

    def dim(self) -> int:
        return self.array.ndim

    def detach(self) -> FakeTensor:
        return self

    def contiguous(self) -> FakeTensor:
        return FakeTensor(np.ascontiguousarray(self.array))

    def clone(self) -> FakeTensor:
        return FakeTensor(self.array.copy())

    def cpu(self) -> FakeTensor:
        return self

    def to(self, place: Any) -> FakeTensor:
        return self

    def numpy(self) -> np.ndarray:
        return self.array

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def copy_(self, other: FakeTensor) -> None:
        self.array[...] = other.array


def fake_torch() -> Any:
    return SimpleNamespace(
        Tensor=FakeTensor,
        float32=np.dtype(np.float32),
        int32=np.dtype(np.int32),
        is_grad_enabled=lambda: True,
        as_tensor=lambda value, dtype, device: FakeTensor(np.asarray(value, dtype)),
        empty=lambda shape, dtype, device: FakeTensor(np.full(shape, 7, dtype)),
        zeros=lambda shape, dtype, device: FakeTensor(np.zeros(shape, dtype)),
        from_numpy=FakeTensor,
        cuda=SimpleNamespace(
            current_stream=lambda place: SimpleNamespace(cuda_stream=99), device=current_device
        ),
        compiler=SimpleNamespace(is_compiling=lambda: False),
        autograd=SimpleNamespace(forward_ad=SimpleNamespace(_current_level=-1)),
        _C=SimpleNamespace(
            _len_torch_dispatch_stack=lambda: 0,
            _get_tracing_state=lambda: None,
            _are_functorch_transforms_active=lambda: False,
        ),
    )


_current: list[Any] = []


@contextmanager
def current_device(place: Any) -> Iterator[None]:
    """Make a device current, as ``torch.cuda.device`` does."""
    _current.append(place)
    yield
    _current.pop()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(gpu_calls, "_devices", {})
    monkeypatch.setattr(gpu_calls, "_programs", {})
    return fake_torch()


def tensor(*shape: int) -> FakeTensor:
    return FakeTensor(np.ones(shape, np.float32))


def call(operator: Any, torch: Any, *arguments: Any, out: Any = None) -> list[Any]:
    found: list[Any] = operator._gpu.call(torch, arguments, out)
    return found


def test_a_product(driver: FakeDriver, torch: Any) -> None:  # noqa: F811
    product = polygym.tc.define("tc:matmul")
    (first,) = call(product, torch, tensor(5, 4), tensor(4, 3))
    assert (first.shape, first.dtype) == ((5, 3), np.float32)
    call(product, torch, tensor(5, 4), tensor(4, 3))
    call(product, torch, tensor(2, 4), tensor(4, 3))
    launches = driver.calls("cuLaunchKernel")
    assert len(launches) == 3
    assert launches[0] == launches[1]
    assert len(driver.calls("cuModuleLoadDataEx")) == 2  # one for each set of shapes
    assert driver.calls("cuStreamSynchronize") == []  # nothing waits
    assert driver.calls("toDevice") == driver.calls("fromDevice") == []
    out = tensor(5, 3)
    (given,) = call(product, torch, tensor(5, 4), tensor(4, 3), out=out)
    assert given is out
    assert (out.array == 7).all()


def test_the_stream_has_all_before_anything_is_freed(
    driver: FakeDriver,  # noqa: F811
    torch: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At a launch temporaries are there, the device is current, and no thread unloads code."""
    made: list[Any] = []
    seen: list[tuple[bool, Any, bool]] = []
    empty, launch = torch.empty, cuda_driver.launch

    def watched_empty(shape: Any, dtype: Any, device: Any) -> Any:
        tensor = empty(shape, dtype, device)
        made.append(weakref.ref(tensor))
        return tensor

    def watched_launch(*arguments: Any) -> None:
        free: list[bool] = []

        def attempt() -> None:
            free.append(gpu_calls._lock.acquire(blocking=False))
            if free[-1]:
                gpu_calls._lock.release()

        other = threading.Thread(target=attempt)
        other.start()
        other.join()
        seen.append((all(own() is not None for own in made), _current[-1], free[0]))
        launch(*arguments)

    torch.empty = watched_empty
    monkeypatch.setattr(cuda_driver, "launch", watched_launch)
    results = call(polygym.tc.define(TEMPORARY), torch, tensor(5, 4))
    assert len(made) > len(results) == 1
    assert seen
    assert all(own == (True, PLACE, False) for own in seen)
    assert _current == []


def test_code_is_unloaded_after_its_kernels(
    driver: FakeDriver,  # noqa: F811
    torch: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu_calls, "_MOST_PROGRAMS", 1)
    product = polygym.tc.define("tc:matmul")
    for rows in (5, 2, 5):
        call(product, torch, tensor(rows, 4), tensor(4, 3))
    waits = [name for name in driver.calls() if name in ("cuStreamSynchronize", "cuModuleUnload")]
    assert waits == ["cuStreamSynchronize", "cuModuleUnload"] * 2


def test_traces_and_transformations(driver: FakeDriver, torch: Any) -> None:  # noqa: F811
    product = polygym.tc.define("tc:matmul")
    arguments = tensor(5, 4), tensor(4, 3)
    assert is_on_gpu(torch, arguments)
    torch.autograd.forward_ad._current_level = 0
    with pytest.raises(InputError, match="no derivatives on a GPU: expected a call outside of"):
        call(product, torch, *arguments)
    torch.compiler.is_compiling = lambda: True
    assert is_on_gpu(torch, arguments)
    with pytest.raises(InputError, match="traces on a GPU are not supported"):
        call(product, torch, *arguments)


def test_computed_subscripts_wait(driver: FakeDriver, torch: Any) -> None:  # noqa: F811
    table = polygym.tc.define("tc:1LUT")
    places = FakeTensor(np.zeros((2, 3), np.int32))
    (found,) = call(table, torch, tensor(9, 4), places)
    assert found.shape == (2, 4)
    assert len(driver.calls("cuStreamSynchronize")) == 2


def test_no_elements(driver: FakeDriver, torch: Any) -> None:  # noqa: F811
    (found,) = call(polygym.tc.define("tc:matmul"), torch, tensor(5, 0), tensor(0, 3))
    np.testing.assert_array_equal(found.array, np.zeros((5, 3), np.float32))
    assert driver.calls("cuLaunchKernel") == []


def test_refusals(driver: FakeDriver, torch: Any) -> None:  # noqa: F811
    product = polygym.tc.define("tc:matmul")
    for arguments, message in (
        ((tensor(5, 4),), "expected 2 arguments"),
        ((tensor(5, 4), tensor(3, 4)), "matmul"),
        ((tensor(5, 4), tensor(4)), r"matmul: B: expected 2 dimension\(s\), found 1"),
        ((tensor(5, 4), FakeTensor(np.ones((4, 3)))), "B: expected elements of type float32"),
        ((tensor(5, 4), FakeTensor(np.ones((4, 3), np.float32), OTHER)), "B: expected a tensor on"),
        (
            (FakeTensor(np.ones((5, 4), np.float32), requires_grad=True), tensor(4, 3)),
            "A: no derivatives on a GPU",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call(product, torch, *arguments)
    with pytest.raises(InputError, match="out: expected a tensor of float32 and shape"):
        call(product, torch, tensor(5, 4), tensor(4, 3), out=tensor(3, 5))


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch, torch: Any) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libcuda-none.so.1")
    with pytest.raises(MissingDeviceError, match="NVIDIA's driver"):
        call(polygym.tc.define("tc:matmul"), torch, tensor(5, 4), tensor(4, 3))
