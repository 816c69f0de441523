"""Runs in a process of its own: results, times, and kernels that fault or hang."""

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError, MissingDeviceError
from polygym.foreign import cuda_driver
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.ptx.compile_ptx import DeviceCode, compile_ptx
from polygym.runtime.device.worker import DeviceRun, DeviceWorker, KeptArrays
from polygym.runtime.worker.outcome import Crash, DoesNotCompile, Ok, OutOfMemory, Timeout
from tests.gpu.device_programs import SCALED_SUM, device_program, loops_of
from tests.runtime.device.fake_driver import FakeDriver


@pytest.fixture(scope="module")
def scaled_sum() -> tuple[DeviceProgram, DeviceCode]:
    program = device_program(loops_of(SCALED_SUM), 1)
    return program, compile_ptx(program)


def run(
    worker: DeviceWorker, scaled_sum: tuple[DeviceProgram, DeviceCode], seconds: float = 60.0
) -> DeviceRun:
    x = np.arange(40, dtype=np.float32)
    arrays = {"x": x, "y": x + 1}
    return worker.run(*scaled_sum, arrays, {"n": 40}, results=["y"], runs=3, seconds=seconds)


def test_a_run(driver: FakeDriver, scaled_sum: tuple[DeviceProgram, DeviceCode]) -> None:
    with DeviceWorker() as worker:
        assert worker.properties().architecture == "sm_90"
        first, again = run(worker, scaled_sum), run(worker, scaled_sum)
    for found in (first, again):
        assert found.outcome == Ok((0.0025,) * 3)
        # The stand-in computes nothing: what comes back is what was sent.
        np.testing.assert_array_equal(found.arrays["y"], np.arange(1, 41, dtype=np.float32))
    assert driver.calls("cuLaunchKernel") == ["kernel0 3,1,1 16,1,1 0"] * 6
    assert len(driver.calls("cuModuleLoadDataEx")) == 1


def test_without_a_driver(
    monkeypatch: pytest.MonkeyPatch, scaled_sum: tuple[DeviceProgram, DeviceCode]
) -> None:
    try:
        cuda_driver.device_count()
    except MissingDeviceError:
        with DeviceWorker() as worker:
            with pytest.raises(MissingDeviceError, match=r"NVIDIA's driver \(libcuda.so.1\)"):
                worker.properties()
            with pytest.raises(MissingDeviceError, match=r"NVIDIA's driver \(libcuda.so.1\)"):
                run(worker, scaled_sum)
    else:
        pytest.skip("there is a driver here")


def test_a_kernel_that_faults_ends_the_process_alone(
    driver: FakeDriver, scaled_sum: tuple[DeviceProgram, DeviceCode]
) -> None:
    with DeviceWorker() as worker:
        driver.fail("cuStreamSynchronize", 700)
        assert run(worker, scaled_sum).outcome == Crash(0, "CUDA_ERROR_ILLEGAL_ADDRESS")
        assert worker.process_id is None
        driver.fail("nothing", 0)
        assert isinstance(run(worker, scaled_sum).outcome, Ok)


def test_a_kernel_that_hangs_is_cut_off(
    driver: FakeDriver, scaled_sum: tuple[DeviceProgram, DeviceCode]
) -> None:
    with DeviceWorker() as worker:
        worker.properties()
        hanging = worker.process_id
        assert isinstance(run(worker, scaled_sum).outcome, Ok)
        worker.close()
        driver.hang("cuStreamSynchronize")
        started = time.monotonic()  # the process starts anew, which is none of the run
        assert run(worker, scaled_sum, seconds=0.5).outcome == Timeout(0.5)
        assert time.monotonic() - started < 30
        assert worker.process_id is None
        driver.hang("nothing")
        assert isinstance(run(worker, scaled_sum).outcome, Ok)
        assert worker.process_id != hanging


def test_a_server_that_is_killed(
    driver: FakeDriver, scaled_sum: tuple[DeviceProgram, DeviceCode]
) -> None:
    with DeviceWorker() as worker:
        worker.properties()
        assert worker.process_id is not None
        os.kill(worker.process_id, signal.SIGKILL)
        assert run(worker, scaled_sum).outcome == Crash(signal.SIGKILL, "SIGKILL")
        assert isinstance(run(worker, scaled_sum).outcome, Ok)


def test_what_is_refused_leaves_the_process(
    driver: FakeDriver, scaled_sum: tuple[DeviceProgram, DeviceCode]
) -> None:
    program, code = scaled_sum
    with DeviceWorker() as worker:
        worker.properties()
        alive = worker.process_id
        with pytest.raises(InputError, match="x: expected an array, found none"):
            worker.run(program, code, {"y": np.zeros(4, np.float32)}, {"n": 4})
        assert worker.process_id == alive
        worker.close()
        driver.fail("cuMemAlloc_v2", 2)
        assert isinstance(run(worker, scaled_sum).outcome, OutOfMemory)
        worker.close()
        driver.fail("cuModuleLoadDataEx", 218)
        outcome = run(worker, scaled_sum).outcome
        assert isinstance(outcome, DoesNotCompile)
        assert "CUDA_ERROR_INVALID_PTX" in outcome.message


def test_the_start_is_none_of_a_run(
    driver: FakeDriver,
    scaled_sum: tuple[DeviceProgram, DeviceCode],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[tuple[str, float]] = []
    with DeviceWorker() as worker:
        exchange = worker._exchange

        def noted(body: Any, blobs: Any, seconds: float) -> Any:
            limits.append((body["task"], seconds))
            return exchange(body, blobs, seconds)

        monkeypatch.setattr(worker, "_exchange", noted)
        for _ in range(2):
            assert isinstance(run(worker, scaled_sum, seconds=45.0).outcome, Ok)
        assert limits == [("properties", 60.0), ("run", 45.0), ("run", 45.0)]
        worker.close()
        driver.fail("cuInit", 100)
        with pytest.raises(MissingDeviceError, match="CUDA_ERROR_NO_DEVICE"):
            run(worker, scaled_sum)


def test_runs_of_several_threads_keep_apart(
    driver: FakeDriver,
    scaled_sum: tuple[DeviceProgram, DeviceCode],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the question which arrays the device has to the answer no other thread comes between."""
    taken: list[bool] = []
    with DeviceWorker() as worker:
        request = worker._request

        def watched(*arguments: Any) -> Any:
            lock = worker._server.lock()

            def attempt() -> None:
                taken.append(lock.acquire(blocking=False))
                if taken[-1]:
                    lock.release()

            other = threading.Thread(target=attempt)
            other.start()
            other.join()
            return request(*arguments)

        monkeypatch.setattr(worker, "_request", watched)
        assert isinstance(run(worker, scaled_sum).outcome, Ok)
    assert taken == [False]


def test_arrays_that_are_kept(
    driver: FakeDriver, scaled_sum: tuple[DeviceProgram, DeviceCode]
) -> None:
    kept = KeptArrays({"x": np.zeros(4, np.float32), "y": np.ones(4, np.float32)})
    with DeviceWorker() as worker:
        for _ in range(3):
            found = worker.run(*scaled_sum, kept, {"n": 4}, results=["y"])
            np.testing.assert_array_equal(found.arrays["y"], np.ones(4, np.float32))
        assert len(driver.calls("toDevice")) == 2  # x is read where it is, of y each run has a copy
        assert len(driver.calls("onDevice")) == 3
        assert run(worker, scaled_sum).arrays["y"].shape == (40,)
        assert len(driver.calls("toDevice")) == 4
        worker.close()
        worker.run(*scaled_sum, kept, {"n": 4})
        assert len(driver.calls("toDevice")) == 6
