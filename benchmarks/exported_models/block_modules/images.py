"""Blocks of image networks: bottlenecks, gates of channels and places, cheap convolutions."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.exported_models.block_modules.registry import block


def conv_norm(
    before: int, after: int, size: int = 3, stride: int = 1, groups: int = 1
) -> nn.Module:
    """Return a convolution and its normalization."""
    conv = nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(after))


@block((1, 32, 14, 14))
class SqueezeExcite(nn.Module):
    """A gate for every channel, computed from the means of all."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(32, 8, 1), nn.Conv2d(8, 32, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3), keepdim=True)))))


@block((2, 16, 12, 12))
class ConvolutionalAttention(nn.Module):
    """Gates for channels, then for places, from means and largest numbers (CBAM)."""

    def __init__(self) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16))
        self.place = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x):
        gate = self.mlp(x.mean((2, 3))) + self.mlp(x.amax((2, 3)))
        x = x * torch.sigmoid(gate)[:, :, None, None]
        both = torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1)
        return x * torch.sigmoid(self.place(both))


@block((1, 16, 14, 14))
class Ghost(nn.Module):
    """Half of the channels by a convolution, the others by a depthwise one of these."""

    def __init__(self) -> None:
        super().__init__()
        self.primary = nn.Sequential(conv_norm(16, 12, 1), nn.ReLU())
        self.cheap = nn.Sequential(conv_norm(12, 12, 3, groups=12), nn.ReLU())

    def forward(self, x):
        first = self.primary(x)
        return torch.cat([first, self.cheap(first)], 1)[:, :20]


@block((1, 24, 15, 15))
class InvertedResidual(nn.Module):
    """Wide inside, with a depthwise convolution and a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(24, 72, 1), nn.Hardswish(), conv_norm(72, 72, 5, groups=72), nn.Hardswish()
        )
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(72, 18, 1), nn.ReLU(), nn.Conv2d(18, 72, 1),
            nn.Hardsigmoid(),
        )  # fmt: skip
        self.out = conv_norm(72, 24, 1)

    def forward(self, x):
        inner = self.body(x)
        return x + self.out(inner * self.gate(inner))


@block((1, 64, 7, 7))
class ResNextBottleneck(nn.Module):
    """A bottleneck of eight groups."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(64, 32, 1), nn.ReLU(), conv_norm(32, 32, 3, groups=8), nn.ReLU(),
            conv_norm(32, 64, 1),
        )  # fmt: skip

    def forward(self, x):
        return F.relu(x + self.body(x))


@block((1, 32, 10, 10))
class GroupNormResidual(nn.Module):
    """A residual block before which groups of channels are normalized."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(8, 32) for _ in range(2))
        self.convs = nn.ModuleList(nn.Conv2d(32, 32, 3, padding=1) for _ in range(2))

    def forward(self, x):
        y = x
        for norm, conv in zip(self.norms, self.convs, strict=True):
            y = conv(F.silu(norm(y)))
        return x + y


@block((1, 32, 10, 10))
class StandardizedConvolution(nn.Module):
    """A kernel with mean 0 and variance 1 for every filter."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(32, 16, 3, padding=1)

    def forward(self, x):
        w = self.conv.weight
        mean = w.mean((1, 2, 3), keepdim=True)
        variance = w.var((1, 2, 3), keepdim=True, unbiased=False)
        return F.conv2d(x, (w - mean) / torch.sqrt(variance + 1e-5), self.conv.bias, padding=1)


@block((1, 48, 14, 14))
class ConvNextBlock(nn.Module):
    """Depthwise 7 x 7, then two products of places with the channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(48, 48, 7, padding=3, groups=48), nn.LayerNorm(48)
        self.up, self.down = nn.Linear(48, 192), nn.Linear(192, 48)
        self.scale = nn.Parameter(torch.rand(48))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


@block((1, 48, 14, 14))
class GlobalResponseNorm(nn.Module):
    """Channels scaled by their norm beside that of the others (ConvNeXt 2)."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(48)), nn.Parameter(torch.rand(48))

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        norm = torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True)
        share = norm / (norm.mean(-1, keepdim=True) + 1e-6)
        return (x + self.scale * x * share + self.shift).permute(0, 3, 1, 2)


@block((1, 32, 14, 14))
class PoolFormer(nn.Module):
    """Means of neighbours in the place of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.GroupNorm(1, 32), nn.GroupNorm(1, 32)
        self.up, self.down = nn.Conv2d(32, 64, 1), nn.Conv2d(64, 32, 1)
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)

    def forward(self, x):
        y = self.first(x)
        x = x + self.pool(y) - y
        return x + self.down(F.gelu(self.up(self.second(x))))


@block((1, 16, 16, 16))
class RepVgg(nn.Module):
    """Three branches: 3 x 3, 1 x 1, and the image itself normalized."""

    def __init__(self) -> None:
        super().__init__()
        self.wide, self.point = conv_norm(16, 16, 3), conv_norm(16, 16, 1)
        self.same = nn.BatchNorm2d(16)

    def forward(self, x):
        return F.relu(self.wide(x) + self.point(x) + self.same(x))


@block((1, 24, 12, 12))
class ShuffleUnit(nn.Module):
    """Half of the channels pass through, then channels of both halves alternate."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(12, 12, 1), nn.ReLU(), conv_norm(12, 12, 3, groups=12), conv_norm(12, 12, 1),
            nn.ReLU(),
        )  # fmt: skip

    def forward(self, x):
        left, right = x.chunk(2, 1)
        x = torch.cat([left, self.body(right)], 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


@block((1, 32, 12, 12))
class SelectiveKernel(nn.Module):
    """Two widths of windows, mixed by shares for every channel."""

    def __init__(self) -> None:
        super().__init__()
        self.near = conv_norm(32, 32, 3, groups=4)
        self.far = nn.Conv2d(32, 32, 3, padding=2, dilation=2, groups=4)
        self.choose = nn.Linear(32, 64)

    def forward(self, x):
        both = torch.stack([F.relu(self.near(x)), F.relu(self.far(x))], 1)
        shares = self.choose(both.sum(1).mean((2, 3))).view(-1, 2, 32).softmax(1)
        return (both * shares[..., None, None]).sum(1)


@block((1, 32, 12, 12))
class CoordinateAttention(nn.Module):
    """Gates from means along rows, and along columns."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Conv2d(32, 8, 1)
        self.rows, self.columns = nn.Conv2d(8, 32, 1), nn.Conv2d(8, 32, 1)

    def forward(self, x):
        h, w = x.shape[2:]
        both = torch.cat([x.mean(3, keepdim=True), x.mean(2, keepdim=True).transpose(2, 3)], 2)
        rows, columns = F.hardswish(self.shared(both)).split([h, w], 2)
        gate = torch.sigmoid(self.rows(rows)) * torch.sigmoid(self.columns(columns.transpose(2, 3)))
        return x * gate


@block((1, 32, 12, 12))
class EfficientChannelAttention(nn.Module):
    """A gate for every channel from its neighbours' means."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 1, 3, padding=1, bias=False)

    def forward(self, x):
        means = x.mean((2, 3)).unsqueeze(1)
        return x * torch.sigmoid(self.conv(means)).transpose(1, 2).unsqueeze(-1)


@block((1, 16, 16, 16))
class Involution(nn.Module):
    """Kernels that every place makes for itself, shared by the channels of a group."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Sequential(nn.Conv2d(16, 8, 1), nn.ReLU(), nn.Conv2d(8, 9 * 4, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        kernel = self.kernel(x).view(n, 4, 1, 9, h, w)
        windows = F.unfold(x, 3, padding=1).view(n, 4, c // 4, 9, h, w)
        return (kernel * windows).sum(3).view(n, c, h, w)


@block((1, 16, 12, 12))
class GatedConvolution(nn.Module):
    """One convolution decides how much of another one passes."""

    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Conv2d(16, 48, 3, padding=1)

    def forward(self, x):
        value, gate = self.both(x).chunk(2, 1)
        return F.elu(value) * torch.sigmoid(gate)


@block((1, 8, 4, 16, 16))
class VideoBlock(nn.Module):
    """A convolution of space, then of time."""

    def __init__(self) -> None:
        super().__init__()
        self.space = nn.Conv3d(8, 12, (1, 3, 3), padding=(0, 1, 1), bias=False)
        self.norm = nn.BatchNorm3d(12)
        self.time = nn.Conv3d(12, 16, (3, 1, 1), padding=(1, 0, 0))

    def forward(self, x):
        return F.relu(self.time(F.relu(self.norm(self.space(x)))))


@block((1, 4, 6, 12, 12))
class VideoPooling(nn.Module):
    """A full convolution of space and time, and the largest of windows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(4, 8, 3, padding=1)

    def forward(self, x):
        return F.max_pool3d(F.relu(self.conv(x)), (1, 2, 2)).mean((2, 3, 4))
