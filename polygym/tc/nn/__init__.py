"""Modules of ``torch.nn`` that compute with the library's comprehensions.

Each is a subclass of PyTorch's of the same name, with the same arguments, parameters and state. The
results are the same but for rounding; under autocast they stay float32. An option that its
comprehension does not have is refused::

    >>> import torch
    >>> from polygym.tc import nn
    >>> layer = nn.Linear(3, 2)
    >>> layer.load_state_dict(torch.nn.Linear(3, 2).state_dict())
    <All keys matched successfully>
    >>> layer(torch.ones(4, 3)).shape
    torch.Size([4, 2])

Tensors are float32 or float64. ``operators`` defines the comprehensions; the modules are in
``layers``, ``convolutions``, ``normalizations``, ``pooling``, ``recurrent``, ``attention`` and
``losses``.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.tc.nn.attention import MultiheadAttention
    from polygym.tc.nn.convolutions import Conv1d, Conv2d, ConvTranspose2d
    from polygym.tc.nn.layers import GELU, Embedding, Linear, LogSoftmax, ReLU, Softmax
    from polygym.tc.nn.losses import CrossEntropyLoss
    from polygym.tc.nn.normalizations import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm
    from polygym.tc.nn.pooling import AvgPool2d, MaxPool2d, UpsamplingBilinear2d
    from polygym.tc.nn.recurrent import GRUCell, LSTMCell
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "GELU",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "ConvTranspose2d",
    "CrossEntropyLoss",
    "Embedding",
    "GRUCell",
    "GroupNorm",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "LogSoftmax",
    "MaxPool2d",
    "MultiheadAttention",
    "ReLU",
    "Softmax",
    "UpsamplingBilinear2d",
]
