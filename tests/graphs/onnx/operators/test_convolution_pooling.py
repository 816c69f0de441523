"""Convolutions and pooling with attributes by chance, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


from tests.graphs.onnx.sessions import (
    QUICK,
    check,
    numbers,
)


@QUICK
@given(
    size=st.tuples(st.integers(3, 8), st.integers(3, 8)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    dilations=st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2)]),
    groups=st.sampled_from([1, 2, 4]),
    auto=st.sampled_from(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    has_bias=st.booleans(),
)
def test_convolutions(
    size: Any,
    kernel: Any,
    strides: Any,
    pads: Any,
    dilations: Any,
    groups: int,
    auto: str,
    has_bias: bool,
    tmp_path: Path,
) -> None:
    wide = [(extent - 1) * gap + 1 for extent, gap in zip(kernel, dilations, strict=True)]
    assume(all(a <= b for a, b in zip(wide, size, strict=True)))
    assume(auto == "NOTSET" or dilations == (1, 1))
    attributes: dict[str, Any] = {"auto_pad": auto, "strides": strides, "dilations": dilations}
    if auto == "NOTSET":
        attributes["pads"] = pads
    w = numbers(8, 4 // groups, *kernel, seed=1)
    bias = [numbers(8, seed=2)] if has_bias else []
    check(tmp_path, "Conv", numbers(2, 4, *size), w, *bias, group=groups, **attributes)
    options = {
        name: value[:1] if name != "pads" else (value[0], value[2])
        for name, value in attributes.items()
        if name != "auto_pad"
    }
    image = numbers(2, 4, size[0])
    check(tmp_path, "Conv", image, w[:, :, :, 0], *bias, group=groups, auto_pad=auto, **options)


@QUICK
@given(
    size=st.tuples(st.integers(3, 9), st.integers(3, 9)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    ceil=st.integers(0, 1),
    auto=st.sampled_from(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    counted=st.integers(0, 1),
)
def test_pools(
    size: Any,
    kernel: Any,
    strides: Any,
    pads: Any,
    ceil: int,
    auto: str,
    counted: int,
    tmp_path: Path,
) -> None:
    pads = tuple(min(pad, kernel[place % 2] - 1) for place, pad in enumerate(pads))
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "auto_pad": auto}
    if auto == "NOTSET":
        attributes |= {"pads": pads, "ceil_mode": ceil}
    is_same = auto.startswith("SAME")  # where onnxruntime fails on windows that leave gaps
    assume(not is_same or all(a >= b for a, b in zip(kernel, strides, strict=True)))
    image = numbers(2, 3, *size)
    check(tmp_path, "MaxPool", image, opset=12, **attributes)
    # onnxruntime itself divides by other counts where it rounds up and counts pads, below opset 19.
    if not (ceil and counted) and not (is_same and counted):
        check(tmp_path, "AveragePool", image, opset=19, count_include_pad=counted, **attributes)


def test_pooling_over_everything(tmp_path: Path) -> None:
    for kind in ("GlobalAveragePool", "GlobalMaxPool"):
        for shape in ((2, 3, 4, 5), (2, 3, 4)):
            check(tmp_path, kind, numbers(*shape))


@QUICK
@given(
    size=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 1)] * 4),
    dilations=st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2)]),
    groups=st.sampled_from([1, 2, 4]),
    has_bias=st.booleans(),
    added=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
def test_transposed_convolutions(
    size: Any,
    kernel: Any,
    strides: Any,
    pads: Any,
    dilations: Any,
    groups: int,
    has_bias: bool,
    added: Any,
    tmp_path: Path,
) -> None:
    # onnxruntime 1.32 refuses padding as large as the stride, even where dilations allow it.
    assume(all(pad < step for pad, step in zip(added, strides, strict=True)))
    for axis in range(2):
        wide = (kernel[axis] - 1) * dilations[axis] + 1
        assume((size[axis] - 1) * strides[axis] + wide > pads[axis] + pads[axis + 2])
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": groups}
    w = numbers(4, 6 // 2, *kernel, seed=1)
    bias = [numbers(3 * groups, seed=2)] if has_bias else []
    image = numbers(2, 4, *size)
    check(tmp_path, "ConvTranspose", image, w, *bias, output_padding=added, **attributes)


def test_transposed_convolutions_of_windows_side_by_side(tmp_path: Path) -> None:
    for kernel in ((2, 2), (1, 3)):
        w = numbers(4, 3, *kernel, seed=1)
        image = numbers(2, 4, 3, 5)
        model = check(tmp_path, "ConvTranspose", image, w, numbers(3), strides=kernel)
        assert "pad" not in {node.head for node in model.graph.nodes()}
    line = check(tmp_path, "ConvTranspose", numbers(2, 4, 5), numbers(4, 3, 2), strides=[2])
    assert line.graph.tensor(line.graph.outputs[0][1]).shape == (2, 3, 10)


@pytest.mark.parametrize("auto", ["SAME_UPPER", "VALID", "NOTSET"])
def test_transposed_convolutions_of_a_said_size(auto: str, tmp_path: Path) -> None:
    w = numbers(4, 3, 3, 3, seed=1)
    options: dict[str, Any] = {} if auto == "NOTSET" else {"auto_pad": auto}
    check(tmp_path, "ConvTranspose", numbers(2, 4, 3, 5), w, strides=[2, 2], **options)
    if auto == "SAME_UPPER":
        options["output_shape"] = [6, 10]
        check(tmp_path, "ConvTranspose", numbers(2, 4, 3, 5), w, strides=[2, 2], **options)


def test_windows_with_gaps(tmp_path: Path) -> None:
    image = numbers(2, 3, 9, 8)
    for kernel, gaps, pads in (((3, 3), (2, 2), (2, 2, 2, 2)), ((2, 3), (3, 1), (0, 1, 1, 0))):
        options: dict[str, Any] = {"kernel_shape": kernel, "dilations": gaps, "strides": (2, 1)}
        check(tmp_path, "MaxPool", image, pads=pads, **options)
        check(tmp_path, "AveragePool", image, opset=19, **options)
    line = numbers(2, 3, 9)
    check(tmp_path, "MaxPool", line, kernel_shape=[3], dilations=[2], pads=[1, 2])
