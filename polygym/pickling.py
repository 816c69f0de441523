"""Pickles of values that users keep: names of fields, and the version of polygym.

Python pickles a frozen dataclass with slots as the list of its values, and reads such a list
without a look at how long it is: what another version wrote is taken for what it is not. Example: a
result once had the fields ``(speedup, wrong, crashed)`` and now has ``(speedup, defects)``; of the
list ``[1.5, 2, 3]`` today's class takes 2 for its ``defects`` and forgets 3. So a public value says
by :func:`pickle_by_name` that its pickles are dictionaries, and refuses those of another version
in a sentence.
"""

from dataclasses import fields
from typing import Any, TypeVar

from polygym.errors import InputError
from polygym.version import __version__

Class = TypeVar("Class", bound=type)

_VERSION, _FIELDS = "polygym", "fields"


def pickle_by_name(cls: Class) -> Class:
    """Have a dataclass pickled by name; stands above ``@dataclass``."""
    names = [field.name for field in fields(cls)]

    def state_of(self: Any) -> dict[str, Any]:
        return {_VERSION: __version__, _FIELDS: {name: getattr(self, name) for name in names}}

    def restore(self: Any, state: Any) -> None:
        _expect_version(f"a pickled {cls.__name__}", state)
        if list(state[_FIELDS]) != names:
            raise InputError(
                f"a pickled {cls.__name__}: expected the fields {', '.join(names)}, found "
                f"{', '.join(map(str, state[_FIELDS]))}"
            )
        for name, value in state[_FIELDS].items():
            object.__setattr__(self, name, value)

    for name, method in (("__getstate__", state_of), ("__setstate__", restore)):
        setattr(cls, name, method)
    return cls


def _expect_version(what: str, state: Any) -> None:
    """Refuse a state that another version of polygym has written.

    Raises:
        InputError: it is of another version, or of one that did not say which it was.
    """
    is_named = isinstance(state, dict) and set(state) == {_VERSION, _FIELDS}
    version = state[_VERSION] if is_named else "before 0.3"
    if version != __version__:
        raise InputError(
            f"{what}: expected one of polygym {__version__}, found one of version {version}: "
            "make it again"
        )
