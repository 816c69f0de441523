"""The rows of the table: a program with sizes, and what PyTorch does instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.ir.types import ScalarType
from polygym.programs import Program, load_program
from polygym.programs.dtypes import dtype_of

Arrays = dict[str, np.ndarray[Any, Any]]
Peer = Callable[..., Any]


@dataclass(frozen=True)
class TableRow:
    """A comprehension with sizes; ``peer`` takes PyTorch and its inputs, in their order.

    ``rows`` are the sizes of tables whose rows an array of indices names, by the array.
    """

    name: str
    program: str
    sizes: Mapping[str, int]
    peer: Peer
    rows: Mapping[str, int]

    def loaded(self) -> Program:
        """Return the program."""
        return load_program(self.program, parameters=dict(self.sizes))

    def arrays(self, program: Program) -> Arrays:
        """Return random arrays of the program; those that it writes begin with zeros."""
        rng = np.random.default_rng(0)
        written = {own.write.array for own in program.scop.statements}
        result = {}
        for array in program.scop.arrays:
            shape, kind = program.shape(array), dtype_of(array.type)
            if array.name in written:
                result[array.name] = np.zeros(shape, kind)
            elif array.type in (ScalarType.FLOAT, ScalarType.DOUBLE):
                result[array.name] = rng.random(shape, np.float32).astype(kind)
            else:
                result[array.name] = rng.integers(0, self.rows[array.name], shape).astype(kind)
        return result


def row(
    name: str, program: str, peer: Peer, rows: Mapping[str, int] | None = None, **sizes: int
) -> TableRow:
    """Return a row of the library's comprehension ``program``."""
    text = " ".join(f"{key}={value}" for key, value in sizes.items())
    return TableRow(f"{name} {text}", f"tc:{program}", sizes, peer, rows or {})


def _linear(torch: Any, x: Any, w: Any, b: Any) -> Any:
    return torch.relu(torch.nn.functional.linear(x, w, b))


def _mlp3(torch: Any, x: Any, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any) -> Any:
    hidden = _linear(torch, _linear(torch, x, w2, b2), w3, b3)
    return _linear(torch, hidden, w4, b4)


def _grouped(torch: Any, image: Any, kernel: Any) -> Any:
    n, g, c, h, w = image.shape
    weights = kernel.reshape(-1, c, *kernel.shape[-2:])
    return torch.nn.functional.conv2d(image.reshape(n, g * c, h, w), weights, groups=g)


def _one_table(torch: Any, table: Any, places: Any) -> Any:
    return torch.nn.functional.embedding_bag(places, table, mode="sum")


def _two_tables(torch: Any, table: Any, places: Any, other: Any, others: Any) -> tuple[Any, Any]:
    return _one_table(torch, table, places), _one_table(torch, other, others)


def _transposed(torch: Any, a: Any, b: Any) -> Any:
    return a @ b.T


def _convolution(channels: int, side: int) -> TableRow:
    return row(
        "grouped convolution", "conv2d_grouped", _grouped,
        N=32, G=32, C=channels, F=channels, H=side, W=side, KH=3, KW=3,
    )  # fmt: skip


_MANY = 10**6
ROWS = (
    row("TMM", "tmm", _transposed, M=128, K=32, N=256),
    row("TMM", "tmm", _transposed, M=128, K=1024, N=1024),
    row("TMM", "tmm", _transposed, M=128, K=4096, N=16384),
    row("C3", "tmm", _transposed, M=128, K=1024, N=1000),
    row("TBMM", "tbmm", lambda torch, x, y: torch.bmm(x, y.transpose(1, 2)),
        B=500, N=26, M=72, K=26),
    _convolution(16, 14),
    _convolution(4, 56),
    row("MLP1", "mlp1", _linear, B=128, M=1000, N=400),
    row("MLP3", "mlp3", _mlp3, B=128, N=128, O=64, P=32, Q=2),
    row("1LUT", "1LUT", _one_table, {"I": _MANY}, E=_MANY, D=64, B=128, L=50),
    row("2LUT", "2LUT", _two_tables, {"I1": _MANY, "I2": _MANY},
        E1=_MANY, E2=_MANY, D=64, B=128, L1=50, L2=50),
    row("softmax", "softmax", lambda torch, x: torch.softmax(x, 1), N=1000, D=1000),
)  # fmt: skip
SGEMM = row("SGEMM", "matmul", lambda torch, a, b: a @ b, M=4096, K=4096, N=4096)
