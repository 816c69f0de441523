"""Names that a package exports, imported when they are first used.

A package lists in ``__all__`` what it exports, whatever modules define it. Importing all of them at
once would make every user wait for libraries that few need (PPL, LLVM, matplotlib). Type checkers
read the imports of a package's ``__init__``; :func:`lazy_attributes` reads the same lines::

    if TYPE_CHECKING:
        from polygym.poly.schedule import Schedule, parse_schedule
    else:
        __getattr__ = lazy_attributes(__name__)

so that ``from polygym.poly import Schedule`` imports ``polygym.poly.schedule`` and nothing more. An
exported name must not be the name of a module of the package: the module, once imported, would
hide it.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_attributes(package: str) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports what ``if TYPE_CHECKING:`` declares.

    >>> find = lazy_attributes("polygym.poly")
    >>> find("Schedule").__module__
    'polygym.poly.schedule'
    """

    def find(name: str) -> Any:
        origin = _origins(package).get(name)
        if origin is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(origin), name)
        setattr(sys.modules[package], name, value)  # later lookups find it directly
        return value

    return find


@cache
def _origins(package: str) -> dict[str, str]:
    """Return the module of each name that a package's type-checking block imports."""
    file = import_module(package).__file__
    assert file is not None, "a package with an __init__.py"
    return {
        alias.name: str(node.module)
        for block in ast.parse(Path(file).read_text()).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
