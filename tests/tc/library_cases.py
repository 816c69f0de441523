"""Operators of the library beside PyTorch's: arguments, and what PyTorch computes with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAMES = (
    *("relu", "linear", "gelu", "gelu_tanh"),
    *("attention", "attention_masked", "attention_causal", "multi_head_attention"),
    *("log_softmax", "standardize", "batch_norm", "batch_norm_inference"),
    *("cross_entropy", "lstm_cell", "gru_cell", "embedding"),
    *("conv2d_general", "conv2d_transposed", "max_pool2d", "average_pool2d"),
    *("resize_bilinear", "resize_bilinear_aligned"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A call of an operator; ``shapes`` are those of its tensors of random numbers.

    They follow the other arguments, ``first``, and come before those of ``last``.
    """

    name: str
    reference: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    first: tuple[Any, ...] = ()
    last: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """The name, and what distinguishes the cases of one."""
        return "-".join([self.name, *map(str, self.first), str(self.shapes[0])]).replace(" ", "")

    def tensors(self, torch: Any, seed: int = 0) -> list[Any]:
        """Return random numbers of these shapes."""
        generator = torch.Generator().manual_seed(seed)
        return [torch.randn(s, dtype=torch.double, generator=generator) for s in self.shapes]


def cases(torch: Any) -> list[Case]:
    """Return calls of each operator."""
    F = torch.nn.functional
    attended = F.scaled_dot_product_attention

    def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return attended(q, k, v, attn_mask=mask)

    def heads(q: Any, k: Any, v: Any, mask: Any) -> Any:
        q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask[:, None]).softmax(-1)
        return (weights @ v).transpose(1, 2).contiguous(), weights

    def batch_norm(eps: float, image: Any, gamma: Any, beta: Any) -> Any:
        result = F.batch_norm(image, None, None, gamma, beta, True, 0.1, eps)
        return result, image.mean((0, 2)), image.var((0, 2), correction=0)

    def normed(eps: float, image: Any, mean: Any, var: Any, gamma: Any, beta: Any) -> Any:
        scale = gamma / (var + eps).sqrt()
        return (image - mean[:, None]) * scale[:, None] + beta[:, None]

    def convolved(sh, sw, ph, pw, dh, dw, image, kernel):  # type: ignore[no-untyped-def]
        result = F.conv2d(
            image.flatten(1, 2), kernel.flatten(0, 1), None, (sh, sw), (ph, pw), (dh, dw),
            image.shape[1],
        )  # fmt: skip
        return result.unflatten(1, (image.shape[1], -1))

    def transposed(sh, sw, ph, pw, oh, ow, dh, dw, image, kernel):  # type: ignore[no-untyped-def]
        result = F.conv_transpose2d(
            image.flatten(1, 2), kernel.flatten(0, 1), None, (sh, sw), (ph, pw), (oh, ow),
            image.shape[1], (dh, dw),
        )  # fmt: skip
        return result.unflatten(1, (image.shape[1], -1))

    def largest(kh, kw, sh, sw, ph, pw, dh, dw, image):  # type: ignore[no-untyped-def]
        return F.max_pool2d(image, (kh, kw), (sh, sw), (ph, pw), (dh, dw))

    def mean(kh, kw, sh, sw, ph, pw, counted, image):  # type: ignore[no-untyped-def]
        return F.avg_pool2d(image, (kh, kw), (sh, sw), (ph, pw), False, bool(counted))

    def resized(rows: int, columns: int, image: Any) -> Any:
        return F.interpolate(image, (rows, columns), mode="bilinear")

    def aligned(rows: int, columns: int, image: Any) -> Any:
        return F.interpolate(image, (rows, columns), mode="bilinear", align_corners=True)

    def lstm(x, h, c, wx, wh, bx, bh):  # type: ignore[no-untyped-def]
        return torch.lstm_cell(x, (h, c), *(w.flatten(0, 1) for w in (wx, wh, bx, bh)))

    def gru(x, h, wx, wh, bx, bh):  # type: ignore[no-untyped-def]
        return torch.gru_cell(x, h, *(w.flatten(0, 1) for w in (wx, wh, bx, bh)))

    mask = torch.zeros(3, 5, dtype=torch.double)
    mask[1, 2], mask[2] = float("-inf"), float("-inf")
    image = (2, 2, 6, 7)
    return [
        Case("relu", torch.relu, ((7,),)),
        Case("linear", F.linear, ((2, 3), (4, 3), (4,))),
        Case("gelu", F.gelu, ((7,),)),
        Case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), ((7,),)),
        Case("attention", attended, ((2, 3, 4), (2, 5, 4), (2, 5, 6))),
        Case("attention_masked", masked, ((2, 3, 4), (2, 5, 4), (2, 5, 6)), last=(mask,)),
        Case(
            "attention_causal",
            lambda q, k, v: attended(q, k, v, is_causal=True),
            ((2, 5, 4), (2, 4, 4), (2, 4, 6)),
        ),
        Case("multi_head_attention", heads, ((2, 3, 2, 4), (2, 5, 2, 4), (2, 5, 2, 3), (2, 3, 5))),
        Case("log_softmax", lambda x: F.log_softmax(x, -1), ((3, 4),)),
        Case("standardize", lambda eps, x: F.layer_norm(x, (4,), eps=eps), ((3, 4),), (1e-3,)),
        Case("batch_norm", batch_norm, ((2, 3, 4), (3,), (3,)), (1e-3,)),
        Case("batch_norm_inference", normed, ((2, 3, 4), (3,), (3,), (3,), (3,)), (3.0,)),
        Case(
            "cross_entropy",
            lambda ignored, x, t: F.cross_entropy(x, t, ignore_index=ignored),
            ((3, 4),),
            (-100,),
            (torch.tensor([1, -100, 3]),),
        ),
        Case(
            "lstm_cell",
            lstm,
            ((4, 2), (4, 3), (4, 3), (4, 3, 2), (4, 3, 3), (4, 3), (4, 3)),
        ),
        Case("gru_cell", gru, ((4, 2), (4, 3), (3, 3, 2), (3, 3, 3), (3, 3), (3, 3))),
        Case(
            "embedding", lambda w, i: F.embedding(i, w), ((6, 2),), last=(torch.tensor([1, 5, 1]),)
        ),
        Case("conv2d_general", convolved, ((2, 2, 3, 6, 7), (2, 2, 3, 3, 2)), (2, 1, 1, 2, 1, 2)),
        Case("conv2d_general", convolved, ((1, 1, 2, 6, 8), (1, 2, 2, 2, 2)), (3, 2, 0, 0, 1, 1)),
        Case(
            "conv2d_transposed",
            transposed,
            ((2, 2, 3, 3, 4), (2, 3, 2, 3, 2)),
            (2, 1, 1, 2, 1, 0, 1, 2),
        ),
        Case(
            "conv2d_transposed",
            transposed,
            ((1, 1, 2, 3, 2), (1, 2, 1, 2, 2)),
            (1, 3, 0, 0, 0, 0, 1, 1),
        ),
        Case("max_pool2d", largest, (image,), (3, 2, 2, 1, 1, 1, 1, 2)),
        Case("average_pool2d", mean, (image,), (3, 2, 2, 1, 1, 1, 1)),
        Case("average_pool2d", mean, (image,), (3, 2, 2, 1, 1, 1, 0)),
        *(Case("resize_bilinear", resized, (image,), size) for size in ((3, 4), (9, 11), (1, 14))),
        *(
            Case("resize_bilinear_aligned", aligned, (image,), size)
            for size in ((3, 4), (9, 11), (1, 14))
        ),
    ]
