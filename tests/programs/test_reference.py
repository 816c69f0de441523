"""Every kernel, through the whole pipeline, against what the original programs leave."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import polybench
from polybench import Dataset
from polygym.programs import load_program
from polygym.runtime.evaluation.compilation import compile_problem
from polygym.runtime.worker.output_comparison import array_statistics
from polygym.runtime.worker.timing import Repetition
from polygym.runtime.worker.worker import Worker

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "polybench_reference.json").read_text()
)
TOLERANCE = {"deriche": 1e-4}
KERNELS = [kernel.name for kernel in polybench.KERNELS]


def assert_close(actual: Any, expected: Any, relative: float, scale: float) -> None:
    """Compare numbers, or lists of them, relative to the larger of value and typical element."""
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            assert_close(a, b, relative, scale)
        return
    assert abs(actual - expected) <= relative * max(abs(expected), scale), (actual, expected)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as running_worker:
        yield running_worker


@pytest.mark.parametrize("dataset", [Dataset.MINI, Dataset.SMALL], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_results_are_those_of_the_suite(name: str, dataset: Dataset, worker: Worker) -> None:
    program = load_program(name, dataset=dataset)
    expected = GOLDEN["live_out"][name][str(dataset)]
    once = Repetition(minimum=1, minimum_seconds=0)
    with closing(worker.open(compile_problem(program), once)) as session:
        names = [buffer.name for buffer in session.problem.buffers]
        assert [output.array for output in program.outputs] == [row["array"] for row in expected]
        for output, row in zip(program.outputs, expected, strict=True):
            data = session.expected(names.index(output.array))
            array = program.scop.array(output.array)
            part = output.part.value
            statistics = array_statistics(memoryview(data), array.type, program.shape(array), part)
            statistics["array"] = output.array
            assert statistics.keys() == row.keys()
            assert statistics["values"] == row["values"]
            exact = GOLDEN["sizes"][name]["dtype"] == "int"
            relative = 0.0 if exact else TOLERANCE.get(name, 1e-9)
            typical = (row["sum_of_squares"] / row["values"]) ** 0.5
            assert_close(statistics["sum"], row["sum"], relative, typical)
            assert_close(statistics["sum_of_squares"], row["sum_of_squares"], relative, 0.0)
            for key in ("first", "middle", "last"):
                assert_close(statistics[key], row[key], relative, typical)
