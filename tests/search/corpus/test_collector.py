"""Collecting: what is measured follows from the seed; nothing twice; it goes on in the middle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polybench
from polygym.autoschedule.program_recipes import UNCHANGED, DefaultSource, ProgramRecipe
from polygym.errors import InputError
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.mdp.episode import Task
from polygym.mdp.predicted_reward import predicted_speedup
from polygym.mdp.task_options import TaskOptions
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.evaluation.evaluation_results import machine_failure
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.collector import (
    Collection,
    CollectionProgress,
    CollectPlan,
    Sampling,
)
from polygym.search.corpus.decision_sampling import DecisionSampler
from polygym.search.corpus.program_choice import (
    DEFAULT_CHOICE,
    MAX_OPERATIONS,
    MIN_OPERATIONS,
    TEST_KERNELS,
    ProgramChoice,
    choose_program,
    operation_count,
    sample_sizes,
)
from polygym.search.corpus.rows import CorpusRow
from polygym.search.corpus.samples import case_rows, program_of, training_samples
from polygym.search.corpus.sampling import CandidateSampler
from polygym.search.corpus.store import Corpus, open_corpus

SMALL = ProgramChoice(("mvt", "random:17", "tc:matmul"))


def plan(rows: int, **more: object) -> CollectPlan:
    return CollectPlan(choice=SMALL, rows=rows, candidates=6, **more)  # type: ignore[arg-type]


def collected(path: Path, asked: CollectPlan) -> list[CorpusRow]:
    with open_corpus(path, begin=True) as corpus:
        Collection(corpus, asked).run()
        return [stored_row.row for stored_row in corpus.all()]


def without_times(rows: list[CorpusRow]) -> list[tuple[str, str]]:
    return [(corpus_row.schedule, corpus_row.mapping) for corpus_row in rows]


def test_it_goes_on_in_the_middle_of_a_visit(tmp_path: Path) -> None:
    """What is there is not measured again, and the usual candidates come first in each visit."""
    path = tmp_path / "c.sqlite"
    first = collected(path, plan(4))
    assert len(first) == 4
    second = collected(path, plan(10))
    assert len(second) == 10
    assert second[:4] == first
    with open_corpus(path) as corpus:
        assert corpus.finished(next(iter(corpus.machines())), 1, 0) == {0}
        assert corpus.check() == []
        for stored_row in corpus.all():
            program = load_program(
                stored_row.visit.case.program, parameters=dict(stored_row.visit.case.parameters)
            )
            assert is_legal(program.scop, parse_schedule(stored_row.row.schedule, program.scop))
    again = without_times(collected(tmp_path / "d.sqlite", plan(3)))
    assert again == without_times(first)[:3]
    assert first[0].mapping == "sequential"
    assert first[1].mapping == "default"


def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    def stop(progress: CollectionProgress) -> None:
        if progress.rows == 3:
            raise KeyboardInterrupt

    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        collection = Collection(corpus, plan(100), stop)
        collection.run()
        assert collection.interrupted
        assert corpus.count() == 3


def test_what_cannot_be_run_is_left_out(tmp_path: Path) -> None:
    bad = tmp_path / "bad.c"
    bad.write_text(
        "void f(int n, double A[n]) {\n#pragma scop\n while (n) A[0] = 1;\n#pragma endscop\n}"
    )
    choice = ProgramChoice((str(bad),))
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        collection = Collection(corpus, CollectPlan(choice, rows=3))
        with pytest.raises(InputError, match=r"found none that is new in 20 visits; the last: vis"):
            collection.run()
        assert corpus.count() == 0
        assert "visit 0: no program among the first" in collection.skipped[0]


def test_what_the_machine_did_is_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk was full, say: the visit is left, and the same command goes on with it."""
    path, asked = tmp_path / "c.sqlite", CollectPlan(ProgramChoice(("mvt",)), rows=8, candidates=4)
    evaluate, count = Evaluator.evaluate, 0

    def failing(
        self: Evaluator, schedule: Schedule, mapping: Mapping, *, fresh: bool
    ) -> Evaluation:
        nonlocal count
        count += 1
        if count == 3:
            return machine_failure((schedule, mapping), OSError("no space left"))
        return evaluate(self, schedule, mapping, fresh=fresh)

    monkeypatch.setattr(Evaluator, "evaluate", failing)
    with open_corpus(path, begin=True) as corpus:
        collection = Collection(corpus, asked)
        collection.run()
        (left,) = collection.skipped
        assert left.startswith("visit 0: measuring failed: OSError: no space left")
        assert collection.statuses.get(OutcomeStatus.CRASH, 0) == 0
        assert next(len(rows) for _, rows in corpus.visits()) == 2
        assert 0 not in corpus.finished(machine_fingerprint().key, 1, 0)
    with open_corpus(path) as corpus:
        Collection(corpus, replace(asked, rows=10)).run()
        assert next(len(rows) for _, rows in corpus.visits()) == 4
        assert 0 in corpus.finished(machine_fingerprint().key, 1, 0)


def test_what_another_collection_adds_meanwhile_is_not_its_own(tmp_path: Path) -> None:
    """Two processes on one file: each counts what it added, and stops when there is enough."""
    path = tmp_path / "c.sqlite"
    with open_corpus(path, begin=True) as corpus, open_corpus(path) as other:

        def meanwhile(collected: CollectionProgress) -> None:
            row = replace(collected.row, detail="of the other one")
            assert not other.add(other.begin(collected.visit), row)
            assert other.add(
                other.begin(collected.visit), replace(row, mapping=f"tile={collected.rows}")
            )

        collection = Collection(corpus, plan(7), meanwhile)
        collection.run()
        rows = [stored_row.row for stored_row in corpus.all()]
        own = [row for row in rows if row.detail != "of the other one"]
        assert (collection.added, collection.measured, len(own)) == (4, 4, 4)
        assert (collection.rows, len(rows)) == (7, 8)


def test_a_row_that_another_collection_was_quicker_with_is_not_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, add = tmp_path / "c.sqlite", Corpus.add
    with open_corpus(path, begin=True) as corpus, open_corpus(path) as other:

        def beaten(self: Corpus, place: int, row: CorpusRow) -> bool:
            if other.count() < 3:
                assert add(other, place, row)
            return add(self, place, row)

        monkeypatch.setattr(Corpus, "add", beaten)
        collection = Collection(corpus, plan(5))
        collection.run()
        assert (collection.added, collection.rows, corpus.count()) == (2, 5, 5)


def test_a_collection_refuses_a_damaged_corpus(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    asked = CollectPlan(ProgramChoice(("mvt",)), rows=4, candidates=6)
    collected(path, asked)
    with open_corpus(path) as corpus:
        corpus.connection.execute("UPDATE rows SET seconds = 1e-9 WHERE position = 1")
        with pytest.raises(InputError, match="restore a copy of the file"):
            Collection(corpus, replace(asked, rows=6)).run()
        assert corpus.finished(machine_fingerprint().key, 1, 0) == set()


def test_a_file_is_known_by_its_name_and_its_text(tmp_path: Path) -> None:
    """Its folder is nobody's business, and the corpus is enough to read it again."""
    mine = tmp_path / "somewhere" / "mine.c"
    mine.parent.mkdir()
    mine.write_text(
        "void f(int n, double A[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) A[i] = A[i] * 2;\n#pragma endscop\n}"
    )
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        Collection(corpus, CollectPlan(ProgramChoice((str(mine),)), rows=3, candidates=3)).run()
        (visit,) = (case_visit for case_visit, _ in corpus.visits())
        assert (visit.case.program, visit.text) == ("mine.c", mine.read_text())
        (group,) = case_rows(corpus, fewest=1)  # one may be an outlier on a busy machine
    mine.unlink()
    samples = training_samples([group])
    assert len(samples.samples) == len(group.rows) >= 1
    assert samples.names == (str(visit.case),)


def test_a_file_that_was_changed_is_another_program(tmp_path: Path) -> None:
    """What was begun with the text of before is left as it is, and the collection goes on."""
    mine = tmp_path / "mine.c"
    path = tmp_path / "c.sqlite"
    for factor, rows in ((2, 3), (3, 6)):
        mine.write_text(
            "void f(int n, double A[n]) {\n#pragma scop\n"
            f"for (int i = 0; i < n; i++) A[i] = A[i] * {factor};\n#pragma endscop\n}}"
        )
        with open_corpus(path, begin=True) as corpus:
            Collection(
                corpus, CollectPlan(ProgramChoice((str(mine),)), rows=rows, candidates=5)
            ).run()
            texts = {visit.text: len(corpus_rows) for visit, corpus_rows in corpus.visits()}
            assert texts[mine.read_text()] == 3
            assert corpus.count() == rows


def test_a_visit_that_had_no_time_for_a_row_is_not_finished(tmp_path: Path) -> None:
    with open_corpus(tmp_path / "c.sqlite", begin=True) as corpus:
        Collection(corpus, CollectPlan(SMALL, rows=9, candidates=6, time_limit=0.001)).run()
        assert corpus.finished(machine_fingerprint().key, 1, 0) == set()
        assert corpus.count() == 0


def test_another_choice_goes_on_beside_what_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    for name in ("mvt", "tc:matmul"):
        with open_corpus(path, begin=True) as corpus:
            wanted = corpus.count() + 3
            collection = Collection(
                corpus, CollectPlan(ProgramChoice((name,)), rows=wanted, candidates=6)
            )
            collection.run()
            assert corpus.count() == wanted
            assert {visit.case.program for visit, _ in corpus.visits()} >= {name}
    (skipped,) = collection.skipped
    assert skipped == "visit 0: it was begun with another program or text"


def test_test_kernels_are_never_drawn() -> None:
    """They are of the suite, and none of the usual programs of visits."""
    assert {kernel.name for kernel in polybench.KERNELS} > set(TEST_KERNELS)
    assert len(TEST_KERNELS) == 10
    drawn = [DEFAULT_CHOICE.program(np.random.default_rng(seed)) for seed in range(1500)]
    assert not set(drawn) & set(TEST_KERNELS)
    kinds = [name.partition(":")[0] for name in drawn]
    assert 0.5 < kinds.count("random") / len(drawn) < 0.7
    assert 0.1 < kinds.count("tc") / len(drawn) < 0.2
    assert len(set(drawn)) > 900


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "random:3", "tc:softmax"])
def test_sizes_give_the_work_that_is_wanted(name: str) -> None:
    for seed in range(4):
        program = sample_sizes(name, np.random.default_rng(seed))
        operations = operation_count(program, dict(program.parameters))
        assert MIN_OPERATIONS / 30 < operations < 4 * MAX_OPERATIONS


def test_a_visit_is_the_same_every_time() -> None:
    first, second = (choose_program(DEFAULT_CHOICE, 3, 5) for _ in range(2))
    assert first.case == second.case
    assert first.program.scop == second.program.scop


def test_plans_that_make_no_sense_are_refused() -> None:
    for wrong in ({"rows": 0}, {"candidates": 1}, {"threads": 0}, {"seed": -1}, {"time_limit": 0}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))}: expected"):
            CollectPlan(**wrong)  # type: ignore[arg-type]


def test_sizes_within_other_bounds() -> None:
    for seed in range(3):
        program = sample_sizes("gemm", np.random.default_rng(seed), (2e8, 4e8))
        assert 1e8 < operation_count(program, dict(program.parameters)) < 1.6e9
    with pytest.raises(InputError, match=r"work: expected 1 <= least <= most, found 5 and 2"):
        ProgramChoice(operations=(5, 2))


def test_a_visit_that_stays_near() -> None:
    program = sample_sizes("2mm", np.random.default_rng(0))
    start = parse_mapping("threads=2")
    sampler = CandidateSampler.of(program, start, np.random.default_rng(1), 40, near=True)
    everything: list[tuple[Schedule, Mapping]] = []
    while batch := sampler.ask(8):
        for number, candidate in enumerate(batch):
            sampler.tell(candidate, 1.0 + number)
        everything += batch
    assert len(everything) == len(set(everything)) == 40
    by_default = [schedule for schedule, mapping in everything if mapping == start]
    assert {isl_schedule(program.scop), original_schedule(program.scop)} <= set(by_default)
    assert len(set(by_default)) > 5  # isl's others, and edits
    assert all(is_legal(program.scop, schedule) for schedule, _ in everything)
    assert all(mapping.threads == 2 for _, mapping in everything[1:])
    assert len({mapping for _, mapping in everything}) > 5


def test_a_visit_from_nothing() -> None:
    """The original order first; all are legal, reached without isl's schedules, mostly the best."""
    pytest.importorskip("lightgbm")
    program = load_program("2mm", dataset=polybench.Dataset.SMALL)
    isl, first = isl_schedule(program.scop), original_schedule(program.scop)

    def everything(seed: int) -> list[tuple[Schedule, Mapping]]:
        sampler = DecisionSampler.of(program, 2, np.random.default_rng(seed), 24)
        return [candidate for _ in range(3) for candidate in sampler.ask(8)]

    candidates = everything(1)
    assert candidates == everything(1) != everything(2)
    assert candidates[0] == (first, parse_mapping("sequential threads=2"))
    assert len(candidates) == len(set(candidates)) == 24
    assert all(is_legal(program.scop, schedule) for schedule, _ in candidates)
    assert all(schedule != isl and mapping.threads == 2 for schedule, mapping in candidates)
    task = Task(program.scop, TaskOptions(), dict(program.parameters))
    promises = [predicted_speedup(task, *candidate) for candidate in candidates]
    assert max(promises) > 1.5
    assert min(promises) < 0.7 * max(promises)


def test_rows_from_nothing_are_learned_from(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    path = tmp_path / "c.sqlite"
    choice = ProgramChoice(("mvt",))
    asked = CollectPlan(choice, 6, 6, threads=2, sampling=Sampling.FROM_ORIGINAL)
    rows = collected(path, asked)
    assert {row.status for row in rows} == {OutcomeStatus.OK}
    with open_corpus(path) as corpus:
        assert len(training_samples(case_rows(corpus, fewest=1)).samples) == 6


def test_a_program_that_is_changed_is_another_one(tmp_path: Path) -> None:
    """It has visits and rows of its own, from which models learn of that program."""
    symm = ProgramChoice(("symm",), (3e4, 3e5))
    asked = CollectPlan(symm, 2, 2, recipe=ProgramRecipe(storage=DefaultSource.AUTO))
    path = tmp_path / "c.sqlite"
    assert asked.visit_seed != replace(asked, recipe=UNCHANGED).visit_seed == 0
    chosen_program = choose_program(symm, asked.visit_seed, 0, asked.recipe)
    assert chosen_program.case.storage == "S0:temp2=expand:i,j contract"
    with open_corpus(path, begin=True) as corpus:
        Collection(corpus, asked).run()
        (group,) = case_rows(corpus, fewest=1)
        assert (group.visit.case, group.visit.seed) == (chosen_program.case, asked.visit_seed)
        program = program_of(group.visit, str(tmp_path))
        assert str(program.storage) == chosen_program.case.storage
        assert is_legal(program.scop, parse_schedule(group.rows[0].schedule, program.scop))
