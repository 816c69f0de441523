"""Write the API reference: what every package has for others, from its docstrings, as HTML.

    python docs/reference.py build/reference

What stands in the ``__all__`` of a package is the public surface; the pages have nothing else.
"""

import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pdoc
from jinja2 import pass_context

PACKAGES = ("polygym", "agents", "polybench")
MODULES = ("polygym.errors",)

ROLE = re.compile(r":(mod|class|func|meth|data|attr|exc):`~([^`]+)`")
BLOCK = re.compile(r"(\s?)::$", re.MULTILINE)
TABLE = re.compile(r"^=+(?:  ?=+)+\n(?:.*\n)*?=+(?:  ?=+)+\n(?:.*\n)*?=+(?:  ?=+)+$", re.MULTILINE)


def documented_modules() -> list[str]:
    """Return the modules that have something for others; all of it is imported then."""
    literals = list(MODULES)
    for name in PACKAGES:
        literals.append(name)
        package = importlib.import_module(name)
        inner = pkgutil.walk_packages(package.__path__, f"{name}.")
        literals += [module.name for module in inner if module.ispkg]
    return sorted(name for name in literals if public_names(name))


def public_names(name: str) -> list[str]:
    """Return what a module has for others; what waits until it is asked for is imported."""
    module = importlib.import_module(name)
    rooms = {inner.name for inner in pkgutil.iter_modules(getattr(module, "__path__", ()))}
    for attribute in set(module.__all__) - rooms:
        getattr(module, attribute)
    names: list[str] = module.__all__
    return names


def top_modules(names: list[str]) -> list[str]:
    """Return the modules that are not reached from others: packages bring the rooms they name."""
    result = []
    for name in names:
        above, _, own = name.rpartition(".")
        if above not in names or own not in public_names(above):
            result.append(name)
    return result


def as_markdown(docstring: str) -> str:
    """Return a docstring without what Markdown would show: ``~``, ``::``; tables are blocks.

    >>> as_markdown("See :class:`~polygym.errors.SourceLocation`. Example::")
    'See :class:`polygym.errors.SourceLocation`. Example:'
    """
    text = ROLE.sub(r":\1:`\2`", docstring)
    text = BLOCK.sub(lambda match: "" if match.group(1) else ":", text)
    return TABLE.sub(lambda table: "\n" + re.sub("^", "    ", table.group(), flags=re.M), text)


def with_markdown(convert: Callable[..., str]) -> Callable[..., str]:
    """Return the conversion to HTML of texts that are prepared for it."""

    @pass_context
    def prepare_and_convert(context: Any, docstring: str) -> str:
        return convert(context, as_markdown(docstring))

    return prepare_and_convert


def main(folder: str) -> None:
    """Write the pages into a folder."""
    # pdoc looks for the types of what a class inherits in the module of that class, not of the
    # other.
    warnings.filterwarnings("ignore", "Error parsing type annotation", UserWarning)
    filters = pdoc.render.env.filters
    filters["to_markdown"] = with_markdown(filters["to_markdown"])
    pdoc.render.configure(docformat="restructuredtext", show_source=False)
    pdoc.pdoc(*top_modules(documented_modules()), output_directory=Path(folder))
    print(f"the reference is in {folder}: begin with {folder}/index.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
