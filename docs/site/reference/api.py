"""API reference: a page for each package with public names, which are those of its ``__all__``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.site.docstrings import as_markdown, summary
from docs.site.markdown import PageOpening, bare_page, code, page, table

ROOT = Path(__file__).parents[3]
FOLDER = "reference/api"

_TOP_PACKAGES = ("polygym", "agents", "polybench")
_MODULES = ("polygym.errors",)

_OPENING = PageOpening(
    (
        "Public names are those in the `__all__` of a package. Everything else is internal.",
        "Each package has a page with signatures and docstrings.",
        "Errors that polygym raises are those of `polygym.errors`.",
    ),
    """\
```python
from polygym.errors import InputError
from polygym.programs import load_program

try:
    load_program("gemmm")
except InputError as error:
    print(error)
```
""",
)


@dataclass(frozen=True, slots=True)
class PublicModule:
    """A module, or a package, with names for users, and packages that it lists beside them."""

    name: str
    docstring: str
    names: tuple[str, ...]

    @property
    def src_uri(self) -> str:
        """The address of its page."""
        return f"{FOLDER}/{self.name}.md"


def public_modules(root: Path = ROOT) -> list[PublicModule]:
    """Return the modules with public names, by name."""
    files = [root.joinpath(*name.split(".")).with_suffix(".py") for name in _MODULES]
    for package in _TOP_PACKAGES:
        files += (root / package).rglob("__init__.py")
    found = [_read(path, root) for path in files if path.is_file()]
    return sorted((one for one in found if one.names), key=lambda one: one.name)


def api_index() -> str:
    """Return the page that lists the others."""
    rows = [
        (
            f"[{code(module.name)}]({module.name}.md)",
            summary(module.docstring),
            str(len(module.names)),
        )
        for module in public_modules()
    ]
    return page("Python API", _OPENING, table(("Module", "Contents", "Names"), rows))


def api_page(module: PublicModule) -> str:
    """Return the page of a module, whose names mkdocstrings fills in."""
    blocks = [f"::: {module.name}.{name}" for name in module.names]
    return bare_page(code(module.name), as_markdown(module.docstring), *blocks)


def _read(path: Path, root: Path) -> PublicModule:
    parts = path.relative_to(root).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = tuple(name for name in _exported(tree) if not _is_module(path.parent, name))
    return PublicModule(".".join(parts), ast.get_docstring(tree) or "", names)


def _exported(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name("__all__")], value) | ast.AnnAssign(
                ast.Name("__all__"), _, value
            ) if value is not None:
                yield from ast.literal_eval(value)
            case _:
                pass


def _is_module(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()
