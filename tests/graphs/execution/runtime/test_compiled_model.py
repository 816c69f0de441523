"""Calls of compiled models: arrays and tensors, checks, steps, profiles."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from polygym.errors import InputError, InternalError, OutOfRangeError
from polygym.graphs.execution import CompiledModel, compile_model
from polygym.graphs.ir.build import graph_input, make_node, matmul, pool, relu, tanh, weight
from tests.graphs.execution.cases import check, model_of

X, W = graph_input("x", 6, 8), weight("w", 8, 4)
ONES = np.ones((6, 8), np.float32)


@pytest.fixture(scope="module")
def layer() -> CompiledModel:
    return compile_model(model_of(matmul(X, W, "relu")))


def test_one_result_comes_as_it_is_and_several_as_a_list(layer: CompiledModel) -> None:
    assert isinstance(layer(ONES), np.ndarray)
    two = compile_model(model_of(relu(X), tanh(X)))(ONES)
    assert isinstance(two, list)
    assert [result.shape for result in two] == [(6, 8), (6, 8)]


def test_tensors_come_back_for_tensors(layer: CompiledModel) -> None:
    tensor = layer(torch.ones(6, 8))
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), layer(ONES))
    turned = torch.ones(8, 6).t()
    assert torch.equal(layer(turned), tensor)


def test_tensors_that_ask_for_gradients_are_read(layer: CompiledModel) -> None:
    parameter = torch.nn.Parameter(torch.ones(6, 8))
    tensor = layer(parameter)
    assert isinstance(tensor, torch.Tensor)
    assert not tensor.requires_grad


def test_memory_for_results_can_be_given(layer: CompiledModel) -> None:
    out = np.empty((6, 4), np.float32)
    assert layer(ONES, out=out) is out
    np.testing.assert_array_equal(out, layer(ONES))
    tensor = torch.empty(6, 4)
    assert layer(ONES, out=tensor) is tensor
    np.testing.assert_array_equal(tensor.numpy(), out)


def test_results_that_are_inputs_or_weights_are_copies() -> None:
    compiled = compile_model(model_of(X, W, X))
    first, other, again = compiled(ONES)
    assert not np.shares_memory(first, ONES)
    assert not np.shares_memory(first, again)
    other[:] = 7.0
    assert not np.array_equal(compiled(ONES)[1], other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), r"case: expected 1 arguments \(x\), found 0"),
        ((np.ones((6, 9), np.float32),), r"case: x: expected shape \(6, 8\), found \(6, 9\)"),
        ((np.ones((6, 8)),), "case: x: expected elements of type float32, found float64"),
    ],
)
def test_arguments_are_checked(
    layer: CompiledModel, arguments: tuple[np.ndarray, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        layer(*arguments)


def test_memory_for_results_is_checked(layer: CompiledModel) -> None:
    with pytest.raises(InputError, match=r"case: out: y: expected shape \(6, 4\)"):
        layer(ONES, out=np.empty((4, 6), np.float32))
    with pytest.raises(InputError, match="out: expected 1 array"):
        layer(ONES, out=[])
    with pytest.raises(InputError, match="out: y: expected an array, found NoneType"):
        layer(ONES, out=[None])
    with pytest.raises(InputError, match="contiguous"):
        layer(ONES, out=np.empty((4, 6), np.float32).T)
    square = compile_model(model_of(relu(graph_input("s", 4, 4))))
    same = np.ones((4, 4), np.float32)
    with pytest.raises(InputError, match="no other array shares"):
        square(same, out=same)


def test_indices_out_of_range_are_errors() -> None:
    rows = make_node("gather", 0, weight("table", 7, 3), graph_input("ids", 2, dtype="int64"))
    compiled = compile_model(model_of(matmul(rows, weight("w", 3, 2))))
    with pytest.raises(OutOfRangeError):
        compiled(np.array([1, 7]))
    compiled(np.array([1, 6]))


def test_operators_without_meaning_for_integers_are_refused() -> None:
    with pytest.raises(InputError, match="sqrt: expected"):
        compile_model(model_of(make_node("sqrt", graph_input("ids", 2, dtype="int64"))))


def test_padding_of_integers_is_less_than_all() -> None:
    least = np.iinfo(np.int32).min
    image = np.full((1, 1, 3, 3), least + 1, np.int32)
    counts = graph_input("counts", 1, 1, 3, 3, dtype="int32")
    pooled = compile_model(model_of(pool("max", counts, (3, 3), padding="same")))(image)
    assert pooled.dtype == np.int32
    assert (pooled == least + 1).all()


def test_code_that_writes_other_elements_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # A literal that is too wide makes the result so, too.
    monkeypatch.setattr(
        "polygym.graphs.execution.operators.products.literal_text", lambda *_: "4294967296"
    )
    padded = make_node("pad", 3, "1-1", graph_input("counts", 4, dtype="int32"))
    with pytest.raises(InternalError, match=r"pad: expected \(6, 'int32'\), the code writes"):
        compile_model(model_of(padded))


def test_steps_say_what_runs(layer: CompiledModel) -> None:
    (step,) = layer.steps
    assert step.label == "matmul+relu"
    assert step.reads == ("6-8", "8-4")
    assert step.writes == "6-4"
    # A multiplication and an addition for each term, and a comparison for each element.
    assert step.operations == 2 * 6 * 8 * 4 + 6 * 4
    assert step.bytes == 4 * (6 * 8 + 8 * 4 + 6 * 4)
    assert "+=!" in step.text


def test_profiles_have_a_time_for_each_step() -> None:
    compiled = compile_model(model_of(tanh(X), relu(X)))
    times = compiled.profile(ONES, repeats=3)
    assert len(times) == len(compiled.steps) == 2
    assert all(0 < time < 1 for time in times)


def test_threads_may_call_at_once(layer: CompiledModel) -> None:
    given = [np.full((6, 8), number, np.float32) for number in range(4)]
    expected = [layer(array) for array in given]
    wrong: list[int] = []

    def calls(number: int) -> None:
        for _ in range(50):
            if not np.array_equal(layer(given[number]), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=calls, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_threads_compute_the_same() -> None:
    check(matmul(graph_input("x", 64, 96), weight("w", 96, 128), "relu"), threads=2)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    model = model_of(tanh(X), relu(X))
    compile_model(model, progress=lambda done, all_: told.append((done, all_)))
    assert told == [(1, 2), (2, 2)]


def test_the_kernel_that_failed_is_named() -> None:
    index = graph_input("i", 2, dtype="int64")
    rows = make_node("gather", 0, weight("a", 9, 3), index)
    whole = make_node("concat2", 0, rows, rows)  # copies between the kernels
    other = make_node("gather", 0, weight("b", 5, 3), index)
    compiled = compile_model(model_of(relu(whole), other))
    compiled(np.array([4, 0]))
    with pytest.raises(OutOfRangeError, match="5"):
        compiled(np.array([7, 0]))
    with pytest.raises(OutOfRangeError, match="9"):
        compiled(np.array([9, 0]))
    first, second = compiled(np.array([1, 2]))
    assert first.shape == (4, 3)
    assert second.shape == (2, 3)
