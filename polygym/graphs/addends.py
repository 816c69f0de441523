"""Sums of a graph with related addends side by side, and constants last.

Rules combine two addends that stand beside each other: x v + x w becomes x (v + w). To bring any
two of n together by exchanging neighbours takes an e-graph of 2^n partial sums. So sums are read as
sums of many addends first, and written once more with those together that share an operand, or at
least an operator, each group a sum of its own::

    ((x v + b) + z) + (x w + c)   becomes   ((x v + x w) + z) + (b + c)

Both forms are given to the e-graph as equal.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Term, term

_SUMS = ("ewadd", "add")


def regrouped_sums(graph: Graph) -> Iterator[tuple[Term, Term]]:
    """Yield the sums of a graph that change, and their other form.

    >>> from polygym.graphs.ir.build import binary, graph_input, matmul, weight
    >>> from polygym.rewrite.s_expressions import term_text
    >>> x, z, v, w = (graph_input(name, 2, 2) for name in "xzvw")
    >>> inner = binary("ewadd", matmul(x, v), z)
    >>> graph = Graph.of("sums", binary("ewadd", inner, matmul(x, w)))
    >>> [(_, other)] = regrouped_sums(graph)
    >>> [child.head for child in other.children], other.children[0] is z
    (['input', 'ewadd'], True)
    """
    nodes = graph.nodes()
    users = Counter(child for node in nodes for child in node.children)
    users.update(output for _, output in graph.outputs)
    absorbed: set[Term] = set()
    for node in reversed(nodes):
        if node in absorbed or not _is_sum(graph, node):
            continue
        addends = list(_addends(graph, node, users, absorbed))
        if len(addends) > 2 and (other := _written(graph, node, addends)) is not node:
            yield node, other


def _is_sum(graph: Graph, node: Term) -> bool:
    data = graph.data(node)
    return node.head in _SUMS and isinstance(data, TensorType) and not data.constant


def _addends(graph: Graph, node: Term, users: Counter[Term], absorbed: set[Term]) -> Iterator[Term]:
    """Yield the addends of a sum, from the left; partial sums that nothing else uses are opened."""
    shape, stack = graph.tensor(node).shape, [node]
    while stack:
        part = stack.pop()
        is_opened = part is node or (
            _is_sum(graph, part) and users[part] == 1 and graph.tensor(part).shape == shape
        )
        if is_opened:
            absorbed.add(part)
            stack += reversed(part.children)
        else:
            yield part


def _written(graph: Graph, node: Term, addends: Sequence[Term]) -> Term:
    """Return a sum of addends in groups: those of its shape, narrower ones, constants."""
    shape = graph.tensor(node).shape
    constants = [part for part in addends if graph.tensor(part).constant]
    others = [part for part in addends if not graph.tensor(part).constant]
    wide = [part for part in others if graph.tensor(part).shape == shape]
    narrow = [part for part in others if graph.tensor(part).shape != shape]
    if not wide:
        return node
    groups = _groups(wide)
    singles = [group[0] for group in groups if len(group) == 1]
    sums = [_balanced("ewadd", group) for group in groups if len(group) > 1]
    result = _balanced("ewadd", [*singles, *sums])
    for part in narrow:
        result = term("add", result, part)
    return term("add", result, _balanced("add", constants)) if constants else result


def _balanced(head: str, parts: Sequence[Term]) -> Term:
    """Return a sum whose halves are sums, so that few iterations reach its root."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return term(head, _balanced(head, parts[:half]), _balanced(head, parts[half:]))


def _groups(addends: Sequence[Term]) -> list[list[Term]]:
    """Return addends with those together that share an operand, then an operator."""
    groups = [[part] for part in addends]
    for keys in (_operands, _operators):
        groups = list(_joined(groups, keys))
    return groups


def _joined(
    groups: Sequence[list[Term]], keys: Callable[[Term], Sequence[Hashable]]
) -> Iterator[list[Term]]:
    """Yield groups, those made one of which the first addends share the most frequent keys."""
    left = list(groups)
    while left:
        counts = Counter(key for first, *_ in left for key in {*keys(first)})
        shared = [key for first, *_ in left for key in keys(first) if counts[key] > 1]
        if not shared:
            break
        best = max(shared, key=counts.__getitem__)
        yield [part for group in left if best in keys(group[0]) for part in group]
        left = [group for group in left if best not in keys(group[0])]
    yield from left


def _operands(addend: Term) -> list[Hashable]:
    return [
        (*operator, child)
        for operator in _operators(addend)
        for child in addend.children
        if child.children
    ]


def _operators(addend: Term) -> list[tuple[Hashable, ...]]:
    if addend.head in ("input", "weight"):
        return []
    return [(addend.head, *(child.head for child in addend.children if not child.children))]
