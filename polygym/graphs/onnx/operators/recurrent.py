"""Layers with a state in time, from ONNX, step by step: LSTM, GRU and RNN of a known length.

Each step is a product of the input by W, one of the state by R, and functions of their sum; what
does not depend on the state (all inputs by W, and the biases) is one product for all steps. So the
graph has as many copies of a step as the sequence is long: at most ``_MAX_STEPS``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode, shortest_float
from polygym.graphs.onnx.operators.elementwise import converted
from polygym.graphs.onnx.operators.matrix_products import broadcast_matmul
from polygym.rewrite.term import Term

_MAX_STEPS = 4096
_FUNCTIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu"}


@dataclass(frozen=True, slots=True)
class _RecurrentDirection:
    """The weights of one direction, (columns, gates · hidden), and how it begins."""

    node: OnnxNode
    hidden: int
    r: Term
    r_bias: Term | None
    functions: tuple[str, ...]
    state: Term
    cell: Term | None
    peepholes: tuple[Term, ...] = ()


_CellFunction = Callable[[_RecurrentDirection, Term, Term, Term | None], tuple[Term, Term | None]]


def _slice_along(node: OnnxNode, x: Term, axis: int, first: int, last: int) -> Term:
    if (first, last) == (0, node.builder.shape(x)[axis]):
        return x
    return node.make("slice", axis, first, last, 1, x)


def _gates(direction: _RecurrentDirection, x: Term, count: int) -> list[Term]:
    """Return the gates of a step, which stand side by side."""
    width = direction.hidden
    return [_slice_along(direction.node, x, 1, k * width, (k + 1) * width) for k in range(count)]


def _state_product(direction: _RecurrentDirection, state: Term) -> Term:
    term = broadcast_matmul(direction.node, state, direction.r)
    return (
        term if direction.r_bias is None else direction.node.pairwise("add", term, direction.r_bias)
    )


def _lstm(
    direction: _RecurrentDirection, given: Term, state: Term, cell: Term | None
) -> tuple[Term, Term | None]:
    """Return c' = f c + i g, h' = o tanh(c'), with gates i, o, f, g in this order."""
    assert cell is not None, "an LSTM has cells"
    node, (gate, inner, last) = direction.node, direction.functions
    total = node.pairwise("add", given, _state_product(direction, state))
    i, o, f, g = _gates(direction, total, 4)
    i, f = _peeped(direction, i, 0, cell), _peeped(direction, f, 2, cell)
    kept = node.pairwise("mul", _applied(node, gate, f), cell)
    taken = node.pairwise("mul", _applied(node, gate, i), _applied(node, inner, g))
    cell = node.pairwise("add", kept, taken)
    o = _peeped(direction, o, 1, cell)
    return node.pairwise("mul", _applied(node, gate, o), node.make(last, cell)), cell


def _peeped(direction: _RecurrentDirection, x: Term, place: int, cell: Term) -> Term:
    """Add the cell, weighted, to a gate that looks at it."""
    if not direction.peepholes:
        return x
    node = direction.node
    return node.pairwise("add", x, node.pairwise("mul", direction.peepholes[place], cell))


def _applied(node: OnnxNode, function: str, x: Term) -> Term:
    """Return a function of a gate, whose argument may have a bound."""
    if clip := node.attribute("clip", 0.0):
        x = node.make("clip", -shortest_float(clip), shortest_float(clip), x)
    return node.make(function, x)


def _gru(
    direction: _RecurrentDirection, given: Term, state: Term, cell: Term | None
) -> tuple[Term, Term | None]:
    """Return h' = (1 - z) n + z h, with gates z, r and n = g(x + r · (h R + b)).

    The reset may come before the product: n = g(x + (r · h) R + b).
    """
    node, (gate, inner) = direction.node, direction.functions
    (z, r, n), (z_of, r_of, n_of) = (
        _gates(direction, given, 3),
        _gates(direction, _state_product(direction, state), 3),
    )
    z = _applied(node, gate, node.pairwise("add", z, z_of))
    r = _applied(node, gate, node.pairwise("add", r, r_of))
    if node.attribute("linear_before_reset", 0):
        added = node.pairwise("mul", r, n_of)
    else:
        added = _state_product(direction, node.pairwise("mul", r, state))
        added = _gates(direction, added, 3)[2]
    n = _applied(node, inner, node.pairwise("add", n, added))
    moved = node.pairwise("mul", z, node.pairwise("sub", state, n))
    return node.pairwise("add", n, moved), cell


def _rnn(
    direction: _RecurrentDirection, given: Term, state: Term, cell: Term | None
) -> tuple[Term, Term | None]:
    """Return h' = g(x + h R + b)."""
    node = direction.node
    total = node.pairwise("add", given, _state_product(direction, state))
    return _applied(node, direction.functions[0], total), cell


def _functions(node: OnnxNode, defaults: tuple[str, ...], directions: int) -> list[tuple[str, ...]]:
    """Return the functions of each direction, by their names here."""
    said = node.attribute("activations")
    if node.attribute("activation_alpha") or node.attribute("activation_beta"):
        node.reject("expected functions without numbers of their own")
    if not said:
        return [defaults] * directions
    names = [word.decode(errors="replace").lower() for word in said]
    if len(names) != len(defaults) * directions or not set(names) <= set(_FUNCTIONS):
        known = ", ".join(_FUNCTIONS)
        node.reject(f"expected {len(defaults) * directions} functions of {known}, found {names}")
    return [
        tuple(_FUNCTIONS[name] for name in names[k * len(defaults) : (k + 1) * len(defaults)])
        for k in range(directions)
    ]


def _check_supported(node: OnnxNode, shape: tuple[int, ...]) -> None:
    """Refuse sequences that are too long, and gates that are coupled."""
    if len(shape) != 3 or shape[0] > _MAX_STEPS:
        node.reject(f"expected a sequence of at most {_MAX_STEPS} steps, found {list(shape)}")
    if node.attribute("input_forget", 0):
        node.reject("expected no input_forget: export it without")


def _running(node: OnnxNode, steps: int, batch: int) -> Term | None:
    """Return (steps, batch, 1): whether a sequence still runs; nothing if all are full."""
    if not node.has(4):
        return None
    known = node.known_array(4)
    if known is not None and (known == steps).all():
        return None
    lengths = node.builder.reshaped(converted(node, node.term(4), "int64"), (1, batch, 1))
    times = node.weight(np.arange(steps).reshape(steps, 1, 1), f"times_{steps}")
    dtype = node.builder.tensor(node.term(0)).dtype
    return converted(node, node.make("less", times, lengths), dtype)


def _layer(
    node: OnnxNode, gates: int, defaults: tuple[str, ...], step: _CellFunction, has_cells: bool
) -> tuple[Term, ...]:
    """Return all states, the last ones and the last cells."""
    builder = node.builder
    if len(node.shape(0)) != 3:
        node.reject(f"expected sequences of vectors, found the shape {list(node.shape(0))}")
    if node.attribute("layout", 0):
        return _batches_first(node, gates, defaults, step, has_cells)
    steps, batch, _ = shape = builder.shape(node.term(0))
    _check_supported(node, shape)
    running = _running(node, steps, batch)
    direction = node.attribute("direction", b"forward")
    kinds = {b"forward": (False,), b"reverse": (True,), b"bidirectional": (False, True)}
    if direction not in kinds:
        node.reject(f"expected forward, reverse or bidirectional, found {direction!r}")
    ways = kinds[direction]
    hidden = node.shape(2)[-1]
    if node.shape(1)[:2] != (len(ways), gates * hidden) or node.attribute("hidden_size") != hidden:
        node.reject(f"expected weights of {len(ways)} directions and {gates} gates")
    functions = _functions(node, defaults, len(ways))
    rows, lasts, cells = [], [], []
    for way, is_back in enumerate(ways):
        recurrent_direction, given = _direction(node, way, gates, hidden, functions[way], has_cells)
        states, last, cell = _unroll(
            recurrent_direction, given, steps, step, running, is_back=is_back
        )
        rows.append(states)
        lasts.append(builder.reshaped(last, (1, batch, hidden)))
        if cell is not None:
            cells.append(builder.reshaped(cell, (1, batch, hidden)))
    made = [_concat(node, 1, rows), _concat(node, 0, lasts)]
    return (*made, _concat(node, 0, cells)) if has_cells else tuple(made)


def _batches_first(
    node: OnnxNode, gates: int, defaults: tuple[str, ...], step: _CellFunction, has_cells: bool
) -> tuple[Term, ...]:
    """Return the results of sequences and states whose first axis is the batch."""
    values = list(node.values)
    for place in (0, 5, 6):
        if node.has(place):
            values[place] = node.builder.transposed(node.term(place), (1, 0, 2))
    attributes = {**node.attributes, "layout": 0}
    turned = replace(node, values=tuple(values), attributes=attributes)
    states, *lasts = _layer(turned, gates, defaults, step, has_cells)
    turn = node.builder.transposed
    return (turn(states, (2, 0, 1, 3)), *(turn(last, (1, 0, 2)) for last in lasts))


def _direction(
    node: OnnxNode, index: int, gates: int, hidden: int, functions: tuple[str, ...], has_cells: bool
) -> tuple[_RecurrentDirection, Term]:
    """Return a direction, and what all inputs give: (steps · batch, gates · hidden)."""
    builder = node.builder
    steps, batch, width = node.shape(0)
    w, r = (_of_direction(node, place, index) for place in (1, 2))
    dtype = builder.tensor(node.term(0)).dtype
    x = builder.reshaped(node.term(0), (steps * batch, width))
    given = broadcast_matmul(node, x, _transposed(node, w))
    r_bias = None
    if node.has(3):
        bias = _of_direction(node, 3, index)
        given = node.pairwise("add", given, _slice_along(node, bias, 0, 0, gates * hidden))
        r_bias = _slice_along(node, bias, 0, gates * hidden, 2 * gates * hidden)
    starts = []
    for place in (5, 6):
        if node.has(place):
            start = _slice_along(node, node.term(place), 0, index, index + 1)
            starts.append(builder.reshaped(start, (batch, hidden)))
        else:
            starts.append(node.weight(np.zeros((batch, hidden), dtype), "zeros"))
    cell = starts[1] if has_cells else None
    peepholes: tuple[Term, ...] = ()
    if node.has(7):
        p = _of_direction(node, 7, index)
        peepholes = tuple(_slice_along(node, p, 0, k * hidden, (k + 1) * hidden) for k in range(3))
    return (
        _RecurrentDirection(
            node, hidden, _transposed(node, r), r_bias, functions, starts[0], cell, peepholes
        ),
        given,
    )


def _of_direction(node: OnnxNode, place: int, index: int) -> Term:
    """Return the weights of one direction; those that are known at once."""
    known = node.known_array(place)
    if known is not None:
        return node.weight(known[index], f"{node.names[place]}-{index}")
    x = _slice_along(node, node.term(place), 0, index, index + 1)
    return node.builder.reshaped(x, node.shape(place)[1:])


def _transposed(node: OnnxNode, x: Term) -> Term:
    known = node.builder.value(x)
    if known is not None:
        return node.weight(known.T, "turned")
    return node.builder.transposed(x, (1, 0))


def _unroll(
    direction: _RecurrentDirection,
    given: Term,
    steps: int,
    step: _CellFunction,
    running: Term | None,
    *,
    is_back: bool,
) -> tuple[Term, Term, Term | None]:
    """Return all states as (steps, 1, batch, hidden), the last one and the last cell."""
    node, builder = direction.node, direction.node.builder
    batch = builder.shape(direction.state)[0]
    state, cell = direction.state, direction.cell
    states: list[Term] = []
    for time in range(steps - 1, -1, -1) if is_back else range(steps):
        own = _slice_along(node, given, 0, time * batch, (time + 1) * batch)
        before, cell_before = state, cell
        state, cell = step(direction, own, state, cell)
        shown = state
        if running is not None:
            runs = builder.reshaped(_slice_along(node, running, 0, time, time + 1), (batch, 1))
            shown = node.make("where", runs, state, node.scalar(0.0, state))
            state = node.make("where", runs, state, before)
            if cell is not None and cell_before is not None:
                cell = node.make("where", runs, cell, cell_before)
        states.append(builder.reshaped(shown, (1, 1, batch, direction.hidden)))
    if is_back:
        states.reverse()
    return _concat(node, 0, states), state, cell


def _concat(node: OnnxNode, axis: int, parts: Sequence[Term]) -> Term:
    return parts[0] if len(parts) == 1 else node.make(f"concat{len(parts)}", axis, *parts)


def _lstm_layer(node: OnnxNode) -> tuple[Term, ...]:
    return _layer(node, 4, ("sigmoid", "tanh", "tanh"), _lstm, True)


def _gru_layer(node: OnnxNode) -> tuple[Term, ...]:
    return _layer(node, 3, ("sigmoid", "tanh"), _gru, False)


def _rnn_layer(node: OnnxNode) -> tuple[Term, ...]:
    return _layer(node, 1, ("tanh",), _rnn, False)


_COMMON_ATTRIBUTES = (
    "activation_alpha activation_beta activations clip direction hidden_size layout"
)

ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("LSTM", _lstm_layer, f"{_COMMON_ATTRIBUTES} input_forget"),
    OnnxImport("GRU", _gru_layer, f"{_COMMON_ATTRIBUTES} linear_before_reset"),
    OnnxImport("RNN", _rnn_layer, _COMMON_ATTRIBUTES),
)
