"""Hooks that MkDocs calls: they add generated pages, fill the navigation, and rewrite links.

MkDocs loads this file by its path, so it puts the root of the repository on Python's path.
"""

import re
import sys
from pathlib import Path

# mkdocs loads this file without the repository on its path: the imports below (E402) need it.
ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.structure.files import File, Files, InclusionLevel  # noqa: E402
from mkdocs.structure.pages import Page  # noqa: E402

from docs.site import navigation, root_pages  # noqa: E402
from docs.site.pages import REFERENCE_PAGES, api_pages, reference_index  # noqa: E402

STYLES = "site.css"
_DATE_CELL = re.compile(r"<td>(?=\d{4}-\d{2}-\d{2}</td>)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation."""
    if str(ROOT) not in sys.path:  # MkDocs has reset the path after it loaded this file
        sys.path.insert(0, str(ROOT))
    reference = [navigation.REFERENCE_INDEX, *(entry.src_uri for entry in REFERENCE_PAGES)]
    interface = {"Python API": [entry.src_uri for entry in api_pages()]}
    folders: dict[str, list[navigation.Entry]] = {
        "reference/": [*reference, interface],
        "results/": [navigation.RESULT_INDEX, *navigation.result_pages(Path(config.docs_dir))],
    }
    config.nav = navigation.filled(config.nav or [], folders)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and those from files outside of ``docs/``."""
    texts = {entry.src_uri: _linked(entry.make(), entry.src_uri) for entry in REFERENCE_PAGES}
    texts |= {entry.src_uri: entry.make() for entry in api_pages()}
    texts[navigation.REFERENCE_INDEX] = reference_index()
    texts[STYLES] = (Path(__file__).parent / STYLES).read_text(encoding="utf-8")
    for src_uri, text in texts.items():
        files.append(File.generated(config, src_uri, content=text))
    pages = root_pages.root_pages()
    for root_page in pages.values():
        is_in_nav = not root_page.is_linked_only
        inclusion = InclusionLevel.UNDEFINED if is_in_nav else InclusionLevel.NOT_IN_NAV
        text = _site_text(root_pages.ROOT / root_page.path, root_page.path, root_page.src_uri)
        files.append(File.generated(config, root_page.src_uri, content=text, inclusion=inclusion))
    for path, src_uri in root_pages.root_pictures(pages).items():
        picture = str(root_pages.ROOT / path)
        files.append(File.generated(config, src_uri, abs_src_path=picture))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links of pages below ``docs/`` that lead out of it."""
    if page.file.generated_by is not None:
        return markdown
    return _linked(markdown, page.file.src_uri)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Name the class of cells with dates, for the style sheet: they stay in one line."""
    return with_date_cells(html)


def with_date_cells(html: str) -> str:
    """Return HTML in which cells of a date have the class ``date``.

    >>> with_date_cells("<td>2026-11-26</td><td>on 2026-11-26</td>")
    '<td class="date">2026-11-26</td><td>on 2026-11-26</td>'
    """
    return _DATE_CELL.sub('<td class="date">', html)


def _linked(text: str, src_uri: str) -> str:
    """Return the text of a page below ``docs/`` with the links that it has in the site."""
    return root_pages.with_site_links(text, f"docs/{src_uri}", src_uri, _addresses())


def _site_text(file: Path, path: str, src_uri: str) -> str:
    text = file.read_text(encoding="utf-8")
    return root_pages.with_site_links(text, path, src_uri, _addresses())


def _addresses() -> dict[str, str]:
    """Return the addresses of files outside of ``docs/`` that the site has."""
    pages = root_pages.root_pages()
    pictures = root_pages.root_pictures(pages)
    return {
        "README.md": "index.md",
        **{entry.path: entry.src_uri for entry in pages.values()},
        **pictures,
    }
