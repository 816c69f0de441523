"""Shorter sequences of steps with the same result.

:func:`shortened` leaves out steps one at a time, makes one fusion of two, and keeps what still
leads to the target. :func:`path_between` looks for a path of few steps from both ends: states that
are reached from the start, and states from which the target is reached, until they meet::

    start  →  · · ·  →  a  =  b  ←  · · ·  ←  target

Steps have inverses (fuse and distribute, skew by k and by -k), so the neighbours of a state are
also the states before it, and the last half of the path is found again step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations

from polygym.transformations.candidates import order_steps
from polygym.transformations.loop_tree import Loop, LoopTree
from polygym.transformations.simple_tree import simple_shape
from polygym.transformations.state import TransformState
from polygym.transformations.steps import Fuse, Interchange, Reverse, Shift, Step, TreeStep

IsTarget = Callable[[TransformState], bool]

MOST_STEPS_TO_SHORTEN = 60

_Key = tuple[object, ...]


def shortened(start: TransformState, steps: Sequence[Step], is_target: IsTarget) -> TransformState:
    """Return the state after a subsequence of steps that still leads to the target.

    Skewing and interchanging are kept: they can leave the order as it is, and yet matter for tiles.
    Reordering is kept because it is never done in vain.
    """
    own = list(steps)
    states = [start]
    for step in own:
        states.append(states[-1].after(step))
    if len(own) > MOST_STEPS_TO_SHORTEN:
        return states[-1]
    place = len(own) - 1
    while place >= 0:
        for rest in _choices(states[place], own, place):
            longer = _replayed(states[place], rest)
            if longer and is_target(longer[-1]):
                own[place:] = rest
                states[place:] = longer
                place = min(place, len(own))
                break
        place -= 1
    return states[-1]


def _choices(before: TransformState, steps: list[Step], place: int) -> list[list[Step]]:
    """Return the steps from a place on with one less, or with a simpler one."""
    step, rest = steps[place], steps[place + 1 :]
    result: list[list[Step]] = []
    if isinstance(step, Shift | Reverse | Fuse):
        result.append(rest)
    if isinstance(step, Interchange):
        result += _with_one_interchange(step, rest)
    if isinstance(step, Fuse):
        result += _with_depth(before, step, rest)
        if step.shift or step.terms:
            result.append([replace(step, shift=0, terms=()), *rest])
    return result


def _with_one_interchange(step: Interchange, rest: list[Step]) -> list[list[Step]]:
    """Return steps in which one interchange is in place of two or three.

    Loops (a, b, c) become (c, b, a) by one interchange, or by three of neighbours.
    """
    more = [place for place, other in enumerate(rest) if isinstance(other, Interchange)][:2]
    result: list[list[Step]] = []
    for count in range(len(more), 0, -1):
        taken = [rest[place] for place in more[:count]]
        left = [other for place, other in enumerate(rest) if place not in more[:count]]
        names = dict.fromkeys(
            name
            for other in (step, *taken)
            if isinstance(other, Interchange)
            for name in (other.outer, other.inner)
        )
        if len(names) == 3:
            result += [[Interchange(*pair), *left] for pair in permutations(names, 2)]
    return result


def _with_depth(before: TransformState, step: Fuse, rest: list[Step]) -> list[list[Step]]:
    """Return steps in which a later fusion is part of this one."""
    insides = [
        {loop.name for loop in before.tree.chain(name)[step.depth :]}
        if isinstance(before.tree.nodes[name], Loop) and name != step.sink
        else {name}
        for name in (step.first, step.second)
    ]
    result: list[list[Step]] = []
    for later, other in enumerate(rest):
        if (
            isinstance(other, Fuse)
            and other.first in insides[0]
            and other.second in insides[1]
            and other.sink == step.sink
            and not (other.shift or other.terms)
        ):
            deep = replace(step, depth=step.depth + other.depth)
            result.append([deep, *rest[:later], *rest[later + 1 :]])
    return result


def _replayed(start: TransformState, steps: Sequence[Step]) -> list[TransformState]:
    """Return the states from the start on; none if a step is not allowed."""
    states = [start]
    for step in steps:
        (verdict,) = states[-1].verdicts([step])
        if verdict.state is None:
            return []
        states.append(verdict.state)
    return states


def path_between(
    start: TransformState,
    target: LoopTree,
    is_target: IsTarget,
    most_steps: int,
    most_neighbours: int,
) -> TransformState | None:
    """Return the state at the end of a path of at most so many steps; None if none is found.

    About ``most_neighbours`` steps are decided, from the end with fewer states first.
    """
    forward: dict[_Key, TransformState] = {_key(start.tree): start}
    backward: dict[_Key, _Key | None] = {_key(target): None}
    ends = [list(forward.items()), [(_key(target), replace(start, tree=target))]]
    for _ in range(most_steps):
        side = 0 if len(ends[0]) <= len(ends[1]) else 1
        following: list[tuple[_Key, TransformState]] = []
        for key, state in ends[side]:
            steps = list(order_steps(state.tree))
            most_neighbours -= len(steps)
            if most_neighbours < 0:
                return None
            for near in _allowed(state, steps):
                new = _key(near.tree)
                if side == 0 and new not in forward:
                    forward[new] = near
                elif side == 1 and new not in backward:
                    backward[new] = key
                else:
                    continue
                following.append((new, near))
                if new in forward and new in backward:
                    found = _followed(forward[new], new, backward)
                    if found is not None and is_target(found):
                        return found
        ends[side] = following
    return None


def _followed(
    state: TransformState, key: _Key, backward: dict[_Key, _Key | None]
) -> TransformState | None:
    """Return the state at the target, along the states from which it is reached."""
    following = backward[key]
    while following is not None:
        near = _allowed(state, list(order_steps(state.tree)))
        found = next((other for other in near if _key(other.tree) == following), None)
        if found is None:
            return None
        state, following = found, backward[following]
    return state


def _allowed(state: TransformState, steps: list[TreeStep]) -> list[TransformState]:
    verdicts = state.verdicts(steps)
    return [verdict.state for verdict in verdicts if verdict.state is not None]


def _key(tree: LoopTree) -> _Key:
    return simple_shape(tree.body)
