"""Small modules of PyTorch that rewriting makes cheaper, each with and without biases."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def _conv(inputs: int, outputs: int, size: int, bias: bool, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=bias, groups=groups)


class Fire(nn.Module):
    """SqueezeNet's block: a 1x1 convolution, then a 1x1 and a 3x3 one, concatenated."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.squeeze = _conv(64, 16, 1, bias)
        self.left, self.right = _conv(16, 64, 1, bias), _conv(16, 64, 3, bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(x).relu()
        return torch.cat([self.left(x).relu(), self.right(x).relu()], 1)


class Inception(nn.Module):
    """Four branches of one image: 1x1, 1x1 then 3x3, 1x1 then two 3x3, pool then 1x1."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.first = _conv(64, 64, 1, bias)
        self.second = nn.ModuleList([_conv(64, 48, 1, bias), _conv(48, 64, 3, bias)])
        self.third = nn.ModuleList(
            [_conv(64, 64, 1, bias), _conv(64, 96, 3, bias), _conv(96, 96, 3, bias)]
        )
        self.pooled = _conv(64, 32, 1, bias)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.first(x).relu()]
        for branch in (self.second, self.third):
            y = x
            for layer in branch:
                y = layer(y).relu()
            parts.append(y)
        y = nn.functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        parts.append(self.pooled(y).relu())
        return torch.cat(parts, 1)


class Chain(nn.Module):
    """Three linear layers without a function between them."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(256, 256, bias) for _ in range(3)))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Sum(nn.Module):
    """a(x) + b(x) for two linear layers."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(256, 256, bias), nn.Linear(256, 256, bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) + self.b(x)


class RepVgg(nn.Module):
    """A 3x3 and a 1x1 convolution of one image, added."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.wide, self.narrow = _conv(64, 64, 3, bias), _conv(64, 64, 1, bias)

    def forward(self, x: Tensor) -> Tensor:
        return (self.wide(x) + self.narrow(x)).relu()


class NasNet(nn.Module):
    """Two pairs of convolutions of one image, added."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.one = nn.ModuleList([_conv(32, 32, 1, bias), _conv(32, 32, 3, bias)])
        self.other = nn.ModuleList([_conv(32, 32, 1, bias), _conv(32, 32, 3, bias)])

    def forward(self, x: Tensor) -> Tensor:
        return self.one[1](self.one[0](x).relu()) + self.other[1](self.other[0](x).relu())


class Attention(nn.Module):
    """Queries, keys and values of one input in four heads."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(256, 256, bias) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        batch, words, width = x.shape
        q, k, v = (
            layer(x).reshape(batch, words, 4, width // 4).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        weights = torch.softmax(q @ k.transpose(2, 3) / 8, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, words, width))


class Fused(nn.Module):
    """Queries, keys and values of one input by one layer, taken apart, without heads."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.all, self.out = nn.Linear(256, 768, bias), nn.Linear(256, 256, bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.all(x).split(256, -1)
        return self.out(torch.softmax(q @ k.transpose(1, 2) / 16, -1) @ v)


class Grouped(nn.Module):
    """A convolution in groups between two 1x1 ones, as in ResNeXt, and a sum."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [_conv(64, 32, 1, bias), _conv(32, 32, 3, bias, groups=8), _conv(32, 64, 1, bias)]
        )

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for layer in self.layers[:2]:
            y = layer(y).relu()
        return (self.layers[2](y) + x).relu()


class Padded(nn.Module):
    """A 1x1 and a 3x3 convolution of one image, both used on their own."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.narrow, self.wide = _conv(64, 16, 1, bias), _conv(64, 64, 3, bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.narrow(x).relu(), self.wide(x).relu()


class Gated(nn.Module):
    """A gated feed-forward layer: sigmoid(a(x)) * b(x)."""

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(256, 256, bias), nn.Linear(256, 256, bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.a(x)) * self.b(x)


MODULES: dict[str, tuple[Callable[[bool], nn.Module], tuple[int, ...]]] = {
    "fire": (Fire, (1, 64, 28, 28)),
    "inception": (Inception, (1, 64, 28, 28)),
    "chain": (Chain, (64, 256)),
    "sum": (Sum, (64, 256)),
    "repvgg": (RepVgg, (1, 64, 28, 28)),
    "nasnet": (NasNet, (1, 32, 28, 28)),
    "attention": (Attention, (2, 32, 256)),
    "fused": (Fused, (2, 32, 256)),
    "grouped": (Grouped, (1, 64, 28, 28)),
    "padded": (Padded, (1, 64, 28, 28)),
    "gated": (Gated, (64, 256)),
}
"""Name: a function of whether there are biases, and the shape of the input."""


def with_batch_norm(module: nn.Module) -> nn.Module:
    """Put a normalisation by known statistics after every convolution of a module."""
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Conv2d):
            norm = nn.BatchNorm2d(child.out_channels)
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2.0)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias)
            module.add_module(name, nn.Sequential(child, norm))
        else:
            with_batch_norm(child)
    return module
