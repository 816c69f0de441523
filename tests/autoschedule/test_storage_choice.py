"""Where a program begins by a model: what there is to choose from, and what is remembered."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polybench import Dataset
from polygym.autoschedule import schedule_choice, storage_cache, storage_choice
from polygym.autoschedule.program_recipes import DefaultSource, ProgramRecipe
from polygym.autoschedule.storage_cache import StorageVariant, variant_cache_key, variant_from_json
from polygym.autoschedule.storage_choice import (
    LEAST_VARIANT_GAIN,
    best_variant,
    is_better_variant,
    judge_variants,
    starting_program,
    variant_candidates,
)
from polygym.cli import dispatch
from polygym.errors import LimitError
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, parse_splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from polygym.programs import Program, load_program
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.worker.outcome import OutcomeStatus
from tests.poly.transform.storage.random_plans import STORED_PROGRAMS
from tests.test_layering import import_graph

EXPANDED = "S0:temp2=expand:i,j contract"
CUT = "S0: i = k, j = k"
LIMIT = 1 << 24
TWO = replace(DEFAULT_MAPPING, threads=2)


@pytest.fixture(scope="module")
def symm() -> Program:
    return load_program("symm", dataset=Dataset.MINI)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path))
    return tmp_path / "storage-variants"


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("gemm", []),
        ("nussinov", []),
        ("heat-3d", []),
        ("symm", [("", EXPANDED), ("", "S0:temp2=private:i,j contract")]),
        (
            "durbin",
            [("", "S4:sum=expand:k contract"), ("", "S4:sum=private:k contract")],
        ),
        ("floyd-warshall", [(CUT, "keep"), (CUT, "path=copy")]),
    ],
)
def test_what_there_is_to_choose_from(name: str, others: list[tuple[str, str]]) -> None:
    program = load_program(name, dataset=Dataset.MINI)
    first, *programs = variant_candidates(program, TWO, LIMIT)
    assert first == program
    assert [(str(program.splitting), str(program.storage)) for program in programs] == others


def test_a_program_in_pieces_stays_so() -> None:
    cuts = parse_splitting("S0: i = k")
    program = apply_splitting_to(load_program("floyd-warshall", dataset=Dataset.MINI), cuts)
    assert [candidate.splitting for candidate in variant_candidates(program, TWO, LIMIT)] == [cuts]
    assert best_variant(program, TWO, LIMIT) == program


@pytest.mark.parametrize(
    ("name", "splitting", "storage"),
    [
        ("symm", "", EXPANDED),
        ("doitgen", "", "S0:sum=expand:r,q contract"),
        ("floyd-warshall", CUT, "path=copy"),
        ("durbin", "", "keep"),
    ],
)
def test_what_the_models_take(
    name: str, splitting: str, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At LARGE, where it pays; the schedule is one of the program that is taken.

    The machine is fixed: durbin's predicted gain is just below the threshold with vectors of 512
    bits, and just above it with 256.
    """
    machine = Machine(vector_bits=512, registers=32)
    for module in (storage_choice, schedule_choice):
        monkeypatch.setattr(module, "this_machine", lambda: machine)
    start = starting_program(load_program(name), TWO, 1 << 29)
    program = start.program
    assert (str(program.splitting), str(program.storage)) == (splitting, storage)
    first, other, *_ = start.ranking
    assert (first.splitting, first.storage, first.predicted_gain) == (
        NO_SPLITTING,
        SOURCE_STORAGE,
        0.0,
    )
    assert storage_choice.is_better_variant(other, first) == (program != load_program(name))
    assert start.choice is not None
    assert {schedule.statement for schedule in start.choice.schedule.statements} == {
        statement.name for statement in program.scop.statements
    }


EDGES = """
void edges(const float *img, float *out, int h, int w) {
#pragma scop
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      float a = img[(i - 1) * w + j] - img[(i + 1) * w + j];
      float b = img[i * w + j - 1] - img[i * w + j + 1];
      out[i * w + j] = a * a + b * b;
    }
#pragma endscop
}
"""


def test_what_an_iteration_alone_needs_is_private(tmp_path: Path) -> None:
    """Two images of 36 MB would have to be filled and read, for two scalars."""
    file = tmp_path / "edges.c"
    file.write_text(EDGES)
    program = load_program(str(file), parameters={"h": 3000, "w": 3000})
    start = judge_variants(program, TWO, 1 << 29)
    assert str(start.program.storage) == "S0:a=private:i,j S1:b=private:i,j contract"
    written, expanded, private = start.ranking
    assert storage_choice.is_better_variant(private, written)
    assert expanded.predicted_gain is not None
    assert private.predicted_gain is not None
    assert private.predicted_gain > expanded.predicted_gain + 1


def test_memory_that_comes_fresh_is_no_gain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "edges.c"
    file.write_text(EDGES)
    program = load_program(str(file), parameters={"h": 3000, "w": 3000})
    gains = []
    for cycles in (0.0, storage_choice.FRESH_MEMORY_COST):
        monkeypatch.setattr(storage_choice, "FRESH_MEMORY_COST", cycles)
        ranking = judge_variants(program, TWO, 1 << 29).ranking
        gains.append([variant.predicted_gain for variant in ranking])
    (_, free, private), (_, expanded, again) = gains
    assert private == again
    assert expanded < free - 0.5
    small = replace(program, parameters=(("h", 900), ("w", 900)))
    kept = judge_variants(small, TWO, 1 << 29).ranking[1].predicted_gain
    monkeypatch.setattr(storage_choice, "FRESH_MEMORY_COST", 100.0)
    assert judge_variants(small, TWO, 1 << 29).ranking[1].predicted_gain == kept


@pytest.mark.parametrize(
    ("predicted_gain", "score", "taken"),
    [
        (LEAST_VARIANT_GAIN + 0.1, 0.51, EXPANDED),
        (LEAST_VARIANT_GAIN + 0.1, 0.5, "keep"),
        (LEAST_VARIANT_GAIN, 0.9, "keep"),
        (None, 0.9, "keep"),
        (2.0, None, "keep"),
    ],
)
def test_enough_predicted_gain_is_taken(
    symm: Program, kept: Path, predicted_gain: float | None, score: float | None, taken: str
) -> None:
    """A ranking that is kept is judged as any other."""
    ranking = [
        StorageVariant(NO_SPLITTING, SOURCE_STORAGE, 0.0, 0.5),
        StorageVariant(NO_SPLITTING, parse_storage(EXPANDED), predicted_gain, score),
    ]
    storage_cache.write_ranking(
        variant_cache_key(symm, DEFAULT_MAPPING, LIMIT, LEAST_VARIANT_GAIN), ranking
    )
    assert str(best_variant(symm, DEFAULT_MAPPING, LIMIT).storage) == taken
    assert (
        str(ProgramRecipe(storage=DefaultSource.MODEL, storage_limit=LIMIT).apply(symm).storage)
        == taken
    )


@pytest.mark.parametrize(
    ("gains", "taken"),
    [((1.0, 0.95), 2), ((1.0, 0.85), 1), ((0.2, 0.25), 0), ((0.35, 0.29), 1), ((None, 0.4), 2)],
)
def test_what_wants_no_memory_may_promise_a_little_less(
    gains: tuple[float | None, float], taken: int
) -> None:
    plans = (EXPANDED, EXPANDED.replace("expand", "private"))
    others = [
        StorageVariant(NO_SPLITTING, parse_storage(plan), predicted_gain, 0.6)
        for plan, predicted_gain in zip(plans, gains, strict=True)
    ]
    assert (
        storage_choice._best_variant_index(
            (StorageVariant(NO_SPLITTING, SOURCE_STORAGE, 0.0, 0.5), *others)
        )
        == taken
    )


def test_it_is_forgotten_with_the_cache(
    symm: Program, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (kept.parent / "others.json").write_text("{}")
    asked = variant_cache_key(symm, DEFAULT_MAPPING, LIMIT, LEAST_VARIANT_GAIN)
    for sizes in (asked, "0" * 32):
        storage_cache.write_ranking(sizes, [StorageVariant(NO_SPLITTING, SOURCE_STORAGE)])
    assert storage_cache.read_ranking(asked) is not None
    assert dispatch.run(["cache", "clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["storage_rankings"] == 2
    assert storage_cache.read_ranking(asked) is None
    assert (list(kept.iterdir()), storage_cache.clear_rankings()) == ([], 0)
    assert (kept.parent / "others.json").exists()


def test_out_of_reach_it_stays_as_it_is(symm: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: object) -> None:
        raise LimitError("too long")

    monkeypatch.setattr(storage_choice, "storage_variants_within", gives_up)
    assert best_variant(symm, DEFAULT_MAPPING, LIMIT) == symm
    program = starting_program(symm, DEFAULT_MAPPING, LIMIT)
    assert (program.program, len(program.ranking)) == (symm, 1)
    assert program.choice is not None


def test_the_limit_holds(symm: Program) -> None:
    assert not best_variant(symm, TWO, 4800).storage.is_source
    for limit in (0, 100):
        assert best_variant(symm, TWO, limit).storage.is_source


def test_an_answer_is_remembered(
    symm: Program, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Program] = []

    def counted(program: Program, *more: Any) -> storage_choice.StartingProgram:
        asked.append(program)
        return judge_variants(program, *more)

    monkeypatch.setattr(storage_choice, "storage_variants_within", lambda work, _: work())
    monkeypatch.setattr(storage_choice, "judge_variants", counted)
    first = starting_program(symm, TWO, LIMIT)
    assert starting_program(symm, TWO, LIMIT) == first
    assert len(asked) == len(list(kept.iterdir())) == 1
    assert str(first.program.storage) == EXPANDED
    for program, mapping, limit in (
        (symm, DEFAULT_MAPPING, LIMIT),
        (symm, TWO, LIMIT + 1),
        (load_program("symm", dataset=Dataset.SMALL), TWO, LIMIT),
        (load_program("syrk", dataset=Dataset.MINI), TWO, LIMIT),
    ):
        before = len(asked)
        starting_program(program, mapping, limit)
        assert len(asked) == before + 1


def test_a_text_that_has_moved_is_the_same_program(tmp_path: Path) -> None:
    symm = Path(load_program("symm").scop.file)
    text = symm.read_text()
    names = ("a.c", "b.c", "c.c")
    changes = (text, "\n\n" + text, text.replace("temp2 = 0", "temp2 = 1"))
    assert changes[0] != changes[2]
    keys = []
    for name, changed in zip(names, changes, strict=True):
        path = tmp_path / name
        path.write_text(changed)
        program = load_program(str(path), function="kernel_symm", parameters={"m": 9, "n": 9})
        keys.append(variant_cache_key(program, DEFAULT_MAPPING, LIMIT, LEAST_VARIANT_GAIN))
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    "damage", ["", "[]", "{}", '{"ranking": []}', '{"ranking": [{"splitting": "S9: i = k"}]}']
)
def test_a_file_that_is_damaged_is_written_anew(symm: Program, kept: Path, damage: str) -> None:
    program = best_variant(symm, TWO, LIMIT)
    (path,) = kept.iterdir()
    before = path.read_text()
    path.write_text(damage)
    assert best_variant(symm, TWO, LIMIT) == program
    assert path.read_text() == before


def test_a_plan_that_does_not_fit_is_not_believed(symm: Program, kept: Path) -> None:
    """What is kept is proved again, so it can do no harm."""
    program = best_variant(symm, TWO, LIMIT)
    (path,) = kept.iterdir()
    path.write_text(path.read_text().replace("temp2", "nobody"))
    assert best_variant(symm, TWO, LIMIT) == program


def test_all_that_decides_counts() -> None:
    """What a model would answer otherwise in another polygym is not recalled there."""
    imports, reached, left = import_graph(), set[str](), ["autoschedule.storage_choice"]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += imports[name]
    parts = tuple(part.replace("/", ".") for part in storage_cache.FINGERPRINTED_FOLDERS)
    decided = ("autoschedule.", "codegen.", "cost.", "frontend.", "ir.", "mapping.", "poly.")
    modules = {module for module in reached if module.startswith(decided)}
    others = {
        module
        for module in modules
        if not any(f"{module}.".startswith(f"{part}.") for part in parts)
    }
    assert others
    assert {module for module in others if not module.startswith("frontend.")} == set()


def test_a_home_is_read_as_it_was_written() -> None:
    variant = StorageVariant(parse_splitting(CUT), parse_storage(EXPANDED), 0.1 + 0.2, None)
    assert variant_from_json(json.loads(json.dumps(variant.to_json()))) == variant


def test_scalars_that_are_expanded(tmp_path: Path) -> None:
    """Live before or after, in recurrences of two nests, with an element that is copied out."""
    expanded = []
    for name, text in STORED_PROGRAMS.items():
        path = tmp_path / f"{name}.c"
        path.write_text(text)
        program = load_program(str(path), dataset=Dataset.MINI)
        if any(
            not candidate.storage.is_source for candidate in variant_candidates(program, TWO, LIMIT)
        ):
            expanded.append(name)
    some = ["live_before", "live_after", "conditional", "two_recurrences", "symmetric"]
    assert expanded == some


@pytest.mark.parametrize("name", ["random:4", "random:155"])
def test_random_programs_that_are_cut_leave_the_same_bits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load_program(name, dataset=Dataset.MINI)
    monkeypatch.setattr(storage_choice, "is_better_variant", lambda *_: True)
    start = judge_variants(program, TWO, LIMIT)
    assert start.choice is not None
    assert str(start.program.splitting) == "S0: j = i, k = i"
    with Evaluator(start.program, EvaluationOptions(threads=2, mapping=TWO)) as evaluator:
        assert evaluator.evaluate(start.choice.schedule, TWO).status is OutcomeStatus.OK


@pytest.mark.parametrize("name", STORED_PROGRAMS)
def test_whatever_is_taken_leaves_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scalars in every position: each candidate runs under the schedule that it would get."""
    path = tmp_path / f"{name}.c"
    path.write_text(STORED_PROGRAMS[name])
    program = load_program(str(path), dataset=Dataset.MINI)
    monkeypatch.setattr(
        storage_choice, "is_better_variant", lambda *_: True
    )  # the last of them is taken
    start = judge_variants(program, TWO, LIMIT)
    assert start.choice is not None
    taken = start.program
    options = EvaluationOptions(threads=2, mapping=TWO)
    with Evaluator(taken, options) as evaluator:
        outcome = evaluator.evaluate(start.choice.schedule, TWO)
    assert outcome.status is OutcomeStatus.OK, f"{taken.storage} {taken.splitting}: {outcome}"
    if len(start.ranking) > 1:
        assert taken != program
        assert taken == with_storage_plan(
            apply_splitting_to(program, taken.splitting), taken.storage, LIMIT
        )


def test_wider_bands_are_enough_for_copies() -> None:
    """The static score sees parallel loops, and no tiles."""
    first = StorageVariant(NO_SPLITTING, SOURCE_STORAGE, 0.0, 0.5, 2.0)
    copies = StorageVariant(parse_splitting(CUT), parse_storage("path=copy"), 1.0, 0.4, 3.0)
    assert is_better_variant(copies, first)
    assert is_better_variant(replace(copies, score=0.6, band_width=2.0), first)
    assert not is_better_variant(replace(copies, band_width=2.0), first)
    assert not is_better_variant(replace(copies, band_width=None), first)
    assert not is_better_variant(replace(copies, predicted_gain=0.2), first)
    assert not is_better_variant(replace(copies, storage=parse_storage(EXPANDED)), first)
