"""Models as PyTorch's tracing exports them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F


def prepared(model: nn.Module, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Return a model for inference whose statistics are not what they begin with."""
    torch.manual_seed(0)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias)
    return model.to(dtype).eval()


def export(model: nn.Module, example, path: Path, opset: int, **options) -> Path:
    """Export a model by tracing."""
    attention = F.scaled_dot_product_attention

    def plain(*arguments, is_causal=False, **others):
        # Tracing makes a tensor of the flag, which the function itself refuses.
        *arguments, last = arguments if len(arguments) == 6 else (*arguments, is_causal)
        return attention(*arguments, is_causal=bool(last), **others)

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(F, "scaled_dot_product_attention", plain)
        torch.onnx.export(model, (example,), path, dynamo=False, opset_version=opset, **options)
    return path
