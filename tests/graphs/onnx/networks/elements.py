"""Elementwise functions and movements in networks."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Functions(nn.Module):
    """Many functions of single elements."""

    def forward(self, x):
        tensor = F.softplus(x) + F.selu(x) + F.celu(x, 0.7) + F.mish(x) + F.leaky_relu(x, 0.2)
        two = F.hardtanh(x) + x.clamp(min=0) + x.clamp(max=0.5) + x**3 + (x.abs() + 0.1) ** 1.7
        three = torch.rsqrt(x.abs() + 1) + F.logsigmoid(x) + x.norm(dim=1, keepdim=True)
        return tensor + two + three + x.amin(0) + torch.erf(x) + F.elu(x) + F.softsign(x)


class Choices(nn.Module):
    """Comparisons, choices, reversed and mirrored places."""

    def forward(self, x):
        tensor = torch.where((x > 0.5) | (x <= -0.5), x, torch.zeros_like(x))
        two = F.hardswish(x) * (x != 0).float() + F.threshold(x, 0.0, 0.0)
        three = F.pad(x.flip(-1), (2, 1), mode="reflect")[:, :, 1:-2] + x.tril(-1)
        return tensor + two + three, F.pad(x, (1, 0, 1, 1), mode="replicate")


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
