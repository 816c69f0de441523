"""A region in its file: where it stands, and C expressions for what its program uses.

The passes rewrite a region until it is a Scop, whose names may be new ones. A call in the place of
the region needs the names of the file again::

    void f(struct grid *g, double *a) {       array g_v, size g_n_1, array a
    #pragma scop
      for (int i = 0; i < g->n; i++)          g_v    &(g[0].v)      as double *
        a[i] = g->v[i];                       g_n_1  (g[0].n)       as long
    #pragma endscop                           a      a              as double *
    }

A program is *embedded* when every array and parameter of it has such an expression, and when what
the rest of the function reads of the region's variables is in its arrays. All else is refused.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.errors import SourceError
from polygym.frontend.c import driver
from polygym.frontend.c.desugar.struct_members import MemberOrigin
from polygym.frontend.c.memory.pointer_arguments import PointerOrigin
from polygym.frontend.c.region_spans import RegionSpans
from polygym.frontend.c.regions.completion import completed_source
from polygym.frontend.c.regions.lost_values import declarations_used_after, lost_values
from polygym.frontend.c.regions.passes import RegionState
from polygym.frontend.c.scop.structure_views import StructureRoot, structure_roots
from polygym.frontend.c.sema.declarations import resolved_type
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol, resolve_names
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.cpp.reading import CppFunction, CppText
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import (
    choose_region,
    find_regions,
    parse_cached,
    preprocess_cached,
)
from polygym.frontend.c.source.region_selection import RegionSelection, parse_selection
from polygym.ir.scop import Array, Scop, StorageClass

# A name that is no member.
_NAME = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
_OWN = frozenset({StorageClass.BLOCK})


@dataclass(frozen=True, slots=True)
class EmbeddedArray:
    """An array of the program as the file has it.

    ``address`` is a C expression of its first element's address; ``is_object`` says that it is an
    array or a scalar that is declared as such, which overlaps no other object. Of an array of
    pointers to rows, ``is_rows`` holds, and ``address`` is that of the first row. Without the
    pointers ``structures`` there is no address. A ``register`` variable has none: ``is_register``.
    Of an array that shows structures, ``address`` is that of the first one, and ``element`` is it.
    """

    array: Array
    address: str
    is_object: bool
    is_rows: bool = False
    is_register: bool = False
    element: str = ""
    structures: tuple[str, ...] = ()

    @property
    def c_extents(self) -> tuple[str, ...]:
        """The sizes of the array as the file has it: those of an array of structures."""
        extents = self.array.c_extents
        return extents if self.array.structure is None else extents[:-1]

    @property
    def layout_conditions(self) -> tuple[str, ...]:
        """C conditions under which structures have the layout that the program takes them to have.

        A compiler knows whether they hold.
        """
        structure = self.array.structure
        if structure is None:
            return ()
        kind = f"__typeof__({self.element})"
        return (
            f"sizeof({self.element}) == {structure.size}",
            *(
                f"__builtin_offsetof({kind}, {way[1:]}) == {offset}"
                for way, offset in structure.members
            ),
        )


@dataclass(frozen=True, slots=True)
class EmbeddedParameter:
    """A parameter: the C expression of its value, and of its address where others may change it.

    ``structure`` is the name of the structures of which it is a member.
    """

    name: str
    value: str
    address: str | None = None
    structure: str | None = None


@dataclass(frozen=True, slots=True)
class RegionEmbedding:
    """A file with a region, and what a call in the place of the region needs.

    ``text`` is the whole file; the region with its pragmas is ``text[begin:end]``, its statements
    are ``text[first:last]``. ``linkage_spans`` are the words ``static`` and ``inline`` of the
    function. ``requirements`` are C conditions that were given beside the file, ``compile_flags``
    what the compiler needs to read it. ``function`` is the syntax tree of the function, ``tree``
    that of the file. Of a C++ file ``cpp`` is the function as it is there, and all expressions are
    of C++.
    """

    scop: Scop
    text: str
    begin: int
    first: int
    last: int
    end: int
    linkage_spans: tuple[tuple[int, int], ...]
    arrays: tuple[EmbeddedArray, ...]
    parameters: tuple[EmbeddedParameter, ...]
    requirements: tuple[str, ...]
    compile_flags: tuple[str, ...]
    function: Any
    tree: Any
    cpp: CppFunction | None = None


def in_cpp(embedding: RegionEmbedding, cpp: CppText) -> RegionEmbedding:
    """Return an embedding with expressions of C++ in the place of those of C."""
    function = cpp.functions[embedding.function.decl.name]

    def spelled(text: str) -> str:
        """Return an expression in C++."""
        return _NAME.sub(lambda match: function.spellings.get(match[0], match[0]), text)

    arrays = tuple(
        replace(
            own,
            address=spelled(own.address),
            element=spelled(own.element),
            structures=tuple(map(spelled, own.structures)),
        )
        for own in embedding.arrays
    )
    parameters = tuple(
        replace(
            own,
            value=spelled(own.value),
            address=None if own.address is None else spelled(own.address),
        )
        for own in embedding.parameters
    )
    requirements = tuple(map(spelled, embedding.requirements))
    return replace(
        embedding, arrays=arrays, parameters=parameters, requirements=requirements, cpp=function
    )


def embed_region(text: str, file: str, function: str | None = None) -> RegionEmbedding:
    """Return how a region stands in its file.

    Raises:
        InputError: the region is refused, or code around it depends on what no array holds.
    """
    selection = parse_selection(function)
    text = completed_source(text, file, selection).text
    source = preprocess_cached(text, file, selection.flags)
    return _Embedder(text, file, selection, source).embedding()


def embed_file(path: str | Path, function: str | None = None) -> RegionEmbedding:
    """Return how a region stands in a C file; see :func:`embed_region`."""
    return embed_region(driver.read_text(path), str(path), function)


class _Embedder:
    """One region on its way to its embedding."""

    def __init__(self, text: str, file: str, selection: RegionSelection, source: SourceMap) -> None:
        self._text, self._file, self._source = text, file, source
        self._selection = selection
        self._tree = parse_cached(source)
        regions = find_regions(self._tree, source)
        self._region = choose_region(regions, selection.region_name, file)
        self._names = resolve_names(self._tree, self._region)
        state = self._state()
        state.first_scop()
        self._members, self._pointers = state.members, state.pointer_arguments
        self._translation = state.translation(state.region)
        self._scop = state.translated(self._translation)
        self._inferred = state.inferred
        self._roots = structure_roots(self._scop, self._members)
        bindings = self._translation.bindings
        symbols = self._translation.names
        known = {*symbols.uses, *bindings.parameters, *symbols.symbols.values()}
        self._symbols = {bindings.name(symbol): symbol for symbol in known}

    def embedding(self) -> RegionEmbedding:
        """Return the embedding."""
        self._refuse_lost_values()
        self._refuse_guessed_sizes()
        arrays = tuple(
            self._array(array)
            for array in self._scop.arrays
            if array.storage_class not in _OWN or array.live_out
        )
        spans = RegionSpans(self._text, self._file, self._source)
        begin, first = spans.of_pragma(self._region.begin)
        last, end = spans.of_pragma(self._region.end)
        result = RegionEmbedding(
            self._scop,
            self._text,
            begin,
            first,
            last,
            end,
            tuple(spans.of_linkage(self._region.function.decl)),
            arrays,
            tuple(self._parameter(parameter.name) for parameter in self._scop.parameters),
            (
                *(f"{name} == {value}" for name, value in self._selection.parameter_values),
                *(f"{first} == {second}" for first, second in self._pointers.stated),
            ),
            self._selection.flags.arguments,
            self._region.function,
            self._tree,
        )
        return result if self._source.cpp is None else in_cpp(result, self._source.cpp)

    def _refuse_guessed_sizes(self) -> None:
        """Refuse computed subscripts of an array whose size is that of its other subscripts alone.

        The array may be larger; the check of such a subscript would stop a program that is right.
        """
        for statement in self._scop.statements:
            for access in (statement.write, *statement.reads):
                rank = self._inferred.get(access.array, 0)
                if any(dimension < rank for dimension in access.gathered):
                    name = access.array
                    raise self._error(
                        f"{name} has computed subscripts, and its other subscripts alone tell its "
                        "size",
                        f"give its size: --extent {name}=SIZE",
                    )

    def _error(self, message: str, hint: str = "") -> SourceError:
        return self._source.error(self._region.begin, f"cannot be exported: {message}", hint)

    def _state(self) -> RegionState:
        chosen = self._selection
        return RegionState(
            self._source.with_library(chosen.library), self._file, chosen, dict(chosen.array_sizes)
        )

    def _array(self, array: Array) -> EmbeddedArray:
        if array.structure is not None:
            return self._structures(array, self._roots[array.structure.name])
        if array.name in self._members:
            return self._member(array, self._members[array.name])
        if array.name in self._pointers.origins:
            return self._pointer(array, self._pointers.origins[array.name])
        symbol = self._visible(array.name)
        kind = symbol.declaration.type
        sizes, _ = _levels(kind, self._names.typedefs)
        if sizes:
            self._refuse_moved(symbol)
        is_pointer = bool(sizes) and (sizes[0] == "*" or symbol.scope is DeclarationScope.ARGUMENT)
        if "*" in sizes[1:]:
            sizes = ["*", *sizes[1:]] if is_pointer else sizes
            rows = self._rows(array.name, array.rank, symbol.name, tuple(sizes))
            return EmbeddedArray(array, rows, is_object=False, is_rows=True)
        register = "register" in (symbol.declaration.storage or ()) and not sizes
        address = symbol.name if sizes else f"&{symbol.name}"
        return EmbeddedArray(array, address, not is_pointer, is_register=register)

    def _pointer(self, array: Array, origin: PointerOrigin) -> EmbeddedArray:
        """Return the array of a pointer that is an argument of the region's own."""
        symbol = self._names.visible.get(origin.text)
        if symbol is not None:
            is_kept = symbol.scope is DeclarationScope.FILE or self._names.is_used_after(symbol)
            if symbol.name in _direct_targets(list(self._region.items)) and (
                is_kept or self._names.in_loop
            ):
                raise self._error(
                    f"the pointer {symbol.name} moves, and the function needs its place"
                )
        own = EmbeddedArray(array, origin.text, is_object=False, structures=origin.structures)
        if "*" not in origin.levels[1:]:
            return own
        rows = self._rows(array.name, array.rank, origin.text, origin.levels)
        return replace(own, address=rows, is_rows=True)

    def _rows(self, name: str, rank: int, text: str, levels: tuple[str, ...]) -> str:
        """Return the first row of an array of pointers to rows, or to pointers to them."""
        if set(levels) != {"*"} or rank != len(levels):
            raise self._error(f"{name} points to pointers and to arrays")
        return text + "[0]" * (rank - 1)

    def _refuse_moved(self, symbol: Symbol) -> None:
        """Refuse a pointer that is set around the region: its array begins where it was before.

        One that walks in the region is where it was when that begins, if nothing repeats it.
        """
        around = _direct_targets(self._body_without_region())
        moved = symbol.scope is DeclarationScope.ARGUMENT and symbol.name in around
        inside = symbol.name in _direct_targets(list(self._region.items))
        if moved or (inside and (self._names.in_loop or self._names.is_used_after(symbol))):
            raise self._error(f"the pointer {symbol.name} moves, and the function needs its place")

    def _member(self, array: Array, origin: MemberOrigin) -> EmbeddedArray:
        """Return a member of one structure, whose elements lie in one piece."""
        if set(array.c_extents[: array.rank - origin.ranks[-1]]) - {"1"}:
            raise self._error(f"members of {origin.base} do not lie in one piece")
        is_object = self._is_object(origin.base)
        return EmbeddedArray(array, f"&{self._member_text(origin.base, origin.path)}", is_object)

    def _structures(self, array: Array, root: StructureRoot) -> EmbeddedArray:
        """Return an array that shows structures: a variable, or a member of a single structure."""
        is_object = self._is_object(root.base)
        levels, text, structures = self._base_levels(root.base)
        if root.path:
            text = self._member_text(root.base, root.path)
        element = text + "[0]" * root.rank
        own = EmbeddedArray(array, text, is_object, element=element, structures=structures)
        if root.path or "*" not in levels[1:]:
            return own
        rows = self._rows(array.name, array.rank - 1, text, levels)
        return replace(own, address=rows, is_rows=True)

    def _base_levels(self, base: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        """Return the levels of a variable's type, its name in C, and pointers that lead to it."""
        if base in self._pointers.origins:
            origin = self._pointers.origins[base]
            text = origin.text if origin.text.isidentifier() else f"({origin.text})"
            return origin.levels, text, origin.structures
        declared = self._names.visible[base].declaration.type
        return tuple(_levels(declared, self._names.typedefs)[0]), base, ()

    def _is_object(self, base: str) -> bool:
        """Whether a structure, or an array of them, is declared as such; refuse a moved pointer."""
        if base in self._pointers.origins:
            return False
        symbol = self._names.visible.get(base)
        if symbol is None:
            raise self._error(f"{base} is not visible where the region begins")
        levels, _ = _levels(symbol.declaration.type, self._names.typedefs)
        if levels:
            self._refuse_moved(symbol)
        is_argument = symbol.scope is DeclarationScope.ARGUMENT
        return "*" not in levels and not (levels and is_argument)

    def _member_text(self, base: str, path: tuple[str, ...]) -> str:
        """Return the member of a structure, or of the one that a pointer leads to, in C."""
        levels, text, _ = self._base_levels(base)
        if len(levels) > 1:
            raise self._error(f"members of {base} do not lie in one piece")
        way = "".join(f".{name}" for name in path)
        return f"(*{text}){way}" if levels else f"{text}{way}"

    def _parameter(self, name: str) -> EmbeddedParameter:
        symbol = self._symbols[name]
        visible = self._names.visible.get(symbol.name)
        if visible is not None and self._is_same(symbol, visible):
            is_shared = symbol.scope is DeclarationScope.FILE
            return EmbeddedParameter(name, symbol.name, f"&{symbol.name}" if is_shared else None)
        if symbol.name in self._members:
            origin = self._members[symbol.name]
            text = self._member_text(origin.base, origin.path)
            return EmbeddedParameter(name, f"({text})", f"&({text})", origin.base)
        init = symbol.initializer
        if init is None or not self._is_before_region(symbol.declaration):
            raise self._error(f"no name of the file has the value of {name} where it begins")
        text = self._expression(init)
        base, _ = syntax.base_and_subscripts(init)
        member = self._members.get(base.name)
        structure = None if member is None else member.base
        return EmbeddedParameter(name, f"({text})", f"&({text})", structure)

    def _is_before_region(self, declared: Any) -> bool:
        """Whether a declaration that was put in stands directly before the region."""
        region = self._translation.region
        if any(token.text == declared.name for token in self._source.tokens):
            return False
        block = syntax.block_with(region.function.body, region.begin)
        place = next(k for k, item in enumerate(block) if item is region.begin)
        before = block[:place]
        while before and isinstance(before[-1], c_ast.Decl):
            if before.pop() is declared:
                return True
        return False

    def _expression(self, node: Any) -> str:
        """Return an element that was read before the region, in the names of the file."""
        base, subscripts = syntax.base_and_subscripts(node)
        if not isinstance(base, c_ast.ID) or syntax.contains(subscripts, c_ast.ArrayRef):
            raise self._error(f"it reads {CGenerator().visit(node)} before it begins")
        names = {name for subscript in subscripts for name in syntax.names_in(subscript)}
        if base.name in self._members:
            origin = self._members[base.name]
            if not all(syntax.is_zero(subscript) for subscript in subscripts):
                raise self._error(f"it reads a member of {origin.base} before it begins")
            return self._member_text(origin.base, origin.path)
        for name in (base.name, *names):
            if name not in self._names.visible:
                raise self._error(f"it reads {name}, which is not visible where it begins")
        return str(CGenerator().visit(node))

    def _visible(self, name: str) -> Symbol:
        """Return the file's symbol for a name of the program."""
        symbol = self._symbols[name]
        visible = self._names.visible.get(symbol.name)
        if visible is None or not self._is_same(symbol, visible):
            raise self._error(f"no name of the file stands for {name} where the region begins")
        return visible

    def _is_same(self, symbol: Symbol, visible: Symbol) -> bool:
        """Whether a symbol after the passes is one of the file."""
        return symbol.scope is visible.scope and not isinstance(visible.declaration, tuple)

    def _refuse_lost_values(self) -> None:
        """Refuse variables whose values after the region are read and in no array."""
        names = self._names
        stored = {
            self._symbols[array.name].name
            for array in self._scop.arrays
            if array.live_out and array.structure is None
        }
        stored |= {origin.base for origin in self._members.values()}
        for array in self._scop.arrays:
            if array.storage_class is StorageClass.BLOCK and array.live_out:
                raise self._error(f"{array.name} is declared in the region and read after it")
        for symbol in declarations_used_after(names):
            raise self._error(
                f"{symbol.name} is declared in the region and used after it",
                f"declare {symbol.name} before the region",
            )
        for symbol in lost_values(names, self._region, stored):
            name = symbol.name
            raise self._error(
                f"{name} has a value after the region that only the loops themselves give it",
                f"let the loops count with a variable of their own, for (int {name} = …)"
                if names.iterates_in_region(symbol)
                else "",
            )

    def _body_without_region(self) -> Any:
        """Return the body of the function with empty statements in the place of the region's."""
        inside = {id(item) for item in self._region.items}

        def replacement(node: Any) -> Any:
            """Return an empty statement for one of the region."""
            return c_ast.EmptyStatement(node.coord) if id(node) in inside else None

        return syntax.copy_tree(self._region.function.body, replacement)


def _direct_targets(node: Any) -> set[str]:
    """Return the names that are set themselves, or whose address is taken."""
    names = {syntax.modified_name(part) for part in syntax.walk(node)}
    for part in syntax.walk(node, c_ast.UnaryOp):
        if part.op == "&" and isinstance(part.expr, c_ast.ID):
            names.add(part.expr.name)
    return {name for name in names if name is not None}


def _levels(kind: Any, typedefs: Any) -> tuple[list[str], Any]:
    """Return the levels of a declared type, ``*`` or ``[]`` each, and what is at the bottom.

    ``double (*A)[4]`` has the levels ``*`` and ``[]``.
    """
    levels: list[str] = []
    while True:
        match kind := resolved_type(kind, typedefs):
            case c_ast.PtrDecl():
                levels.append("*")
                kind = kind.type
            case c_ast.ArrayDecl():
                levels.append("[]")
                kind = kind.type
            case _:
                return levels, kind
