"""Names that both C and isl can take.

A tensor may be called ``for`` and an index ``mod``: words of C, of which a program in C is printed,
and of isl, in whose texts domains are written. Such names get an underscore; so do names that begin
with a digit, and those that another one has become.
"""

from __future__ import annotations

_C_KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false nullptr asm typeof main
    _Bool exit fprintf stderr
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t
    """.split()
)
_ISL_KEYWORDS = frozenset(
    """
    and or not implies exists exist mod floor ceil floord ceild min max lt le gt ge eq ne
    lex_lt lex_le lex_gt lex_ge infty infinity nan NaN Infinity true false rat
    """.split()
)


class IdentifierAllocator:
    """Gives out names, each once."""

    def __init__(self) -> None:
        """Start with all names free."""
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return a name that is free and no word of C or isl, as much like ``wanted`` as can be."""
        name = f"_{wanted}" if wanted[0].isdigit() else wanted
        while name in self._taken or name in _C_KEYWORDS or name in _ISL_KEYWORDS:
            name += "_"
        self._taken.add(name)
        return name

    def copy(self) -> IdentifierAllocator:
        """Return as many names that go their own way from here."""
        other = IdentifierAllocator()
        other._taken = set(self._taken)
        return other
