"""Cells of recurrent networks by ``tc:lstm_cell`` and ``tc:gru_cell``."""

from typing import Any

import torch
from torch import Tensor

from polygym.tc.nn.operators import as_batch, call, grouped, like_input


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
        rows = as_batch(input, 2)
        zeros = rows.new_zeros(rows.shape[0], self.hidden_size)
        states = (zeros, zeros) if hx is None else [as_batch(state, 2) for state in hx]
        hidden, cell = call("lstm_cell", input, rows, *states, *_weights(self, 4))
        return like_input(hidden, input, 2), like_input(cell, input, 2)


class GRUCell(torch.nn.GRUCell):
    """PyTorch's ``GRUCell``."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        rows = as_batch(input, 2)
        zeros = rows.new_zeros(rows.shape[0], self.hidden_size)
        state = zeros if hx is None else as_batch(hx, 2)
        hidden: Tensor = call("gru_cell", input, rows, state, *_weights(self, 3))
        return like_input(hidden, input, 2)
