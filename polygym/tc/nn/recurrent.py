"""Cells of recurrent networks by ``tc:lstm_cell`` and ``tc:gru_cell``."""

from typing import Any

import torch
from torch import Tensor

from polygym.tc.nn.operators import call, grouped


def _rows(tensor: Tensor) -> Tensor:
    return tensor if tensor.ndim == 2 else tensor.unsqueeze(0)


def _weights(cell: Any, gates: int) -> list[Tensor]:
    """Return the weights and biases of a cell, gate by gate."""
    matrices = [cell.weight_ih, cell.weight_hh]
    if cell.bias:
        biases = [cell.bias_ih, cell.bias_hh]
    else:
        biases = [cell.weight_ih.new_zeros(gates * cell.hidden_size)] * 2
    return [grouped(tensor, 0, gates) for tensor in (*matrices, *biases)]


class LSTMCell(torch.nn.LSTMCell):
    """PyTorch's ``LSTMCell``."""

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the next hidden state and the next cell state."""
        rows = _rows(input)
        zeros = rows.new_zeros(rows.shape[0], self.hidden_size)
        states = (zeros, zeros) if hx is None else [_rows(state) for state in hx]
        hidden, cell = call("lstm_cell", input, rows, *states, *_weights(self, 4))
        return (hidden, cell) if input.ndim == 2 else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(torch.nn.GRUCell):
    """PyTorch's ``GRUCell``."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        rows = _rows(input)
        zeros = rows.new_zeros(rows.shape[0], self.hidden_size)
        state = zeros if hx is None else _rows(hx)
        hidden: Tensor = call("gru_cell", input, rows, state, *_weights(self, 3))
        return hidden if input.ndim == 2 else hidden.squeeze(0)
