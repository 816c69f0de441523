"""Arrays of several dimensions that C has as one: ``A[i * m + j]`` is ``A[i][j]``.

Of an array of one dimension whose subscripts multiply by a parameter, all subscripts are divided by
it: ``q * m + r`` is element r of row q, if 0 <= r < m. That r is in a row is asked of isl, for all
instances and all sizes, maybe one row earlier or later; then the two elements are the same, and the
array is declared as one of rows::

    void f(int n, int m, double A[n * m]) {           double A[n][m]
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
          A[i * m + j] = A[i * m + m - 1 - j];        A[i][j] = A[i][m - 1 - j];

Rows may consist of rows, with the divisors of the first quotients. An array for which it is not
so stays as it is: its subscripts are computed, or refused. Names that stand for expressions
(:mod:`polygym.frontend.c.desugar.single_assignment`) are put in.

Subscripts that go on in later rows: ``A[0][i * m + j]`` of rows of m elements is ``A[i][j]``.

That is where a pointer leads that walks through an array of several dimensions, whose rows lie one
behind the other, as is what :mod:`polygym.frontend.c.memory.pointer_induction` makes of it::

    double *p = &A[0][0];           long p_row = 0, p_at = 0;
    for (t = 0; t < n * m; t++)     for (i …) for (j …)
      p[t] = 0;                       A[p_row][p_at + (i * m + j)] = 0;    A[p_row + i][p_at + j]

Only what multiplies by a parameter is divided, because nothing else is made of such a subscript;
and, if asked for, where such a pointer walks through rows of a constant size: with e = p_at + t it
is ``A[p_row + e / 8][e % 8]``. Whether the rest is in its row is asked as for every subscript.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.errors import PolygymError
from polygym.frontend.c.desugar.single_assignment import SingleAssignments
from polygym.frontend.c.loops.polynomials import Polynomial, read_polynomial
from polygym.frontend.c.memory.row_containment import RowElement, is_delinearizable
from polygym.frontend.c.memory.unsized_arrays import parse_expression, region_accesses
from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements
from polygym.frontend.c.source.region_selection import ArraySizes


def with_delinearized_subscripts(
    tree: Any, region: ScopRegion, source: SourceMap, pointer_indices: frozenset[str] = frozenset()
) -> ScopRegion:
    """Return a region whose products in subscripts of inner dimensions are rows, where they are.

    Where a subscript has one of the integers ``pointer_indices``, it is divided by rows of constant
    sizes.
    """
    inner = [
        node.subscript for node in syntax.walk(region.items, c_ast.ArrayRef) if _is_inner(node)
    ]
    if not pointer_indices and not syntax.multiplies(inner):
        return region
    once = SingleAssignments(tree, region, source)
    moving = syntax.modified_names(region.items)

    def read(node: Any) -> Polynomial | None:
        return read_polynomial(node, once.is_exact, once.definition)

    def replacement(node: Any) -> Any:
        """Return an element in the row in which it is, None for what stays."""
        if not _is_inner(node):
            return None
        base, subscripts = syntax.base_and_subscripts(node)
        sizes = _inner_sizes(once.declaration(base.name)) if isinstance(base, c_ast.ID) else []
        if len(subscripts) != len(sizes) + 1:
            return None
        widths = [read(size) for size in sizes]
        subscripts = [syntax.copy_tree(subscript, replacement) for subscript in subscripts]
        for place in range(len(sizes), 0, -1):
            width, whole = widths[place - 1], read(subscripts[place])
            if pointer_indices & syntax.names_in(subscripts[place]):
                if width is not None and width.constant is not None:
                    size = width.to_node(node)
                    rows = c_ast.BinaryOp("/", subscripts[place], size, node.coord)
                    before = subscripts[place - 1]
                    subscripts[place - 1] = c_ast.BinaryOp("+", before, rows, node.coord)
                    rest = syntax.copy_tree(subscripts[place]), syntax.copy_tree(size)
                    subscripts[place] = c_ast.BinaryOp("%", *rest, node.coord)
                    continue
            if width is None or whole is None or whole.is_linear or width.names & moving:
                continue
            divided = whole.divided(width)
            if divided is not None and divided[1].is_linear:
                rows, rest = (part.to_node(node) for part in divided)
                before = subscripts[place - 1]
                subscripts[place - 1] = c_ast.BinaryOp("+", before, rows, node.coord)
                subscripts[place] = rest
        return syntax.element_node(base.name, subscripts, node)

    return with_statements(region, [syntax.copy_tree(item, replacement) for item in region.items])


def _is_inner(node: Any) -> bool:
    """Whether a node is an element or a row of a row."""
    return isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ArrayRef)


def _inner_sizes(declared: Any) -> list[Any]:
    """Return the sizes of an array's dimensions but the first; none where one is not declared."""
    sizes, kind = syntax.array_type(getattr(declared, "type", None))
    return sizes[1:] if isinstance(kind, c_ast.TypeDecl) and None not in sizes[1:] else []


_MAX_DIMENSIONS = 6
_MAX_STRIDES = 12
_MAX_SPLITS = 4
_MAX_ATTEMPTS = 200


@dataclass(frozen=True, slots=True, eq=False)
class _SubscriptSplit:
    """Subscripts as several each, the sizes of the inner ones, and what is left of the whole."""

    subscripts: list[list[Polynomial]]
    strides: list[Polynomial]
    size: Polynomial | None


@dataclass(frozen=True, slots=True, eq=False)
class Delinearized:
    """A region with arrays of rows, and the sizes of others that are still to be given.

    ``has_short_rows`` says that an array may have rows that are not surely long enough;
    ``unsigned_strides`` are the names in the sizes of rows of arrays with unsigned subscripts.
    """

    region: ScopRegion
    sizes: ArraySizes
    has_short_rows: bool = False
    unsigned_strides: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _DelinearizedArray:
    """An array: its declaration, the nodes of its elements, and the ways to divide these.

    The first way is tried; ``elements`` is what the elements became.
    """

    declared: Any
    region_begin: Any
    keys: list[int]
    splits: list[_SubscriptSplit]
    is_unsigned: bool = False
    elements: dict[int, RowElement] = field(default_factory=dict)

    @property
    def strides(self) -> list[Polynomial]:
        """The sizes of the rows, the innermost last."""
        return self.splits[0].strides

    def element(self, old: Any) -> Any:
        """Return the element of a row for an element of the array."""
        new: Any = syntax.copy_tree(old.name)
        for _ in range(len(self.strides) + 1):
            new = c_ast.ArrayRef(new, None, old.coord)
        subscripts = self.splits[0].subscripts[self.keys.index(id(old))]
        self.elements[id(new)] = RowElement(new, list(subscripts))
        self.elements[id(new)].write_subscripts()
        return new

    def declared_type(self) -> Any:
        """Return the type of the array of rows; without a size it is a pointer to rows."""
        like, size = self.declared, self.splits[0].size
        kind = like.type.type
        # A declared size is that of the declaration, rows alone are those of the region.
        place = self.region_begin if size is None else like
        for stride in reversed(self.strides):
            kind = c_ast.ArrayDecl(kind, stride.to_node(place), [], like.coord)
        if size is None:
            return c_ast.PtrDecl([], kind, like.coord)
        return c_ast.ArrayDecl(kind, size.to_node(place), [], like.coord)


def with_delinearized_arrays(
    tree: Any,
    region: ScopRegion,
    source: SourceMap,
    sizes: ArraySizes,
    translate: Callable[[ScopRegion], Translation],
    *,
    under_conditions: bool = False,
) -> Delinearized:
    """Return a region with arrays of rows; its function is changed, too.

    With ``under_conditions`` rows are taken to be long enough if they are so for some sizes, and
    unsigned subscripts not to wrap around. ``translate`` reads a region.
    """
    if not syntax.multiplies(region.items):  # most regions do not come any further
        return Delinearized(region, sizes)
    search = _DelinearizationSearch(tree, region, source, sizes, under_conditions=under_conditions)
    arrays = search.delinearizable()
    has_short_rows = search.has_unsigned_rows
    while arrays:
        left = {name: size for name, size in sizes.items() if name not in arrays}
        kinds = {name: flat.declared.type for name, flat in arrays.items()}
        new, outside = _rewritten(region, arrays)
        wrong = _rejected_arrays(new, arrays, left, translate, under_conditions=under_conditions)
        if not wrong:
            unsigned = {
                name: frozenset(used for stride in flat.strides for used in stride.names)
                for name, flat in arrays.items()
                if flat.is_unsigned
            }
            return Delinearized(new, left, has_short_rows, unsigned)
        has_short_rows = True
        with_statements(region, region.items)
        for node, name in outside:
            node.name = name
        for name, kind in kinds.items():
            arrays[name].declared.type = kind
            arrays[name].elements.clear()
        for name in wrong:
            del arrays[name].splits[0]
        arrays = {name: flat for name, flat in arrays.items() if flat.splits}
    return Delinearized(region, sizes, has_short_rows)


class _DelinearizationSearch:
    """Finds the arrays of a region that may be arrays of rows."""

    def __init__(
        self,
        tree: Any,
        region: ScopRegion,
        source: SourceMap,
        given: ArraySizes,
        *,
        under_conditions: bool,
    ) -> None:
        """``under_conditions`` tries rows of constant sizes last, and takes unsigned subscripts."""
        self._under_conditions = under_conditions
        self.has_unsigned_rows = False
        self._once = SingleAssignments(tree, region, source)
        self._region, self._given = region, given
        self._moving = syntax.modified_names(region.items)

    def delinearizable(self) -> dict[str, _DelinearizedArray]:
        """Return the arrays."""
        return {name: flat for name in self._names() if (flat := self._flat(name)) is not None}

    def _names(self) -> Iterator[str]:
        """Yield the arrays of one dimension that the region uses with subscripts alone."""
        mentions = Counter(node.name for node in syntax.walk(self._region.items, c_ast.ID))
        used = Counter(filter(None, map(_array, syntax.walk(self._region.items, c_ast.ArrayRef))))
        for name, count in used.items():
            declared: Any = self._once.declaration(name)
            kind: Any = getattr(declared, "type", None)
            is_one = isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl)
            if count == mentions[name] and is_one and isinstance(kind.type, c_ast.TypeDecl):
                yield name

    def _flat(self, name: str) -> _DelinearizedArray | None:
        """Return an array with its rows, None if it has none."""
        factors: list[Polynomial] = []
        read: dict[int, Polynomial] = {}
        is_unsigned = False
        for node in syntax.walk(self._region.items, c_ast.ArrayRef):
            if _array(node) == name:
                is_unsigned |= self._is_unsigned(node.subscript)
                subscript = self._read(node.subscript, factors)
                if subscript is None:
                    return None
                read[id(node)] = subscript
        size, is_known = self._size(name, factors)
        if not is_known or (
            all(polynomial.is_linear for polynomial in read.values())
            and (size is None or size.is_linear)
        ):
            return None
        keys = list(read)
        tries = iter(range(_MAX_ATTEMPTS))
        ways = _splits([read[key] for key in keys], size, self._strides(factors), tries)
        chosen = [split for split in islice(ways, _MAX_SPLITS) if split.strides]
        declared = self._once.declaration(name)
        begin = self._region.begin
        return _DelinearizedArray(declared, begin, keys, chosen, is_unsigned) if chosen else None

    def _read(self, node: Any, factors: list[Polynomial]) -> Polynomial | None:
        once = self._once
        is_exact = once.is_exact
        if self._is_unsigned(node):
            self.has_unsigned_rows = True
            if self._under_conditions:
                is_exact = once.is_int_or_unsigned
        return read_polynomial(node, is_exact, once.definition, factors, once.is_int)

    def _is_unsigned(self, node: Any) -> bool:
        """Whether an expression is one of ``int`` and ``unsigned int``, with one of the latter."""
        names = syntax.names_in(node)
        plain = all(constant.value.isdigit() for constant in syntax.walk(node, c_ast.Constant))
        return (
            plain
            and not syntax.contains(node, c_ast.Cast)
            and all(map(self._once.is_int_or_unsigned, names))
            and not all(map(self._once.is_int, names))
        )

    def _size(self, name: str, factors: list[Polynomial]) -> tuple[Polynomial | None, bool]:
        """Return the declared size of an array, None for a pointer; and if it is understood."""
        declared: Any = self._once.declaration(name)
        dim = getattr(declared.type, "dim", None)
        if dim is None and name in self._given:
            if len(self._given[name]) != 1:
                return None, False
            dim = parse_expression(self._given[name][0], declared)
        if dim is None:
            return None, True
        size = self._read(dim, factors)
        if size is None or size.names & self._moving:
            return None, False
        return size, True

    def _strides(self, factors: Sequence[Polynomial]) -> list[Polynomial]:
        """Return what the rows may have as sizes: factors that the region does not change."""
        polynomials: list[Polynomial] = []
        for polynomial in factors:
            fits = polynomial.lone_unknown() is not None or (polynomial.constant or 0) > 1
            if fits and not polynomial.names & self._moving:
                if not any(polynomial.equals(other) for other in polynomials):
                    polynomials.append(polynomial)
        numbers = [polynomial for polynomial in polynomials if polynomial.constant is not None]
        others = [polynomial for polynomial in polynomials if polynomial.constant is None]
        products = [number.times(factor) for number in numbers for factor in others]
        if self._under_conditions:
            return [*others, *products, *numbers][:_MAX_STRIDES]
        return [*numbers, *others, *products][:_MAX_STRIDES]


def _splits(
    subscripts: Sequence[Polynomial],
    size: Polynomial | None,
    strides: Sequence[Polynomial],
    attempts: Iterator[int],
    depth: int = 1,
) -> Iterator[_SubscriptSplit]:
    """Divide subscripts and a size until nothing is multiplied, in all ways."""
    if all(subscript.is_linear for subscript in subscripts) and (size is None or size.is_linear):
        yield _SubscriptSplit([[subscript] for subscript in subscripts], [], size)
        return
    if depth == _MAX_DIMENSIONS:
        return
    for stride in strides:
        if next(attempts, None) is None:
            return
        divided = [polynomial.divided(stride) for polynomial in subscripts]
        parts = [part for part in divided if part is not None and part[1].is_linear]
        rows = None if size is None else size.divided(stride)
        if len(parts) < len(divided) or (size is not None and (rows is None or rows[1].terms)):
            continue
        first = None if rows is None else rows[0]
        for outer in _splits([whole for whole, _ in parts], first, strides, attempts, depth + 1):
            inner = [
                [*whole, rest] for whole, (_, rest) in zip(outer.subscripts, parts, strict=True)
            ]
            yield _SubscriptSplit(inner, [*outer.strides, stride], outer.size)


def _rewritten(
    region: ScopRegion, arrays: Mapping[str, _DelinearizedArray]
) -> tuple[ScopRegion, list[tuple[Any, Any]]]:
    """Return the region with arrays of rows, in its function, and what is else of it before.

    Outside the region all elements are those of one row: it does not matter which.
    """

    def replacement(node: Any) -> Any:
        """Return the element of a row for one of the array, and its declaration in the region."""
        if isinstance(node, c_ast.Decl) and node.name in arrays:
            new = syntax.copy_tree(node)
            new.type = arrays[node.name].declared_type()
            return new
        flat = arrays.get(_array(node))
        return None if flat is None else flat.element(node)

    items = tuple(syntax.copy_tree(item, replacement) for item in region.items)
    new = with_statements(region, items)
    mine = set(map(id, syntax.walk(items)))
    before = [
        node for node in syntax.walk(region.function.body, c_ast.ArrayRef) if id(node) not in mine
    ]
    outside = [(node, node.name) for node in before if _array(node) in arrays]
    for node, name in outside:
        for _ in arrays[name.name].strides:
            node.name = c_ast.ArrayRef(node.name, syntax.integer_node(0, node), node.coord)
    for flat in arrays.values():
        flat.declared.type = flat.declared_type()
    return new, outside


def _array(node: Any) -> str:
    """Return the name of the array that a node is an element of, nothing for others."""
    is_element = isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ID)
    return str(node.name.name) if is_element else ""


def _rejected_arrays(
    region: ScopRegion,
    arrays: Mapping[str, _DelinearizedArray],
    sizes: ArraySizes,
    translate: Callable[[ScopRegion], Translation],
    *,
    under_conditions: bool,
) -> set[str]:
    """Return the arrays of which some element is not surely in its row; move those that are."""
    try:
        translation, touches = region_accesses(region, sizes, lambda: translate(region))
        return {
            name
            for name, flat in arrays.items()
            if not is_delinearizable(
                name,
                flat.strides,
                flat.elements,
                touches,
                translation,
                under_conditions=under_conditions,
            )
        }
    except (PolygymError, isl.Error):
        return set(arrays)  # the translation of the region meets the reason
