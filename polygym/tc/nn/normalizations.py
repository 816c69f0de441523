"""Norms of rows, groups of channels and batches."""

import torch
from torch import Tensor

from polygym.errors import InputError
from polygym.tc.nn.operators import call

_USUAL_EPS = 1e-5


class LayerNorm(torch.nn.LayerNorm):
    """PyTorch's ``LayerNorm`` by ``tc:layer_norm``, or ``tc:standardize`` with another eps."""

    def forward(self, input: Tensor) -> Tensor:
        """Return rows with mean 0 and variance 1, times the weights, plus the bias."""
        count = len(self.normalized_shape)
        if tuple(input.shape[-count:]) != tuple(self.normalized_shape):
            raise InputError(
                f"LayerNorm: expected the last dimensions {list(self.normalized_shape)}, found "
                f"{list(input.shape)}"
            )
        rows = input.reshape(-1, input.shape[-count:].numel())
        if self.weight is not None and self.bias is not None and self.eps == _USUAL_EPS:
            weights = self.weight.reshape(-1), self.bias.reshape(-1)
            result: Tensor = call("layer_norm", input, rows, *weights)
            return result.reshape(input.shape)
        result = call("standardize", input, self.eps, rows).reshape(input.shape)
        result = result if self.weight is None else result * self.weight
        return result if self.bias is None else result + self.bias


class GroupNorm(torch.nn.GroupNorm):
    """PyTorch's ``GroupNorm`` by ``tc:standardize``."""

    def forward(self, input: Tensor) -> Tensor:
        """Return groups of channels with mean 0 and variance 1, scaled and shifted."""
        if input.ndim < 2 or input.shape[1] != self.num_channels:
            raise InputError(
                f"GroupNorm: expected {self.num_channels} channels as the second dimension, found "
                f"the shape {list(input.shape)}"
            )
        size = input.shape[1:].numel() // self.num_groups
        rows = input.reshape(input.shape[0] * self.num_groups, size)
        result: Tensor = call("standardize", input, self.eps, rows).reshape(input.shape)
        if not self.affine:
            return result
        channels = (-1, *(1,) * (input.ndim - 2))
        return result * self.weight.reshape(channels) + self.bias.reshape(channels)


class _BatchNorm(torch.nn.modules.batchnorm._BatchNorm):
    """Batch norm by ``tc:batch_norm``, and ``tc:batch_norm_inference`` in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        """Return channels with mean 0 and variance 1, scaled and shifted; note their moments."""
        self._check_input_dim(input)  # type: ignore[no-untyped-call]
        images = input.reshape(input.shape[0], input.shape[1], input.shape[2:].numel())
        gamma = images.new_ones(images.shape[1]) if self.weight is None else self.weight
        beta = images.new_zeros(images.shape[1]) if self.bias is None else self.bias
        mean, var = self.running_mean, self.running_var
        if not self.training and mean is not None and var is not None:
            result: Tensor = call(
                "batch_norm_inference", images, self.eps, images, mean, var, gamma, beta
            )
            return result.reshape(input.shape)
        count = images.shape[0] * images.shape[2]
        if self.training and count == 1:
            raise ValueError(f"Expected more than 1 value per channel, found {input.shape}")
        result, mean, var = call("batch_norm", images, self.eps, images, gamma, beta)
        if self.training and self.track_running_stats:
            self._note(mean.detach(), var.detach() * (count / (count - 1)))
        return result.reshape(input.shape)

    def _note(self, mean: Tensor, var: Tensor) -> None:
        """Move the moments that evaluation uses towards those of a batch."""
        assert self.num_batches_tracked is not None
        assert self.running_mean is not None
        assert self.running_var is not None
        self.num_batches_tracked.add_(1)
        step = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, step)
        self.running_var.lerp_(var, step)


class BatchNorm1d(_BatchNorm, torch.nn.BatchNorm1d):
    """PyTorch's ``BatchNorm1d``."""


class BatchNorm2d(_BatchNorm, torch.nn.BatchNorm2d):
    """PyTorch's ``BatchNorm2d``."""
