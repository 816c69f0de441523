"""Programs on a device: launches, memory, times and errors, with a stand-in for the driver."""

import pickle

import numpy as np
import pytest

from polygym.codegen.loopir.ir import IndexConstant, IndexOperator, IndexVariable
from polygym.errors import (
    DriverError,
    InputError,
    LimitError,
    MissingDeviceError,
    OutOfRangeError,
)
from polygym.foreign import cuda_driver
from polygym.gpu.device_program import DeviceProgram, HostGuard, HostLoop
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.runtime.device.device import Device
from polygym.runtime.device.launch_plan import launch_plan
from polygym.runtime.device.loaded_program import LoadedProgram
from polygym.runtime.device.memory_pool import MemoryPool
from tests.gpu.device_programs import (
    HISTOGRAM,
    PRODUCT,
    SCALED_SUM,
    STEPS,
    device_program,
    loops_of,
    tiled_product,
)
from tests.runtime.device.fake_driver import FakeDriver


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libcuda-none.so.1")
    with pytest.raises(MissingDeviceError, match=r"device=cuda: expected NVIDIA's driver"):
        Device()


def test_without_a_device(driver: FakeDriver) -> None:
    driver.fail("cuInit", 100)
    expected = "expected a GPU that the driver can use, found CUDA_ERROR_NO_DEVICE"
    with pytest.raises(MissingDeviceError, match=expected):
        Device()


def test_properties(driver: FakeDriver) -> None:
    with Device() as device:
        properties = device.properties
    assert (properties.name, properties.architecture) == ("Stand-in", "sm_90")
    assert (properties.multiprocessors, properties.driver) == (132, (13, 0))
    assert properties.bandwidth == pytest.approx(3.352e12, rel=1e-3)
    assert driver.calls("release") == ["0"]
    with pytest.raises(MissingDeviceError, match="expected a GPU of number 3, found 1 of them"):
        Device(3)


def test_launches_of_a_time_loop(driver: FakeDriver) -> None:
    program = device_program(loops_of(STEPS), 1)
    code = compile_ptx(program)
    assert [kernel.variables for kernel in code.kernels] == [("steps", "n")] * 2
    with Device() as device, LoadedProgram(program, code, device) as loaded:
        assert loaded.array_bytes({"n": 100, "steps": 3}) == {"a": 800, "b": 800}
        with device.memory(800) as a, device.memory(800) as b:
            with loaded.bound({"a": a, "b": b}, {"n": 100, "steps": 3}) as bound:
                assert bound.timed() == pytest.approx(0.0025)
                bound.run()
                bound.wait()
            with loaded.bound({"a": a, "b": b}, {"n": 100, "steps": 1}) as bound:
                bound.run()
                bound.wait()
    launches = driver.calls("cuLaunchKernel")
    step = ["kernel0 7,1,1 16,1,1 0", "kernel1 7,1,1 16,1,1 0"]
    assert launches == [f"{launch} captured" for launch in step * 3] + step
    assert driver.calls("graph") == ["6"]
    assert len(driver.calls("cuGraphLaunch")) == 2
    assert len(driver.calls("cuGraphExecDestroy")) == 1
    assert driver.calls("release") == ["0"]  # no memory is left


def test_a_failing_launch_ends_the_capture(driver: FakeDriver) -> None:
    program = device_program(loops_of(STEPS), 1)
    with Device() as device, LoadedProgram(program, compile_ptx(program), device) as loaded:
        with device.memory(800) as a:
            places = {"a": a, "b": a}
            driver.fail("cuLaunchKernel", 1, skip=2)
            with pytest.raises(DriverError, match="CUDA_ERROR_INVALID_VALUE: cuLaunchKernel"):
                with loaded.bound(places, {"n": 100, "steps": 3}):
                    pytest.fail("a launch that the driver refuses")
            driver.fail("nothing", 0)
            with loaded.bound(places, {"n": 100, "steps": 1}) as bound:
                bound.run()
                bound.wait()
    launches = driver.calls("cuLaunchKernel")
    assert [launch.endswith("captured") for launch in launches] == [True] * 3 + [False] * 2
    assert len(driver.calls("cuGraphDestroy")) == 1


def test_nothing_is_launched_for_nothing(driver: FakeDriver) -> None:
    program = device_program(loops_of(SCALED_SUM), 1)
    with Device() as device, LoadedProgram(program, compile_ptx(program), device) as loaded:
        with device.memory(0) as x, loaded.bound({"x": x, "y": x}, {"n": 0}) as bound:
            bound.run()
            bound.wait()
    assert driver.calls("cuLaunchKernel") == []


def test_plans() -> None:
    program = device_program(loops_of(PRODUCT), 2)
    kernels = compile_ptx(program).kernels
    (launch,) = launch_plan(program, kernels, {"n": 17, "m": 33, "p": 5})
    assert (launch.grid, launch.values) == ((3, 3, 1), (17, 33, 5))
    zero, two = IndexConstant(0), IndexConstant(2)
    loop = HostLoop("t", zero, two, 2, program.body)
    body = (HostGuard(IndexOperator.LESS(zero, IndexVariable("n")), (loop,)),)
    repeated = DeviceProgram(program.program, body)
    sizes = {"n": 1, "m": 1, "p": 1}
    assert len(launch_plan(repeated, kernels, sizes)) == 2
    assert launch_plan(repeated, kernels, {**sizes, "n": 0}) == ()
    with pytest.raises(LimitError, match="expected a grid of at most"):
        launch_plan(program, kernels, {"n": 10**6, "m": 1, "p": 1})


def test_shared_memory(driver: FakeDriver) -> None:
    program = tiled_product({"n": 32, "m": 32, "p": 32})
    code = compile_ptx(program)
    with Device() as device, LoadedProgram(program, code, device) as loaded:
        places = {name: device.pool.allocate(4096) for name in ("A", "B", "C")}
        with loaded.bound(places, {"n": 32, "m": 32, "p": 32}) as bound:
            bound.run()
        with pytest.raises(InputError, match="n: expected the size 32, found 33"):
            with loaded.bound(places, {"n": 33}):
                pytest.fail("other sizes than those of the code")
        with pytest.raises(InputError, match="A: expected an array, found none"):
            with loaded.bound({}, {}):
                pytest.fail("no arrays")
    assert driver.calls("cuLaunchKernel") == ["tiled 2,2,1 16,8,1 2048"]
    assert driver.calls("cuFuncSetAttribute") == []


def test_a_computed_subscript_out_of_range(driver: FakeDriver) -> None:
    program = device_program(loops_of(HISTOGRAM), 1, atomic=True)
    code = compile_ptx(program)
    assert code.kernels[0].takes_note
    with Device() as device, LoadedProgram(program, code, device) as loaded:
        places = {name: device.pool.allocate(40) for name in ("k", "w", "sums")}
        with loaded.bound(places, {"n": 10, "m": 10}) as bound:
            bound.run()
            bound.wait()
            number = np.ones(1, dtype=np.uint32)
            cuda_driver.copy_to_device(bound.note, number.ctypes.data, 4, device.stream)
            with pytest.raises(OutOfRangeError, match="leaves sums: expected a subscript from 0"):
                bound.wait()
            bound.wait()


@pytest.mark.parametrize("number", [1, 700])
def test_errors_of_the_driver(driver: FakeDriver, number: int) -> None:
    program = device_program(loops_of(SCALED_SUM), 1)
    driver.fail("cuStreamSynchronize", number)
    names = {1: "CUDA_ERROR_INVALID_VALUE", 700: "CUDA_ERROR_ILLEGAL_ADDRESS"}
    device = Device()
    loaded = LoadedProgram(program, compile_ptx(program), device)
    with device.memory(64) as x, loaded.bound({"x": x, "y": x}, {"n": 4}) as bound:
        bound.run()
        with pytest.raises(DriverError, match="cuStreamSynchronize: what it says") as caught:
            bound.wait()
    assert (caught.value.name, caught.value.is_fatal) == (names[number], number == 700)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.name, str(copy)) == (caught.value.name, str(caught.value))


def test_what_the_assembler_of_the_driver_says(driver: FakeDriver) -> None:
    program = device_program(loops_of(SCALED_SUM), 1)
    driver.fail("cuModuleLoadDataEx", 218)
    expected = "CUDA_ERROR_INVALID_PTX: cuModuleLoadDataEx: what it says ptxas error: line 3"
    with Device() as device, pytest.raises(DriverError, match=expected):
        LoadedProgram(program, compile_ptx(program), device)


def test_memory_is_kept_and_given_back_when_it_is_short(driver: FakeDriver) -> None:
    with Device():
        pool = MemoryPool()
        first = pool.allocate(5000)
        pool.release(first)
        assert pool.allocate(8000) == first
        pool.release(first)
        assert (driver.calls("cuMemAlloc_v2"), driver.calls("cuMemFree_v2")) == (["8192"], [])
        driver.fail("cuMemAlloc_v2", 2)
        with pytest.raises(MemoryError, match="CUDA_ERROR_OUT_OF_MEMORY"):
            pool.allocate(100_000)
        assert len(driver.calls("cuMemFree_v2")) == 1
