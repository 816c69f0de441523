"""E-graphs as JSON, in the forms that suites of extraction problems have.

=================  ================================================================================
egraph-serialize   ``{"nodes": {ID: {"op", "eclass", "children", "cost"}}, "root_eclasses": [...]}``
                   (extraction-gym, SmoothE): a child is the id of any node of the class that is
                   needed, or a number, which names the class; the cost is 1 if it is not there,
                   and a node that is ``subsumed`` is never chosen
node and class     ``{"nodes": {ID: [CLASS, ...]}, "classes": {CLASS: [ID, ...]}}``, or lists, whose
lists              places are the names (SmoothE); ``labels`` and ``costs`` may name more; the roots
                   are the classes that no node needs
=================  ================================================================================

What was read is a table of nodes, no :class:`~polygym.rewrite.egraph.egraph.EGraph`: nothing is
added to it, and it may have cycles. Several roots are the children of one more node, which costs
nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.rewrite.egraph.egraph import EGraph

_LARGEST_FILE = 1 << 28
_MAX_COST = 1e200


@dataclass(frozen=True)
class SerializedEGraph:
    """Nodes by number; a class is called as its first node is, the last node has the roots."""

    ids: tuple[str, ...]
    """Node: its id in the file; one less than there are nodes."""
    operators: tuple[str, ...]
    """Node: its operator, as long as ``ids``."""
    class_names: Mapping[int, str]
    """Class: its name in the file."""
    keys: tuple[tuple[int, ...], ...]
    """Node: 0 and the classes of its children."""
    owners: tuple[int, ...]
    """Node: its class."""
    costs: tuple[float, ...]
    """Node: its cost, infinite if it must not be chosen."""

    @property
    def root(self) -> int:
        """The class, and its one node, whose children are the roots."""
        return len(self.ids)

    @property
    def roots(self) -> tuple[int, ...]:
        """The classes that are asked for."""
        return self.keys[-1][1:]

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """Class: its nodes, in order."""
        result: dict[int, list[int]] = {}
        for node, owner in enumerate(self.owners):
            result.setdefault(owner, []).append(node)
        return result

    def find(self, class_name: int) -> int:
        """Return the class of a node."""
        return self.owners[class_name]

    def children_of(self, node: int) -> tuple[int, ...]:
        """Return the classes that a node has as children."""
        return self.keys[node][1:]

    def choices(self, nodes: Iterable[int]) -> dict[str, str]:
        """Return the ids of chosen nodes by the names of their classes."""
        return {
            self.class_names[self.owners[node]]: self.ids[node]
            for node in nodes
            if node != self.root
        }


def read_egraph(path: Path, roots: Sequence[str] = ()) -> SerializedEGraph:
    """Return the e-graph of a file; ``roots`` are classes instead of those that it names.

    Raises:
        InputError: it cannot be read, or is damaged; says where, and what is expected.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{path}: expected an e-graph of at most 256 MiB, found a larger file")
        document = json.loads(path.read_bytes(), object_pairs_hook=_without_repetition)
    except OSError as error:
        raise InputError(f"{path}: expected a file, found {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected an e-graph as JSON, found: {error}") from None
    try:
        return parse_egraph(document, roots)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_egraph(document: object, roots: Sequence[str] = ()) -> SerializedEGraph:
    """Return the e-graph of a document.

    >>> nodes = {"a": {"op": "f", "eclass": "0", "children": ["b"], "cost": 2},
    ...          "b": {"op": "x", "eclass": "1", "children": []}}
    >>> graph = parse_egraph({"nodes": nodes, "root_eclasses": ["0"]})
    >>> graph.keys, graph.costs
    (((0, 1), (0,), (0, 0)), (2.0, 1.0, 0.0))

    Raises:
        InputError: it is damaged; says where.
    """
    if not isinstance(document, Mapping) or not document.get("nodes"):
        raise InputError('expected an object with "nodes", found none')
    is_listed = "classes" in document
    rows = _rows_of_lists(document) if is_listed else _rows_of_objects(document)
    classes: dict[str, int] = {}
    owners = [classes.setdefault(row.class_name, number) for number, row in enumerate(rows)]
    keys = [(0, *[classes[name] for name in row.children]) for row in rows]
    wanted = list(roots) or document.get("root_eclasses") or []
    if not isinstance(wanted, list):
        raise InputError(f"root_eclasses: expected a list of classes, found {wanted!r:.60}")
    names = {} if is_listed else {row.id: row.class_name for row in rows}
    tops = [classes[_class_name(name, names, classes, "root_eclasses")] for name in wanted]
    if not tops:
        needed = {child for key in keys for child in key[1:]}
        tops = [name for name in dict.fromkeys(owners) if name not in needed]
        if not is_listed or not tops:
            free = ", ".join(rows[top].class_name for top in tops[:8]) or "none"
            raise InputError(
                "root_eclasses: expected the classes to be extracted, found none: --class names "
                f"them (classes that no node needs: {free})"
            )
    return SerializedEGraph(
        tuple(row.id for row in rows),
        tuple(row.operator for row in rows),
        {number: name for name, number in classes.items()},
        (*keys, (0, *dict.fromkeys(tops))),
        (*owners, len(rows)),
        (*(row.cost for row in rows), 0.0),
    )


def egraph_document(graph: EGraph, roots: Sequence[int], costs: Sequence[float]) -> dict[str, Any]:
    """Return an e-graph in the form of egraph-serialize; nodes of infinite cost are left out."""
    kept = [node for node in graph.nodes() if costs[node] != math.inf]
    first: dict[int, int] = {}
    for node in kept:
        first.setdefault(graph.find(node), node)
    return {
        "nodes": {
            str(node): {
                "op": str(graph.head_of(node)),
                "children": [str(first[child]) for child in graph.children_of(node)],
                "eclass": str(graph.find(node)),
                "cost": costs[node],
            }
            for node in kept
            if all(child in first for child in graph.children_of(node))
        },
        "root_eclasses": [str(graph.find(root)) for root in roots],
    }


@dataclass(frozen=True, slots=True)
class _Row:
    """A node as a file has it; children are the names of classes."""

    id: str
    class_name: str
    operator: str
    children: Sequence[str]
    cost: float


def _rows_of_objects(document: Mapping[str, Any]) -> list[_Row]:
    nodes = document["nodes"]
    if not isinstance(nodes, Mapping):
        raise InputError(f'"nodes": expected an object of nodes by their ids, found {nodes!r:.60}')
    names: dict[str, str] = {}
    for id_, node in nodes.items():
        if not isinstance(node, Mapping):
            raise InputError(f"node {id_}: expected an object, found {node!r:.60}")
        name = node.get("eclass")
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise InputError(f"node {id_}: eclass: expected a name, found {name!r:.60}")
        names[id_] = str(name)
    classes = dict.fromkeys(names.values(), 0)
    rows = []
    for id_, node in nodes.items():
        children = node.get("children", [])
        if not isinstance(children, list):
            raise InputError(f"node {id_}: children: expected a list, found {children!r:.60}")
        needed = [_class_name(child, names, classes, f"node {id_}") for child in children]
        cost = math.inf if node.get("subsumed") is True else _cost(node.get("cost", 1.0), id_)
        rows.append(_Row(id_, names[id_], str(node.get("op", id_)), needed, cost))
    return rows


def _class_name(
    child: object, names: Mapping[str, str], classes: Mapping[str, int], where: str
) -> str:
    """Return the class that the id of a node, or its own name, stands for."""
    if isinstance(child, str) and child in names:
        return names[child]
    if isinstance(child, str | int) and not isinstance(child, bool) and str(child) in classes:
        return str(child)
    raise InputError(f"{where}: expected the id of a node or a class, found {child!r:.60}")


def _rows_of_lists(document: Mapping[str, Any]) -> list[_Row]:
    nodes, classes = _by_name(document, "nodes"), _by_name(document, "classes")
    labels, costs = _by_name(document, "labels"), _by_name(document, "costs")
    owners: dict[str, str] = {}
    for name, members in classes.items():
        if not isinstance(members, list) or not members:
            raise InputError(f"class {name}: expected a list of nodes, found {members!r:.60}")
        for member in members:
            if str(member) not in nodes or str(member) in owners:
                raise InputError(
                    f"class {name}: expected nodes of this class alone, found {member!r:.60}"
                )
            owners[str(member)] = name
    places = dict.fromkeys(classes, 0)
    rows = []
    for id_, children in nodes.items():
        if id_ not in owners:
            raise InputError(f"node {id_}: expected a class that has it, found none")
        if not isinstance(children, list):
            raise InputError(f"node {id_}: expected a list of classes, found {children!r:.60}")
        needed = [_class_name(child, {}, places, f"node {id_}") for child in children]
        cost = _cost(costs.get(id_, 1.0), id_)
        rows.append(_Row(id_, owners[id_], str(labels.get(id_, id_)), needed, cost))
    return rows


def _by_name(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an entry by names; numbers are the names of a list."""
    value = document.get(name, {})
    if isinstance(value, list):
        return {str(number): entry for number, entry in enumerate(value)}
    if not isinstance(value, Mapping):
        raise InputError(f'"{name}": expected an object or a list, found {value!r:.60}')
    return value


def _cost(value: object, id_: str) -> float:
    """Return the cost of a node."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (0 <= value <= _MAX_COST or value == math.inf):  # type: ignore[operator]
        raise InputError(f"node {id_}: cost: expected 0 or more, found {value!r:.60}")
    return float(value)  # type: ignore[arg-type]


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the entries of an object, none of which comes twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in result if names.count(name) > 1)
        raise ValueError(f"{twice:.60} twice in one object")
    return result
