"""Prior models of contenders, fitted to other programs where they are missing.

The model of C1 to C6 learns from what all searches of these layers have measured in the same
setting, so it is made anew for each; that of random programs from the corpora that come with
polygym, on each of their machines, whose rows of kernels and comprehensions are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from polygym.cost.features.candidates.candidate_vector import candidate_features
from polygym.cost.models.boosted_trees import BoostedTreeOptions, BoostedTrees, train_boosted_trees
from polygym.cost.models.cost_model import (
    MODEL_VERSION,
    CostModel,
    ModelCard,
    ModelKind,
    Objective,
    TrainingSamples,
)
from polygym.cost.models.pretrained import matches_machine, pretrained_model, training_machines
from polygym.errors import PolygymError
from polygym.mapping.machine import Machine, this_machine
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.programs.generate import is_generated
from polygym.runtime.evaluation.fingerprint import MachineFingerprint, machine_fingerprint
from polygym.search.corpus.packing import POLICY_CORPORA, SHIPPED_CORPORA, open_packed
from polygym.search.corpus.samples import (
    CaseRows,
    case_rows,
    legal_of,
    training_samples,
    without_tests,
)
from polygym.search.corpus.store import Corpus
from search_study.contenders import OF_LAYERS, OF_RANDOM, SHIPPED
from search_study.journal import SearchRecord
from search_study.programs import SOURCES, load_study_program

_RANDOM = BoostedTreeOptions(members=4)
"""How trees of random programs are grown.

What they rank first under the default mapping has 0.87 of the best's speed on random programs left
out (415 cases), as four members; one alone has 0.85.
"""


def prior_model(
    what: str, searches: Sequence[SearchRecord], folder: Path
) -> tuple[CostModel, bool] | None:
    """Return the model of that name, and whether it is of this machine; None for no name.

    Raises:
        PolygymError: it cannot be had: there are no searches of its sources, say.
    """
    match what:
        case "":
            return None
        case "shipped":
            model = pretrained_model()
            if model is None:
                raise PolygymError(f"{SHIPPED}: expected a model that comes with polygym")
            return model, matches_machine(model.card)
        case "random programs":
            made = random_program_model(folder)
            return made, matches_machine(made.card)
        case "C1 to C6":
            return layer_model(searches, folder), True
        case _:
            raise PolygymError(f"knowledge: expected one of {SHIPPED}, {OF_RANDOM}, {OF_LAYERS}")


def random_program_model(folder: Path) -> BoostedTrees:
    """Return the model of the packed corpora's random programs; it is made once for corpora."""
    files = [SHIPPED_CORPORA[name].path for name in POLICY_CORPORA]
    digest = crc32(b"".join(file.read_bytes() for file in files))
    path = folder / f"random-programs-{MODEL_VERSION}-{digest:08x}.model"
    if path.exists():
        return BoostedTrees.load(path)
    chosen: list[CaseRows] = []
    parts: list[TrainingSamples] = []
    learned: dict[str, tuple[MachineFingerprint, Machine]] = {}
    for file in files:
        with open_packed(file) as corpus:
            machines, planned_for = corpus.machines(), corpus.planned_for()
            rows, _ = without_tests(row for row in case_rows(corpus) if is_generated(row.name))
        learned |= {key: (machines[key], planned_for[key]) for key in machines}
        parts.append(training_samples(rows).samples)
        chosen += rows
    samples = _concatenate_samples(parts)
    programs = len({case_row.visit.case.program for case_row in chosen})
    made = train_boosted_trees(
        samples, _RANDOM, _model_card(samples, programs, list(learned.values()))
    )
    made.save(path)
    return made


def _concatenate_samples(parts: Sequence[TrainingSamples]) -> TrainingSamples:
    """Return the samples of several corpora; their cases stay apart."""
    counts = [int(samples.cases.max()) + 1 if len(samples) else 0 for samples in parts]
    firsts = np.cumsum([0, *counts[:-1]])
    return TrainingSamples(
        np.concatenate([part.features for part in parts if len(part)]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.cases + first for part, first in zip(parts, firsts, strict=True)]),
    )


def similar_machine(corpus: Corpus) -> str:
    """Return the key of a corpus's machine that is like this one, or else of its first."""
    machines = corpus.machines()
    alike = [
        key for key, fingerprint in machines.items() if fingerprint.is_like(machine_fingerprint())
    ]
    return [*alike, *machines][0]


def layer_model(searches: Sequence[SearchRecord], folder: Path) -> BoostedTrees:
    """Return the model of what was measured of the layers that are sources."""
    sources = [
        record for record in searches if record.task.program in SOURCES and record.candidates
    ]
    if {record.task.program for record in sources} != set(SOURCES):
        raise PolygymError(
            f"{OF_LAYERS}: expected searches of {', '.join(SOURCES)} in the same setting; "
            "run them first"
        )
    text = repr(sorted((str(source.task), source.speedups) for source in sources))
    path = folder / f"layers-{MODEL_VERSION}-{crc32(text.encode()):08x}.model"
    if path.exists():
        return BoostedTrees.load(path)
    samples = samples_of(sources)
    here = [(machine_fingerprint(), this_machine())]
    made = train_boosted_trees(
        samples, BoostedTreeOptions(), _model_card(samples, len(SOURCES), here)
    )
    made.save(path)
    return made


def samples_of(searches: Sequence[SearchRecord]) -> TrainingSamples:
    """Return what was measured, each candidate of a program once, as what a model learns from."""
    vectors, seconds, cases = [], [], []
    seen: set[tuple[str, str, str]] = set()
    names = sorted({record.task.program for record in searches})
    for record in searches:
        name = record.task.program
        program = load_study_program(name, record.task.setting.dataset)
        sizes = scop_sizes(program.scop, dict(program.parameters))
        legal = [legal_of(program, text) for text in record.schedules]
        for (place, mapping), speedup in zip(record.candidates, record.speedups, strict=True):
            if speedup <= 0 or (key := (name, record.schedules[place], mapping)) in seen:
                continue
            seen.add(key)
            try:
                vectors.append(
                    candidate_features(legal[place], parse_mapping(mapping), sizes).vector
                )
            except PolygymError:
                continue
            seconds.append(1.0 / speedup)
            cases.append(names.index(name))
    return TrainingSamples(np.array(vectors), np.array(seconds), np.array(cases, dtype=np.int64))


def _model_card(
    samples: TrainingSamples, programs: int, machines: Sequence[tuple[MachineFingerprint, Machine]]
) -> ModelCard:
    cases = len(np.unique(samples.cases))
    kind, objective = ModelKind.TREES.value, Objective.RANK.value
    return ModelCard(
        kind, objective, len(samples), cases, programs, 0,
        ", ".join(fingerprint.key for fingerprint, _ in machines),
        "; ".join(host.processor for host, _ in machines),
        notes=training_machines(machines),
    )  # fmt: skip
