"""Pointers of a region that are one array, and those that may be: merged, or refused.

Two pointers with one root are one array, each at its offset, if this is known where the region
begins. Two of which the function shows that they may meet, and one of which the region writes, are
refused; all others are taken to be disjoint, as arguments are. A user may state that two are the
same.
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.errors import InputError
from polygym.frontend.c.memory.pointer_values import Value
from polygym.frontend.c.memory.region_pointers import RegionPointer, RegionPointers
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol
from polygym.frontend.c.source.locations import SourceMap


class PointerMerging:
    """Gives the pointers of a region that are the same one array."""

    def __init__(self, pointers: RegionPointers, source: SourceMap) -> None:
        """Take the pointers as they are."""
        self._pointers, self._source = pointers, source
        self._flow, self._types, self._names = pointers.flow, pointers.types, pointers.names
        self.stated: list[tuple[str, str]] = []

    def run(self, aliases: Sequence[tuple[str, str]]) -> None:
        """Merge pointers; ``aliases`` are those that the user states to be the same.

        Raises:
            InputError: two pointers may be the same, or a stated alias is none of pointers.
        """
        self._state_aliases(aliases)
        self._refuse_variables()
        self._merge()
        self._refuse_meetings()

    def _refuse_variables(self) -> None:
        """Refuse a pointer to a variable that the region names, too, and sets by one of both."""
        for pointer in self._pointers:
            mention = self._pointers.mention_of_target(pointer)
            if mention is not None:
                text = CGenerator().visit(mention)
                raise self._source.error(
                    pointer.like,
                    f"{pointer.text} may point to {text}, which the region names, too",
                    f"write {text} in the place of *{pointer.text}",
                )

    def _state_aliases(self, aliases: Sequence[tuple[str, str]]) -> None:
        """Take pointers to be the same of which the user says so."""
        for first, second in aliases:
            left, right = self._named(first), self._named(second)
            if not self._is_alike(left, right):
                raise InputError(
                    f"--alias {first}={second}: expected pointers of one type, found "
                    f"{self._types.text(left.kind)} and {self._types.text(right.kind)}"
                )
            if left is right or left.value.key == right.value.key:
                continue
            if left.is_moved or right.is_moved:
                raise InputError(
                    f"--alias {first}={second}: expected pointers that the region does not set"
                )
            left.is_own, left.base = True, right.array
            self.stated.append((left.text, right.text))

    def _named(self, text: str) -> RegionPointer:
        """Return the pointer of a text or of a name as it is shown."""
        for pointer in self._pointers:
            plain = pointer.text.replace("->", "_").replace(".", "_")
            if text in (pointer.text, plain):
                return pointer
        listed = ", ".join(pointer.text for pointer in self._pointers) or "(none)"
        raise InputError(f"--alias: expected pointers of the region, {listed}, found {text}")

    def _merge(self) -> None:
        """Let pointers with one root be one array, each at its offset."""
        for pointer in self._pointers:
            if not pointer.is_own or pointer.base is not None:
                continue
            other = self._base_of(pointer)
            if other is None:
                continue
            terms, is_written = pointer.value.terms, pointer.is_written or other.is_written
            if not self._is_alike(pointer, other):
                if is_written:
                    self._refuse(pointer, other, "are one address of two types of elements")
            elif pointer.value.key == other.value.key:
                pointer.base = other.array
            elif not other.value.terms and all(map(self._flow.holds, terms)):
                pointer.base, pointer.terms = other.array, terms
            elif is_written:
                self._refuse(pointer, other, "point into one array, at places that are not known")

    def _is_alike(self, first: RegionPointer, second: RegionPointer) -> bool:
        """Whether two pointers have elements of one type."""
        texts = [self._types.text(self._types.pointee(p.kind)) for p in (first, second)]
        return texts[0] == texts[1]

    def _base_of(self, pointer: RegionPointer) -> RegionPointer | None:
        """Return another pointer with the same root, which its array can be named after."""
        same = [
            other
            for other in self._pointers
            if other is not pointer
            and other.value.root == pointer.value.root
            and other.array is not pointer
            and not other.terms
            and not other.is_set
        ]
        if not same:
            return self._argument_base(pointer)
        best = min(same, key=lambda other: (bool(other.value.terms), other.is_own))
        if best.value.key == pointer.value.key or not best.value.terms:
            return best
        return self._unused_base(pointer) if pointer.value.terms else None

    def _argument_base(self, pointer: RegionPointer) -> RegionPointer | None:
        """Return an argument or an array that a pointer points into and the region names not."""
        match pointer.value.root:
            case ("entry", Symbol(scope=DeclarationScope.ARGUMENT) as symbol):
                return self._visible_base(pointer, symbol)
            case ("object", Symbol() as symbol):
                return self._visible_base(pointer, symbol)
        return None

    def _unused_base(self, pointer: RegionPointer) -> RegionPointer | None:
        """Return a variable with the root of a pointer that the region names not."""
        for symbol in self._names.visible.values():
            kind = self._types.resolved(getattr(symbol.declaration, "type", None))
            if isinstance(kind, c_ast.PtrDecl):
                value = self._flow.cell_value(symbol)
                if value is not None and value.key == (pointer.value.root, ()):
                    base = self._visible_base(pointer, symbol)
                    if base is not None:
                        base.is_own = symbol.scope is not DeclarationScope.ARGUMENT
                        return base
        return self._argument_base(pointer)

    def _visible_base(self, pointer: RegionPointer, symbol: Symbol) -> RegionPointer | None:
        """Return a variable as the base of a pointer, if it has the same elements."""
        if symbol in self._pointers.by_key or self._names.visible.get(symbol.name) is not symbol:
            return None
        kind = self._types.resolved(getattr(symbol.declaration, "type", None))
        like = pointer.nodes[0]
        base = RegionPointer(symbol, symbol.name, kind, Value(pointer.value.root), [], like=like)
        is_alike = self._types.is_pointer(kind) and self._is_alike(base, pointer)
        if not is_alike or not all(map(self._flow.holds, pointer.value.terms)):
            return None
        if symbol.scope is DeclarationScope.ARGUMENT and self._pointers.is_set_outside(symbol):
            return None
        base.is_written = pointer.is_written
        self._pointers.by_key[symbol] = base
        return base

    def _refuse(self, first: RegionPointer, second: RegionPointer, how: str) -> None:
        raise self._source.error(
            first.like,
            f"{first.text} and {second.text} {how}",
            f"where they are the same, --alias {first.text}={second.text} says so; a pointer that "
            "is declared restrict is the only one to its memory",
        )

    def _refuse_meetings(self) -> None:
        """Refuse pointers that may be the same, and are not known to be."""
        pointers = list(self._pointers)
        stated = {frozenset(pair) for pair in self.stated}
        for place, first in enumerate(pointers):
            for second in pointers[:place]:
                if first.array is second.array or not (first.is_own or second.is_own):
                    continue
                if not (first.is_written or second.is_written):
                    continue
                if first.is_restrict or second.is_restrict or not first.value.meets(second.value):
                    continue
                if frozenset((first.text, second.text)) not in stated:
                    self._refuse(first, second, "may point into the same array")
        if not self._flow.is_known and any(pointer.is_own for pointer in pointers):
            moved = [p for p in pointers if p.is_own and p.is_written]
            if moved and len(pointers) > 1:
                raise self._source.error(
                    moved[0].nodes[0],
                    f"{moved[0].text} is a pointer that is set where goto leads back",
                    "write a loop",
                )
