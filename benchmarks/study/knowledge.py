"""What contenders know before they begin: models of other programs, made where they are missing.

The model of C1 to C6 learns from what all searches of these layers have measured in the same
setting, so it is made anew for each; that of random programs from the corpora that come with
polygym, on each of their machines, whose rows of kernels and comprehensions are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from polygym.compiler.codegen.common.machine import Machine, this_machine
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.cost.candidate import features
from polygym.cost.model import VERSION, Card, Kind, Model, Objective, Samples
from polygym.cost.shipped import is_of_this_machine, learned_on, shipped
from polygym.cost.trees import TreeModel, TreeOptions, train
from polygym.errors import PolygymError
from polygym.measure.evaluation.fingerprint import Fingerprint, fingerprint
from polygym.programs.generate import is_generated
from polygym.search.corpus.packed import ALL_SHIPPED, opened
from polygym.search.corpus.samples import Group, groups, learnable, legal_of, without_tests
from polygym.search.corpus.store import Corpus
from study.contenders import OF_LAYERS, OF_RANDOM, SHIPPED
from study.journal import Search
from study.programs import SOURCES, load

_RANDOM = TreeOptions(members=4)
"""How trees of random programs are grown.

What they rank first under the default mapping has 0.87 of the best's speed on random programs left
out (415 cases), as four members; one alone has 0.85.
"""


def known(what: str, searches: Sequence[Search], folder: Path) -> tuple[Model, bool] | None:
    """Return the model of that name, and whether it is of this machine; None for no name.

    Raises:
        PolygymError: it cannot be had: there are no searches of its sources, say.
    """
    match what:
        case "":
            return None
        case "shipped":
            model = shipped()
            if model is None:
                raise PolygymError(f"{SHIPPED}: expected a model that comes with polygym")
            return model, is_of_this_machine(model.card)
        case "random programs":
            made = of_random(folder)
            return made, is_of_this_machine(made.card)
        case "C1 to C6":
            return of_layers(searches, folder), True
        case _:
            raise PolygymError(f"knowledge: expected one of {SHIPPED}, {OF_RANDOM}, {OF_LAYERS}")


def of_random(folder: Path) -> TreeModel:
    """Return the model of the packed corpora's random programs; it is made once for corpora."""
    files = [one.path for one in ALL_SHIPPED.values()]
    digest = crc32(b"".join(one.read_bytes() for one in files))
    path = folder / f"random-programs-{VERSION}-{digest:08x}.model"
    if path.exists():
        return TreeModel.load(path)
    chosen: list[Group] = []
    parts: list[Samples] = []
    learned: dict[str, tuple[Fingerprint, Machine]] = {}
    for file in files:
        with opened(file) as corpus:
            machines, planned_for = corpus.machines(), corpus.planned_for()
            found, _ = without_tests(one for one in groups(corpus) if is_generated(one.name))
        learned |= {key: (machines[key], planned_for[key]) for key in machines}
        parts.append(learnable(found).samples)
        chosen += found
    samples = _together(parts)
    programs = len({one.visit.case.program for one in chosen})
    made = train(samples, _RANDOM, _card(samples, programs, list(learned.values())))
    made.save(path)
    return made


def _together(parts: Sequence[Samples]) -> Samples:
    """Return the samples of several corpora; their cases stay apart."""
    counts = [int(one.cases.max()) + 1 if len(one) else 0 for one in parts]
    firsts = np.cumsum([0, *counts[:-1]])
    return Samples(
        np.concatenate([one.features for one in parts if len(one)]),
        np.concatenate([one.seconds for one in parts]),
        np.concatenate([one.cases + first for one, first in zip(parts, firsts, strict=True)]),
    )


def machine_like_this(corpus: Corpus) -> str:
    """Return the key of a corpus's machine that is like this one, or else of its first."""
    machines = corpus.machines()
    alike = [key for key, one in machines.items() if one.is_like(fingerprint())]
    return [*alike, *machines][0]


def of_layers(searches: Sequence[Search], folder: Path) -> TreeModel:
    """Return the model of what was measured of the layers that are sources."""
    sources = [one for one in searches if one.task.program in SOURCES and one.candidates]
    if {one.task.program for one in sources} != set(SOURCES):
        raise PolygymError(
            f"{OF_LAYERS}: expected searches of {', '.join(SOURCES)} in the same setting; "
            "run them first"
        )
    text = repr(sorted((str(one.task), one.speedups) for one in sources))
    path = folder / f"layers-{VERSION}-{crc32(text.encode()):08x}.model"
    if path.exists():
        return TreeModel.load(path)
    samples = samples_of(sources)
    here = [(fingerprint(), this_machine())]
    made = train(samples, TreeOptions(), _card(samples, len(SOURCES), here))
    made.save(path)
    return made


def samples_of(searches: Sequence[Search]) -> Samples:
    """Return what was measured, each candidate of a program once, as what a model learns from."""
    vectors, seconds, cases = [], [], []
    seen: set[tuple[str, str, str]] = set()
    names = sorted({one.task.program for one in searches})
    for one in searches:
        name = one.task.program
        program = load(name, one.task.setting.dataset)
        sizes = own_sizes(program.scop, dict(program.parameters))
        legal = [legal_of(program, text) for text in one.schedules]
        for (place, mapping), speedup in zip(one.candidates, one.speedups, strict=True):
            if speedup <= 0 or (key := (name, one.schedules[place], mapping)) in seen:
                continue
            seen.add(key)
            try:
                vectors.append(features(legal[place], parse_mapping(mapping), sizes).vector)
            except PolygymError:
                continue
            seconds.append(1.0 / speedup)
            cases.append(names.index(name))
    return Samples(np.array(vectors), np.array(seconds), np.array(cases, dtype=np.int64))


def _card(samples: Samples, programs: int, machines: Sequence[tuple[Fingerprint, Machine]]) -> Card:
    cases = len(np.unique(samples.cases))
    kind, objective = Kind.TREES.value, Objective.RANK.value
    return Card(
        kind, objective, len(samples), cases, programs, 0,
        ", ".join(one.key for one, _ in machines),
        "; ".join(one.processor for one, _ in machines),
        notes=learned_on(machines),
    )  # fmt: skip
