"""Heads of detectors, sequences, recurrences, and arithmetic that networks are made with."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.exported_models.block_modules.registry import block, tokens


@block((1, 16, 24, 24), (1, 32, 12, 12), (1, 64, 6, 6))
class FeaturePyramid(nn.Module):
    """Coarse images are enlarged and added to finer ones."""

    def __init__(self) -> None:
        super().__init__()
        self.side = nn.ModuleList(nn.Conv2d(width, 24, 1) for width in (16, 32, 64))
        self.out = nn.ModuleList(nn.Conv2d(24, 24, 3, padding=1) for _ in range(3))

    def forward(self, fine, middle, coarse):
        images = [side(x) for side, x in zip(self.side, (fine, middle, coarse), strict=True)]
        for level in (1, 0):
            larger = F.interpolate(images[level + 1], scale_factor=2, mode="nearest")
            images[level] = images[level] + larger
        return tuple(out(x) for out, x in zip(self.out, images, strict=True))


@block((1, 32, 8, 8))
class DepthToSpaceHead(nn.Module):
    """Channels become finer places (super-resolution)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(32, 3 * 16, 3, padding=1)

    def forward(self, x):
        return torch.clamp(F.pixel_shuffle(self.conv(x), 4), 0, 1)


@block((1, 3, 32, 32))
class SpaceToDepthStem(nn.Module):
    """Places become channels, then a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(48, 24, 3, padding=1)

    def forward(self, x):
        return F.leaky_relu(self.conv(F.pixel_unshuffle(x, 4)), 0.1)


@block((1, 24, 10, 10))
class DetectionHead(nn.Module):
    """Boxes and scores of every place, with the grid added (one stage, without deformations)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(24, 3 * 9, 1)
        self.register_buffer("anchors", torch.tensor([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]))

    def forward(self, x):
        n, _, h, w = x.shape
        y = self.conv(x).view(n, 3, 9, h, w).permute(0, 1, 3, 4, 2)
        row, column = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([column, row], -1).float()
        centre = (torch.sigmoid(y[..., :2]) + grid) * 8
        size = torch.exp(y[..., 2:4]) * self.anchors[:, None, None]
        scores = torch.sigmoid(y[..., 4:5]) * y[..., 5:].softmax(-1)
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1)
        return boxes.reshape(n, -1, 4), scores.reshape(n, -1, 4).amax(-1)


@block((1, 32, 10, 10))
class IntegralHead(nn.Module):
    """Distances as means of a distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(32, 4 * 16, 3, padding=1)

    def forward(self, x):
        n, _, h, w = x.shape
        shares = self.conv(x).view(n, 4, 16, h * w).softmax(2)
        return (shares * torch.arange(16.0)[:, None]).sum(2)


@block((1, 32, 12, 12))
class PyramidPooling(nn.Module):
    """Means of larger and larger parts, enlarged again."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes = (1, 2, 3, 6)
        self.convs = nn.ModuleList(nn.Conv2d(32, 8, 1) for _ in self.sizes)

    def forward(self, x):
        parts = [
            F.interpolate(
                F.relu(conv(F.adaptive_avg_pool2d(x, size))), (12, 12), mode="bilinear",
                align_corners=False,
            )
            for conv, size in zip(self.convs, self.sizes, strict=True)
        ]  # fmt: skip
        return torch.cat([x, *parts], 1)


@block((1, 32, 14, 14))
class AtrousPyramid(nn.Module):
    """Convolutions with wider and wider gaps, beside each other."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv2d(32, 16, 3, padding=rate, dilation=rate) for rate in (1, 2, 4)
        )
        self.mean, self.out = nn.Conv2d(32, 16, 1), nn.Conv2d(64, 32, 1)

    def forward(self, x):
        mean = self.mean(x.mean((2, 3), keepdim=True)).expand(-1, -1, 14, 14)
        return self.out(torch.cat([*(F.relu(conv(x)) for conv in self.convs), mean], 1))


@block((1, 16, 9, 9))
class Decoder(nn.Module):
    """Transposed convolutions, with a skip that is cropped."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(16, 12, 3, stride=2, padding=1, output_padding=1)
        self.norm, self.out = nn.InstanceNorm2d(12, affine=True), nn.Conv2d(12, 2, 1)

    def forward(self, x):
        y = F.pad(F.relu(self.norm(self.up(x))), (1, 1, 1, 1), mode="reflect")
        return self.out(y[:, :, 1:-1, 1:-1]).softmax(1)


@block((1, 16, 64))
class WaveNet(nn.Module):
    """Causal convolutions of one dimension with growing gaps and two gates."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2**level) for level in range(4))
        self.outs = nn.ModuleList(nn.Conv1d(16, 32, 1) for _ in range(4))

    def forward(self, x):
        total = 0.0
        for level, (gates, outs) in enumerate(zip(self.gates, self.outs, strict=True)):
            left, right = gates(F.pad(x, (2**level, 0))).chunk(2, 1)
            more, skip = outs(torch.tanh(left) * torch.sigmoid(right)).chunk(2, 1)
            x, total = x + more, total + skip
        return F.relu(total)


@block((1, 12, 50))
class SeparableSpeech(nn.Module):
    """Depthwise convolutions of one dimension, with a residual (speech recognition)."""

    def __init__(self) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(12, 12, 11, padding=5, groups=12, bias=False)
        self.point, self.norm = nn.Conv1d(12, 12, 1), nn.BatchNorm1d(12)

    def forward(self, x):
        return F.relu(x + self.norm(self.point(self.depthwise(x))))


@block((1, 20, 32))
class Conformer(nn.Module):
    """The module of a conformer that convolves: a gate, a depthwise convolution, a swish."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.first = nn.LayerNorm(32), nn.Conv1d(32, 64, 1)
        self.depthwise = nn.Conv1d(32, 32, 7, padding=3, groups=32)
        self.batch, self.last = nn.BatchNorm1d(32), nn.Conv1d(32, 32, 1)

    def forward(self, x):
        y = F.glu(self.first(self.norm(x).transpose(1, 2)), 1)
        return x + self.last(F.silu(self.batch(self.depthwise(y)))).transpose(1, 2)


@block(tokens(1, 14))
class RecurrentAttention(nn.Module):
    """A recurrent layer of both directions, whose states are weighed by attention."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 16)
        self.recurrent = nn.LSTM(16, 12, bidirectional=True, batch_first=True)
        self.score, self.out = nn.Linear(24, 1), nn.Linear(24, 5)

    def forward(self, x):
        states, _ = self.recurrent(self.words(x))
        return self.out((self.score(torch.tanh(states)).softmax(1) * states).sum(1))


@block((1, 4, 24), (1, 24))
class GruCells(nn.Module):
    """Steps of a cell, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(24, 24)

    def forward(self, x, state):
        for step in range(4):
            state = self.cell(x[:, step], state)
        return state


@block((1, 1, 16, 32))
class ConvolutionThenRecurrent(nn.Module):
    """Columns of an image as steps of a recurrent layer (reading text)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.recurrent, self.out = nn.GRU(64, 16, batch_first=True), nn.Linear(16, 11)

    def forward(self, x):
        y = F.max_pool2d(F.relu(self.conv(x)), 2)
        y = y.permute(0, 3, 1, 2).flatten(2)
        return F.log_softmax(self.out(self.recurrent(y)[0]), -1)


@block((1, 20, 16))
class StateSpace(nn.Module):
    """A linear recurrence as a sum of powers, by a cumulative sum."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.rate = nn.Linear(16, 32), nn.Parameter(torch.rand(16))

    def forward(self, x):
        value, gate = self.project(x).chunk(2, -1)
        time = torch.arange(x.shape[1], dtype=torch.float32)[:, None]
        growth = torch.exp(F.softplus(self.rate) * 0.1 * time)
        return torch.cumsum(value * growth, 1) / growth * F.silu(gate)


@block((1, 8), (1, 4, 10, 10))
class HyperNetwork(nn.Module):
    """One network makes the kernel of another one's convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.make = nn.Linear(8, 6 * 4 * 9)

    def forward(self, code, image):
        return F.conv2d(image, self.make(code).view(6, 4, 3, 3), padding=1)


@block((4, 8), (4, 10))
class FactorizationMachine(nn.Module):
    """Products of all pairs of features, by squares of sums."""

    def __init__(self) -> None:
        super().__init__()
        self.factors, self.linear = nn.Parameter(torch.randn(18, 6)), nn.Linear(18, 1)

    def forward(self, x, y):
        both = torch.cat([x, y], 1)
        square = (both @ self.factors).pow(2) - both.pow(2) @ self.factors.pow(2)
        return torch.sigmoid(self.linear(both) + 0.5 * square.sum(1, keepdim=True))


@block(tokens(2, 5), (2, 13))
class RecommendationTower(nn.Module):
    """Rows of tables beside numbers, and the products of all pairs of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(100, 8) for _ in range(5))
        self.dense, self.top = nn.Linear(13, 8), nn.Linear(8 + 36, 1)

    def forward(self, places, numbers):
        first = F.relu(self.dense(numbers))
        rows = [table(places[:, column]) for column, table in enumerate(self.tables)]
        whole = torch.stack([first, *rows], 1)
        return torch.sigmoid(
            self.top(torch.cat([first, (whole @ whole.transpose(1, 2)).flatten(1)], 1))
        )


@block((1, 10, 6), lambda: (torch.rand(10, 10) > 0.6).float())
class GraphConvolution(nn.Module):
    """Means over neighbours, given as a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x, edges):
        whole = edges + torch.eye(10)
        share = whole / whole.sum(-1, keepdim=True)
        return share @ self.second(F.relu(share @ self.first(x)))


@block((1, 6, 24))
class FourierFeatures(nn.Module):
    """Sines and cosines of projections, then small layers (a field of a scene)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bands", torch.randn(24, 16))
        self.layers = nn.Sequential(nn.Linear(32, 32), nn.Mish(), nn.Linear(32, 4))

    def forward(self, x):
        y = 6.28 * x @ self.bands
        colour = self.layers(torch.cat([torch.sin(y), torch.cos(y)], -1))
        return torch.cat([torch.sigmoid(colour[..., :3]), F.softplus(colour[..., 3:])], -1)


@block((1, 8, 16), (1, 8))
class CouplingLayer(nn.Module):
    """A step of a flow: half is scaled and moved by functions of the other half and a time."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Linear(8, 8)
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 16))

    def forward(self, x, time):
        left, right = x.chunk(2, -1)
        scale, move = self.net(left + self.time(time)[:, None]).chunk(2, -1)
        scale = torch.tanh(scale)
        return torch.cat([left, right * torch.exp(scale) + move], -1), scale.sum((1, 2))


@block((2, 16), (2, 16))
class ContrastiveHead(nn.Module):
    """Rows of length 1, and all their products."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(16, 12), nn.Linear(16, 12)

    def forward(self, x, y):
        x, y = F.normalize(self.left(x), dim=-1), F.normalize(self.right(y), dim=-1)
        return F.log_softmax(x @ y.T * 14.3, -1)


@block((1, 3, 16, 16))
class SpatialTransformer(nn.Module):
    """A network moves an image: places are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.where = nn.Linear(3 * 16 * 16, 6)

    def forward(self, x):
        theta = self.where(x.flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.shape, align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


@block((1, 5, 20))
class TopFeatures(nn.Module):
    """The four largest of every row, and the places where they were."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(20, 20)

    def forward(self, x):
        values, places = torch.topk(self.score(x), 4, -1)
        return values.sum(-1), torch.gather(x, -1, places)
