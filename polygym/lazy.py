"""Names that a package has for others, imported when they are asked for.

A package says in ``__all__`` what it has for those who use it, whatever the modules behind it are
called. Importing all of them at once would make everybody wait for what few need (PPL, LLVM,
matplotlib), so a package's ``__init__`` ends with ::

    if TYPE_CHECKING:
        from polygym.compiler.poly.schedule import Schedule, parse
    else:
        __getattr__ = lazily(__name__, {"schedule": ("Schedule", "parse")})

and ``from polygym.compiler.poly import Schedule`` imports ``polygym.compiler.poly.schedule``. No
name may be a module's of the package, which would be found in its place once it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``; ``names`` has the names of each module.

    >>> find = lazily("polygym", {"errors": ("InputError",)})
    >>> find("InputError").__module__
    'polygym.errors'
    """
    homes = {name: module for module, found in names.items() for name in found}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next time it is simply there
        return value

    return find
