"""Losses of classifiers."""

from typing import Any

import torch
from torch import Tensor

from polygym.errors import InputError
from polygym.tc.nn.operators import call, refuse_options


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """PyTorch's ``CrossEntropyLoss`` by ``tc:cross_entropy``: a mean over classes as numbers."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Refuse weights of classes, smoothed labels, and other reductions than the mean."""
        super().__init__(*arguments, **options)
        refuse_options(
            self,
            weight=(self.weight, None),
            reduction=(self.reduction, "mean"),
            label_smoothing=(self.label_smoothing, 0.0),
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss of rows, or of images whose classes are the second dimension."""
        if target.is_floating_point():
            raise InputError(
                f"CrossEntropyLoss: target: expected numbers of classes, found {target.dtype}"
            )
        classes = input.unsqueeze(0) if input.ndim == 1 else input.movedim(1, -1)
        expected = input.shape[:0] if input.ndim == 1 else classes.shape[:-1]
        if target.shape != expected:
            raise InputError(
                f"CrossEntropyLoss: target: expected the shape {list(expected)}, found "
                f"{list(target.shape)}"
            )
        rows = classes.reshape(-1, classes.shape[-1])
        result: Tensor = call("cross_entropy", input, self.ignore_index, rows, target.reshape(-1))
        return result
