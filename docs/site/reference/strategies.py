"""Reference page of searches and policies: strategies of `optimize`, policies, term searches."""

from docs.site.docstrings import as_markdown
from docs.site.markdown import PageOpening, code, heading, page, plain, sentence, table
from polygym.mdp.policies import registry as policies
from polygym.poly.scheduling import strategy as schedules
from polygym.search.strategies.registry import STRATEGIES
from polygym.terms.learning.weights import VALUE_FUNCTIONS
from polygym.terms.optimization import SEARCH_METHODS, VALUE_METHODS

_OPENING = PageOpening(
    (
        "`polygym optimize --strategy NAME` proposes candidates of one program.",
        "`polygym sweep --strategy NAME` plays episodes of many programs with a policy.",
        "`polygym rewrite optimize --strategy NAME` searches for cheaper terms.",
    ),
    """\
```console
$ polygym optimize mvt --dataset mini --strategy random --budget 3
3 of 3 explored...
Best: ...
```
""",
)

_STRATEGIES = """\
An *indexed* strategy proposes whole
episodes, others propose a schedule with a mapping. The budget is the default number of proposals.
The last column says whether the strategy also takes `--schedule fixed`.
"""

_POLICIES = """\
A policy chooses an action of an episode. `polygym sweep --strategy` and the argument `policy` of
environments take these names.
"""

_SCHEDULES = """\
`--schedule`, and `start=` of `polygym/Optimize-v0`, take the text of a schedule strategy.
"""

_TERMS = """\
`polygym rewrite optimize --strategy NAME` takes these searches. Some take a value function
(`--value-function`).
"""


def strategies_page() -> str:
    """Return the page."""
    return page(
        "Strategies and policies",
        _OPENING,
        heading(2, "Strategies of a search"),
        _STRATEGIES,
        table(
            ("Strategy", "Proposals", "Indexed", "Options", "Budget", "Fixed schedule"),
            [
                (
                    code(name),
                    sentence(plain(entry.summary)),
                    _yes(entry.is_indexed),
                    ", ".join(code(f"--{option}") for option in sorted(entry.options)) or "none",
                    f"{entry.budget:,}",
                    _yes(entry.takes_fixed_schedule),
                )
                for name, entry in STRATEGIES.items()
            ],
        ),
        heading(2, "Policies"),
        _POLICIES,
        table(
            ("Policy", "Random"),
            [(code(name), _yes(name not in policies.DETERMINISTIC)) for name in policies.POLICIES],
        ),
        as_markdown((policies.__doc__ or "").partition("\n\n")[2]),
        heading(2, "Schedule strategies"),
        _SCHEDULES,
        as_markdown((schedules.__doc__ or "").partition("\n\n")[2]),
        heading(2, "Searches of terms"),
        _TERMS,
        table(
            ("Search", "Method", "Value function"),
            [
                (code(name), sentence(plain(does)), _yes(name in VALUE_METHODS))
                for name, does in SEARCH_METHODS.items()
            ],
        ),
        heading(3, "Value functions"),
        table(
            ("Value function", "Estimate"),
            [(code(name), sentence(plain(does))) for name, does in VALUE_FUNCTIONS.items()],
        ),
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"
