"""Reductions of the choices of extraction that keep the least cost.

What is left are *options* of classes: an option costs something, needs classes, and stands for the
nodes that are taken with it. A *solution* has an option for each class that a root or another
option needs, and no cycle. Four rules are used in turn until none finds anything:

- *required*: whatever is chosen for a root, some classes are in it. Let must(c) be c and what is
  in must of every option, must(option) the union over the classes it needs. All of must(root) is
  required, becomes a root itself, and needs no longer be asked for by others. With the root
  r = {1:[a, m], 2:[b, m]}: must(r) = {r, m}, so m becomes a root, and r = {1:[a], 2:[b]}.
- *fixed*: a root with one option has it. Its cost is certain, and what it needs are roots.
- *dominated*: an option a goes if another one b of its class costs no more, even with all that b
  needs and a does not. What a comes with is must(a) and what is required; each further class m
  costs at most its cheapest tree t(m), in which what is required costs nothing. So a goes where
  cost(b) + Σ t(m) ≤ cost(a). In c = {5:[x], 2:[y]}, y = {1:[], 9:[x]}: t(y) = 1, 2 + 1 ≤ 5, and
  the first goes. For take a solution with a, let c have b instead, and add the trees of what is
  not there: it is a solution and no dearer. Trees may be made of options that go themselves; these
  belong to classes below, so that replacing them too comes to an end.
- *inlined*: a class with one option that costs nothing, or that one class alone needs, is had with
  those that need it. In c = {1:[h], 4:[]}, h = {3:[m]}, no other needs h: c = {4:[m], 4:[]}.
  Where two classes needed h, it would be paid for twice: hence the condition.

Classes that need each other in a circle are left as they are, but for plain domination (b needs
nothing that a does not), and what they need of each other is never dropped: so no cycle is hidden,
and none comes up, for a class on no circle has nothing below it that leads back to it.

Sets of classes are bits of a number. Where there are tens of thousands of classes, must has only as
many of those that several others need as memory allows, and options are compared with the cheapest
of their class alone: less is left out then, nothing wrongly.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygym.rewrite.extraction.choices import ExtractionChoices, strong_components

_MOST_BITS = 1 << 31
"""How many bits all sets of a round have together, at most."""
_MOST_COMPARED = 100
"""With how many options of its class an option is compared, at most."""


@dataclass(frozen=True, slots=True)
class ClassOption:
    """A way to have a class."""

    cost: float
    needs: frozenset[int]
    nodes: tuple[int, ...]
    """The nodes of the choices that are taken with it."""


@dataclass(frozen=True, slots=True)
class ReducedChoices:
    """What is left to choose; classes are called as in the choices."""

    roots: frozenset[int]
    """The classes that every answer has."""
    options: dict[int, tuple[ClassOption, ...]]
    """Class: its options, children first where no circle is."""
    nodes: tuple[int, ...]
    """The nodes of the choices that are taken in any case."""
    cost: float
    """What they cost."""
    in_cycles: frozenset[int]
    """The classes that need each other in a circle."""


def reduce_choices(choices: ExtractionChoices, deadline: float = math.inf) -> ReducedChoices:
    """Return what is left to choose; after a time of :func:`time.perf_counter`, what is by then.

    >>> nodes = [(0.0, (1, 3)), (5.0, (2,)), (2.0, (3,)), (1.0, ()), (1.0, ()), (9.0, (2,))]
    >>> costs, children = zip(*nodes)
    >>> members = ((0,), (1, 2), (3,), (4, 5))
    >>> nodes, roots = tuple(range(6)), (0, 1, 2, 3)
    >>> found = reduce_choices(ExtractionChoices(nodes, costs, children, members, roots, {}))
    >>> found.options, sorted(found.nodes), found.cost
    ({}, [0, 2, 4], 3.0)
    """
    whole = _initial(choices)
    while time.perf_counter() < deadline:
        work = _ReductionRound(whole, deadline)
        whole = work.result()
        if not work.is_smaller:
            break
    return whole


def _initial(choices: ExtractionChoices) -> ReducedChoices:
    options = {
        name: tuple(
            ClassOption(choices.costs[node], frozenset(choices.children[node]), (node,))
            for node in nodes
        )
        for name, nodes in enumerate(choices.members)
    }
    edges = [
        sorted({child for node in nodes for child in choices.children[node]})
        for nodes in choices.members
    ]
    component = strong_components(edges)
    sizes = Counter(component)
    tied = frozenset(name for name in options if sizes[component[name]] > 1)
    roots = frozenset([0]) if options else frozenset()
    return ReducedChoices(roots, options, (), 0.0, tied)


class _ReductionRound:
    """All rules, once; the must sets and the trees are those at the beginning."""

    def __init__(self, whole: ReducedChoices, deadline: float) -> None:
        self.is_smaller = False
        self._whole, self._deadline = whole, deadline
        self._options = {name: whole.options[name] for name in _children_first(whole)}
        self._bits = self._tracked_bits()
        self._must = self._required_with()
        self._given = 0
        for root in whole.roots:
            self._given |= self._must[root]
        self._required = {name for name, bit in self._bits.items() if bit & self._given}
        self._required |= whole.roots
        self._trees = _tree_costs(self._options, self._required)

    def result(self) -> ReducedChoices:
        """Return what is left."""
        tied, roots = self._whole.in_cycles, self._required
        self._options = {
            name: tuple(self._without_required(name, class_option) for class_option in choices)
            for name, choices in self._options.items()
        }
        nodes, cost, fixed = list(self._whole.nodes), self._whole.cost, set()
        for name in roots - tied:
            if len(self._options[name]) == 1:
                fixed.add(name)
        needed: set[int] = set()
        for name in sorted(fixed):
            [option] = self._options.pop(name)
            nodes += option.nodes
            cost += option.cost
            needed |= option.needs
        roots = (roots | needed) - fixed
        self.is_smaller |= bool(fixed)
        for name, class_options in self._options.items():
            kept = self._undominated(name, class_options)
            self.is_smaller |= len(kept) < len(class_options)
            self._options[name] = kept
        self._inline(roots)
        left = ReducedChoices(frozenset(roots), self._options, tuple(nodes), cost, tied)
        options = {name: self._options[name] for name in _children_first(left)}
        return ReducedChoices(left.roots, options, left.nodes, cost, tied)

    def _tracked_bits(self) -> dict[int, int]:
        """Return the bit of each class that sets may have: all, or what several others need."""
        names = list(self._options)
        most = _MOST_BITS // max(1, len(names))
        if len(names) > most:
            users = _users_of(self._options)
            names = [name for name in names if len(users.get(name, ())) > 1][-most:]
        return {name: 1 << place for place, name in enumerate(names)}

    def _required_with(self) -> dict[int, int]:
        """Return must(c) for each class, a bit a class; for what is in circles, the class alone."""
        result: dict[int, int] = {}
        for name, options in self._options.items():
            own = self._bits.get(name, 0)
            if name not in self._whole.in_cycles:
                common = -1
                for option in options:
                    needed = 0
                    for child in option.needs:
                        needed |= result[child]
                    common &= needed
                own |= common
            result[name] = own
        return result

    def _without_required(self, name: int, option: ClassOption) -> ClassOption:
        """Return an option without what is there anyway and cannot close a circle."""
        dropped = option.needs & self._required
        if name in self._whole.in_cycles:
            dropped -= self._whole.in_cycles
        return ClassOption(option.cost, option.needs - dropped, option.nodes) if dropped else option

    def _undominated(self, name: int, options: tuple[ClassOption, ...]) -> tuple[ClassOption, ...]:
        """Return the options beside which no other is at least as good; of equals the first."""
        if len(options) == 1:
            return options
        left = sorted(
            options,
            key=lambda class_option: (
                class_option.cost,
                len(class_option.needs),
                class_option.nodes,
            ),
        )
        is_tied = name in self._whole.in_cycles
        for place in reversed(range(len(left))):
            if time.perf_counter() >= self._deadline:
                break
            option = left[place]
            others = (
                other
                for other in left[:_MOST_COMPARED]
                if other is not option and other.cost <= option.cost
            )
            if is_tied:
                goes = any(other.needs <= option.needs for other in others)
            else:
                has = self._given
                for child in option.needs:
                    has |= self._must[child]
                goes = any(self._costs_no_more(other, option, has) for other in others)
            if goes:
                del left[place]
        return tuple(sorted(left, key=lambda class_option: class_option.nodes))

    def _costs_no_more(self, option: ClassOption, other: ClassOption, has: int) -> bool:
        """Whether an option is no dearer than another, with all that comes with that one."""
        total, limit = option.cost, other.cost
        for child in option.needs:
            if not (child in other.needs or self._bits.get(child, 0) & has):
                total += self._trees[child]
                if total > limit:
                    return False
        return True

    def _inline(self, roots: set[int]) -> None:
        users = _users_of(self._options)
        kept = roots | self._whole.in_cycles
        inlined: dict[int, ClassOption] = {}
        for name, options in self._options.items():
            class_options = tuple(_inline_options(option, inlined) for option in options)
            self._options[name] = class_options
            if len(class_options) == 1 and name not in kept:
                if class_options[0].cost == 0 or len(users.get(name, ())) == 1:
                    inlined[name] = class_options[0]
        for name in inlined:
            del self._options[name]
        self.is_smaller |= bool(inlined)


def _users_of(options: Mapping[int, tuple[ClassOption, ...]]) -> dict[int, set[int]]:
    """Return the classes that need each class."""
    users: dict[int, set[int]] = {}
    for name, class_options in options.items():
        for child in {child for option in class_options for child in option.needs}:
            users.setdefault(child, set()).add(name)
    return users


def _inline_options(option: ClassOption, inlined: dict[int, ClassOption]) -> ClassOption:
    """Return an option with those of the classes that it needs and that have but one."""
    options = [inlined[child] for child in sorted(option.needs) if child in inlined]
    if not options:
        return option
    return ClassOption(
        option.cost + sum(class_option.cost for class_option in options),
        option.needs.difference(inlined).union(*(option.needs for option in options)),
        (*option.nodes, *(node for option in options for node in option.nodes)),
    )


def _children_first(whole: ReducedChoices) -> list[int]:
    """Return the classes that the roots need, each behind what it needs if on no circle with it."""
    result: list[int] = []
    seen: set[int] = set()
    for root in sorted(whole.roots):
        stack: list[tuple[int, Iterator[int]]] = []
        ahead: Iterator[int] = iter([root])
        while True:
            child = next((need for need in ahead if need not in seen), None)
            if child is not None:
                seen.add(child)
                stack.append((child, ahead))
                needs = {need for option in whole.options[child] for need in option.needs}
                ahead = iter(sorted(needs))
            elif stack:
                name, ahead = stack.pop()
                result.append(name)
            else:
                break
    return result


def _tree_costs(
    options: Mapping[int, tuple[ClassOption, ...]], required: set[int]
) -> dict[int, float]:
    """Return what each class costs at most where the required ones are there.

    Classes come behind what they need; what does not, as in circles, is not taken into a tree.
    """
    trees: dict[int, float] = {}
    for name, class_options in options.items():
        trees[name] = (
            0.0
            if name in required
            else min(
                option.cost + sum(trees.get(child, math.inf) for child in option.needs)
                for option in class_options
            )
        )
    return trees
