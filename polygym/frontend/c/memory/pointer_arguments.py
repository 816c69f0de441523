"""Pointers that a region does not set, as arrays of their own: further arguments of its function.

One rule for all of them: a pointer that has one value as long as the region runs is an array. It
overlaps no other, as no argument does. That is a variable that code before the region sets, one at
file scope, also ``extern double u[];`` without a size, and a member of a structure::

    void f(struct grid *g) {                  void f(struct grid *g, double *u, double *g_v) {
      double *u = choose(g);
    #pragma scop                              #pragma scop
      for (int i = 0; i < g->n; i++)            for (int i = 0; i < g->n; i++)
        g->v[i] = 2 * u[i];                       g_v[i] = 2 * u[i];
    #pragma endscop                           #pragma endscop

Two that are provably the same are one array: with ``u = g->v + 1``, u[i] is ``(g_v + 1)[i]``. Two
of which the function shows that they may be the same, and are not known to be, are refused if one
of them is written. The user may state that two are the same, ``--alias u=g->v``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.errors import SourceError
from polygym.frontend.c.memory.allocated_sizes import allocated_elements
from polygym.frontend.c.memory.pointer_merging import PointerMerging
from polygym.frontend.c.memory.region_pointers import RegionPointer, RegionPointers
from polygym.frontend.c.sema.declarations import Declarations
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol, resolve_names
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion


@dataclass(frozen=True, slots=True)
class PointerOrigin:
    """The pointer that a new argument stands for, as the file has it where the region begins.

    ``structures`` are pointers that lead to it: ``d`` and ``d->mesh`` to ``d->mesh->x``. ``levels``
    are those of its type: ``*`` and ``[]`` of ``double (*A)[4]``.
    """

    text: str
    structures: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("*",)


@dataclass(frozen=True, slots=True)
class PointerArguments:
    """New arguments by their names, and pairs of pointers that are the same as the user states.

    ``sizes`` are numbers of elements as C's expressions, of memory that the function allocates.
    """

    origins: Mapping[str, PointerOrigin] = field(default_factory=dict)
    stated: tuple[tuple[str, str], ...] = ()
    sizes: Mapping[str, Any] = field(default_factory=dict)


def with_pointer_arguments(
    tree: Any, region: ScopRegion, source: SourceMap, aliases: Sequence[tuple[str, str]] = ()
) -> tuple[ScopRegion, PointerArguments]:
    """Return a region whose pointers are arguments, and what these stand for.

    The function in the tree is changed, too.

    Raises:
        InputError: two pointers may be the same, or a stated alias is none of pointers.
    """
    _declare_unsized(tree)
    names = resolve_names(tree, region)
    if not aliases and not _has_candidates(region, names):
        return region, PointerArguments()
    return _PointerArguments(tree, region, source).result(aliases)


def _declare_unsized(tree: Any) -> None:
    """Declare ``extern double u[];`` as another declaration has it, or as ``double *u``."""
    arrays = [
        node
        for node in tree.ext
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.ArrayDecl)
    ]
    sized = {decl.name: decl.type for decl in arrays if decl.type.dim or decl.init}
    for decl in arrays:
        if decl.type.dim is None and decl.init is None and "extern" in (decl.storage or ()):
            pointer = c_ast.PtrDecl([], decl.type.type, decl.type.coord)
            decl.type = sized.get(decl.name, pointer)


def _has_candidates(region: ScopRegion, names: Any) -> bool:
    """Whether a region uses members, or pointers that are no plain arguments."""
    for node in syntax.walk(region.items, c_ast.ID, c_ast.StructRef):
        if isinstance(node, c_ast.StructRef):
            return True
        symbol = names.symbol_of(node)
        if symbol is None or symbol.scope is DeclarationScope.REGION:
            continue
        kind: Any = getattr(symbol.declaration, "type", None)
        inner = getattr(kind, "type", None)
        if isinstance(inner, c_ast.IdentifierType) and inner.names[0] in names.typedefs:
            return True
        if isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl) and (
            isinstance(inner, c_ast.PtrDecl)
            or symbol.scope is not DeclarationScope.ARGUMENT
            or symbol in names.replaced
        ):
            return True
    return False


class _PointerArguments:
    """One region on its way to pointers that are arguments."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        self._region, self._source = region, source
        self._spelled = {token.text for token in source.tokens}
        self._pointers = RegionPointers(tree, region, source)
        self._names, self._flow = self._pointers.names, self._pointers.flow
        self._types = self._pointers.types

    def result(self, aliases: Sequence[tuple[str, str]]) -> tuple[ScopRegion, PointerArguments]:
        """Return the region and its new arguments."""
        merging = PointerMerging(self._pointers, self._source)
        merging.run(aliases)
        stated = tuple(merging.stated)
        own = [pointer for pointer in self._pointers if pointer.is_own]
        if not own:
            return self._region, PointerArguments({}, stated, self._sizes())
        self._rewrite(own)
        origins = {
            pointer.name: PointerOrigin(
                pointer.text, tuple(_structures(pointer.like)), self._levels(pointer.kind)
            )
            for pointer in own
            if pointer.base is None
        }
        return self._region.reread(), PointerArguments(origins, stated, self._sizes())

    def _sizes(self) -> dict[str, Any]:
        """Return how many elements the function allocates for arrays, where that can be told."""
        declarations = Declarations(self._names.typedefs, self._source)
        result = {}
        for pointer in self._pointers:
            if pointer.base is not None or pointer.value.root not in self._flow.allocations:
                continue
            call, terms = self._flow.allocations[pointer.value.root]
            with suppress(SourceError):
                pointee = self._types.pointee(pointer.kind)
                size = declarations.scalar(pointee, pointer.like, pointer.text).size
                count = allocated_elements(call, size)
                if count is not None and all(map(self._flow.holds, terms)):
                    result[pointer.name or pointer.text] = count
        return result

    def _levels(self, kind: Any) -> tuple[str, ...]:
        """Return the levels of a pointer's type, from the outside."""
        result = []
        while self._types.is_pointer(kind):
            result.append("*" if isinstance(kind, c_ast.PtrDecl) else "[]")
            kind = self._types.pointee(kind)
        return tuple(result)

    def _rewrite(self, own: Sequence[RegionPointer]) -> None:
        """Put names in the place of the pointers, and declare them as arguments."""
        for pointer in self._pointers:
            pointer.name = self._argument_name(pointer) if pointer.is_own else pointer.text
        used: dict[int, str] = {}
        starts = []
        for pointer in own:
            name = pointer.array.name
            if pointer.terms or pointer.is_moved:
                name = self._fresh(f"{pointer.name}_here")
                starts.append(self._start(pointer, name))
            used |= {id(node): name for node in pointer.nodes}
        outside = {
            pointer.key: self._fresh(f"{pointer.name}_before")
            for pointer in own
            if isinstance(pointer.key, Symbol)
        }
        self._declare([pointer for pointer in own if pointer.base is None])
        function = self._region.function
        function.body = syntax.copy_tree(function.body, self._replacement(used, outside))
        block = syntax.block_with(function.body, self._region.begin)
        place = block.index(self._region.begin) + 1
        block[place:place] = starts

    def _replacement(self, used: Mapping[int, str], outside: Mapping[Any, str]) -> Any:
        marks = (self._region.begin, self._region.end)

        def replacement(node: Any) -> Any:
            """Return what stands for a node."""
            if any(node is mark for mark in marks):
                return node
            if id(node) in used:
                return c_ast.ID(used[id(node)], node.coord)
            symbol = self._names.symbol_of(node)
            if symbol not in outside:
                return None
            if isinstance(node, c_ast.ID):
                return c_ast.ID(outside[symbol], node.coord)
            init = syntax.copy_tree(node.init, replacement)
            new = syntax.declaration(outside[symbol], node.type, init, node)
            new.type = self._types.expanded(node.type, outside[symbol])
            new.quals, new.storage = node.quals, node.storage
            return new

        return replacement

    def _start(self, pointer: RegionPointer, name: str) -> Any:
        """Return the declaration of a pointer that begins inside of an array, or moves."""
        like = pointer.like
        place: Any = c_ast.ID(pointer.array.name, like.coord)
        for term in pointer.terms:
            place = c_ast.BinaryOp("+", place, syntax.copy_tree(term.node), like.coord)
        return syntax.declaration(name, self._types.expanded(pointer.kind, name), place, like)

    def _declare(self, arrays: Sequence[RegionPointer]) -> None:
        """Declare new arguments; one that is an argument already stays that."""
        function = self._region.function.decl.type
        params = list(function.args.params) if function.args else []
        if len(params) == 1 and not isinstance(params[0], c_ast.Decl):
            params = []  # (void)
        for pointer in arrays:
            symbol = pointer.key
            if isinstance(symbol, Symbol) and symbol.scope is DeclarationScope.ARGUMENT:
                continue
            kind = self._types.expanded(pointer.kind, pointer.name)
            new = syntax.declaration(pointer.name, kind, None, pointer.like)
            new.type = kind
            params.append(new)
        function.args = c_ast.ParamList(params)

    def _argument_name(self, pointer: RegionPointer) -> str:
        if isinstance(pointer.key, Symbol):
            return pointer.key.name
        return self._fresh(
            pointer.text.replace("(", "")
            .replace(")", "")
            .replace("*", "")
            .replace("->", "_")
            .replace(".", "_")
        )

    def _fresh(self, name: str) -> str:
        while name in self._spelled:
            name += "_"
        self._spelled.add(name)
        return name


def _structures(node: Any) -> Iterator[str]:
    """Yield the pointers to structures that lead to a member, the first one first."""
    if isinstance(node, c_ast.StructRef):
        yield from _structures(node.name)
        if node.type == "->":
            yield str(CGenerator().visit(node.name))
