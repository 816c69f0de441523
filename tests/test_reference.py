"""The API pages have every public name, and docstrings in them are Markdown."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import griffe
import pytest

import polybench
import polygym
from docs.site.docstring_extension import MarkdownDocstrings
from docs.site.docstrings import as_markdown, inline, summary
from docs.site.reference.api import PublicModule, api_index, api_page, public_modules

ROOT = Path(__file__).parent.parent
TOP = [polygym, polybench]


def packages() -> list[str]:
    names = [package.__name__ for package in TOP]
    for package in TOP:
        inner = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        names += [module.name for module in inner if module.ispkg]
    return names


def own_names(name: str) -> list[str]:
    """Return what a package exports, without the modules among it."""
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    return [one for one in exported if not isinstance(getattr(module, one), ModuleType)]


def pages() -> dict[str, PublicModule]:
    return {module.name: module for module in public_modules()}


@pytest.mark.parametrize("name", [*packages(), "polygym.errors"])
def test_every_public_name_has_a_block(name: str) -> None:
    names = own_names(name)
    page = pages().get(name)
    assert (page is not None) == bool(names)
    if page is not None:
        text = api_page(page)
        assert [line[4:] for line in text.splitlines() if line.startswith("::: ")] == [
            f"{name}.{one}" for one in names
        ]


def test_the_index_lists_every_page() -> None:
    text = api_index()
    for module in public_modules():
        assert f"({module.name}.md)" in text
        assert module.docstring, f"{module.name}: expected a docstring, found none"


def test_roles_become_references_that_may_lead_nowhere() -> None:
    text = inline("A :class:`~polygym.ir.scop.Scop`, :func:`f`, :mod:`polygym.ir` and ``x[i][j]``.")
    assert text == (
        'A <autoref identifier="polygym.ir.scop.Scop" optional><code>Scop</code></autoref>, `f`, '
        '<autoref identifier="polygym.ir" optional><code>polygym.ir</code></autoref> and `x[i][j]`.'
    )


def test_tables_blocks_and_examples_become_markdown() -> None:
    text = as_markdown(
        "First line.\n\n=====  ======\nname   doc\n=====  ======\n"
        "``a``  one\n       more\nb      two|2\n=====  ======\n\n"
        "Text::\n\n    polygym show x\n\n>>> 1 + 1\n2\n\nRaises:\n    InputError: no."
    )
    assert "| name | doc |\n|---|---|\n| `a` | one more |\n| b | two&#124;2 |\n" in text
    assert "Text:\n\n```console\npolygym show x\n```\n" in text
    assert "```python\n>>> 1 + 1\n2\n```\n" in text
    assert text.endswith("Raises:\n    InputError: no.")


def test_no_docstring_keeps_its_roles() -> None:
    for module in public_modules():
        text = as_markdown(module.docstring)
        assert not re.search(r":(?:class|func|mod|data):`|::$|^=+ +=+$", text, re.MULTILINE)
        assert summary(module.docstring).endswith((".", ":", "`", "…")), module.name


def test_the_extension_converts_docstrings_and_knows_pairs(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(
        '"""A module with :class:`~sample.Thing`."""\n\nWIDTH, HEIGHT = 960, 2 * 320\n'
    )
    module = griffe.load(
        "sample",
        search_paths=[str(tmp_path)],
        extensions=griffe.load_extensions(MarkdownDocstrings),
        allow_inspection=False,
    )
    assert module.docstring is not None
    assert "<code>Thing</code></autoref>" in module.docstring.value
    assert str(module["HEIGHT"].value) == "2 * 320"
