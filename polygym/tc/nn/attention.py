"""Attention of several heads by ``tc:multi_head_attention``."""

from typing import Any

import torch
from torch import Tensor

from polygym.errors import InputError
from polygym.tc.nn.layers import projected
from polygym.tc.nn.operators import call, grouped, refuse_options


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask as numbers that are added: minus infinity where a truth value hides."""
    if mask.dtype is not torch.bool:
        return mask.to(like.dtype)
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill(mask, float("-inf"))


class MultiheadAttention(torch.nn.MultiheadAttention):
    """PyTorch's ``MultiheadAttention``. Queries that see no key get weights of 0."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Refuse dropout, and keys beside those that are given."""
        super().__init__(*arguments, **options)
        refuse_options(
            self,
            dropout=(self.dropout, 0.0),
            add_bias_kv=(self.bias_k is not None, False),
            add_zero_attn=(self.add_zero_attn, False),
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the results and, if they are needed, the weights.

        ``is_causal`` is a hint as in PyTorch: ``attn_mask`` says what is hidden.
        """
        is_batched = query.ndim == 3
        inputs = [tensor if is_batched else tensor.unsqueeze(0) for tensor in (query, key, value)]
        if is_batched and not self.batch_first:
            inputs = [tensor.transpose(0, 1) for tensor in inputs]
        if is_causal and attn_mask is None:
            raise InputError("MultiheadAttention: is_causal: expected attn_mask beside it")
        mask = self._mask(inputs[0], inputs[1], attn_mask, key_padding_mask)
        heads = [
            grouped(projected(tensor, *projection), 2, self.num_heads)
            for tensor, projection in zip(inputs, self._projections(), strict=True)
        ]
        mixed, weights = call("multi_head_attention", query, *heads, mask)
        result = projected(mixed.flatten(2), self.out_proj.weight, self.out_proj.bias)
        if is_batched and not self.batch_first:
            result = result.transpose(0, 1)
        weights = weights.mean(1) if average_attn_weights else weights
        if not is_batched:
            result, weights = result.squeeze(0), weights.squeeze(0)
        return result, weights if need_weights else None

    def _projections(self) -> list[tuple[Tensor, Tensor | None]]:
        """Return the weights and biases of queries, keys and values."""
        if self._qkv_same_embed_dim:
            matrices = list(self.in_proj_weight.chunk(3))
        else:
            matrices = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        biases = [None] * 3 if self.in_proj_bias is None else list(self.in_proj_bias.chunk(3))
        return list(zip(matrices, biases, strict=True))

    def _mask(
        self, query: Tensor, key: Tensor, attn_mask: Tensor | None, padding: Tensor | None
    ) -> Tensor:
        """Return what is added to the scores of each batch."""
        batch, queries, keys = query.shape[0], query.shape[1], key.shape[1]
        mask = query.new_zeros(batch, queries, keys)
        if attn_mask is not None:
            if attn_mask.ndim != 2:
                raise InputError(
                    "MultiheadAttention: attn_mask: expected one mask for all heads, of "
                    f"{queries} x {keys}, found {list(attn_mask.shape)}"
                )
            mask = mask + _added(attn_mask, query)
        if padding is not None:
            mask = mask + _added(padding, query).reshape(batch, 1, keys)
        return mask
