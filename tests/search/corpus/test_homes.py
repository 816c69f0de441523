"""Programs measured in all of their homes: visits in threes, whose rows models compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.ir.scop import Scop, Storage
from polygym.compiler.poly.baselines import original
from polygym.compiler.storage.price import USUAL_LIMIT, bytes_of
from polygym.episodes.recipes import Found, Recipe
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import Fingerprint, fingerprint
from polygym.measure.worker.outcome import Status
from polygym.programs.generate import SCALARS
from polygym.search.corpus.collect import Collection, CollectPlan
from polygym.search.corpus.held_out import is_held_out
from polygym.search.corpus.plan import Choice, chosen, chosen_home
from polygym.search.corpus.rows import Case, Row, Visit
from polygym.search.corpus.samples import (
    groups,
    in_all_homes,
    learnable,
    legal_of,
    program_of,
    without_tests,
)
from polygym.search.corpus.store import open_corpus

LITTLE = (3e4, 3e5)
EXPANDED = "S0:temp2=expand:i,j contract"
PRIVATE = "S0:temp2=private:i,j contract"


def test_visits_come_in_threes_of_one_program_at_the_same_sizes() -> None:
    symm = Choice(("symm",), LITTLE)
    found = [chosen_home(symm, 0, number, USUAL_LIMIT) for number in range(6)]
    assert [one.case.storage for one in found] == 2 * ["keep", EXPANDED, PRIVATE]
    assert not any(one.is_empty for one in found)
    for three in (found[:3], found[3:]):
        assert len({one.case.parameters for one in three}) == 1
        assert all(one.program.written == three[0].program.scop for one in three)
    assert found[0].case.parameters != found[3].case.parameters


def test_a_third_home_that_there_is_not_is_an_empty_visit() -> None:
    cut = Choice(("floyd-warshall",), LITTLE)
    whole, pieces, nothing = (chosen_home(cut, 0, number, USUAL_LIMIT) for number in range(3))
    assert (whole.case.splitting, pieces.case.splitting) == ("", "S0: i = k, j = k")
    assert [one.is_empty for one in (whole, pieces, nothing)] == [False, False, True]


def test_what_has_nothing_to_choose_from_is_left_out() -> None:
    with pytest.raises(InputError, match="has homes; the last: gemm: is kept as it was written"):
        chosen_home(Choice(("gemm",), LITTLE), 0, 0, USUAL_LIMIT)
    with pytest.raises(InputError, match="nothing to choose from"):
        chosen_home(Choice(("symm",), LITTLE), 0, 0, 10)  # bytes


def test_a_kind_of_programs_is_another_one_in_each_visit() -> None:
    any_of_them = Choice.of(("scalars:*", "mvt"))
    assert any_of_them.names == Choice.of(("scalars:*, mvt",)).names == ("scalars:*", "mvt")
    found = [chosen(any_of_them, 0, number) for number in range(8)]
    names = [one.case.program for one in found if one.case.program != "mvt"]
    assert len(set(names)) == len(names) > 1
    assert all(name.startswith(SCALARS) for name in names)
    assert not any(is_held_out(one.case.program, one.program) for one in found)


def test_none_of_a_kind_does_what_a_test_kernel_does() -> None:
    """Dice lead to some that do, which are not taken; whoever names one gets it."""
    found = [chosen(Choice(("random:*",)), 1, number) for number in range(12)]
    assert not any(is_held_out(one.case.program, one.program) for one in found)


def test_homes_have_dice_of_their_own() -> None:
    usual = CollectPlan(Choice(("symm",)))
    every = [usual, replace(usual, homes=10), replace(usual, homes=20)]
    assert len({one.dice for one in every}) == 3
    assert usual.dice == 0
    with pytest.raises(InputError, match="homes: expected nothing beside them"):
        replace(usual, homes=10, recipe=Recipe(plan=Found.AUTO))


def test_from_end_to_end(tmp_path: Path) -> None:
    """Three visits, which end in the middle and are gone on with, are one case for models."""
    asked = CollectPlan(Choice(("symm",), LITTLE), 4, 3, threads=2, homes=USUAL_LIMIT)
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        Collection(corpus, asked).run()
        assert corpus.count() == 4
        Collection(corpus, replace(asked, rows=9)).run()
        Collection(corpus, replace(asked, rows=9)).run()
        rows = [len(rows) for _, rows in corpus.visits()]
        assert rows == [3, 3, 3]
        key = next(iter(corpus.machines()))
        assert corpus.finished(key, 2, asked.dice) == {0, 1, 2}
        kept, _ = without_tests(groups(corpus, fewest=1))
    assert [one.visit.case.storage for one in kept] == ["keep", EXPANDED, PRIVATE]
    assert [number for number, _ in in_all_homes(kept)] == [0, 0, 0]
    found = learnable(kept)
    assert set(found.samples.cases) == {0}
    assert len(found.samples) == sum(len(one.rows) for one in kept)
    assert len(np.unique(found.samples.features, axis=0)) > 3


def test_an_empty_visit_is_finished_without_a_row(tmp_path: Path) -> None:
    cut = CollectPlan(Choice(("floyd-warshall",), LITTLE), 5, 2, homes=USUAL_LIMIT)
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        collection = Collection(corpus, cut)
        collection.run()
        assert [len(rows) for _, rows in corpus.visits()] == [2, 2, 0, 1]
        assert collection.visits == 2
        assert {0, 1, 2} <= corpus.finished(fingerprint().key, 1, cut.dice)
        assert corpus.check() == []


def row(place: int, seconds: float, original_seconds: float) -> Row:
    return Row(f"S{place}", "default", "", Status.OK, seconds, original_seconds)


def test_times_of_homes_are_in_proportion_to_the_original_s(tmp_path: Path) -> None:
    """The example of the module; other sizes, texts, machines or threads are other cases."""
    sizes = (("n", 1000),)
    written, moved = Case("pairs.c", sizes), Case("pairs.c", sizes, "", "d=private:i")
    others = [
        (replace(moved, parameters=(("n", 999),)), "", "here", 1),
        (moved, "another text", "here", 1),
        (moved, "", "there", 1),
        (moved, "", "here", 2),
        (replace(moved, function="f"), "", "here", 1),
    ]
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        for key in ("here", "there"):
            corpus.add_machine(Fingerprint(key, "f", 2, (), key), Machine(vector_bits=128))
        keys = list(corpus.machines())
        named = {"here": keys[0], "there": keys[-1]}
        every = [(written, "", "here", 1), (moved, "", "here", 1), *others]
        for number, (case, text, where, threads) in enumerate(every):
            visit = Visit(case, number, 0, threads, named[where], 0.0, text=text)
            place = corpus.begin(visit)
            now, then = (0.010, 0.010) if case is written else (0.008, 0.012)
            for candidate in range(5):
                corpus.add(place, row(candidate, now, then))
        found = in_all_homes(groups(corpus))
    assert [number for number, _ in found] == [0, 0, 2, 3, 4, 5, 6]
    first, second, *rest = [one.rows[0].seconds for _, one in found]
    assert first == 0.010
    assert second == pytest.approx(0.008 / 1.2)
    assert rest == [0.008] * 5


def test_features_are_of_the_arrays_that_code_has(tmp_path: Path) -> None:
    """Where a plan contracts, what the schedule does not need is given up again."""
    visit = Visit(Case("symm", (("m", 40), ("n", 50)), "", EXPANDED), 0, 0, 1, "m", 0.0)
    program = program_of(visit, str(tmp_path))
    legal = legal_of(program, str(original(program.scop)))

    def new_bytes(scop: Scop) -> int:
        new = [one for one in scop.arrays if one.storage is Storage.SCRATCH]
        return sum(bytes_of(one, {"m": 40, "n": 50}) for one in new)

    assert new_bytes(program.scop) == 8 * 40 * 50
    assert new_bytes(legal.scop) == 8 * 50
