"""Linear layers, embeddings, and activations of elements and rows."""

from typing import Any

import torch
from torch import Tensor

from polygym.tc.nn.operators import call, refuse_options


def projected(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return the products of rows with the weights, plus the bias."""
    rows = input.reshape(-1, input.shape[-1])
    given = (rows, weight) if bias is None else (rows, weight, bias)
    result: Tensor = call("tmm" if bias is None else "linear", input, *given)
    return result.reshape(*input.shape[:-1], weight.shape[0])


class Linear(torch.nn.Linear):
    """PyTorch's ``Linear`` by ``tc:linear``, or ``tc:tmm`` without a bias."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the product with the weights, plus the bias."""
        return projected(input, self.weight, self.bias)


class Embedding(torch.nn.Embedding):
    """PyTorch's ``Embedding`` by ``tc:embedding``, whose gradient adds up rows in their order."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Refuse norms that are limited, gradients that are scaled, and sparse ones."""
        super().__init__(*arguments, **options)
        refuse_options(
            self,
            max_norm=(self.max_norm, None),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
            sparse=(self.sparse, False),
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows of the table; the one at ``padding_idx`` gets no gradient."""
        rows: Tensor = call("embedding", self.weight, self.weight, input.reshape(-1))
        result = rows.reshape(*input.shape, self.embedding_dim)
        if self.padding_idx is None:
            return result
        return torch.where((input == self.padding_idx).unsqueeze(-1), result.detach(), result)


class ReLU(torch.nn.ReLU):
    """PyTorch's ``ReLU`` by ``tc:relu``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the elements, or 0 where they are below."""
        if self.inplace:
            refuse_options(self, inplace=(True, False))
        result: Tensor = call("relu", input, input.reshape(-1))
        return result.reshape(input.shape)


class GELU(torch.nn.GELU):
    """PyTorch's ``GELU`` by ``tc:gelu`` or ``tc:gelu_tanh``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the unit of each element."""
        name = "gelu_tanh" if self.approximate == "tanh" else "gelu"
        result: Tensor = call(name, input, input.reshape(-1))
        return result.reshape(input.shape)


def _by_rows(name: str, input: Tensor, dim: int) -> Tensor:
    """Return what an operator makes of the rows along a dimension."""
    if not input.ndim:
        return _by_rows(name, input.reshape(1), 0).reshape(())
    moved = input.movedim(dim, -1)
    result: Tensor = call(name, input, moved.reshape(-1, moved.shape[-1]))
    return result.reshape(moved.shape).movedim(-1, dim)


def _dimension(input: Tensor, dim: int | None) -> int:
    """Return a dimension, by default the one that PyTorch takes: the first or the second."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


class Softmax(torch.nn.Softmax):
    """PyTorch's ``Softmax`` by ``tc:softmax``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the softmax along ``dim``."""
        return _by_rows("softmax", input, _dimension(input, self.dim))


class LogSoftmax(torch.nn.LogSoftmax):
    """PyTorch's ``LogSoftmax`` by ``tc:log_softmax``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the logarithm of the softmax along ``dim``."""
        return _by_rows("log_softmax", input, _dimension(input, self.dim))
