"""Parts of a choice that have nothing to do with each other.

What is left of a choice (:mod:`polygym.rewrite.extraction.reduction`) has several roots. Classes
belong together if one needs the other; what does not belong together is chosen apart, and the
costs add up. Of a network of blocks, whatever stands between the blocks is required, and each block
is a part: instead of one choice among 2^60, six among 2^10.

Blocks that are built alike make parts that are alike, and those are equal as values: classes are
numbered from the roots on, in order of what is below them. Then one answer serves all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polygym.rewrite.extraction.choices import ExtractionChoices
from polygym.rewrite.extraction.reduction import ClassOption, ReducedChoices


@dataclass(frozen=True, slots=True)
class IndependentPart:
    """Classes that belong together, under a root that needs all of their roots."""

    choices: ExtractionChoices
    nodes_taken: tuple[tuple[int, ...], ...]
    """Node: the nodes of the whole choice that are taken with it."""


def independent_parts(problem: ReducedChoices) -> list[IndependentPart]:
    """Return the parts, the smallest first."""
    names = {name: name for name in problem.options}

    def find(name: int) -> int:
        while names[name] != name:
            names[name] = name = names[names[name]]
        return name

    for name, options in problem.options.items():
        for option in options:
            for child in option.needs:
                names[find(child)] = find(name)
    shapes = _isomorphism_classes(problem.options)
    roots: dict[int, list[int]] = {}
    for root in sorted(problem.roots):
        roots.setdefault(find(root), []).append(root)
    parts = [_make_part(problem.options, shapes, tops) for tops in roots.values()]
    return sorted(parts, key=lambda part: len(part.nodes_taken))


def _isomorphism_classes(options: Mapping[int, tuple[ClassOption, ...]]) -> dict[int, int]:
    """Return a number for each class that is the same for those with the same below them."""
    shapes: dict[int, int] = {}
    for name, class_options in options.items():
        rows = [
            (option.cost, tuple(sorted(shapes.get(child, 0) for child in option.needs)))
            for option in class_options
        ]
        shapes[name] = hash(tuple(sorted(rows)))
    return shapes


def _make_part(
    options: Mapping[int, tuple[ClassOption, ...]], shapes: Mapping[int, int], roots: list[int]
) -> IndependentPart:
    """Return the part of some roots, its classes numbered as they are come to."""
    numbers: dict[int, int] = {}
    order: list[int] = []

    def numbered(needs: Iterable[int]) -> tuple[int, ...]:
        for child in sorted(needs, key=lambda one: (shapes[one], one)):
            if child not in numbers:
                order.append(child)
                numbers[child] = len(order)
        return tuple(sorted(numbers[child] for child in needs))

    costs: list[float] = [0.0]
    children = [numbered(roots)]
    members: list[tuple[int, ...]] = [(0,)]
    taken: list[tuple[int, ...]] = [()]
    for name in order:  # which grows
        class_options = sorted(
            options[name],
            key=lambda class_option: (
                class_option.cost,
                sorted(shapes[child] for child in class_option.needs),
                class_option.nodes,
            ),
        )
        members.append(tuple(range(len(costs), len(costs) + len(class_options))))
        for option in class_options:
            costs.append(option.cost)
            children.append(numbered(option.needs))
            taken.append(option.nodes)
    choices = ExtractionChoices(
        tuple(range(len(costs))),
        tuple(costs),
        tuple(children),
        tuple(members),
        tuple(range(len(members))),
        {},
    )
    return IndependentPart(choices, tuple(taken))
