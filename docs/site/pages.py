"""The generated pages of the site, in the order of the navigation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from docs.site.markdown import PageOpening, page, table
from docs.site.reference import (
    api,
    c_constructs,
    commands,
    comprehensions,
    environments,
    features,
    knobs,
    operators,
    passes,
    rules,
    schemas,
    steps,
    strategies,
)

_INDEX_OPENING = PageOpening(
    (
        "Pages of the reference list every option, argument, pass, rule and document.",
        "They are generated from the tables of the program.",
        "[Tutorials](../tutorials/train-an-agent.md) and guides teach; explanations give reasons.",
    ),
    """\
```console
$ polygym --help
$ polygym optimize --help
```
""",
)


@dataclass(frozen=True, slots=True)
class GeneratedPage:
    """A page: its address, what it is for, and the function that returns its Markdown."""

    src_uri: str
    purpose: str
    make: Callable[[], str]


REFERENCE_PAGES = (
    GeneratedPage("reference/commands.md", "Commands and their options", commands.commands_page),
    GeneratedPage(
        "reference/environments.md",
        "Environments: arguments, spaces, rewards",
        environments.environments_page,
    ),
    GeneratedPage("reference/knobs.md", "Mapping options", knobs.knobs_page),
    GeneratedPage("reference/passes.md", "Passes of the compiler", passes.passes_page),
    GeneratedPage(
        "reference/features.md", "Columns of observations and cost features", features.features_page
    ),
    GeneratedPage(
        "reference/comprehensions.md",
        "Library of comprehensions",
        comprehensions.comprehensions_page,
    ),
    GeneratedPage("reference/operators.md", "Graph operators", operators.operators_page),
    GeneratedPage("reference/rules.md", "Rules of graphs and terms", rules.rules_page),
    GeneratedPage(
        "reference/strategies.md", "Search strategies and policies", strategies.strategies_page
    ),
    GeneratedPage("reference/steps.md", "Transformation steps", steps.steps_page),
    GeneratedPage("reference/schemas.md", "JSON files and outputs", schemas.schemas_page),
    GeneratedPage(
        "reference/c-constructs.md",
        "Accepted and refused C constructs",
        c_constructs.c_constructs_page,
    ),
)


def api_pages() -> list[GeneratedPage]:
    """Return the pages of the Python API."""
    index = GeneratedPage(f"{api.FOLDER}/index.md", "Python API", api.api_index)
    return [
        index,
        *(
            GeneratedPage(module.src_uri, module.name, partial(api.api_page, module))
            for module in api.public_modules()
        ),
    ]


def reference_index() -> str:
    """Return the page that lists those of the reference."""
    rows = [
        (f"[{entry.purpose}]({entry.src_uri.removeprefix('reference/')})",)
        for entry in REFERENCE_PAGES
    ]
    rows += [("[Python API](api/index.md)",), ("[Glossary](../glossary.md)",)]
    return page("Reference", _INDEX_OPENING, table(("Page",), rows))
