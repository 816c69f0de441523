"""The documents: their code runs, their links lead somewhere, and they keep to one form."""

import html
import re
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from docs.site.navigation import GENERATED_INDEXES
from docs.site.pages import REFERENCE_PAGES, api_pages
from polygym.version import __version__
from tests.docs import page_form
from tests.docs.page_links import link_faults
from tests.docs.page_runner import run_page
from tests.rotation import NIGHTLY

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = (README, ROOT / "CONTRIBUTING.md", *PAGES)

SCRIPTS = ("benchmarks", "configs", "examples", "notebooks")
FOLDERS = (*SCRIPTS, "agents", "polybench")
FORMED_FOLDERS = ("tutorials", "guides", "explanation", "data", "results")
UNCOUNTED_FOLDERS = ("reference", "results")
MOST_WORDS = 35_000
MOST_LONG_SENTENCES = 0.05


def address(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def cases(paths: tuple[Path, ...] | list[Path]) -> list[ParameterSet]:
    return [pytest.param(path, id=address(path)) for path in paths]


FORMED = [*PAGES, ROOT / "CONTRIBUTING.md"]
GENERATED = {
    *(f"docs/{page.src_uri}" for page in (*REFERENCE_PAGES, *api_pages())),
    *(f"docs/{src_uri}" for src_uri in GENERATED_INDEXES),
}

BESIDE = tuple(sorted(page for folder in FOLDERS for page in (ROOT / folder).rglob("README.md")))
"""Documents of folders beside ``docs/``."""


def code_case(page: Path) -> ParameterSet:
    """Return a page as a case; what a new user reads first runs however long it takes."""
    is_first = page in (README, DOCS / "index.md") or page.parent.name == "tutorials"
    marks = [pytest.mark.always] if is_first else []
    return pytest.param(page, id=address(page), marks=marks)


CODE_CASES = [code_case(page) for page in (*DOCUMENTS, *BESIDE)]


@pytest.mark.parametrize("page", CODE_CASES)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in SCRIPTS:  # the root of a clone has them
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path, nightly=NIGHTLY)


@pytest.mark.parametrize("page", cases(FORMED))
def test_pages_have_their_form(page: Path) -> None:
    assert list(page_form.form_faults(page.read_text())) == []


@pytest.mark.parametrize("page", cases((*DOCUMENTS, *BESIDE)))
def test_blocks_have_a_language_and_skipped_ones_a_reason(page: Path) -> None:
    assert list(page_form.mark_faults(page.read_text())) == []


@pytest.mark.parametrize("page", cases((*DOCUMENTS, *BESIDE)))
def test_documents_use_the_terms_of_the_field(page: Path) -> None:
    assert page_form.forbidden_phrases(page.read_text()) == []


@pytest.mark.parametrize("picture", cases(sorted((DOCS / "images").glob("*.svg"))))
def test_texts_of_pictures_use_the_terms_of_the_field(picture: Path) -> None:
    """Matplotlib writes a text, or its outline below a comment with the text."""
    source = picture.read_text()
    texts = re.findall(r"<!-- (.*?) -->", source)
    texts += [re.sub(r"<[^>]+>", " ", text) for text in re.findall(r"(?s)<text.*?</text>", source)]
    assert texts
    assert page_form.forbidden_phrases("\n".join(map(html.unescape, texts))) == []


def test_few_sentences_are_long() -> None:
    texts = [path.read_text() for path in DOCUMENTS]
    every = sum(1 for text in texts for _ in page_form.sentences(text))
    long = [one for text in texts for one in page_form.long_sentences(text)]
    assert len(long) < MOST_LONG_SENTENCES * every, "\n\n".join(long)


def test_the_documents_are_short() -> None:
    counted = {
        path
        for path in (*DOCUMENTS, *BESIDE)
        if not path.is_relative_to(DOCS) or not is_uncounted(path)
    }
    words = {address(path): page_form.word_count(path) for path in counted}
    assert sum(words.values()) <= MOST_WORDS, words


def is_uncounted(path: Path) -> bool:
    """Whether a page is a reference that a test holds against the code, or a dated result."""
    return path.relative_to(DOCS).parts[0] in {*UNCOUNTED_FOLDERS, "glossary.md"}


@pytest.mark.parametrize("page", cases((*DOCUMENTS, *BESIDE)))
def test_environments_are_made_by_ids_that_import_polygym(page: Path) -> None:
    """Without the prefix an id is known only where polygym is imported."""
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        if "import polygym" not in block:
            assert not re.search(r"make\w*\(\s*\"polygym/", block), block


@pytest.mark.parametrize("page", cases(DOCUMENTS))
def test_links_lead_somewhere(page: Path) -> None:
    generated = GENERATED if page.is_relative_to(DOCS) else set[str]()
    assert list(link_faults(page, ROOT, generated)) == []


@pytest.mark.parametrize("page", cases((ROOT / "CHANGELOG.md", *BESIDE)))
def test_links_of_pages_beside_the_documents_lead_somewhere(page: Path) -> None:
    assert list(link_faults(page, ROOT)) == []


def test_entries_of_the_changelog_have_one_line() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().partition("\n## ")[2].split("\n")
    entries = [line for line in lines[1:] if line and not line.startswith("#")]
    assert [line for line in entries if not line.startswith("- ") or len(line) > 140] == []


def test_the_version_is_the_same_everywhere() -> None:
    """That of the package is the last release of the changelog, and the one to cite."""
    release = re.search(r"^## (\d\S*) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert release is not None
    assert release[1] == __version__
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {release[1]}\ndate-released: {release[2]}\n" in citation
    assert f"\n  version = {{{release[1]}}},\n" in README.read_text()


def test_the_site_is_described_by_the_first_sentence_of_the_readme() -> None:
    sentence = README.read_text().split("\n")[2]
    assert sentence.startswith("polygym provides ")
    assert f"site_description: {sentence}\n" in (ROOT / "mkdocs.yml").read_text()


def test_there_are_pages_of_each_kind() -> None:
    assert {path.parent.name for path in FORMED} >= set(FORMED_FOLDERS)
    assert DOCS / "index.md" in FORMED
