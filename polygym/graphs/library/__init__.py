"""The seven networks on which the TENSAT paper is measured, at its sizes and at small ones.

``catalog`` knows them by name, describes each, and gives all of them weights from a seed;
``image_networks``, ``inception`` and ``sequence_networks`` define them, ``biases`` adds biases, and
``random_networks`` makes others from a seed.

    >>> from polygym.graphs import library
    >>> library.NAMES
    ('bert', 'resnext50', 'nasnet-a', 'nasrnn', 'inception-v3', 'vgg19', 'squeezenet')
    >>> [str(one.tensor) for one in library.graph("nasrnn").signatures]
    ['1-16', '1-16']
"""

from polygym.graphs.library.catalog import (
    NAMES,
    RANDOM,
    SIZES,
    describe,
    graph,
    graph_of_text,
    is_network_text,
    model,
)

__all__ = [
    "NAMES",
    "RANDOM",
    "SIZES",
    "describe",
    "graph",
    "graph_of_text",
    "is_network_text",
    "model",
]
