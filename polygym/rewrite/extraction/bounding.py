"""What any term of a class costs at least: a bound without a solver.

A term with a node has all that the node needs, so it costs at least the node and the dearest of
its children's bounds; a class costs at least the least of its nodes'. The bounds are the least
solution of these equations, found in one pass from the cheapest on (Knuth's generalisation of
Dijkstra's algorithm), also where classes need each other.

Two children of 3 and 5 under a node of 1: at least 6. Both together cost 9 if they share nothing,
and 6 if the dear one contains the cheap one.
"""

from __future__ import annotations

from heapq import heappop, heappush

from polygym.rewrite.extraction.choices import Choices

__all__ = ["at_least"]


def at_least(choices: Choices) -> float:
    """Return what the root costs at least."""
    owner = {node: name for name, nodes in enumerate(choices.members) for node in nodes}
    users: list[list[int]] = [[] for _ in choices.members]
    waiting = [len(needs) for needs in choices.children]
    heap: list[tuple[float, int]] = []
    for node, needs in enumerate(choices.children):
        for child in needs:
            users[child].append(node)
        if not needs:
            heappush(heap, (choices.costs[node], node))
    done = bytearray(len(choices.members))
    while heap:
        least, node = heappop(heap)
        name = owner[node]
        if done[name]:
            continue
        if name == 0:
            return least
        done[name] = 1
        for user in users[name]:
            waiting[user] -= 1
            if not waiting[user]:  # the child that came last is the dearest
                heappush(heap, (least + choices.costs[user], user))
    return 0.0
