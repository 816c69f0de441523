"""The networks that tests export, with the shape of their input."""

from __future__ import annotations

import torch
from torch import nn

from tests.graphs.onnx.networks.elements import Choices, Counted, Functions, Waves
from tests.graphs.onnx.networks.images import (
    Dense,
    Inverted,
    Residual,
    Shuffle,
    SqueezeExcite,
    Unet,
    depthwise,
)
from tests.graphs.onnx.networks.sequences import (
    ByEquations,
    CausalAttention,
    Cells,
    Padded,
    Recurrent,
    Turned,
    Vision,
    Windows,
    Words,
)

MODELS = {
    "mlp": (
        nn.Sequential(
            nn.Linear(16, 32),
            nn.BatchNorm1d(32),
            nn.Tanh(),
            nn.Dropout(),
            nn.Linear(32, 4),
            nn.Softmax(1),
        ),
        (3, 16),
    ),
    "lenet": (
        nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.Sigmoid(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(400, 10),
        ),
        (2, 1, 28, 28),
    ),
    "vgg": (
        nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(True),
            nn.MaxPool2d(2, 2),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(128, 5),
        ),
        (2, 3, 16, 16),
    ),
    "residual": (Residual(), (2, 8, 9, 9)),
    "mobile": (
        nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            depthwise(8, 16, 2, nn.Hardswish),
            depthwise(16, 16, 1, nn.ReLU6),
        ),
        (1, 3, 32, 32),
    ),
    "squeeze": (SqueezeExcite(), (2, 8, 9, 9)),
    "causal": (CausalAttention(), (2, 7, 32)),
    "equations": (ByEquations(), (2, 5, 2, 4)),
    "words": (Words(), (2, 7)),
    "groups": (nn.GroupNorm(4, 8), (2, 8, 5, 5)),
    "instances": (nn.InstanceNorm2d(8, affine=True), (2, 8, 6, 6)),
    "shuffle": (Shuffle(), (2, 8, 6, 6)),
    "functions": (Functions(), (3, 7)),
    "pools": (
        nn.Sequential(
            nn.MaxPool2d(3, 2, 1, ceil_mode=True),
            nn.AvgPool2d(3, 2, 1, ceil_mode=True),
            nn.AvgPool2d(2, 2, 1, count_include_pad=False),
        ),
        (2, 3, 30, 31),
    ),
    "dilated": (
        nn.Sequential(
            nn.Conv2d(4, 4, 3, padding=2, dilation=2),
            nn.PixelShuffle(2),
            nn.PixelUnshuffle(2),
            nn.Conv2d(4, 4, 3, padding="same", groups=2),
            nn.PReLU(4),
            nn.ZeroPad2d((1, 2, 0, 1)),
        ),
        (2, 4, 9, 9),
    ),
    "one-dimensional": (
        nn.Sequential(
            nn.Conv1d(4, 6, 3, 2, 1),
            nn.BatchNorm1d(6),
            nn.GELU(),
            nn.MaxPool1d(2),
            nn.AvgPool1d(2, ceil_mode=True),
            nn.AdaptiveMaxPool1d(1),
        ),
        (2, 4, 33),
    ),
    "unet": (Unet(), (1, 3, 8, 6)),
    "cells": (Cells(), (2, 3, 6)),
    "recurrent": (Recurrent(), (2, 4, 6)),
    "choices": (Choices(), (2, 5, 6)),
    "windows": (
        nn.Sequential(
            nn.MaxPool2d(3, 1, 1, dilation=2),
            nn.LocalResponseNorm(3),
            nn.ReflectionPad2d(2),
            nn.AvgPool2d(3, 2, 1),
            nn.Upsample(scale_factor=1.5, mode="bicubic"),
        ),
        (2, 6, 9, 8),
    ),
    "upwards": (
        nn.Sequential(
            nn.ConvTranspose1d(4, 6, 4, 2, 1, groups=2),
            nn.BatchNorm1d(6),
            nn.Conv1d(6, 6, 3, padding=2, dilation=2, groups=6),
            nn.GroupNorm(3, 6),
            nn.Hardsigmoid(),
            nn.Upsample(scale_factor=2, mode="linear"),
        ),
        (2, 4, 7),
    ),
    "vision": (Vision(), (2, 3, 8, 8)),
    "inverted": (Inverted(), (1, 8, 7, 7)),
    "dense": (Dense(), (1, 6, 8, 8)),
    "padded": (Padded(), (2, 7)),
    "turned": (Turned(), (2, 5, 16)),
    "shifted": (Windows(), (1, 4, 4, 8)),
    "counted": (Counted(), (4, 6)),
    "waves": (Waves(), (4, 4)),
    "encoder": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (2, 7, 32)),
    "encoder-first": (
        nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", norm_first=True),
        (2, 7, 32),
    ),
}


def example_for(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randint(0, 20, shape) if name in ("words", "padded") else torch.randn(shape)
