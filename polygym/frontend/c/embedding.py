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
from polygym.frontend.c.completion import completed_source
from polygym.frontend.c.desugar.struct_members import (
    MemberOrigin,
    member_origins,
    uses_structures,
)
from polygym.frontend.c.lost_values import declarations_used_after, lost_values
from polygym.frontend.c.memory.pointer_arguments import PointerArguments, PointerOrigin
from polygym.frontend.c.passes import PASSES, RegionState
from polygym.frontend.c.region_spans import RegionSpans
from polygym.frontend.c.scop.translation import Translation
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
    Of a member of an array of structures, ``structure``
    is the array, of ``outer_rank`` dimensions, and ``member`` the way to the member in each,
    ``.v``; it is copied.
    """

    array: Array
    address: str
    is_object: bool
    is_rows: bool = False
    is_register: bool = False
    structure: str = ""
    member: str = ""
    outer_rank: int = 0
    structures: tuple[str, ...] = ()

    @property
    def is_copied(self) -> bool:
        """Whether its elements do not lie in one piece."""
        return bool(self.member)


@dataclass(frozen=True, slots=True)
class EmbeddedParameter:
    """A parameter: the C expression of its value, and of its address where others may change it."""

    name: str
    value: str
    address: str | None = None


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
            structure=spelled(own.structure),
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
        self._members = self._member_origins()
        self._translation, self._scop, self._pointers = self._translated()
        bindings = self._translation.bindings
        symbols = self._translation.names
        known = {*symbols.uses, *bindings.parameters, *symbols.symbols.values()}
        self._symbols = {bindings.name(symbol): symbol for symbol in known}

    def embedding(self) -> RegionEmbedding:
        """Return the embedding."""
        self._refuse_lost_values()
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

    def _error(self, message: str, hint: str = "") -> SourceError:
        return self._source.error(self._region.begin, f"cannot be exported: {message}", hint)

    def _translated(self) -> tuple[Translation, Scop, PointerArguments]:
        """Return the translation that was not refused, its Scop, and its pointers."""
        state = self._state()
        state.first_scop()
        translation = state.translation(state.region)
        return translation, translation.run(), state.pointer_arguments

    def _state(self) -> RegionState:
        chosen = self._selection
        return RegionState(
            self._source.with_library(chosen.library), self._file, chosen, dict(chosen.array_sizes)
        )

    def _member_origins(self) -> dict[str, MemberOrigin]:
        """Return the members of structures that new names stand for."""
        if not uses_structures(self._tree, self._region):
            return {}
        state = self._state()
        before = next(k for k, row in enumerate(PASSES) if row.name == "struct_members") - 1
        state.run(state.variant, PASSES[before])
        return member_origins(state.tree, state.region, state.source)[1]

    def _array(self, array: Array) -> EmbeddedArray:
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
            return self._rows(array, symbol.name, tuple(sizes))
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
        if "*" in origin.levels[1:]:
            result = self._rows(array, origin.text, origin.levels)
            return replace(result, structures=origin.structures)
        return EmbeddedArray(array, origin.text, is_object=False, structures=origin.structures)

    def _rows(self, array: Array, text: str, levels: tuple[str, ...]) -> EmbeddedArray:
        """Return an array of pointers to rows, or to pointers to them."""
        if set(levels) != {"*"} or array.rank != len(levels):
            raise self._error(f"{array.name} points to pointers and to arrays")
        return EmbeddedArray(array, text + "[0]" * (array.rank - 1), is_object=False, is_rows=True)

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
        """Return a member of one structure, or of each structure of an array."""
        outer = array.c_extents[: array.rank - origin.own_rank]
        if origin.base in self._pointers.origins:
            return self._pointer_member(array, origin, outer)
        base = self._names.visible.get(origin.base)
        if base is None:
            raise self._error(f"{origin.base} is not visible where the region begins")
        sizes, _ = _levels(base.declaration.type, self._names.typedefs)
        if sizes:
            self._refuse_moved(base)
        is_argument = base.scope is DeclarationScope.ARGUMENT
        if any(extent != "1" for extent in outer):
            if len(outer) != len(sizes) or sizes.count("*") > 1:
                raise self._error(f"members of {origin.base} do not lie in one piece")
            is_object = "*" not in sizes and not is_argument
            return EmbeddedArray(
                array,
                "",
                is_object,
                structure=origin.base,
                member=origin.way,
                outer_rank=len(outer),
            )
        return EmbeddedArray(array, f"&{self._member_text(origin)}", not sizes)

    def _pointer_member(
        self, array: Array, origin: MemberOrigin, outer: tuple[str, ...]
    ) -> EmbeddedArray:
        """Return a member of the structures that a pointer leads to, an argument of its own."""
        pointer = self._pointers.origins[origin.base]
        if pointer.levels != ("*",):
            raise self._error(f"members of {pointer.text} do not lie in one piece")
        return EmbeddedArray(
            array,
            "",
            is_object=False,
            structure=pointer.text if pointer.text.isidentifier() else f"({pointer.text})",
            member=origin.way,
            outer_rank=len(outer),
            structures=pointer.structures,
        )

    def _member_text(self, origin: MemberOrigin) -> str:
        """Return the member of a structure, or of the one that a pointer leads to, in C."""
        if origin.base in self._pointers.origins:
            return f"({self._pointers.origins[origin.base].text})[0]{origin.way}"
        declared = self._names.visible[origin.base].declaration.type
        is_pointer = bool(_levels(declared, self._names.typedefs)[0])
        return f"(*{origin.base}){origin.way}" if is_pointer else f"{origin.base}{origin.way}"

    def _parameter(self, name: str) -> EmbeddedParameter:
        symbol = self._symbols[name]
        visible = self._names.visible.get(symbol.name)
        if visible is not None and self._is_same(symbol, visible):
            is_shared = symbol.scope is DeclarationScope.FILE
            return EmbeddedParameter(name, symbol.name, f"&{symbol.name}" if is_shared else None)
        if symbol.name in self._members:
            text = self._member_text(self._members[symbol.name])
            return EmbeddedParameter(name, f"({text})", f"&({text})")
        init = symbol.initializer
        if init is None or not self._is_before_region(symbol.declaration):
            raise self._error(f"no name of the file has the value of {name} where it begins")
        text = self._expression(init)
        return EmbeddedParameter(name, f"({text})", f"&({text})")

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
            return self._member_text(origin)
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
        stored = {self._symbols[array.name].name for array in self._scop.arrays if array.live_out}
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
        match kind:
            case c_ast.PtrDecl():
                levels.append("*")
                kind = kind.type
            case c_ast.ArrayDecl():
                levels.append("[]")
                kind = kind.type
            case c_ast.TypeDecl():
                kind = kind.type
            case c_ast.IdentifierType(names=[name]) if name in typedefs:
                kind = typedefs[name]
            case _:
                return levels, kind
