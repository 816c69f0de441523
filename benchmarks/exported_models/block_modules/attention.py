"""Attention and mixing of tokens."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.exported_models.block_modules.registry import block


class _Heads(nn.Module):
    """Projections to queries, keys and values of several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x):
        n, t, _ = x.shape
        return self.all(x).view(n, t, 3, self.heads, self.each).permute(2, 0, 3, 1, 4)

    def join(self, x):
        n, _, t, _ = x.shape
        return self.out(x.transpose(1, 2).reshape(n, t, self.heads * self.each))


@block((2, 20, 48))
class SelfAttention(_Heads):
    """Attention by PyTorch's function."""

    def __init__(self) -> None:
        super().__init__(48, 4)

    def forward(self, x):
        q, k, v = self.split(x)
        return self.join(F.scaled_dot_product_attention(q, k, v))


@block((1, 20, 48))
class CausalAttention(_Heads):
    """Attention that looks back only."""

    def __init__(self) -> None:
        super().__init__(48, 4)

    def forward(self, x):
        q, k, v = self.split(x)
        return self.join(F.scaled_dot_product_attention(q, k, v, is_causal=True))


@block((1, 16, 64))
class RotaryAttention(_Heads):
    """Queries and keys turned by angles that grow with their place (RoPE)."""

    def __init__(self) -> None:
        super().__init__(64, 4)
        rates = 10000 ** (-torch.arange(0, 16, 2) / 16)
        self.register_buffer("rates", rates)

    def turn(self, x):
        angles = torch.arange(x.shape[2], dtype=torch.float32)[:, None] * self.rates
        angles = torch.cat([angles, angles], -1)
        left, right = x.chunk(2, -1)
        return x * angles.cos() + torch.cat([-right, left], -1) * angles.sin()

    def forward(self, x):
        q, k, v = self.split(x)
        scores = self.turn(q) @ self.turn(k).transpose(-2, -1) / math.sqrt(self.each)
        return self.join(scores.softmax(-1) @ v)


@block((1, 16, 64))
class LinearBiasAttention(_Heads):
    """Scores fall with distance, at a rate of every head (ALiBi)."""

    def __init__(self) -> None:
        super().__init__(64, 8)

    def forward(self, x):
        q, k, v = self.split(x)
        place = torch.arange(x.shape[1])
        rates = 2.0 ** -torch.arange(1, 9, dtype=torch.float32)
        bias = -(place[:, None] - place).abs() * rates[:, None, None]
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.each) + bias
        scores = scores.masked_fill(place[None, :] > place[:, None], float("-inf"))
        return self.join(scores.softmax(-1) @ v)


@block((1, 16, 16, 32))
class WindowAttention(_Heads):
    """Attention in shifted windows with a bias for every offset (Swin)."""

    def __init__(self) -> None:
        super().__init__(32, 2)
        self.table = nn.Parameter(torch.randn(7 * 7, 2))
        place = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij"))
        flat = place.flatten(1)
        offsets = (flat[:, :, None] - flat[:, None, :]) + 3
        self.register_buffer("index", offsets[0] * 7 + offsets[1])

    def forward(self, x):
        n, h, w, c = x.shape
        x = torch.roll(x, (-2, -2), (1, 2))
        windows = x.view(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = self.split(windows)
        bias = self.table[self.index.view(-1)].view(16, 16, 2).permute(2, 0, 1)
        y = self.join((q @ k.transpose(-2, -1) / 4 + bias).softmax(-1) @ v)
        y = y.view(n, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
        return torch.roll(y, (2, 2), (1, 2))


@block((1, 16, 64))
class GroupedQueryAttention(nn.Module):
    """Eight heads of queries share two of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(64, 64), nn.Linear(64, 32), nn.Linear(64, 64)

    def forward(self, x):
        n, t, _ = x.shape
        q = self.q(x).view(n, t, 8, 8).transpose(1, 2)
        k, v = (y.view(n, t, 2, 8).transpose(1, 2) for y in self.kv(x).chunk(2, -1))
        k, v = (y.repeat_interleave(4, 1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(n, t, 64))


@block((1, 12, 32), (1, 20, 32))
class CrossAttention(nn.Module):
    """Attention of one sequence to another by PyTorch's module."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x, y):
        return self.attention(x, y, y, need_weights=False)[0]


@block((1, 20, 32))
class LinearAttention(_Heads):
    """Attention without a softmax: keys and values are summed up first."""

    def __init__(self) -> None:
        super().__init__(32, 4)

    def forward(self, x):
        q, k, v = self.split(x)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        total = torch.einsum("bhtd,bhte->bhde", k, v)
        norm = torch.einsum("bhtd,bhd->bht", q, k.sum(2))
        return self.join(torch.einsum("bhtd,bhde->bhte", q, total) / norm[..., None])


@block((1, 32, 10, 10))
class ChannelAttention(nn.Module):
    """Attention among channels with normalized rows (Restormer)."""

    def __init__(self) -> None:
        super().__init__()
        self.all, self.out = nn.Conv2d(32, 96, 1), nn.Conv2d(32, 32, 1)
        self.depthwise = nn.Conv2d(96, 96, 3, padding=1, groups=96)
        self.temperature = nn.Parameter(torch.rand(4, 1, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.depthwise(self.all(x)).view(n, 3, 4, 8, h * w).unbind(1)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        shares = (q @ k.transpose(-2, -1) * self.temperature).softmax(-1)
        return self.out((shares @ v).reshape(n, c, h, w))


@block((1, 16, 48))
class MlpMixer(nn.Module):
    """Products along tokens, then along channels."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(48) for _ in range(2))
        self.places = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.channels = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48))

    def forward(self, x):
        x = x + self.places(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norms[1](x))


@block((1, 16, 32))
class SpatialGating(nn.Module):
    """Half of the channels, mixed along tokens, gate the others (gMLP)."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 32)
        self.norm, self.mix = nn.LayerNorm(32), nn.Conv1d(16, 16, 1)

    def forward(self, x):
        left, right = F.gelu(self.up(x)).chunk(2, -1)
        return x + self.down(left * self.mix(self.norm(right)))


@block((1, 3, 32, 32))
class PatchTransformer(nn.Module):
    """Patches, a class token, places, one layer of PyTorch's encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, 8)
        self.first = nn.Parameter(torch.randn(1, 1, 32))
        self.places = nn.Parameter(torch.randn(1, 17, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.layer(x)[:, 0]


@block((2, 12, 32), lambda: torch.arange(12)[None] >= torch.tensor([[9], [12]]))
class PaddedEncoder(nn.Module):
    """An encoder that is told which tokens are none."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, x, mask):
        return self.layer(x, src_key_padding_mask=mask)


@block((1, 10, 32), (1, 14, 32))
class DecoderLayer(nn.Module):
    """One layer of PyTorch's decoder, causal."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(10))

    def forward(self, x, memory):
        return self.layer(x, memory, tgt_mask=self.mask)


@block((1, 16, 48))
class RmsGatedLinear(nn.Module):
    """Root mean squares, then a gate of two products (SwiGLU)."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(48))
        self.gate, self.up = nn.Linear(48, 96, bias=False), nn.Linear(48, 96, bias=False)
        self.down = nn.Linear(96, 48, bias=False)

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@block((8, 32))
class DenseExperts(nn.Module):
    """All experts compute; the two with the largest gates count (MoE)."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 4)
        self.up, self.down = (
            nn.Parameter(torch.randn(4, 32, 64)),
            nn.Parameter(torch.randn(4, 64, 32)),
        )

    def forward(self, x):
        scores = self.gate(x)
        least = scores.topk(2, -1).values[..., -1:]
        shares = scores.masked_fill(scores < least, float("-inf")).softmax(-1)
        y = torch.einsum("eth,ehd->etd", F.gelu(torch.einsum("td,edh->eth", x, self.up)), self.down)
        return torch.einsum("te,etd->td", shares, y)


@block((1, 16, 32), (1, 4, 24, 24))
class PerceiverRead(nn.Module):
    """A few learned queries read from an image."""

    def __init__(self) -> None:
        super().__init__()
        self.keys, self.values = nn.Linear(4, 32), nn.Linear(4, 32)

    def forward(self, queries, image):
        places = image.flatten(2).transpose(1, 2)
        scores = torch.baddbmm(
            torch.zeros(1, 1, 1), queries, self.keys(places).transpose(1, 2), beta=0, alpha=0.2
        )
        return torch.bmm(scores.softmax(-1), self.values(places))
