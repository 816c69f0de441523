"""The site builds, its generated pages are complete, and it loads nothing from other hosts."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

import docs.site
from docs.site import documents, markdown, navigation, reference, root_pages
from docs.site.documents.functions import returned_value
from docs.site.documents.rows import SharedPart, member_rows
from docs.site.pages import REFERENCE_PAGES, reference_index
from docs.site.reference import member_meanings
from docs.site.reference.api import api_index
from docs.site.reference.commands import all_commands, options_of
from docs.site.reference.environments import EnvironmentEntry, registered_environments
from docs.site.reference.features import OBSERVATIONS
from docs.site.reference.rules import graph_tables, term_tables
from docs.site.reference.schemas import FILES, SHARED, command_document, json_commands
from polygym.codegen import recurrences
from polygym.codegen.passes import PASSES
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.loops.column_names import CONTEXT_COLUMNS
from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES
from polygym.frontend.c.regions.passes import PASSES as C_PASSES
from polygym.frontend.c.regions.passes import VARIANTS
from polygym.graphs.onnx.importer.node_order import import_rows
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.rules import load_rules
from polygym.mapping.knobs import COLUMNS, KNOBS, QUESTIONS
from polygym.mdp.env_ids import CONSTRUCT
from polygym.mdp.policies.registry import POLICIES
from polygym.runtime.evaluation.evaluation import Evaluation
from polygym.search.strategies.registry import STRATEGIES
from polygym.terms.optimization import SEARCH_METHODS
from polygym.terms.rules.rule_table import RULE_SETS, rules_named
from tests.docs.page_form import forbidden_phrases, form_faults
from tests.docs.page_runner import run_page

ROOT = Path(__file__).parents[2]
MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (docs.site, documents, reference)
    for module in pkgutil.iter_modules(package.__path__)
    if not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def page_text(name: str) -> str:
    return OPENED[f"reference/{name}"]()


OPENED = {
    **{page.src_uri: cache(page.make) for page in REFERENCE_PAGES},
    navigation.REFERENCE_INDEX: reference_index,
    "reference/api/index.md": api_index,
}


@pytest.mark.parametrize("src_uri", OPENED)
def test_generated_pages_have_their_form(src_uri: str) -> None:
    text = OPENED[src_uri]()
    assert list(form_faults(text)) == []
    assert forbidden_phrases(text.partition("\n## ")[0]) == []


@pytest.mark.parametrize("src_uri", OPENED)
def test_examples_of_generated_pages_run(
    src_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "opening.md"
    path.write_text(OPENED[src_uri]().partition("\n## ")[0])
    assert run_page(path, tmp_path) == 1


def test_environments_of_the_reference_are_made_by_ids_that_import_polygym() -> None:
    opening = page_text("environments.md").partition("\n## ")[0]
    assert re.findall(r'make\("([^"]*)"', opening) == ["polygym:ID", f"polygym:{CONSTRUCT}"]


def section(text: str, title: str) -> str:
    """Return the part of a page from a heading to the next one of any level."""
    _, found, rest = text.partition(title + "\n")
    assert found, f"expected a heading {title!r}, found none"
    return re.split(r"^#{1,4} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def codes(text: str) -> set[str]:
    """Return the inline code of a page, and its words, without the names of entities."""
    found = {match[1] for match in re.finditer(r"`([^`\n]+)`", text)}
    return found | {
        re.sub(r"&#(\d+);", lambda one: chr(int(one[1])), match[1])
        for match in re.finditer(r"<code>(.*?)</code>", text)
    }


def test_every_option_of_every_command() -> None:
    text = page_text("commands.md")
    for one in all_commands():
        level = "##" if len(one.words) == 1 else "###"
        shown = section(text, f"{level} `{one.name}` {{ #{markdown.slug(one.name)} }}")
        if "The same command as" in shown:
            continue
        words = {word for code in codes(shown) for word in code.split()}
        for option in options_of(one):
            assert option.help, f"{one.name}: expected a help text of {option.opts}"
            assert set(option.opts) <= words, (one.name, option.opts)
            help_words = re.findall(r"[a-z]{4,}", option.help.partition("(Default")[0])
            assert set(help_words) <= set(re.findall(r"[a-z]{4,}", shown)), option.opts


def test_every_knob_and_question() -> None:
    text = page_text("knobs.md")
    for knob in KNOBS:
        (row,) = re.findall(rf"^\| `{knob.name}` \| .*$", section(text, "## Options"), re.MULTILINE)
        assert " ".join(knob.doc.split()[1:]) in row
        assert knob.domain.expected in row
    assert set(QUESTIONS) <= codes(section(text, "## Questions"))
    assert {variant for knob in KNOBS for variant in knob.variants} <= codes(text)


def test_every_pass_and_variant() -> None:
    text = page_text("passes.md")
    assert {row.name for row in C_PASSES} <= codes(section(text, "## C front end"))
    assert {row.name for row in VARIANTS} <= codes(section(text, "### Variants"))
    assert {row.name for row in PASSES} <= codes(section(text, "## Code generation"))
    shown = section(text, "### Recurrences")
    for module in pkgutil.iter_modules(recurrences.__path__):
        document = importlib.import_module(f"{recurrences.__name__}.{module.name}").__doc__ or ""
        fires = re.findall(r"^fires on: (.*)$", document, re.MULTILINE)
        assert {module.name, *", ".join(fires).split(", ")} - {""} <= codes(shown)


def test_every_column_and_feature() -> None:
    text = page_text("features.md")
    for name, columns in OBSERVATIONS.items():
        shown = section(text, f"### `{name}` {{ #observation-{name} }}")
        rows = [line for line in shown.splitlines() if line.startswith("|")][2:]
        assert len(rows) <= len(columns)
        for column in columns:
            doc = "always 1" if column.doc == "1" else column.doc
            assert markdown.sentence(markdown.plain(doc)) in shown
        assert columns[0].name in codes(shown)
        assert columns[-1].name in codes(shown)
    found = codes(text)
    for names in (FEATURE_NAMES, CONTEXT_COLUMNS, SCHEDULE_FEATURE_NAMES):
        assert set(names) <= found
    shown = section(text, "## Features of a mapping")
    assert {knob.name for knob, _ in COLUMNS} <= codes(shown)


def test_every_operator() -> None:
    text = page_text("operators.md")
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", text, re.MULTILINE)
    assert dict(rows) == {name: operator.takes for name, operator in OPERATORS.items()}
    assert set(import_rows()) <= codes(section(text, "## ONNX import"))


def test_every_rule() -> None:
    text = page_text("rules.md")
    for name in graph_tables():
        shown = section(text, f"### Table `{name}` {{ #graphs-{name} }}")
        check_rules({rule.name for rule in load_rules([name])}, shown)
    for name in term_tables():
        shown = section(text, f"### Table `{name}` {{ #terms-{name} }}")
        check_rules({rule.name for rule in rules_named(name)}, shown)
    assert set(RULE_SETS) <= codes(section(text, "## Rules of terms"))


def check_rules(names: set[str], shown: str) -> None:
    """Check that each rule has a row; the two directions of a rule may share it."""
    rows = dict(re.findall(r"^\| `([^`]+)` \| .* \| ([→↔]) \|", shown, re.MULTILINE))
    both = {f"{name}-back" for name, arrow in rows.items() if arrow == "↔"}
    assert rows.keys() | both == names


def test_every_strategy_and_policy() -> None:
    text = page_text("strategies.md")
    shown = section(text, "## Strategies of a search")
    for name, entry in STRATEGIES.items():
        (row,) = re.findall(rf"^\| `{re.escape(name)}` \| .*$", shown, re.MULTILINE)
        assert {f"--{option}" for option in entry.options} <= codes(row)
    assert set(POLICIES) <= codes(section(text, "## Policies"))
    assert set(SEARCH_METHODS) <= codes(section(text, "## Searches of terms"))


def test_every_environment_and_argument() -> None:
    text = page_text("environments.md")
    entries = registered_environments()
    assert len(entries) >= 7
    for entry in entries:
        shown = section(text, f"### Arguments {{ #{entry.anchor}-arguments }}")
        rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", shown, re.MULTILINE)
        assert [name for name, _ in rows] == list(entry.arguments)
        arrays = section(text, f"### Spaces {{ #{entry.anchor}-spaces }}")
        assert set(entry.spaces[1]) <= codes(arrays)


@pytest.mark.parametrize("entry", registered_environments(), ids=lambda entry: entry.env_id)
def test_docstrings_of_environments_have_their_arguments(entry: EnvironmentEntry) -> None:
    described, taken = entry.argument_documents.keys(), entry.arguments.keys()
    assert taken - described == set(), "arguments without a meaning"
    assert described - taken == set(), "meanings of arguments that there are not"


def test_every_json_command_and_file() -> None:
    text = page_text("schemas.md")
    for one in json_commands():
        anchor = markdown.slug(f"command {one.name}")
        assert section(text, f"### `{one.name} --json` {{ #{anchor} }}").strip() != "No document."
    for entry in (*SHARED, *FILES):
        assert section(text, f"### {entry.title} {{ #{markdown.slug(entry.title)} }}")


def test_members_of_documents_are_those_that_functions_write() -> None:
    members = {row.path: row for row in member_rows(returned_value(Evaluation.to_json))}
    assert members["seconds"].kind == "number"
    assert members["samples"].kind == "array of numbers"
    assert members["applied_mapping"].kind == "string or null"
    assert "`ok`" in members["status"].meaning
    check = next(one for one in json_commands() if one.name == "check")
    document = command_document(check.command.callback)  # type: ignore[arg-type]
    assert document is not None
    rows = {row.path: row for row in member_rows(document)}
    assert rows["legal"].kind == "boolean"
    assert rows["violation"].kind == "object or null"
    assert rows["violation.source_instance"].kind == "array of integers"


def sample_document(names: list[str], flag: bool) -> dict[str, object]:
    """A document with all that the derivation has to follow."""
    document: dict[str, object] = {"names": [name.upper() for name in names], "count": len(names)}
    if flag:
        document["extra"] = {"ratio": 1 / len(names), "none": None if flag else "text"}
    return document | {key: 0 for key in ("first", "second")}


def test_optional_and_nested_members_are_derived() -> None:
    rows = list(member_rows(returned_value(sample_document)))
    assert [(row.path, row.kind, row.is_optional) for row in rows] == [
        ("names", "array of strings", False),
        ("count", "integer", False),
        ("extra", "object", True),
        ("extra.ratio", "number", False),
        ("extra.none", "string or null", False),
        ("first", "integer", False),
        ("second", "integer", False),
    ]
    part = SharedPart("Part", ("ratio", "none"))
    paths = [row.path for row in member_rows(returned_value(sample_document), [part])]
    assert paths == ["names", "count", "extra", "first", "second"]


def member_cells() -> list[tuple[str, str, str]]:
    """Return document, path and meaning of every member of the page."""
    cells, document = [], ""
    for line in page_text("schemas.md").split("\n"):
        if line.startswith("### "):
            title = line.removeprefix("### ").partition(" {")[0]
            document = title.strip("`").removesuffix(" --json")
        elif match := re.fullmatch(r"\| `([^`]+)` \| ([^|]*) \|(.*)\|", line):
            cells.append((document, match[1], match[3].replace("*Optional.*", "").strip()))
    return cells


def test_members_of_json_documents_have_meanings() -> None:
    cells = member_cells()
    assert len(cells) > 600
    without = [(document, path) for document, path, meaning in cells if not meaning]
    assert len(without) <= 0.02 * len(cells), without


def test_every_meaning_of_the_table_belongs_to_a_member() -> None:
    used = {member_meanings.used_key(document, path) for document, path, _ in member_cells()}
    assert member_meanings.all_keys() - used == set()


def test_links_of_pages_outside_of_the_documents_are_rewritten() -> None:
    addresses = {"CONTRIBUTING.md": "contributing.md", "a/x.png": "repository/a/x.png"}
    text = (
        "[a](../docs/guides/terms.md#x) [`b`](../CONTRIBUTING.md) ![c](x.png) [d](../LICENSE) "
        "[e](https://x.org) [`y.py`](y.py) `[f](../docs/no.md)`\n```text\n[g](../docs/no.md)\n```\n"
    )
    assert root_pages.with_site_links(text, "a/README.md", "repository/a/README.md", addresses) == (
        "[a](../../guides/terms.md#x) [`b`](../../contributing.md) ![c](x.png) d (`LICENSE`) "
        "[e](https://x.org) `y.py` `[f](../docs/no.md)`\n```text\n[g](../docs/no.md)\n```\n"
    )


def test_results_are_listed_by_date(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("2026-01-02-b", "2026-11-01-a", "notes", "index"):
        (folder / f"{name}.md").write_text(f"# {name}\n")
    assert navigation.result_pages(tmp_path) == [
        "results/2026-11-01-a.md",
        "results/2026-01-02-b.md",
    ]


def test_every_page_of_results_has_a_row_with_its_date() -> None:
    text = (ROOT / "docs" / navigation.RESULT_INDEX).read_text()
    rows = re.findall(r"\| (\d{4}-\d{2}-\d{2}) \| \[[^]]+\]\((\S+\.md)\) \|$", text, re.MULTILINE)
    assert {f"results/{page}" for _, page in rows} == set(navigation.result_pages(ROOT / "docs"))
    assert [page for date, page in rows if not page.startswith(f"{date}-")] == []


class LoadedAddresses(HTMLParser):
    """The addresses that a page loads by itself, and the classes of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.classes.update(named.get("class", "").split())
        is_loaded = tag in ("script", "img", "iframe", "source", "video", "audio", "embed")
        if is_loaded and "src" in named:
            self.addresses.append(named["src"])
        if tag == "link" and named.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(named["href"])


@pytest.mark.always
def test_the_site_builds_and_loads_nothing_from_other_hosts(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 100
    for path in pages:
        page = LoadedAddresses()
        page.feed(path.read_text())
        outside = [one for one in page.addresses if re.match(r"(?:https?:)?//", one)]
        assert outside == [], path
        assert "mermaid" not in page.classes, f"{path}: its diagrams load a script from elsewhere"
    for path in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\(\W*(?:https?:)?//|@import", path.read_text()), path
    text = (tmp_path / "site" / "reference" / "api" / "polygym.poly.html").read_text()
    for name in ("Schedule", "find_violation", "isl_schedule", "LegalSchedule"):
        assert f'id="polygym.poly.{name}"' in text
    results = (tmp_path / "site" / "results" / "index.html").read_text()
    assert "headline figure" in results, "the written page of results, not a generated one"
    assert not (tmp_path / "site" / "site").exists(), "the build code is no part of the site"
