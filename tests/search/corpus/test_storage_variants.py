"""Programs measured in all storage variants: visits in threes, whose rows models compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.autoschedule.program_recipes import DefaultSource, ProgramRecipe
from polygym.autoschedule.storage_choice import storage_variants_of
from polygym.errors import InputError
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.machine import Machine
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT, array_bytes
from polygym.programs import Program
from polygym.programs.generate import SCALARS_PREFIX
from polygym.runtime.evaluation.fingerprint import MachineFingerprint, machine_fingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus import program_choice
from polygym.search.corpus.collector import Collection, CollectPlan
from polygym.search.corpus.program_choice import (
    ProgramChoice,
    choose_program,
    choose_variant,
    is_held_out,
)
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow
from polygym.search.corpus.samples import (
    by_variant,
    case_rows,
    legal_of,
    program_of,
    training_samples,
    without_tests,
)
from polygym.search.corpus.store import open_corpus

LITTLE = (3e4, 3e5)
EXPANDED = "S0:temp2=expand:i,j contract"
PRIVATE = "S0:temp2=private:i,j contract"


def test_visits_come_in_threes_of_one_program_at_the_same_sizes() -> None:
    symm = ProgramChoice(("symm",), LITTLE)
    programs = [choose_variant(symm, 0, number, DEFAULT_MEMORY_LIMIT) for number in range(6)]
    assert [program.case.storage for program in programs] == 2 * ["keep", EXPANDED, PRIVATE]
    assert not any(chosen_program.is_empty for chosen_program in programs)
    for three in (programs[:3], programs[3:]):
        assert len({variant.case.parameters for variant in three}) == 1
        assert all(variant.program.as_written == three[0].program.scop for variant in three)
    assert programs[0].case.parameters != programs[3].case.parameters


@pytest.fixture
def two_variants(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs in the first two of their storage variants."""

    def first_two(*arguments: Any) -> tuple[Program, ...]:
        return storage_variants_of(*arguments)[:2]

    monkeypatch.setattr(program_choice, "storage_variants_of", first_two)
    program_choice._program_variants.cache_clear()
    yield
    program_choice._program_variants.cache_clear()


@pytest.mark.usefixtures("two_variants")
def test_a_third_variant_that_there_is_not_is_an_empty_visit() -> None:
    cut = ProgramChoice(("floyd-warshall",), LITTLE)
    whole, pieces, nothing = (
        choose_variant(cut, 0, number, DEFAULT_MEMORY_LIMIT) for number in range(3)
    )
    assert (whole.case.splitting, pieces.case.splitting) == ("", "S0: i = k, j = k")
    assert [program.is_empty for program in (whole, pieces, nothing)] == [False, False, True]


def test_what_has_nothing_to_choose_from_is_left_out() -> None:
    with pytest.raises(
        InputError, match="has storage variants; the last: gemm: is kept as it was written"
    ):
        choose_variant(ProgramChoice(("gemm",), LITTLE), 0, 0, DEFAULT_MEMORY_LIMIT)
    with pytest.raises(InputError, match="nothing to choose from"):
        choose_variant(ProgramChoice(("symm",), LITTLE), 0, 0, 10)  # bytes


def test_a_kind_of_programs_is_another_one_in_each_visit() -> None:
    any_of_them = ProgramChoice.of(("scalars:*", "mvt"))
    assert any_of_them.names == ProgramChoice.of(("scalars:*, mvt",)).names == ("scalars:*", "mvt")
    programs = [choose_program(any_of_them, 0, number) for number in range(8)]
    names = [program.case.program for program in programs if program.case.program != "mvt"]
    assert len(set(names)) == len(names) > 1
    assert all(name.startswith(SCALARS_PREFIX) for name in names)
    assert not any(
        is_held_out(chosen_program.case.program, chosen_program.program)
        for chosen_program in programs
    )


def test_none_of_a_kind_does_what_a_test_kernel_does() -> None:
    """Random choices lead to some that do, which are not taken; one that is named is."""
    programs = [choose_program(ProgramChoice(("random:*",)), 1, number) for number in range(12)]
    assert not any(is_held_out(program.case.program, program.program) for program in programs)


def test_variants_have_dice_of_their_own() -> None:
    usual = CollectPlan(ProgramChoice(("symm",)))
    every = [usual, replace(usual, storage_limit=10), replace(usual, storage_limit=20)]
    assert len({plan.visit_seed for plan in every}) == 3
    assert usual.visit_seed == 0
    with pytest.raises(InputError, match="storage_limit: expected no recipe beside it"):
        replace(usual, storage_limit=10, recipe=ProgramRecipe(storage=DefaultSource.AUTO))


def test_from_end_to_end(tmp_path: Path) -> None:
    """Three visits, which end in the middle and are gone on with, are one case for models."""
    asked = CollectPlan(
        ProgramChoice(("symm",), LITTLE), 4, 3, threads=2, storage_limit=DEFAULT_MEMORY_LIMIT
    )
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        Collection(corpus, asked).run()
        assert corpus.count() == 4
        Collection(corpus, replace(asked, rows=9)).run()
        Collection(corpus, replace(asked, rows=9)).run()
        rows = [len(rows) for _, rows in corpus.visits()]
        assert rows == [3, 3, 3]
        key = next(iter(corpus.machines()))
        assert corpus.finished(key, 2, asked.visit_seed) == {0, 1, 2}
        kept, _ = without_tests(case_rows(corpus, fewest=1))
    assert [group.visit.case.storage for group in kept] == ["keep", EXPANDED, PRIVATE]
    assert [number for number, _ in by_variant(kept)] == [0, 0, 0]
    samples = training_samples(kept)
    assert set(samples.samples.cases) == {0}
    assert len(samples.samples) == sum(len(group.rows) for group in kept)
    assert len(np.unique(samples.samples.features, axis=0)) > 3


@pytest.mark.usefixtures("two_variants")
def test_an_empty_visit_is_finished_without_a_row(tmp_path: Path) -> None:
    cut = CollectPlan(
        ProgramChoice(("floyd-warshall",), LITTLE), 5, 2, storage_limit=DEFAULT_MEMORY_LIMIT
    )
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        collection = Collection(corpus, cut)
        collection.run()
        assert [len(rows) for _, rows in corpus.visits()] == [2, 2, 0, 1]
        assert collection.visits == 2
        assert {0, 1, 2} <= corpus.finished(machine_fingerprint().key, 1, cut.visit_seed)
        assert corpus.check() == []


def row(place: int, seconds: float, original_seconds: float) -> CorpusRow:
    return CorpusRow(f"S{place}", "default", "", OutcomeStatus.OK, seconds, original_seconds)


def test_times_of_variants_are_in_proportion_to_the_original_s(tmp_path: Path) -> None:
    """The example of the module; other sizes, texts, machines or threads are other cases."""
    sizes = (("n", 1000),)
    written, moved = CorpusCase("pairs.c", sizes), CorpusCase("pairs.c", sizes, "", "d=private:i")
    others = [
        (replace(moved, parameters=(("n", 999),)), "", "here", 1),
        (moved, "another text", "here", 1),
        (moved, "", "there", 1),
        (moved, "", "here", 2),
        (replace(moved, function="f"), "", "here", 1),
    ]
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        for key in ("here", "there"):
            corpus.add_machine(MachineFingerprint(key, "f", 2, (), key), Machine(vector_bits=128))
        keys = list(corpus.machines())
        named = {"here": keys[0], "there": keys[-1]}
        every = [(written, "", "here", 1), (moved, "", "here", 1), *others]
        for number, (case, text, where, threads) in enumerate(every):
            visit = CaseVisit(case, number, 0, threads, named[where], 0.0, text=text)
            place = corpus.begin(visit)
            now, then = (0.010, 0.010) if case is written else (0.008, 0.012)
            for candidate in range(5):
                corpus.add(place, row(candidate, now, then))
        variants = by_variant(case_rows(corpus))
    assert [number for number, _ in variants] == [0, 0, 2, 3, 4, 5, 6]
    first, second, *rest = [rows.rows[0].seconds for _, rows in variants]
    assert first == 0.010
    assert second == pytest.approx(0.008 / 1.2)
    assert rest == [0.008] * 5


def test_features_are_of_the_arrays_that_code_has(tmp_path: Path) -> None:
    """Where a plan contracts, what the schedule does not need is given up again."""
    visit = CaseVisit(CorpusCase("symm", (("m", 40), ("n", 50)), "", EXPANDED), 0, 0, 1, "m", 0.0)
    program = program_of(visit, str(tmp_path))
    legal = legal_of(program, str(original_schedule(program.scop)))

    def new_bytes(scop: Scop) -> int:
        new = [array for array in scop.arrays if array.storage_class is StorageClass.SCRATCH]
        return sum(array_bytes(scratch, {"m": 40, "n": 50}) for scratch in new)

    assert new_bytes(program.scop) == 8 * 40 * 50
    assert new_bytes(legal.scop) == 8 * 50
