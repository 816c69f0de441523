"""The docstring of a package is a true table of what is in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# In one package, modules are commands, and have their names.
PACKAGES = sorted(
    path.parent
    for path in (ROOT / "polygym").rglob("__init__.py")
    if path.parent.name != "commands"
)


def docstring_of(module: Path) -> str:
    return ast.get_docstring(ast.parse(module.read_text())) or ""


def parts_of(package: Path) -> set[str]:
    """Return the names of the modules and packages in a package."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return modules | {file.parent.name for file in package.glob("*/__init__.py")}


def named_in(text: str) -> set[str]:
    """Return what a docstring names: in double backticks, or as a module with its path."""
    return {
        *re.findall(r"``(\w+)/?``", text),
        *(name.rpartition(".")[2] for name in re.findall(r":mod:`~?([\w.]+)`", text)),
        *re.findall(r"``polygym\.(\w+)``", text),
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_is_named(package: Path) -> None:
    missing = parts_of(package) - named_in(docstring_of(package / "__init__.py"))
    assert not missing, f"{package}: expected a word on {', '.join(sorted(missing))}"


def test_modules_that_are_named_exist() -> None:
    for module in (ROOT / "polygym").rglob("*.py"):
        for name in re.findall(r":mod:`~?(polygym[\w.]*)`", module.read_text()):
            place = ROOT.joinpath(*name.split("."))
            there = place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
            assert there, f"{module}: expected a module, found {name}"
