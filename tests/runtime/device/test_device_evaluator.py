"""Schedules on a device beside the CPU: right, wrong, and what does not compile."""

from collections.abc import Iterator
from typing import Any

import pytest

from polygym.errors import InputError, MissingDeviceError
from polygym.gpu.mapping.device_mapping import parse_device_mapping
from polygym.gpu.ptx import compile_ptx as compiling
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.runtime.device.device_evaluator import DeviceEvaluator
from polygym.runtime.device.worker import DeviceRun
from polygym.runtime.worker.outcome import DoesNotCompile, Ok, WrongOutput
from polygym.runtime.worker.worker import Worker
from tests.runtime.device.emulated_device import EmulatedDevice


@pytest.fixture(scope="module")
def cpu() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tc:matmul", {"M": 9, "N": 7, "K": 5}),
        ("tc:2LUT", {"B": 3, "D": 4, "E1": 9, "E2": 8, "L1": 2, "L2": 3}),
        ("atax", {"m": 7, "n": 6}),
        ("jacobi-1d", {"tsteps": 3, "n": 12}),
    ],
)
def test_the_same_as_the_cpu(cpu: Worker, name: str, sizes: dict[str, int]) -> None:
    program = load_program(name, parameters=sizes)
    device = EmulatedDevice()
    with DeviceEvaluator(program, device, cpu) as evaluator:
        for schedule in (original_schedule(program.scop), isl_schedule(program.scop)):
            outcome = evaluator.evaluate(schedule, parse_device_mapping("device=cuda"), runs=2)
            assert outcome == Ok((1e-3, 1e-3))
    assert device.runs == 2


def test_wrong_output(cpu: Worker) -> None:
    program = load_program("tc:matmul", parameters={"M": 3, "N": 4, "K": 5})
    with DeviceEvaluator(program, EmulatedDevice(spoils=True), cpu) as evaluator:
        outcome = evaluator.evaluate(isl_schedule(program.scop))
    assert isinstance(outcome, WrongOutput)
    assert (outcome.array, outcome.index) == ("C", 11)


def test_what_does_not_compile(cpu: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "libdevice_path", lambda: None)
    program = load_program("deriche", parameters={"w": 4, "h": 4})
    with DeviceEvaluator(program, EmulatedDevice(), cpu) as evaluator:
        outcome = evaluator.evaluate(isl_schedule(program.scop))
    assert isinstance(outcome, DoesNotCompile)
    assert "on a GPU: expected NVIDIA's libdevice" in outcome.message


class RefusingDevice(EmulatedDevice):
    """A device that cannot load a program."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def run(self, *arguments: Any, **options: Any) -> DeviceRun:
        raise self.error


def test_what_the_device_cannot_load(cpu: Worker) -> None:
    program = load_program("tc:matmul", parameters={"M": 3, "N": 4, "K": 5})
    refused = InputError("kernel matmul_0: expected at most 1 bytes of shared memory")
    with DeviceEvaluator(program, RefusingDevice(refused), cpu) as evaluator:
        assert evaluator.evaluate(isl_schedule(program.scop)) == DoesNotCompile(str(refused))
    missing = RefusingDevice(MissingDeviceError("device=cuda: none"))
    with DeviceEvaluator(program, missing, cpu) as evaluator:
        with pytest.raises(MissingDeviceError):
            evaluator.evaluate(isl_schedule(program.scop))
