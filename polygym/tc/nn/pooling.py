"""Pooling of images, and images of another size."""

from typing import Any

import torch
from torch import Tensor

from polygym.errors import InputError
from polygym.tc.nn.operators import as_batch, call, like_input, pair, refuse_options


def _expect_small_padding(module: Any) -> None:
    """Refuse windows that may lie in the padding alone.

    Raises:
        InputError: the padding is more than half of a window.
    """
    for window, padding in zip(pair(module.kernel_size), pair(module.padding), strict=True):
        if 2 * padding > window:
            raise InputError(
                f"{type(module).__name__}: padding: expected at most half of the window "
                f"({window}), found {padding}"
            )


class MaxPool2d(torch.nn.MaxPool2d):
    """PyTorch's ``MaxPool2d`` by ``tc:max_pool2d``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Refuse indices as results, and windows that are not whole."""
        super().__init__(*arguments, **options)
        refuse_options(
            self,
            return_indices=(self.return_indices, False),
            ceil_mode=(self.ceil_mode, False),
        )
        _expect_small_padding(self)

    def forward(self, input: Tensor) -> Tensor:
        """Return the largest element of each window."""
        options = (self.kernel_size, self.stride, self.padding, self.dilation)
        numbers = [number for option in options for number in pair(option)]
        result: Tensor = call("max_pool2d", input, *numbers, as_batch(input, 4))
        return like_input(result, input, 4)


class AvgPool2d(torch.nn.AvgPool2d):
    """PyTorch's ``AvgPool2d`` by ``tc:average_pool2d``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Refuse other divisors, and windows that are not whole."""
        super().__init__(*arguments, **options)
        refuse_options(
            self,
            ceil_mode=(self.ceil_mode, False),
            divisor_override=(self.divisor_override, None),
        )
        _expect_small_padding(self)

    def forward(self, input: Tensor) -> Tensor:
        """Return the mean of each window."""
        options = (self.kernel_size, self.stride, self.padding)
        numbers = [number for option in options for number in pair(option)]
        counted = int(self.count_include_pad)
        result: Tensor = call("average_pool2d", input, *numbers, counted, as_batch(input, 4))
        return like_input(result, input, 4)


class UpsamplingBilinear2d(torch.nn.UpsamplingBilinear2d):
    """PyTorch's ``UpsamplingBilinear2d`` by ``tc:resize_bilinear_aligned``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return images of ``size``, or ``scale_factor`` times as large."""
        if self.size is not None:
            rows, columns = pair(self.size)
        else:
            factors: Any = self.scale_factor
            first, second = factors if isinstance(factors, tuple) else (factors, factors)
            rows, columns = int(input.shape[-2] * first), int(input.shape[-1] * second)
        result: Tensor = call("resize_bilinear_aligned", input, rows, columns, input)
        return result
