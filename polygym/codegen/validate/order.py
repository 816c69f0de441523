"""Do isl's loops run the instances in a legal order? Decided exactly, for every dependence.

isl's AST generator has been seen to put statements of a band in the wrong order where their domains
meet, for about one in twenty of the irregular schedules of a program with fifteen statements. So
its loops are judged as a schedule is. At every leaf of the AST isl says which instances run there
and what the counters are then, a map E from instances to counters. Two leaves X and Y have some
loops in common, and below them X comes before Y in the text, or after it. An instance x of X runs
before y of Y if the counters of the common loops are lexicographically smaller, or if they are
equal and X comes first. What must be empty, for a dependence D and all leaves X of its source and
Y of its sink:

    D ∩ { x → y : E_Y(y) < E_X(x), or E_Y(y) = E_X(x) unless X comes first }

on the common counters. Example: in ``for (c0) { S(c0); if (c0 >= 1) T(c0 - 1); }`` the leaves share
c0 and S comes first; a dependence S(i) → T(i) has c0 = i and c0 = i + 1: fine.

Where the tree has the terms of some sums in another order, what has to keep its order is what
:mod:`polygym.codegen.common.reduction_order` says, in place of the dependences of these sums.

Each statement's leaves must also hold each of its instances once.

When an instance runs, as the tree says: its values along the way down.

They are those of the members of bands, tiles included, and the number of its branch at every
sequence: (⌊i/32⌋, 1, i, j).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias, assert_never

import islpy as isl

from polygym.codegen.common.reduction_order import ReductionGroups, ordering_conflicts
from polygym.codegen.loopir.ir import Block, Guard, Instance, Loop, Node
from polygym.codegen.loopir.names import counter_depth
from polygym.codegen.tree.ir import Band, FlooredRow, Leaf, SequenceNode, Tree
from polygym.errors import InternalError, LimitError
from polygym.ir.scop import Scop
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.dependences import dependences
from polygym.poly.legality import LegalSchedule


def timestamps_along(
    tree: Tree, legal: LegalSchedule, statement: str, *, branches: bool = True
) -> Callable[..., tuple[int, ...]]:
    """Return the function from an instance and the sizes to its values along the tree.

    Without ``branches`` they are those of members alone.
    """
    names = legal.schedule.parameters
    own = [f"i{place}" for place in range(legal.scop.statement(statement).depth)]
    sizes = {name: f"p{place}" for place, name in enumerate(names)}

    def value(part: FlooredRow, place: int) -> str:
        row = part.rows[place]
        terms = [f"{a}*{name}" for a, name in zip(row.iterators, own, strict=True) if a]
        terms += [f"{a}*{sizes[name]}" for a, name in zip(row.parameters, names, strict=True) if a]
        total = " + ".join([*terms, str(row.constant)])
        return f"({total})" if part.size == 1 else f"({total})//{part.size}"

    def entries(tree: Tree) -> str:
        """Return the values along a tree, as what stands in a tuple, each with a comma behind."""
        match tree:
            case Leaf():
                return ""
            case Band(statements, members, child):
                place = statements.index(statement)
                sums = (
                    " + ".join(value(part, place) for part in band_member.terms)
                    for band_member in members
                )
                return f"{''.join(f'{entry}, ' for entry in sums)}{entries(child)}"
            case SequenceNode(parts):
                text, others = "", ""
                for number, branch in enumerate(parts):
                    if statement not in branch.statements:
                        continue
                    below = f"{f'{number}, ' * branches}{entries(branch.child)}"
                    if branch.predicate is None or branch.predicate.is_complement:
                        others = below
                        continue
                    number_text = partial(value, place=branch.statements.index(statement))
                    text += f"({below}) if {branch.predicate.text(number_text)} else "
                return f"*({text}({others})), " if text else others
            case _:
                assert_never(tree)

    scop_names = [parameter.name for parameter in legal.scop.parameters]
    arguments = [*own, *(sizes.get(name, f"_{name}") for name in scop_names)]
    text = f"lambda {', '.join(arguments)}: ({entries(tree)})"
    result: Callable[..., tuple[int, ...]] = eval(text, {})
    return result


class WrongLoopsError(LimitError):
    """isl's loops do not do what the tree says."""


WRONG_INSTANCES = "isl's loops do not run every instance once; the schedule is too irregular for it"
WRONG_ORDER = "isl's loops run instances in the wrong order; the schedule is too irregular for it"

_LOOP_STEP = "loop"

_PathStep: TypeAlias = tuple[str, int]
"""One step down to a leaf: a loop and the place of its counter, or one of several children."""


@dataclass(frozen=True)
class _AstLeaf:
    """Where an instance stands in the text: the way down to it, and which instances run there."""

    path: tuple[_PathStep, ...]
    counters: isl.Map


def check_legal_order(
    body: Node,
    counters: list[isl.Map],
    numbers: dict[int, int],
    scop: Scop,
    sizes: Sizes | None,
    sums: ReductionGroups = frozenset(),
) -> None:
    """Refuse loops that break a dependence, or that do not run every instance once.

    ``counters`` are the maps of the leaves, ``numbers`` finds a leaf's by the id of its instance.
    The statements of each of the ``sums`` reduce elements of one array, in any order.

    Raises:
        WrongLoopsError: they do.
    """
    leaves: dict[str, list[_AstLeaf]] = {statement.name: [] for statement in scop.statements}
    for instance, way in _instances_with_paths(body, ()):
        own_counters = counters[numbers[id(instance)]]
        if own_counters.dim(isl.dim_type.out) != _loop_count(way):
            raise InternalError("isl's loops: expected a counter for each, found another number")
        leaves[instance.statement].append(_AstLeaf(way, own_counters))
    context = at_sizes(isl.Set(scop.context), sizes)
    known = None if sizes is None else tuple(sizes.items())
    for statement in scop.statements:
        domain = at_sizes(isl.Set(statement.domain), sizes)
        _check_complete(domain, leaves[statement.name], context)
    for source, sink, relation in _ordered_pairs(scop, known, sums):
        for first in leaves[source]:
            for second in leaves[sink]:
                if not relation.is_disjoint(_reversed_pairs(first, second)):
                    raise WrongLoopsError(WRONG_ORDER)


@lru_cache(maxsize=16)
def _ordered_pairs(
    scop: Scop, known: tuple[tuple[str, int], ...] | None, sums: ReductionGroups
) -> tuple[tuple[str, str, isl.Map], ...]:
    """Return what keeps its order: source, sink, and the pairs at the sizes."""
    sizes = None if known is None else dict(known)
    reducing = frozenset().union(*sums)
    result = [
        (dependence.source, dependence.sink, isl.Map(dependence.relation))
        for dependence in dependences(scop)
        if reducing.isdisjoint((dependence.source, dependence.sink))
    ]
    result += ordering_conflicts(scop, sums) if sums else ()
    return tuple((source, sink, at_sizes(pairs, sizes)) for source, sink, pairs in result)


def _check_complete(domain: isl.Set, leaves: list[_AstLeaf], context: isl.Set) -> None:
    covered = isl.Set.empty(domain.get_space())
    for leaf in leaves:
        here = leaf.counters.domain().intersect_params(context)
        if not covered.is_disjoint(here):
            break
        covered = covered.union(here)
    else:
        if covered.is_equal(domain.intersect_params(context)):
            return
    raise WrongLoopsError(WRONG_INSTANCES)


def _instances_with_paths(
    node: Node, way: tuple[_PathStep, ...]
) -> Iterator[tuple[Instance, tuple[_PathStep, ...]]]:
    """Yield every instance of the text with the way down to it."""
    match node:
        case Block(children):
            for number, child in enumerate(children):
                yield from _instances_with_paths(child, (*way, ("child", number)))
        case Loop(variable=variable, body=body):
            yield from _instances_with_paths(body, (*way, (_LOOP_STEP, counter_depth(variable))))
        case Guard(_, then, otherwise):
            yield from _instances_with_paths(then, (*way, ("then", 0)))
            if otherwise is not None:
                yield from _instances_with_paths(otherwise, (*way, ("then", 1)))
        case Instance():
            yield node, way
        case _:
            assert_never(node)


def _reversed_pairs(first: _AstLeaf, second: _AstLeaf) -> isl.Map:
    """Return the pairs of instances of two leaves of which the second's does not run later."""
    common = 0
    for path_step, other in zip(first.path, second.path, strict=False):
        if path_step != other:
            break
        common += 1
    loops = _loop_count(first.path[:common])
    before, after = (_outermost_counters(leaf.counters, loops) for leaf in (first, second))
    is_first = first.path[common:] < second.path[common:]
    return before.lex_gt_map(after) if is_first else before.lex_ge_map(after)


def _loop_count(way: tuple[_PathStep, ...]) -> int:
    return sum(kind == _LOOP_STEP for kind, _ in way)


def _outermost_counters(counters: isl.Map, count: int) -> isl.Map:
    """Return the map to the first counters alone."""
    rest = counters.dim(isl.dim_type.out) - count
    return counters.project_out(isl.dim_type.out, count, rest)
