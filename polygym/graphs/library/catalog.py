"""The networks by name: a graph, or a model whose weights come from a seed.

A *text* names a network with its options, in any order: ``bert`` (at the paper's size),
``bert:small``, ``bert:bias`` (with biases), ``bert:small:bias``, ``random:7``, ``random:7:bias``.

Weights from a seed under which no result of a deep network vanishes or explodes.

Independent weights of variance v make of n numbers whose squares are m in the mean a sum whose
square is n·v·m in the mean. So m is estimated from the inputs on, node by node, and every weight
that a product or a convolution takes gets the v for which the estimate after it is 1::

    v = 1 / (n·m)      or 2 / (n·m) where max(x, 0) then takes half of it away

Estimates need only be good enough not to add up: depth does not make them worse, since the next
weight divides by them.
"""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.graph import Graph, Model, random_weights, signature_of
from polygym.graphs.library.biases import with_biases
from polygym.graphs.library.image_networks import nasnet_a, resnext50, squeezenet, vgg19
from polygym.graphs.library.inception import inception_v3
from polygym.graphs.library.random_networks import random_network
from polygym.graphs.library.sequence_networks import bert, nasrnn
from polygym.rewrite.term import Term

_Entry: TypeAlias = tuple[Callable[..., Graph], str, dict[str, Any], dict[str, Any]]

_CATALOG: dict[str, _Entry] = {
    "bert": (
        bert,
        "a text model: layers of attention, four products of one input each",
        {"layers": 2, "heads": 4, "length": 8},
        {"layers": 8, "heads": 16, "length": 64},
    ),
    "resnext50": (
        resnext50,
        "an image model: residual blocks, convolutions in 32 groups",
        {"extent": 32, "channels": 8, "groups": 4, "stages": ((8, 2), (16, 2))},
        {
            "extent": 224,
            "channels": 64,
            "groups": 32,
            "stages": ((128, 3), (256, 4), (512, 6), (1024, 3)),
        },
    ),
    "nasnet-a": (
        nasnet_a,
        "an image model found by search: cells of separable convolutions",
        {"extent": 32, "channels": 4, "width": 4, "cells": 2, "stages": 2},
        {"extent": 224, "channels": 64, "width": 128, "cells": 5, "stages": 3},
    ),
    "nasrnn": (
        nasrnn,
        "a recurrent cell found by search, unrolled: products and sums",
        {"steps": 2, "width": 16},
        {"steps": 5, "width": 512},
    ),
    "inception-v3": (
        inception_v3,
        "an image model: towers of convolutions over one image",
        {"extent": 75, "divisor": 16, "pools": (32,), "middles": (128,), "last": 1},
        {
            "extent": 299,
            "divisor": 1,
            "pools": (32, 64, 64),
            "middles": (128, 160, 160, 192),
            "last": 2,
        },
    ),
    "vgg19": (
        vgg19,
        "an image model: a chain of 3x3 convolutions and three products",
        {"extent": 16, "stages": ((4, 1), (8, 1), (8, 2)), "widths": (32, 32, 10)},
        {
            "extent": 224,
            "stages": ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)),
            "widths": (4096, 4096, 1000),
        },
    ),
    "squeezenet": (
        squeezenet,
        "a small image model: pairs of 1x1 and 3x3 convolutions",
        {
            "extent": 48,
            "channels": 8,
            "stages": (((2, 8),), ((4, 16),), ((6, 24), (8, 32))),
            "classes": 10,
        },
        {
            "extent": 224,
            "channels": 64,
            "stages": (
                ((16, 64), (16, 64)),
                ((32, 128), (32, 128)),
                ((48, 192), (48, 192), (64, 256), (64, 256)),
            ),
            "classes": 1000,
        },
    ),
}
"""The functions that make graphs, a sentence about each, and the arguments of both sizes."""

NAMES = tuple(_CATALOG)
"""The networks, in the order of the paper's tables."""

SIZES = ("small", "paper")
"""As small as a test wants it, with all kinds of operators; and as the paper has it."""


BIAS, RANDOM = "bias", "random"
"""The option of texts for biases, and the name of random networks, whose option is a seed."""


def describe(name: str) -> str:
    """Return a sentence about a network.

    >>> describe("squeezenet")
    'a small image model: pairs of 1x1 and 3x3 convolutions'
    """
    return _catalog_entry(name)[1]


@cache
def graph(name: str, size: str = "small") -> Graph:
    """Return the graph of a network.

    Raises:
        InputError: there is no such network, or no such size.
    """
    network, _, *arguments = _catalog_entry(name)
    if size not in SIZES:
        raise InputError(f"expected one of {', '.join(SIZES)} for the size, found {size}")
    return network(**arguments[SIZES.index(size)])


def is_network_text(text: str) -> bool:
    """Return whether a text names a network, whatever its options are.

    >>> is_network_text("bert:bias"), is_network_text("bert.onnx")
    (True, False)
    """
    name, colon, _ = text.partition(":")
    return name in NAMES or (name == RANDOM and bool(colon))


@cache
def graph_of_text(text: str, size: str = "paper") -> Graph:
    """Return the graph of a text; ``size`` is that of a network whose text has none.

    >>> graph_of_text("vgg19:bias", "small").name
    'vgg19:bias'

    Raises:
        InputError: there is no such network, or no such option.
    """
    name, *options = text.split(":")
    has_biases = BIAS in options
    rest = [option for option in options if option != BIAS]
    is_random = name == RANDOM
    known = "a seed" if is_random else f"{', '.join(SIZES)}"
    is_fine = rest[0].isdecimal() if is_random and rest else not set(rest).difference(SIZES)
    if len(rest) > 1 or not is_fine or (is_random and not rest) or len(set(options)) < len(options):
        raise InputError(f"{text}: expected {name} with {known} or {BIAS} after it")
    result = random_network(int(rest[0])) if is_random else graph(name, rest[0] if rest else size)
    return with_biases(result) if has_biases else result


def model(name: str, size: str = "small", seed: int = 0) -> Model:
    """Return a network with weights from a seed.

    Raises:
        InputError: there is no such network, or no such size.
    """
    result = graph(name, size)
    return Model(result, balanced_weights(result, seed))


def _catalog_entry(name: str) -> _Entry:
    if name not in _CATALOG:
        raise InputError(f"expected one of {', '.join(NAMES)}, found {name}")
    return _CATALOG[name]


def balanced_weights(graph: Graph, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return an array for every weight."""
    arrays = random_weights(graph, seed)
    for term, deviation in _weight_deviations(graph).items():
        name = signature_of(term).name
        # random_weights has a scale of its own; what it is does not matter here.
        arrays[name] *= np.float32(deviation / max(float(arrays[name].std()), 1e-12))
    return arrays


def _weight_deviations(graph: Graph) -> dict[Term, float]:
    """Return the standard deviations of weights that products and convolutions take."""
    nodes = graph.nodes()
    followers: dict[Term, list[Term]] = {}
    for term in nodes:
        for child in term.children:
            followers.setdefault(child, []).append(term)
    squares: dict[Term, float] = {}
    result: dict[Term, float] = {}
    for term in nodes:
        factor = term.children[-1]
        while factor.head == "transpose":
            factor = factor.children[0]
        if term.head not in ("matmul", "conv") or factor.head != "weight":
            squares[term] = _mean_square(graph, term, squares)
            continue
        is_relu = any(child.head == "relu" and not child.children for child in term.children)
        is_halved = [user.head for user in followers.get(term, ())] == ["relu"]
        squares[term] = 2.0 if is_halved else 1.0
        wanted = 2.0 if is_relu or is_halved else 1.0
        result[factor] = (
            wanted / (_reduction_length(graph, term) * squares[term.children[-2]])
        ) ** 0.5
    return result


def _mean_square(graph: Graph, node: Term, squares: dict[Term, float]) -> float:
    """Return what the square of a result is in the mean, roughly."""
    given = [squares[child] for child in node.children if child in squares]
    match node.head:
        case "ewadd":
            # The same twice is twice as large, not √2 times.
            return 4 * given[0] if len(set(node.children)) == 1 else sum(given)
        case "ewmul":
            return given[0] * given[-1]
        case "matmul" | "conv":
            return _reduction_length(graph, node) * given[0] * given[-1]
        case "relu":
            # What is behind a sum in a residual network is mostly positive.
            return given[0] * (0.85 if node.children[0].head == "ewadd" else 0.5)
        case "tanh":
            return given[0] / (1 + given[0])
        case "sigmoid":
            return 0.3
        case _:
            return sum(given) / len(given) if given else 1.0


def _reduction_length(graph: Graph, node: Term) -> int:
    """Return how many products a product of matrices or a convolution adds up."""
    shape = graph.tensor(node.children[-1]).shape
    return prod(shape[1:]) if node.head == "conv" else shape[-2]
