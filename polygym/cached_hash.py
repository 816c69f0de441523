"""Hashes computed once, for values that are keys again and again: trees of loops, say.

The hash of a frozen dataclass is that of its values, and of what these hold, down to the last
number, whenever it is asked for. A class that :func:`cache_hash` works it out the first time and
keeps it in a slot beside its fields::

    @keeps_hash
    @dataclass(frozen=True, slots=True)
    class Row(Hashed):
        ...

What is kept is no field: it is not compared, not shown, and not pickled, since the strings of
another process have other hashes.
"""

from typing import Any, TypeVar

Class = TypeVar("Class", bound="type[CachedHash]")


class CachedHash:
    """A value with a slot for its hash."""

    __slots__ = ("_hash",)
    _hash: int


def cache_hash(cls: Class) -> Class:
    """Have a frozen dataclass keep its hash; stands above ``@dataclass``."""
    worked_out = cls.__hash__

    def kept(self: Any) -> int:
        try:
            result: int = self._hash
        except AttributeError:
            result = worked_out(self)
            object.__setattr__(self, "_hash", result)
        return result

    cls.__hash__ = kept  # type: ignore[method-assign]
    return cls
