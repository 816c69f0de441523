"""The networks by name: a graph, or a model whose weights come from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from polygym.errors import InputError
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.model import Model
from polygym.graphs.library import bert, inception, nasnet, nasrnn, resnext, squeezenet, vgg
from polygym.graphs.library.weights import balanced_weights

__all__ = ["NAMES", "SIZES", "describe", "graph", "model"]


@dataclass(frozen=True, slots=True)
class _CatalogEntry:
    """What builds a network, what it takes, and a sentence."""

    build: Callable[[Any], Graph]
    sizes: Mapping[str, Any]
    sentence: str


_CATALOG = {
    "bert": _CatalogEntry(
        bert.graph, bert.SIZES, "a text model: layers of attention, four products of one input each"
    ),
    "resnext50": _CatalogEntry(
        resnext.graph, resnext.SIZES, "an image model: residual blocks, convolutions in 32 groups"
    ),
    "nasnet-a": _CatalogEntry(
        nasnet.graph,
        nasnet.SIZES,
        "an image model found by search: cells of separable convolutions",
    ),
    "nasrnn": _CatalogEntry(
        nasrnn.graph, nasrnn.SIZES, "a recurrent cell found by search, unrolled: products and sums"
    ),
    "inception-v3": _CatalogEntry(
        inception.graph, inception.SIZES, "an image model: towers of convolutions over one image"
    ),
    "vgg19": _CatalogEntry(
        vgg.graph, vgg.SIZES, "an image model: a chain of 3x3 convolutions and three products"
    ),
    "squeezenet": _CatalogEntry(
        squeezenet.graph, squeezenet.SIZES, "a small image model: pairs of 1x1 and 3x3 convolutions"
    ),
}

NAMES = tuple(_CATALOG)
"""The networks, in the order of the paper's tables."""

SIZES = ("small", "paper")
"""As small as a test wants it, with all kinds of operators; and as the paper has it."""


def describe(name: str) -> str:
    """Return a sentence about a network.

    >>> describe("squeezenet")
    'a small image model: pairs of 1x1 and 3x3 convolutions'
    """
    return _catalog_entry(name).sentence


@cache
def graph(name: str, size: str = "small") -> Graph:
    """Return the graph of a network.

    Raises:
        InputError: there is no such network, or no such size.
    """
    entry = _catalog_entry(name)
    if size not in entry.sizes:
        raise InputError(f"expected one of {', '.join(SIZES)} for the size, found {size}")
    return entry.build(entry.sizes[size])


def model(name: str, size: str = "small", seed: int = 0) -> Model:
    """Return a network with weights from a seed.

    Raises:
        InputError: there is no such network, or no such size.
    """
    result = graph(name, size)
    return Model(result, balanced_weights(result, seed))


def _catalog_entry(name: str) -> _CatalogEntry:
    if name not in _CATALOG:
        raise InputError(f"expected one of {', '.join(NAMES)}, found {name}")
    return _CATALOG[name]
