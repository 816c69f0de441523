"""Reference page of numbers that models see: observations of episodes, features of candidates."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from math import log2

from docs.site.markdown import PageOpening, bounds, code, heading, page, plain, sentence, table
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.nest_vectors import NEST
from polygym.cost.features.loops.column_names import (
    CACHE_SIZES,
    CONTEXT_COLUMNS,
    FOOTPRINT_THRESHOLDS,
    RELATION_COLUMNS,
)
from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES
from polygym.mapping.knobs import COLUMNS
from polygym.mdp.observation.arrays import Column
from polygym.mdp.observation.episode_arrays import PROGRESS, REMAINING, ROW_COLUMNS
from polygym.mdp.observation.mapping_arrays import CHOICES, NESTS, QUESTION
from polygym.mdp.observation.static_observation import DEPENDENCES, STATEMENTS
from polygym.mdp.observation.storage_arrays import STORAGE_CHOICES, STORAGE_QUESTION

OBSERVATIONS: Mapping[str, tuple[Column, ...]] = {
    "progress": PROGRESS,
    "remaining": REMAINING,
    "dependences": DEPENDENCES,
    "statements": STATEMENTS,
    "question": QUESTION,
    "choices": CHOICES,
    "nests": NESTS,
    "storage_question": STORAGE_QUESTION,
    "storage_choices": STORAGE_CHOICES,
}
"""The tables of observations with documented columns, by the name of their array."""

_OPENING = PageOpening(
    (
        "Observations describe an episode. Cost features describe a candidate: a legal schedule "
        "under a mapping at given sizes.",
        "A column means the same for every program: a model of some programs serves others.",
        "Neighbours with the same meaning share a row. Bounds are those of the observation space.",
    ),
    """\
```python
from polygym.cost import FEATURE_NAMES, candidate_features
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program

gemm = load_program("gemm")
legal = LegalSchedule(gemm.scop, isl_schedule(gemm.scop))
features = candidate_features(legal, DEFAULT_MAPPING, dict(gemm.parameters))
print(dict(zip(FEATURE_NAMES[:3], features.vector)))
```
""",
)

_COST = f"""\
The vector of a candidate has {len(FEATURE_NAMES)} numbers. Each statement has the columns of its
nest. The vector has their mean, weighted by estimated cycles (`…_sum`), and those of the
heaviest statement (`…_main`). Scaled columns are signed logarithms, sign(x) · log2(1 + |x|).
"""

_RELATIONS = f"""\
`reuse_below_k` is the best reuse among loops and arrays that touch less than the threshold k.
`outer_below_k` is the greatest number of iterations around them. Thresholds are powers of two from
2^{log2(FOOTPRINT_THRESHOLDS[0]):g} to 2^{log2(FOOTPRINT_THRESHOLDS[-1]):g} bytes.
"""

_MAPPING = """\
A model of one program alone also sees the options of the mapping as numbers. -1 stands for a
default; orders begin with the innermost loop.
"""


def features_page() -> str:
    """Return the page."""
    observed: list[str] = []
    for name, columns in OBSERVATIONS.items():
        observed += [heading(3, code(name), f"observation-{name}"), _columns(columns)]
    return page(
        "Observations and features",
        _OPENING,
        heading(2, "Columns of observations"),
        *observed,
        heading(3, "`rows`, `generator`, `point`", "observation-rows"),
        f"Each row has the columns {_names(ROW_COLUMNS)}.",
        heading(2, "Cost features of candidates"),
        _COST,
        heading(3, "Columns of a nest"),
        table(
            ("Column", "Scaled", "Meaning"),
            [
                (_names(group), "yes" if is_scaled else "no", sentence(plain(doc)))
                for (doc, is_scaled), group in _grouped_nest_columns()
            ],
        ),
        f"`traffic_k` and `bound_k` are for caches of 2^k bytes: {_cache_sizes()}.",
        heading(3, "Relations"),
        _RELATIONS,
        _list(RELATION_COLUMNS),
        heading(3, "Totals"),
        _list(_totals()),
        heading(3, "All columns", "feature-names"),
        _list(FEATURE_NAMES),
        heading(2, "Loop context"),
        "A row for every loop around the heaviest statement, outermost first.",
        _list(CONTEXT_COLUMNS),
        heading(2, "Features of a mapping"),
        _MAPPING,
        table(
            ("Column", "Option", "Meaning of the option"),
            [
                (_names([column.name for _, column in group]), code(name), sentence(plain(doc)))
                for (name, doc), group in _grouped_knob_columns()
            ],
        ),
        heading(2, "Features of schedules"),
        f"A schedule without a mapping has {len(SCHEDULE_FEATURE_NAMES)} columns.",
        _list(SCHEDULE_FEATURE_NAMES),
    )


def _columns(columns: Iterable[Column]) -> str:
    rows = []
    for (doc, low, high), group in groupby(columns, key=lambda one: (one.doc, one.low, one.high)):
        meaning = "always 1" if doc == "1" else doc
        names = _names([column.name for column in group])
        rows.append((names, bounds(low, high), sentence(plain(meaning))))
    return table(("Column", "Bounds", "Meaning"), rows)


def _grouped_nest_columns() -> list[tuple[tuple[str, bool], list[str]]]:
    return [
        (key, [column.name for column in group])
        for key, group in groupby(NEST, key=lambda column: (column.doc, column.is_scaled))
    ]


def _grouped_knob_columns() -> list[tuple[tuple[str, str], list[tuple[object, Column]]]]:
    return [
        (key, list(group))  # type: ignore[arg-type]
        for key, group in groupby(COLUMNS, key=lambda pair: (pair[0].name, pair[0].doc))
    ]


def _names(names: Iterable[str]) -> str:
    """Return names; of more than four that count, the first and the last."""
    listed = [code(name) for name in names]
    return ", ".join(listed) if len(listed) < 5 else f"{listed[0]} … {listed[-1]}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(code, names)) + "."


def _totals() -> list[str]:
    """Return the columns that are neither of nests nor relations."""
    nests = {f"{column.name}_{part}" for column in NEST for part in ("sum", "main")}
    return [name for name in FEATURE_NAMES if name not in nests | set(RELATION_COLUMNS)]


def _cache_sizes() -> str:
    return ", ".join(f"{int(size) // 1024:,} KiB" for size in CACHE_SIZES)
