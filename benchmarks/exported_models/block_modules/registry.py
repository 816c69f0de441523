"""The modules by name: each with the shapes, or makers, of what it is called with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import nn

Input: TypeAlias = tuple[int, ...] | Callable[[], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Block:
    """A module's class, and its inputs: a shape stands for normally distributed numbers."""

    name: str
    make: Callable[[], nn.Module]
    inputs: tuple[Input, ...]

    def example(self) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        """Return the module with random weights, ready for inference, and arguments."""
        torch.manual_seed(sum(self.name.encode()))
        module = self.make()
        with torch.no_grad():
            for part in module.modules():
                if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d):
                    assert part.running_mean is not None
                    assert part.running_var is not None
                    part.running_mean.normal_(0, 0.1)
                    part.running_var.uniform_(0.5, 1.5)
        values = tuple(given() if callable(given) else torch.randn(given) for given in self.inputs)
        return module.eval(), values


BLOCKS: dict[str, Block] = {}


def block(*inputs: Input) -> Callable[[type[nn.Module]], type[nn.Module]]:
    """Register a class under its name in lower case, with dashes."""

    def register(kind: type[nn.Module]) -> type[nn.Module]:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__).lower()
        BLOCKS[name] = Block(name, kind, inputs)
        return kind

    return register


def tokens(*shape: int, words: int = 100) -> Callable[[], torch.Tensor]:
    """Return a maker of random integers below ``words``."""
    return lambda: torch.randint(0, words, shape)
