"""An encoder with biases, as BERT has it, written anew."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        batch, words, width = x.shape
        q, k, v = (
            layer(x).reshape(batch, words, self.heads, width // self.heads).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        shares = torch.softmax(q @ k.transpose(2, 3) / (width // self.heads) ** 0.5, -1)
        mixed = (shares @ v).transpose(1, 2).reshape(batch, words, width)
        x = self.first(x + self.out(mixed))
        return self.second(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Encoder(nn.Module):
    """Embeddings of words and places, layers, and a pooled first word."""

    def __init__(self, layers: int, width: int, vocabulary: int = 1000, words: int = 128) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(1, words, width))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(_Layer(width, max(width // 64, 1)) for _ in range(layers))
        self.pooled = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.norm(self.words(tokens) + self.places)
        for layer in self.layers:
            x = layer(x)
        return x, torch.tanh(self.pooled(x[:, 0]))
