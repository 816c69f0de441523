"""Mutants of small models: read, or refused with one line that names the file; never an error."""

from __future__ import annotations

import random
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx

from benchmarks.onnx_study.node_cases import installed_cases
from polygym.errors import InputError
from polygym.graphs.onnx import read

NAMES = """
    test_conv_with_strides_padding test_convtranspose_pads test_averagepool_2d_ceil
    test_layer_normalization_4d_axis1 test_lstm_with_peepholes test_gridsample_bilinear
    test_top_k test_scatternd_add test_resize_downsample_scales_cubic test_einsum_batch_matmul
    test_qlinearmatmul_2D_int8_float32 test_attention_4d_causal test_nllloss_NCd1 test_dft
    test_softmax_axis_1_expanded test_reduce_l2_keep_dims_random_expanded test_maxpool_3d_dilations
""".split()
NUMBERS = (0, 1, -1, 2, 7, 255, 1 << 31, -(1 << 31), 1 << 40, 1 << 62, -(1 << 63))
MUTANTS = 500


def _mutant(model: onnx.ModelProto, rng: random.Random) -> bytes:
    """Return a model with changed bytes, or a changed attribute, extent, input or opset."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    integers = [entry for node in graph.node for entry in node.attribute if entry.type == 2]
    lists = [entry for node in graph.node for entry in node.attribute if len(entry.ints)]
    extents = [dim for value in graph.input for dim in value.type.tensor_type.shape.dim]
    match rng.randrange(6):
        case 0 if integers:
            rng.choice(integers).i = rng.choice(NUMBERS)
        case 1 if lists:
            numbers = rng.choice(lists).ints
            numbers[rng.randrange(len(numbers))] = rng.choice(NUMBERS)
        case 2 if extents:
            rng.choice(extents).dim_value = rng.choice(NUMBERS)
        case 3:
            node = rng.choice(graph.node)
            names = ["", "nothing", *(value.name for value in graph.input), *node.output]
            if len(node.input):
                node.input[rng.randrange(len(node.input))] = rng.choice(names)
        case 4:
            known = rng.choice(graph.input)
            array = np.full(rng.choice([(), (0,), (1,), (2, 3)]), rng.choice(NUMBERS), np.int64)
            graph.initializer.append(onnx.numpy_helper.from_array(array, known.name))
            graph.input.remove(known)
        case _:
            contents = bytearray(changed.SerializeToString())
            for _ in range(rng.choice((1, 2, 5))):
                contents[rng.randrange(len(contents))] = rng.choice((0, 1, 255, 65))
            return bytes(contents)
    return changed.SerializeToString()


def test_mutants_are_read_or_refused(tmp_path: Path) -> None:
    models = [case.model for case in installed_cases() if case.name in NAMES]
    assert len(models) > len(NAMES) / 2
    rng, path = random.Random(0), tmp_path / "m.onnx"
    messages: list[str] = []
    for _ in range(MUTANTS):
        path.write_bytes(_mutant(rng.choice(models), rng))
        with suppress(InputError), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                read(path)
            except InputError as error:
                messages.append(str(error))
                raise
    assert MUTANTS / 4 < len(messages) < MUTANTS
    assert all(message.startswith(str(path)) and "\n" not in message for message in messages)
    assert sorted(tmp_path.iterdir()) == [path]
