"""Operators of networks in the library beside PyTorch's: naive, default, tuned.

    python -m benchmarks.comprehension_study.operators [--threads 2] [--time-limit 0s] [NAME ...]

Results are compared with PyTorch's in double precision before anything is timed.
"""

from typing import Any

import torch

from benchmarks.tc import ComprehensionCase, main

F = torch.nn.functional
SHAPE = {"B": 64, "M": 128, "N": 128, "D": 32, "E": 32}


def convolved(sh: int, sw: int, ph: int, pw: int, dh: int, dw: int, image: Any, kernel: Any) -> Any:
    """Return the convolution of one group."""
    options = ((sh, sw), (ph, pw), (dh, dw))
    return F.conv2d(image.flatten(1, 2), kernel.flatten(0, 1), None, *options).unsqueeze(1)


def transposed(*given: Any) -> Any:
    """Return the transposed convolution of one group."""
    sh, sw, ph, pw, oh, ow, dh, dw, image, kernel = given
    options = (None, (sh, sw), (ph, pw), (oh, ow), 1, (dh, dw))
    return F.conv_transpose2d(image.squeeze(1), kernel.squeeze(0), *options).unsqueeze(1)


def pooled(*given: Any) -> Any:
    """Return the largest elements of windows."""
    kh, kw, sh, sw, ph, pw, dh, dw, image = given
    return F.max_pool2d(image, (kh, kw), (sh, sw), (ph, pw), (dh, dw))


def lstm(x: Any, h: Any, c: Any, *weights: Any) -> Any:
    """Return the states of a cell."""
    return list(torch.lstm_cell(x, (h, c), *(w.flatten(0, 1) for w in weights)))


def gru(x: Any, h: Any, *weights: Any) -> Any:
    """Return the state of a cell."""
    return torch.gru_cell(x, h, *(w.flatten(0, 1) for w in weights))


def case(name: str, sizes: dict[str, int], reference: Any, *scalars: Any) -> ComprehensionCase:
    """Return a case of which PyTorch computes the results."""
    return ComprehensionCase(name, sizes, None, reference, scalars)


IMAGE = {"N": 8, "G": 1, "C": 64, "F": 64, "H": 28, "W": 28, "KH": 3, "KW": 3}
CELL = {"B": 32, "I": 256, "D": 256}
CASES = (
    case("attention", SHAPE, F.scaled_dot_product_attention),
    case(
        "attention_causal",
        SHAPE,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    ),
    case("gelu", {"N": 1 << 18}, F.gelu),
    case("gelu_tanh", {"N": 1 << 18}, lambda x: F.gelu(x, approximate="tanh")),
    case("log_softmax", {"N": 1024, "D": 1000}, lambda x: F.log_softmax(x, -1)),
    case("layer_norm", {"N": 1024, "D": 256}, lambda x, g, b: F.layer_norm(x, (256,), g, b)),
    case(
        "batch_norm_inference",
        {"N": 8, "C": 64, "L": 784},
        lambda eps, x, m, v, g, b: F.batch_norm(x, m, v, g, b, False, 0.1, eps),
        1e-5,
    ),
    case("cross_entropy", {"N": 1024, "C": 1000}, lambda i, x, t: F.cross_entropy(x, t.long()), -1),
    case("lstm_cell", CELL, lstm),
    case("gru_cell", CELL, gru),
    case("embedding", {"V": 20_000, "E": 20_000, "D": 64, "N": 4096}, lambda w, i: w[i]),
    case("conv2d_general", IMAGE, convolved, 1, 1, 1, 1, 1, 1),
    case("conv2d_general", IMAGE, convolved, 2, 2, 1, 1, 1, 1),
    case("conv2d_transposed", IMAGE | {"H": 14, "W": 14}, transposed, 2, 2, 1, 1, 1, 1, 1, 1),
    case("max_pool2d", {"N": 8, "C": 64, "H": 56, "W": 56}, pooled, 3, 3, 2, 2, 1, 1, 1, 1),
    case(
        "resize_bilinear",
        {"N": 8, "C": 64, "H": 28, "W": 28},
        lambda rows, columns, x: F.interpolate(x, (rows, columns), mode="bilinear"),
        56,
        56,
    ),
)

if __name__ == "__main__":
    main(CASES, __doc__)
