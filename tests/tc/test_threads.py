"""Threads that compile at the same time do not take isl's bounds from each other."""

import threading
from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polygym.errors import LimitError
from polygym.poly.isl_budget import bounded_operations, exclusive_isl
from polygym.tc.comprehension import define

LAYERS = {
    "matmul": ((9, 7), (7, 5)),
    "conv1d": ((9,), (3,)),
    "softmax": ((4, 5),),
    "mlp1": ((2, 3), (4, 3), (4,)),
}


def start(function: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_one_thread_at_a_time_has_a_bound() -> None:
    events = []
    is_inside, may_leave = threading.Event(), threading.Event()

    def second() -> None:
        is_inside.wait()
        with bounded_operations("the second", 1000):
            events.append(("second", isl.DEFAULT_CONTEXT.get_max_operations()))

    thread = start(second)
    with bounded_operations("the first", 2000), bounded_operations("inside", 5):
        is_inside.set()
        assert not may_leave.wait(0.1)  # time for the other thread
        events.append(("first", isl.DEFAULT_CONTEXT.get_max_operations()))
    thread.join(30)
    assert events == [("first", 2000), ("second", 1000)]
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_the_end_of_one_bound_is_not_the_end_of_another() -> None:
    errors = []

    def much() -> None:
        try:
            with bounded_operations("too much", 10):
                isl.Set("{ [i, j] : 0 <= i < j < 100 and i mod 7 = 3 }").coalesce().is_empty()
        except LimitError as error:
            errors.append(str(error))

    with exclusive_isl():
        thread = start(much)
        assert not isl.Set("{ [i, j, k] : 0 <= i < j < k < 100 }").is_empty()
    thread.join(30)
    assert len(errors) == 1


def test_operators_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    mm = define("tc:matmul")
    A = np.ones((3, 3), np.float32)
    with exclusive_isl():
        thread = start(lambda: mm(A, A))
        thread.join(0.2)
        assert thread.is_alive()
    thread.join(60)
    assert not thread.is_alive()


def test_threads_compile_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    codes: list[dict[str, bytes]] = [{}, {}]

    def compile_layer(name: str, into: dict[str, bytes]) -> None:
        arguments = [np.ones(shape, np.float32) for shape in LAYERS[name]]
        kernel = define(f"tc:{name}", threads=1).compile(*arguments)
        into[name] = kernel.object_code  # type: ignore[union-attr]

    threads = [start(lambda name=name: compile_layer(name, codes[0])) for name in LAYERS]
    for thread in threads:
        thread.join(120)
    for name in LAYERS:
        compile_layer(name, codes[1])
    assert codes[0] == codes[1]
