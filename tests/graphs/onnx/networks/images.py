"""Parts of networks that see images: convolutions, norms, channels in other orders."""

from __future__ import annotations

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


class Shuffle(nn.Module):
    """Channels in another order, and half of them moved."""

    def forward(self, x):
        count, channels, height, width = x.shape
        x = x.view(count, 2, channels // 2, height, width).transpose(1, 2)
        half, other = x.reshape(count, channels, height, width).split(channels // 2, 1)
        other = F.pad(other, (1, 1, 2, 0))[:, :, 2:, 1:-1]
        return torch.cat([half, other], 1)[:, :, ::2, 1:]


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


def depthwise(width: int, filters: int, stride: int, activation: type[nn.Module]) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(width, width, 3, stride, 1, groups=width, bias=False),
        nn.BatchNorm2d(width),
        activation(),
        nn.Conv2d(width, filters, 1, bias=False),
        nn.BatchNorm2d(filters),
        activation(),
    )
