"""Code for all sizes computes what code for each does, and makes way for it."""

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polygym.codegen import pipeline
from polygym.errors import InputError, OutOfRangeError
from polygym.frontend.tc import library, parse_definitions
from polygym.tc import builder as builder_module
from polygym.tc import general_kernel
from polygym.tc.comprehension import Comprehension, define
from polygym.tc.general_kernel import BoundKernel
from tests.tc.oracle.interpreter import interpret
from tests.tc.programs import CONSTANTS, TEXTS, arguments, definition_of, sizes_for
from tests.tc.test_random import comprehensions

MM = "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
LARGE = {"conv2d", "kronecker", "strided", "tables"}  # for the oracle
# Its subscripts are right where the smallest size is 5.
FIXED = {"gather_both"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that has the sizes of every compilation in this process, None for all."""
    seen: list[Any] = []

    def counted(legal: Any, mapping: Any, sizes: Any = None) -> Any:
        seen.append(sizes)
        return pipeline.lower(legal, mapping, sizes)

    monkeypatch.setattr(general_kernel, "lower", counted)
    monkeypatch.setattr("polygym.tc.kernel.lower", counted)
    return seen


def product(operator: Comprehension, m: int, k: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(m)
    A, B = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    result = operator(A, B)
    assert (result == A @ B).all()
    return result


def compare(operator: Comprehension, sizes: dict[str, int], constants: dict[str, int]) -> None:
    """Compare results with what the definition means."""
    arrays = arguments(operator.definition, sizes, constants)
    returned = operator(*arrays.values())
    expected = interpret(operator.definition, arrays, constants)
    results = returned if isinstance(returned, tuple) else (returned,)
    for output, result in zip(operator.definition.outputs, results, strict=True):
        assert result.shape == expected[output.name].shape
        is_whole = result.dtype.kind not in "f"
        tolerance = 0 if is_whole else 4 * float(np.finfo(result.dtype).eps)
        np.testing.assert_allclose(result, expected[output.name], rtol=tolerance)


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - LARGE))
def test_one_code_for_several_sizes(name: str, compiled: list[Any]) -> None:
    definition = definition_of(name)
    operator = Comprehension(definition, any_size=True)
    sizes, constants = sizes_for(name, definition), CONSTANTS.get(name, {})
    for further in (0,) if name in FIXED else (0, 1, 3):
        compare(operator, {name: size + further for name, size in sizes.items()}, constants)
    assert compiled == [None]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(comprehensions(), st.lists(st.integers(2, 9), min_size=3, max_size=3))
def test_random_comprehensions(text: str, sizes: list[int]) -> None:
    (definition,) = parse_definitions(text)
    given = arguments(definition, dict(zip("MNK", sizes, strict=True)), {}, 0)
    results: list[Any] = []
    for any_size in (False, True):
        try:
            found = Comprehension(definition, any_size=any_size)(*given.values())
        except InputError as error:
            found = str(error)
        except OutOfRangeError as error:
            found = str(error)
        results.append(found if isinstance(found, tuple | str) else (found,))
    each, general = results
    if isinstance(each, str):
        assert general == each
        return
    for one, other in zip(each, general, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "conv2d_strided", "max_pool"])
def test_results_are_equal_bit_for_bit(name: str) -> None:
    rng = np.random.default_rng(0)
    definition = library.definition(name)
    usual = {0: (), 1: (37,), 2: (5, 37), 4: (2, 3, 11, 13)}
    shapes = [usual[len(parameter.sizes)] for parameter in definition.parameters]
    if name == "conv2d_strided":
        shapes[-1] = (4, 3, 3, 3)
    given = [rng.normal(size=s).astype(np.float32) if s else 2 for s in shapes]
    each, general = (define(f"tc:{name}", sizes=sizes)(*given) for sizes in ("each", "any"))
    assert each.tobytes() == general.tobytes()


def test_a_new_operator_reads_the_code(compiled: list[Any]) -> None:
    product(define(MM, sizes="any"), 3, 4, 5)
    assert compiled == [None]
    operator = define(MM, sizes="any")
    product(operator, 6, 7, 8)
    product(operator, 1, 1, 1)
    assert compiled == [None]


def test_code_that_is_there_for_the_sizes_is_used(compiled: list[Any]) -> None:
    product(define(MM), 3, 4, 5)
    operator = define(MM, sizes="any")
    product(operator, 3, 4, 5)
    A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    assert type(operator.compile(A, B)) is not BoundKernel
    assert type(operator.compile(A[:2], B)) is BoundKernel
    assert len(compiled) == 2


def test_conditions_on_sizes_are_looked_at() -> None:
    operator = define("tc:conv1d", sizes="any")
    image, kernel = np.ones(5, np.float32), np.ones(2, np.float32)
    assert operator(image, kernel).tolist() == [2] * 4
    with pytest.raises(InputError, match="not defined for M = 2, N = 5"):
        operator(kernel, image)
    with pytest.raises(InputError, match="which is K of"):
        define(MM, sizes="any")(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    assert operator(image[:2], kernel).tolist() == [2]


def test_a_subscript_that_leaves_a_tensor_is_told_with_its_size() -> None:
    operator = define("def f(float(N) X, int(M) I) -> (Y) { Y(m) = X(I(m)) }", sizes="any")
    for size in (3, 5):
        with pytest.raises(OutOfRangeError, match=f"of size {size}"):
            operator(np.ones(size, np.float32), np.array([0, size], np.int32))


def test_arrays_without_elements() -> None:
    operator = define(MM, sizes="any")
    for m, k, n in ((3, 0, 2), (0, 3, 2), (3, 4, 2)):
        product(operator, m, k, n)


def test_options_stay_with_copies_pickles_and_gradients(compiled: list[Any]) -> None:
    operator = define(MM, sizes="any")
    for one in (copy(operator), pickle.loads(pickle.dumps(operator))):
        product(one, 3, 4, 5)
    for size in (2, 3, 4):
        A = torch.ones(size, 3, requires_grad=True)
        operator(A, torch.ones(3, size)).sum().backward()
        assert A.grad is not None
        assert (A.grad == size).all()
    assert compiled == [None, None]  # the operator and its gradient
    with pytest.raises(InputError, match="expected 'each' or 'any', found 'all'"):
        define(MM, sizes="all")


def test_where_there_is_no_code_for_all_sizes_each_has_its_own(
    monkeypatch: pytest.MonkeyPatch, compiled: list[Any]
) -> None:
    def fails(*_: Any) -> None:
        raise InputError("too long")

    monkeypatch.setattr(builder_module, "compile_general", fails)
    operator = define(MM, sizes="any")
    product(operator, 3, 4, 5)
    product(operator, 4, 5, 6)
    assert len(compiled) == 2
    assert None not in compiled


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_replaced(operator: Comprehension, A: np.ndarray, B: np.ndarray) -> bool:
    assert (operator(A, B) == A @ B).all()
    return type(operator.compile(A, B)) is not BoundKernel


class Clock:
    """A clock by which every call is faster than the last, or slower."""

    def __init__(self, factor: float = 0.999) -> None:
        self.now, self.step, self.factor = 0.0, 1.0, factor

    def __call__(self) -> float:
        self.step *= self.factor
        self.now += self.step
        return self.now


def test_code_of_their_own_that_is_slower_does_not_take_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(general_kernel, "perf_counter", Clock(1.01))
    operator = define(MM, sizes="any")
    A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    kernel = operator.compile(A, B)
    assert isinstance(kernel, BoundKernel)
    kernel.on_often = None
    taken: list[int] = []
    kernel.try_other(define(MM).compile(A, B), lambda: taken.append(1))  # type: ignore[arg-type]
    for _ in range(3 * general_kernel.TRIAL_CALLS):
        assert not is_replaced(operator, A, B)
    assert kernel._trial is None
    assert not taken


def test_code_of_their_own_takes_over(monkeypatch: pytest.MonkeyPatch, compiled: list[Any]) -> None:
    monkeypatch.setattr(general_kernel, "SECONDS_OF_COMPILING", 0.0)
    monkeypatch.setattr(general_kernel, "perf_counter", Clock())
    operator = define(MM, sizes="any")
    first = product(operator, 30, 40, 50)
    A, B = np.ones((30, 40), np.float32), np.ones((40, 50), np.float32)
    wait_until(lambda: is_replaced(operator, A, B))
    assert product(operator, 30, 40, 50).tobytes() == first.tobytes()
    assert compiled == [None]
    # What the user has chosen stays, and a process that was forked asks one of its own.
    chosen = operator.compile(A[:20], B, mapping="vector_bits=0")
    product(operator, 20, 40, 50)
    child = os.fork()
    if child == 0:
        try:
            serial = define(MM, sizes="any", threads=1)
            product(serial, 10, 40, 50)
            wait_until(lambda: is_replaced(serial, A[:10], B))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert operator.compile(A[:20], B) is chosen


PROGRAM = """
import sys, time
import numpy as np
from polygym.tc import background_kernels as background, general_kernel
from polygym.tc.comprehension import define
general_kernel.SECONDS_OF_COMPILING = 0.0
operator = define(sys.argv[1], sizes="any")
operator(np.ones((5, 6), np.float32), np.ones((6, 7), np.float32))
while background._compiler._connection is None:
    time.sleep(0.01)
print(background._compiler._connection.process_id, flush=True)
"""


@pytest.mark.parametrize("end", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_the_process_behind_ends_with_the_program(end: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + end, MM],
        capture_output=True, text=True, env=os.environ, timeout=60,
    )  # fmt: skip
    assert done.returncode == (-9 if end else 0), done.stderr
    assert not done.stderr
    server = Path("/proc", done.stdout.strip(), "cmdline")
    wait_until(lambda: not (server.exists() and b"kernel_server" in server.read_bytes()))


def test_threads_share_an_operator(compiled: list[Any]) -> None:
    operator = define(MM, sizes="any", threads=1)
    errors: list[BaseException] = []

    def run(first: int) -> None:
        try:
            for size in range(first, first + 12):
                product(operator, size, 3, 4)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(first,)) for first in (1, 5, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert compiled == [None]


def test_copies_get_code_of_their_own() -> None:
    operator = define(MM, mapping="sequential", sizes="any")
    a, b = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    operator(a, b)
    other = copy(operator)
    np.testing.assert_array_equal(other(a, b), a @ b)
    kernels = [each.compile(a, b) for each in (operator, other)]
    assert all(isinstance(kernel, BoundKernel) for kernel in kernels)
    assert kernels[0] is not kernels[1]


def test_a_copied_process_waits_for_no_thread() -> None:
    operator = define(MM, mapping="sequential", schedule="original")
    b = np.ones((4, 2), np.float32)
    with operator._table._lock:  # as a thread has it that compiles
        child = os.fork()
        if child == 0:
            try:
                operator(np.ones((5, 4), np.float32), b)
                os._exit(0)
            finally:
                os._exit(1)
        begin = time.monotonic()
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < begin + 30:
            time.sleep(0.05)
        if ended == (0, 0):
            os.kill(child, 9)
            ended = os.waitpid(child, 0)
    assert ended[1] == 0
