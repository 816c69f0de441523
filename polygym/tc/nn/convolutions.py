"""Convolutions by ``tc:conv2d_general`` and ``tc:conv2d_transposed``."""

from typing import Any

import torch
from torch import Tensor

from polygym.tc.nn.operators import as_batch, call, grouped, like_input


def _with_bias(result: Tensor, bias: Tensor | None) -> Tensor:
    return result if bias is None else result + bias[:, None, None]


def _convolved(module: Any, images: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return the convolution of images of two dimensions, with padding as a module has it."""
    padding, one_row = module.padding, weight.ndim > module.weight.ndim
    if module.padding_mode != "zeros" or padding == "same":
        mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
        padded = torch.nn.functional.pad(
            images.squeeze(-2) if one_row else images, module._reversed_padding_repeated_twice, mode
        )
        images = padded.unsqueeze(-2) if one_row else padded
        padding = "valid"
    pads = (0,) * len(module.stride) if padding == "valid" else padding
    whole = [
        number
        for values, single in ((module.stride, 1), (pads, 0), (module.dilation, 1))
        for number in ((single, *values) if one_row else values)
    ]
    result: Tensor = call(
        "conv2d_general",
        images,
        *whole,
        grouped(images, 1, module.groups),
        grouped(weight, 0, module.groups),
    )
    return _with_bias(result.flatten(1, 2), bias)


class Conv2d(torch.nn.Conv2d):
    """PyTorch's ``Conv2d``."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the convolution of a batch, or of one image."""
        return like_input(_convolved(self, as_batch(input, 4), weight, bias), input, 4)


class Conv1d(torch.nn.Conv1d):
    """PyTorch's ``Conv1d``: images with one row."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return the convolution of a batch, or of one row."""
        images = as_batch(input, 3).unsqueeze(-2)
        result = _convolved(self, images, weight.unsqueeze(-2), bias).squeeze(-2)
        return like_input(result, input, 3)


class ConvTranspose2d(torch.nn.ConvTranspose2d):
    """PyTorch's ``ConvTranspose2d``."""

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Return the transposed convolution; ``output_size`` chooses rows and columns at the end.

        Without it they are those of ``output_padding``.
        """
        batch = as_batch(input, 4)
        options = (self.stride, self.padding, self.kernel_size, self.dilation)
        stride, padding, kernel, dilation = (list(map(int, option)) for option in options)
        more = self._output_padding(input, output_size, stride, padding, kernel, 2, dilation)
        result: Tensor = call(
            "conv2d_transposed",
            input,
            *(*stride, *padding, *more, *dilation),
            grouped(batch, 1, self.groups),
            grouped(self.weight, 0, self.groups),
        )
        return like_input(_with_bias(result.flatten(1, 2), self.bias), input, 4)
