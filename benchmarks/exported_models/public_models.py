"""Public definitions of eighteen networks, with random weights and one example input each.

torchvision and transformers define fourteen of them; the language models, as PyTorch's example of
them has it, and the U-Net, with half of the channels of the paper, are written here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn

PROMPT = 128
"""Tokens of a sentence, and of what a cache holds after one more."""


@dataclass(frozen=True, slots=True)
class Example:
    """A module, and what it is called with."""

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]


def _torchvision() -> Any:
    """Return torchvision's models; its compiled operators, which they do not need, may be missing.

    Its packages are built for CUDA. Beside a PyTorch without it, the import fails at the first of
    those operators.
    """
    library: Any = torch.library
    register = library.register_fake

    def register_known(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("torchvision::"):
            return lambda function: function
        return register(name, *arguments, **options)

    try:
        import torchvision.models as models
    except RuntimeError:
        library.register_fake = register_known
        try:
            import torchvision.models as models
        finally:
            library.register_fake = register
    return models


def _transformers() -> Any:
    """Return transformers, which imports torchvision where it is installed."""
    _torchvision()
    import transformers

    return transformers


def _image(name: str, size: int = 224, **options: Any) -> Callable[[], Example]:
    def make() -> Example:
        module = getattr(_torchvision(), name)(weights=None, **options)
        return Example(module, (torch.randn(1, 3, size, size),))

    return make


def _tokens(count: int, words: int) -> torch.Tensor:
    return torch.randint(0, words, (1, count))


def _bert() -> Example:
    library = _transformers()
    config = library.BertConfig()
    inputs = _tokens(PROMPT, config.vocab_size), torch.ones(1, PROMPT, dtype=torch.int64)
    return Example(
        _Results(library.BertModel(config), "last_hidden_state", "pooler_output"), inputs
    )


def _distilbert() -> Example:
    library = _transformers()
    config = library.DistilBertConfig()
    inputs = _tokens(PROMPT, config.vocab_size), torch.ones(1, PROMPT, dtype=torch.int64)
    return Example(_Results(library.DistilBertModel(config), "last_hidden_state"), inputs)


class _Results(nn.Module):
    """A model of transformers that returns tensors instead of an object."""

    def __init__(self, model: nn.Module, *names: str) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = self.model(tokens, attention_mask=mask)
        return tuple(getattr(result, name) for name in self.names)


class _Gpt2(nn.Module):
    """GPT-2 with its cache as tensors: keys and values of every layer come in and go out."""

    def __init__(self) -> None:
        super().__init__()
        library = _transformers()
        self.model = library.GPT2LMHeadModel(library.GPT2Config())

    def forward(self, tokens: torch.Tensor, *cache: torch.Tensor) -> tuple[torch.Tensor, ...]:
        past = _transformers().DynamicCache()
        for layer in range(len(cache) // 2):
            past.update(cache[2 * layer], cache[2 * layer + 1], layer)
        result = self.model(tokens, past_key_values=past, use_cache=True)
        layers = result.past_key_values.layers
        return result.logits, *(part for layer in layers for part in (layer.keys, layer.values))


def _gpt2_prefill() -> Example:
    module = _Gpt2()
    return Example(module, (_tokens(PROMPT, module.model.config.vocab_size),))


def _gpt2_token() -> Example:
    module = _Gpt2()
    config = module.model.config
    shape = (1, config.n_head, PROMPT - 1, config.n_embd // config.n_head)
    cache = tuple(torch.randn(shape) for _ in range(2 * config.n_layer))
    return Example(module, (_tokens(1, config.vocab_size), *cache))


class _LanguageModel(nn.Module):
    """Words to vectors, two recurrent layers, and a score for every next word."""

    def __init__(self, recurrent: type[nn.RNNBase], words: int = 33278, width: int = 200) -> None:
        super().__init__()
        self.encoder = nn.Embedding(words, width)
        self.recurrent = recurrent(width, width, 2)
        self.decoder = nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor, *state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = state if len(state) > 1 else state[0]
        output, after = self.recurrent(self.encoder(tokens), before)
        scores = torch.log_softmax(self.decoder(output), dim=-1)
        return scores, *(after if isinstance(after, tuple) else (after,))


def _language_model(recurrent: type[nn.RNNBase], states: int) -> Callable[[], Example]:
    def make() -> Example:
        state = tuple(torch.zeros(2, 1, 200) for _ in range(states))
        return Example(_LanguageModel(recurrent), (torch.randint(0, 33278, (35, 1)), *state))

    return make


class _UNet(nn.Module):
    """Four times smaller, four times larger, each with the image of its size before."""

    def __init__(self, width: int = 32, classes: int = 2) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        self.first = _two_convolutions(3, width)
        self.down = nn.ModuleList(
            _two_convolutions(before, after) for before, after in pairwise(widths)
        )
        back = widths[::-1]
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(before, after, 2, stride=2) for before, after in pairwise(back)
        )
        self.join = nn.ModuleList(
            _two_convolutions(before, after) for before, after in pairwise(back)
        )
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        images = [self.first(image)]
        for down in self.down:
            images.append(down(torch.max_pool2d(images[-1], 2)))
        result = images.pop()
        for up, join in zip(self.up, self.join, strict=True):
            result = join(torch.cat([images.pop(), up(result)], dim=1))
        return self.last(result)


def _two_convolutions(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
        nn.Conv2d(after, after, 3, padding=1, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


def _unet() -> Example:
    return Example(_UNet(), (torch.randn(1, 3, 256, 256),))


_DEFINITIONS: dict[str, Callable[[], Example]] = {
    "resnet18": _image("resnet18"),
    "resnet50": _image("resnet50"),
    "mobilenet-v2": _image("mobilenet_v2"),
    "mobilenet-v3-small": _image("mobilenet_v3_small"),
    "efficientnet-b0": _image("efficientnet_b0"),
    "squeezenet-1.1": _image("squeezenet1_1"),
    "inception-v3": _image("inception_v3", 299, init_weights=False),
    "densenet121": _image("densenet121"),
    "regnet-y-400mf": _image("regnet_y_400mf"),
    "convnext-tiny": _image("convnext_tiny"),
    "vit-b-16": _image("vit_b_16"),
    "bert-base": _bert,
    "distilbert": _distilbert,
    "gpt2-prefill": _gpt2_prefill,
    "gpt2-token": _gpt2_token,
    "lstm": _language_model(nn.LSTM, 2),
    "gru": _language_model(nn.GRU, 1),
    "unet": _unet,
}

NAMES = tuple(_DEFINITIONS)


def example(name: str) -> Example:
    """Return a model with weights that depend on its name alone, ready for inference."""
    torch.manual_seed(NAMES.index(name))
    result = _DEFINITIONS[name]()
    with torch.no_grad():
        for parameter in result.module.parameters():
            _randomize_constant(parameter)
        for part in result.module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
    result.module.eval()
    return result


def _randomize_constant(parameter: torch.Tensor) -> None:
    """Give weights that begin as all 0 or all 1 other values, as training does.

    Exporters leave out biases of 0, and layers that are scaled by 1e-6 would hide a wrong result.
    """
    if parameter.numel() > 1 and parameter.min() == parameter.max():
        if parameter.flatten()[0] == 0:
            parameter.normal_(0, 0.1)
        else:
            parameter.uniform_(0.5, 1.5)
