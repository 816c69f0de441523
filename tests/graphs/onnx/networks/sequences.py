"""Parts of networks that go through sequences: attention, embeddings, states in time."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


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
            half, other = x.chunk(2, -1)
            return x * at.cos() + torch.cat([-other, half], -1) * at.sin()

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
