"""Small networks of many kinds, for export, and the exporter."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """Two convolutions with batch normalisation, and the image added."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.last(self.second(F.relu(self.norm(self.first(x))))))


class SqueezeExcite(nn.Module):
    """Channels scaled by what is computed of their means."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, 4), nn.Linear(4, width)

    def forward(self, x):
        count, channels = x.shape[:2]
        gate = F.hardsigmoid(self.up(F.silu(self.down(x.mean((2, 3))))))
        return x * gate.view(count, channels, 1, 1)


class CausalAttention(nn.Module):
    """Attention written by hand, of every place to those before it."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.all, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        count, length, width = x.shape
        q, k, v = (
            part.view(count, length, self.heads, -1).transpose(1, 2)
            for part in self.all(x).chunk(3, -1)
        )
        scores = q @ k.transpose(-2, -1) / 2.5
        mask = torch.tril(torch.ones(length, length)).bool()
        shares = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.out((shares @ v).transpose(1, 2).reshape(count, length, width))


class ByEquations(nn.Module):
    """Attention without weights, as equations."""

    def forward(self, x):
        shares = torch.einsum("bqhd,bkhd->bhqk", x, x).softmax(-1)
        return torch.einsum("bhqk,bkhd->bqhd", shares, x)


class Words(nn.Module):
    """Embeddings of words and places, layer norm, gelu, and the table once more."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(10, 16)
        self.norm, self.out = nn.LayerNorm(16), nn.Linear(16, 20, bias=False)
        self.out.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return F.log_softmax(self.out(F.gelu(self.norm(x), approximate="tanh")), -1)


class Shuffle(nn.Module):
    """Channels in another order, and half of them moved."""

    def forward(self, x):
        count, channels, height, width = x.shape
        x = x.view(count, 2, channels // 2, height, width).transpose(1, 2)
        one, other = x.reshape(count, channels, height, width).split(channels // 2, 1)
        other = F.pad(other, (1, 1, 2, 0))[:, :, 2:, 1:-1]
        return torch.cat([one, other], 1)[:, :, ::2, 1:]


class Functions(nn.Module):
    """Many functions of single elements."""

    def forward(self, x):
        one = F.softplus(x) + F.selu(x) + F.celu(x, 0.7) + F.mish(x) + F.leaky_relu(x, 0.2)
        two = F.hardtanh(x) + x.clamp(min=0) + x.clamp(max=0.5) + x**3 + (x.abs() + 0.1) ** 1.7
        three = torch.rsqrt(x.abs() + 1) + F.logsigmoid(x) + x.norm(dim=1, keepdim=True)
        return one + two + three + x.amin(0) + torch.erf(x) + F.elu(x) + F.softsign(x)


class Unet(nn.Module):
    """Down, up by a transposed convolution, up by pixels, joined with what was before."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, 2, 1)
        self.up = nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1)
        self.side = nn.ConvTranspose2d(8, 4, 2, 2, groups=1)
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        x = F.relu(self.first(x))
        small = F.relu(self.down(x))
        again = F.interpolate(small[:, :4], scale_factor=2)
        joined = torch.cat([x, self.up(small), self.side(small), again], 1)
        return F.interpolate(self.last(joined), (11, 9), mode="bilinear", align_corners=False)


class Cells(nn.Module):
    """Cells of an LSTM and a GRU, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LSTMCell(6, 5), nn.GRUCell(5, 4)

    def forward(self, x):
        h, c, other = x.new_zeros(2, 5), x.new_zeros(2, 5), x.new_zeros(2, 4)
        for step in range(x.shape[1]):
            h, c = self.first(x[:, step], (h, c))
            other = self.second(h, other)
        return other, c


class Recurrent(nn.Module):
    """Layers with a state in time, and what comes of all steps."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.second = nn.GRU(10, 4, batch_first=True)

    def forward(self, x):
        return self.second(self.first(x)[0])[0]


class Masked(nn.Module):
    """Attention to the words that are there."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / 8**0.5
        scores = scores.masked_fill(mask[:, None, :] == 0, torch.finfo(x.dtype).min)
        return scores.softmax(-1) @ self.v(x)


class Choices(nn.Module):
    """Comparisons, choices, reversed and mirrored places."""

    def forward(self, x):
        one = torch.where((x > 0.5) | (x <= -0.5), x, torch.zeros_like(x))
        two = F.hardswish(x) * (x != 0).float() + F.threshold(x, 0.0, 0.0)
        three = F.pad(x.flip(-1), (2, 1), mode="reflect")[:, :, 1:-2] + x.tril(-1)
        return one + two + three, F.pad(x, (1, 0, 1, 1), mode="replicate")


class Vision(nn.Module):
    """A vision transformer's ends: patches, a word of its own before them, attention, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16)
        self.first, self.places = (nn.Parameter(torch.randn(1, n, 16)) for n in (1, 5))
        self.mixed = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        y = self.norm(x)
        return self.head((x + self.mixed(y, y, y, need_weights=False)[0])[:, 0])


class Inverted(nn.Module):
    """A block of MobileNet's third version: wide, depthwise, scaled by its means, narrow."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.deep = nn.Conv2d(8, 24, 1), nn.Conv2d(24, 24, 5, padding=2, groups=24)
        self.norm, self.narrow = nn.BatchNorm2d(24), nn.Conv2d(24, 8, 1)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(24, 6, 1), nn.ReLU(), nn.Conv2d(6, 24, 1)
        )

    def forward(self, x):
        y = F.hardswish(self.norm(self.deep(F.hardswish(self.wide(x)))))
        return x + self.narrow(y * F.hardsigmoid(self.gate(y)))


class Dense(nn.Module):
    """Each layer reads what all before it made."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(6 + 4 * n) for n in range(3))
        self.layers = nn.ModuleList(nn.Conv2d(6 + 4 * n, 4, 3, padding=1) for n in range(3))

    def forward(self, x):
        made = [x]
        for norm, layer in zip(self.norms, self.layers, strict=True):
            made.append(layer(F.relu(norm(torch.cat(made, 1)))))
        return F.avg_pool2d(torch.cat(made, 1), 2)


class Padded(nn.Module):
    """Words of which some are none: attention passes them by, and the mean is of the others."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8, padding_idx=0)

    def forward(self, ids):
        mask, x = ids != 0, self.words(ids)
        x = F.scaled_dot_product_attention(x, x, x, attn_mask=mask[:, None, :])
        there = mask.float().unsqueeze(-1)
        return (x * there).sum(1) / there.sum(1).clamp(min=1e-9), mask.long().cumsum(1)


class Turned(nn.Module):
    """Rotated places, and keys that several queries share."""

    def forward(self, x):
        count, length, width = x.shape
        at = torch.arange(length)[:, None] / 10 ** torch.arange(0, 1, 0.5)[None]
        at = torch.cat([at, at], -1)

        def turned(x):
            one, other = x.chunk(2, -1)
            return x * at.cos() + torch.cat([-other, one], -1) * at.sin()

        q = turned(x.view(count, length, -1, 4).transpose(1, 2))
        k = turned(x[..., :4].view(count, length, 1, 4).transpose(1, 2))
        k = k.repeat_interleave(width // 4, 1)
        mask = torch.full((length, length), float("-inf")).triu(1)
        return (q @ k.transpose(-2, -1) / 2 + mask).softmax(-1) @ k


class Windows(nn.Module):
    """Attention within windows that are shifted, with a bias by distance."""

    def __init__(self) -> None:
        super().__init__()
        self.bias, self.all = nn.Parameter(torch.randn(9)), nn.Linear(8, 24)
        self.register_buffer("at", torch.randint(0, 9, (4, 4)))

    def forward(self, x):
        x = torch.roll(x, (-1, -1), (1, 2))
        x = x.view(1, 2, 2, 2, 2, 8).permute(0, 1, 3, 2, 4, 5).reshape(4, 4, 8)
        q, k, v = self.all(x).view(4, 4, 3, 8).permute(2, 0, 1, 3).unbind(0)
        x = (q @ k.transpose(-2, -1) + self.bias[self.at]).softmax(-1) @ v
        x = x.view(1, 2, 2, 2, 2, 8).permute(0, 1, 3, 2, 4, 5).reshape(1, 4, 4, 8)
        return torch.roll(x, (1, 1), (1, 2))


class Counted(nn.Module):
    """Places of the largest and the smallest, one among many, whole numbers."""

    def forward(self, x):
        best = x.argmax(1)
        chosen = F.one_hot(best, x.shape[1]).to(x.dtype) * x
        whole = (3 * x).floor() + (2 * x).ceil() + (4 * x).round() + x.sign()
        return best, x.argmin(0, keepdim=True), chosen, whole, x.cumsum(-1)


class Waves(nn.Module):
    """Times as waves, columns that are written to, diagonals, elements by places, a last word."""

    def forward(self, x):
        angles = x[:, :1] * torch.exp(-0.5 * torch.arange(3.0))
        waves = torch.cat([angles.sin(), angles.cos()], -1)
        y = x.clone()
        y[:, 0] = waves[:, 1]
        y[1:3, 2:4] = 2 * x[1:3, :2]
        chosen = x.gather(1, x.argmax(1, keepdim=True))
        scores = torch.einsum("bi,ij,bj->b", x, waves @ waves.t(), x[:, :4])
        return y, torch.diagonal(y), chosen, x[[0, 2], [3, 1]], scores, x[:, -1]


def depthwise(width: int, filters: int, stride: int, activation: type[nn.Module]) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(width, width, 3, stride, 1, groups=width, bias=False),
        nn.BatchNorm2d(width),
        activation(),
        nn.Conv2d(width, filters, 1, bias=False),
        nn.BatchNorm2d(filters),
        activation(),
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


def prepared(model: nn.Module, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return a model for inference whose statistics are not what they begin with."""
    torch.manual_seed(0)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias)
    return model.to(dtype).eval()


def export(model: nn.Module, example, path: Path, opset: int, **options) -> Path:
    """Export a model by tracing."""
    attention = F.scaled_dot_product_attention

    def plain(*arguments, is_causal=False, **others):
        # Tracing makes a tensor of the flag, which the function itself refuses.
        *arguments, last = arguments if len(arguments) == 6 else (*arguments, is_causal)
        return attention(*arguments, is_causal=bool(last), **others)

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(F, "scaled_dot_product_attention", plain)
        torch.onnx.export(model, (example,), path, dynamo=False, opset_version=opset, **options)
    return path


def example_for(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randint(0, 20, shape) if name in ("words", "padded") else torch.randn(shape)
