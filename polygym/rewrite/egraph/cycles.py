"""Keeping an e-graph free of cycles, so that whatever is chosen of it is a graph without any.

An e-graph has a cycle where a class is needed to make one of its own nodes. Two filters see to it
that none is left among the nodes that are not blacklisted, and both end with the same pass:

- *before* a match of several sources is applied, it is dropped if it would make a class need
  itself. ``VANILLA`` walks over the e-graph as it is at that moment, once for each match;
  ``EFFICIENT`` looks into a map of descendants made before the iteration, one bit for each class
  that is a root of a match, and so does not see what the iteration itself brought.
- *after* the iteration, a depth-first pass (:func:`break_cycles`) finds all cycles that there are,
  and blacklists the latest node of each.

The latest node of a cycle is never the earliest of its class: the node before it in the cycle is
earlier and needs that class, which therefore had a node before. So the earliest node of each class
stays, all that it needs has an earlier one, and whatever class there is can still be made. And
since original nodes come before all others, none of them goes unless all of a cycle are original:
where the original contains, say, both x and f(g(x)) that a rule makes equal. Then f(g(x)) goes,
which could not be chosen beside x anyway, and what remains of the original is a part of it, and so
no dearer.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from polygym.rewrite.egraph.application import RuleProgram
from polygym.rewrite.egraph.egraph import EGraph
from polygym.rewrite.egraph.matching import EGraphMatch


class CycleFilter(Enum):
    """How cycles are kept out."""

    NONE = "none"
    VANILLA = "vanilla"
    EFFICIENT = "efficient"


def would_close_cycle(
    program: RuleProgram, match: EGraphMatch, is_reachable: Callable[[int, int], bool]
) -> bool:
    """Whether a match of several sources makes a class need itself.

    ``is_reachable`` says whether a class is another or needs it.
    """
    count = len(program.leaves)
    needs = [
        [
            other
            for other in range(count)
            if any(is_reachable(match[count + leaf], match[other]) for leaf in program.leaves[root])
        ]
        for root in range(count)
    ]
    done: set[int] = set()
    while len(done) < count:
        free = [root for root in range(count) if root not in done and done.issuperset(needs[root])]
        if not free:
            return True
        done.update(free)
    return False


def reachability(graph: EGraph) -> Callable[[int, int], bool]:
    """Return a function that walks over the e-graph as it is, whenever it is asked."""

    def reaches(start: int, end: int) -> bool:
        find, keys, members, states = graph.find, graph.keys, graph.members, graph.states
        start, end = find(start), find(end)
        seen = {start}
        stack = [start]
        while stack:
            name = stack.pop()
            if name == end:
                return True
            for node in members[name]:
                if not states[node]:
                    for child in keys[node][1:]:
                        child = find(child)
                        if child not in seen:
                            seen.add(child)
                            stack.append(child)
        return False

    return reaches


class Descendants:
    """Knows which classes need which of some, as it was when the map was made.

    The e-graph must be rebuilt and have no cycles then.
    """

    def __init__(self, graph: EGraph, ends: Iterable[int]) -> None:
        """Make the map, for those ends alone."""
        self._bits = {name: 1 << place for place, name in enumerate(dict.fromkeys(ends))}
        self._reached: dict[int, int] = {}
        reached = self._reached
        for name in _children_first(graph):
            bits = self._bits.get(name, 0)
            for node in graph.members[name]:
                if not graph.states[node]:
                    for child in graph.keys[node][1:]:
                        bits |= reached[child]
            reached[name] = bits

    def __call__(self, start: int, end: int) -> bool:
        """Whether a class is another or needs it."""
        return bool(self._reached[start] & self._bits[end])

    def closes_cycle(self, program: RuleProgram, match: EGraphMatch) -> bool:
        """Whether a match makes a class need itself; mostly one look says that it does not."""
        count = len(program.leaves)
        literal = 0
        for leaf in program.every_leaf:
            literal |= self._reached[match[count + leaf]]
        for root in match[:count]:
            if literal & self._bits[root]:
                return would_close_cycle(program, match, self)
        return False


def break_cycles(graph: EGraph) -> int:
    """Blacklist nodes until there is no cycle; return how many. The e-graph must be rebuilt."""
    if graph.cut_at == graph.changes:
        return 0
    keys, members, states = graph.keys, graph.members, graph.states
    colours = bytearray(len(keys))  # 0: not seen, 1: on the path, 2: has no cycle below
    cut = 0
    for start in members:
        if colours[start]:
            continue
        path = [start]
        colours[start] = 1
        steps = [_steps(graph, start)]
        taken = [-1]
        while path:
            step = next(steps[-1], None)
            if step is None:
                colours[path.pop()] = 2
                steps.pop()
                taken.pop()
                continue
            node, child = step
            if states[node] or colours[child] == 2:
                continue
            taken[-1] = node
            if not colours[child]:
                colours[child] = 1
                path.append(child)
                steps.append(_steps(graph, child))
                taken.append(-1)
                continue
            place = _latest(graph, path, taken, path.index(child))
            graph.blacklist_node(taken[place])
            cut += 1
            for name in path[place + 1 :]:  # what was seen of them may come again by another way
                colours[name] = 0
            del path[place + 1 :], steps[place + 1 :], taken[place + 1 :]
    graph.cut_at = graph.changes
    return cut


def _latest(graph: EGraph, path: list[int], taken: list[int], begin: int) -> int:
    """Return the place on the path of the cycle's node to be blacklisted, the latest.

    Terms may be added whole later on; then the latest that is neither theirs nor its class's first.
    """
    places = range(begin, len(path))
    others = [
        place
        for place in places
        if not graph.originals[taken[place]] and graph.members[path[place]][0] != taken[place]
    ]
    return max(others or places, key=lambda place: taken[place])


def _steps(graph: EGraph, name: int) -> Iterator[tuple[int, int]]:
    keys, states = graph.keys, graph.states
    for node in graph.members[name]:
        if not states[node]:
            for child in keys[node][1:]:
                yield node, child


def _children_first(graph: EGraph) -> Iterator[int]:
    done = bytearray(len(graph.keys))
    for start in graph.members:
        if done[start]:
            continue
        done[start] = 1
        stack = [(start, _steps(graph, start))]
        while stack:
            name, steps = stack[-1]
            for _, child in steps:
                if not done[child]:
                    done[child] = 1
                    stack.append((child, _steps(graph, child)))
                    break
            else:
                stack.pop()
                yield name
