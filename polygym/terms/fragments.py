"""Parts of a term, cut out so that a search may look at them alone.

A part is a place and some of the nodes below it; what is below these is a *hole*, for which a free
variable stands, the same one for what is the same. Rules hold whatever a variable stands for, so
what a search does to a part can be done to the whole term, at the place: nothing is proved anew.
What a hole costs its variable costs (:class:`FragmentCost`), or copying it would seem free. A hole
has no variable that the part binds: what has is shown.

Two kinds of parts come of a term (:func:`fragments_of`):

*Pieces*: what is below a node, as far as ``most`` nodes go, level by level. There things are side
by side that rules of arithmetic may join.

*Pairs*: a part that stands at two places, with the ways up to where these meet, and nothing beside
these. However far away it is, what has to be done to compute it once is all there.

Example: (add (mul (exp a) (log b)) (exp (log b))) has (log b) at 0.1 and at 1.0. The pair is
(add (mul h (log b)) (exp (log b))) where h is (exp a) and costs 4.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from polygym.rewrite.term import Term, term
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import binds, free_variables, index_of, term_facts, variable
from polygym.terms.language.substitution import shift_indices
from polygym.terms.language.types import FLOAT, is_data
from polygym.terms.rewriter import Position, subterm_at
from polygym.terms.sharing_value import common_length, subterms_by_position

_LARGEST = 5_000
_USES = 3


@dataclass(frozen=True, slots=True, eq=False)
class TermFragment:
    """A place, the part as it is shown, and what its holes cost, by the variables there."""

    position: Position
    term: Term
    holes: Mapping[Term, float]
    is_pair: bool


class FragmentCost(StaticCost):
    """The static cost, with what holes cost."""

    def __init__(self, holes: Mapping[Term, float]) -> None:
        """Know what the variables of holes cost."""
        super().__init__()
        self._holes = holes

    def _of(self, one: Term) -> float:
        if not one.children:
            return self._holes.get(one, 0.0)
        return super()._of(one)


def fragments_of(root: Term, most: int) -> Iterator[TermFragment]:
    """Yield parts of a term, of not much more than so many nodes: pairs, then pieces.

    Pairs that meet lowest come first, pieces from the left and from below.
    """
    if term_facts(root).nodes > _LARGEST:
        return
    cost, prefix = StaticCost(), _unused(root)
    pairs = _pairs(root, most)
    for number, (place, kept) in enumerate((*pairs, *_pieces(root, most))):
        is_pair = number < len(pairs)
        cutting = _FragmentBuilder(cost, prefix, kept, 2 * most, is_pair=is_pair)
        shown = cutting.shown(subterm_at(root, place), place, 0)
        if shown is not None:
            yield TermFragment(place, shown, cutting.holes(), is_pair)


def _unused(root: Term) -> str:
    """Return what no free variable of a term begins with."""
    prefix = "hole"
    while any(name.startswith(prefix) for name in free_variables(root)):
        prefix += "_"
    return prefix


class _FragmentBuilder:
    """Cuts one part out: shows the nodes at ``kept``, whole places, and puts holes elsewhere."""

    def __init__(
        self, cost: StaticCost, prefix: str, kept: frozenset[Position], most: int, *, is_pair: bool
    ) -> None:
        self._cost, self._prefix, self._kept, self._most = cost, prefix, kept, most
        self._is_pair = is_pair
        self._names: dict[Term, Term] = {}
        self._costs: dict[Term, float] = {}
        self._count = 0

    def _hole(self, one: Term, binders: int) -> Term | None:
        """Return what stands for a node that is not shown, None if it has to be.

        What has variables that the part binds is a variable to which these are added, as often as
        they are there: rules of binding ask for no more than that.
        """
        own = term_facts(one)
        inner = own.free & ((1 << binders) - 1)
        if not is_data(own.type) or (inner and not self._is_pair):
            return None
        leaves = [] if not inner else _leaves(one, binders)
        if any(term_facts(leaf).type is not FLOAT for leaf in (one, *leaves) if leaves):
            return None
        key = one if leaves else shift_indices(one, -binders)
        if key not in self._names:
            self._names[key] = variable(f"{self._prefix}{len(self._names)}", own.type)
            self._costs[self._names[key]] = max(0.0, self._cost(key) - len(leaves))
        made = self._names[key]
        for leaf in leaves:
            made = term("add", made, leaf)
        return made

    def holes(self) -> dict[Term, float]:
        """Return what the holes cost, by their variables."""
        return self._costs

    def shown(self, one: Term, place: Position, binders: int) -> Term | None:
        """Return a node as it is shown, under so many binders of the part.

        None if too many nodes have to be shown.
        """
        if not one.children:
            return one
        if place not in self._kept and (hole := self._hole(one, binders)) is not None:
            return hole
        self._count += 1
        if self._count > self._most:
            return None
        children = []
        for at, child in enumerate(one.children):
            made = self.shown(child, (*place, at), binders + binds(one, at))
            if made is None:
                return None
            children.append(made)
        return term(one.head, *children)


def _leaves(one: Term, binders: int) -> list[Term]:
    """Return the variables in a node that so many binders around it bind.

    Each as often as it is there, but three times at most.
    """
    terms: list[Term] = []
    stack = [(one, 0)]
    while stack:
        at, depth = stack.pop()
        if not term_facts(at).free >> depth & ((1 << binders) - 1):
            continue
        if not at.children:
            leaf = shift_indices(at, -depth)
            if terms.count(leaf) < _USES:
                terms.append(leaf)
        stack += [(child, depth + binds(at, place)) for place, child in enumerate(at.children)]
    return sorted(terms, key=lambda leaf: index_of(leaf))


def _pieces(root: Term, most: int) -> Iterator[tuple[Position, frozenset[Position]]]:
    """Yield places, and what is shown below them: all there is, or the upper levels of more.

    What is shown with what is above it is not shown by itself.
    """
    stack: list[tuple[Term, Position, bool]] = [(root, (), False)]
    while stack:
        one, place, is_done = stack.pop()
        if is_done or term_facts(one).nodes <= most:
            yield place, _levels(one, place, most)
            continue
        stack.append((one, place, True))
        below = [(child, (*place, at), False) for at, child in enumerate(one.children)]
        stack.extend(reversed([each for each in below if each[0].children]))


def _levels(one: Term, place: Position, most: int) -> frozenset[Position]:
    kept: list[Position] = []
    waiting = deque([(one, place)])
    nodes = 1
    while waiting and nodes < most:
        at, where = waiting.popleft()
        kept.append(where)
        nodes += len(at.children)
        waiting.extend(
            (child, (*where, number)) for number, child in enumerate(at.children) if child.children
        )
    return frozenset(kept)


def _pairs(root: Term, most: int) -> list[tuple[Position, frozenset[Position]]]:
    """Return where two places of one part meet, and the ways from there; the lowest first.

    Of more than two places those that follow each other in the text are paired: of these are the
    two that meet lowest.
    """
    result: list[tuple[Position, frozenset[Position]]] = []
    for places in _repeated(root).values():
        for position, other in pairwise(places):
            meet = common_length(position, other)
            ways = {
                way[:length] for way in (position, other) for length in range(meet, len(way) + 1)
            }
            if len(ways) <= most:
                result.append((position[:meet], frozenset(ways)))
    return sorted(result, key=lambda pair: (-len(pair[0]), len(pair[1]), pair[0]))


def _repeated(root: Term) -> dict[Term, list[Position]]:
    """Return the places of what stands more than once, in the order of the text.

    Variables are compared by their binders, however many others are between. What is below such a
    part is not looked at again, but for the first time that it stands there.
    """
    positions: dict[Term, list[Position]] = {}
    named = subterms_by_position(root)
    for place, one in named.items():
        if (
            not one.children
            or one.head == "let"
            or not is_data(term_facts(subterm_at(root, place)).type)
        ):
            continue
        if place and _is_again(positions, named, place[:-1]):
            continue
        positions.setdefault(one, []).append(place)
    return {one: places for one, places in positions.items() if len(places) > 1}


def _is_again(
    found: dict[Term, list[Position]], named: dict[Position, Term], parent: Position
) -> bool:
    """Whether the node above stood elsewhere before, or is in such a one."""
    places = found.get(named[parent])
    return named[parent].head != "let" and (places is None or places[0] != parent)
