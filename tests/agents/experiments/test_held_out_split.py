"""The held-out split: complete, valid C, and named by nothing that learns or is tuned."""

from __future__ import annotations

import json
import lzma
import re
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from polygym.agents.experiments.experiment import EvaluationPlan, Experiment
from polygym.agents.experiments.splits import split_part
from polygym.agents.experiments.train_test_leakage import expect_no_held_out_programs
from polygym.agents.trainers.training import train_experiment
from polygym.errors import InputError
from polygym.programs import load_program
from polygym.programs.generate import HELD_OUT_KINDS, prefix_of
from polygym.programs.selection import is_reserved_for_tests
from polygym.search.corpus.packing import SHIPPED_CORPORA
from polygym.search.corpus.program_choice import ProgramChoice

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "benchmarks" / "held_out_programs"
ROWS = json.loads((FOLDER / "programs.json").read_text(encoding="utf-8"))["programs"]
DATASETS = ["MINI", "SMALL", "MEDIUM", "LARGE"]
SPLIT = split_part("held-out/test")

# The split itself, the generator of the families with its tests, and this file.
MAY_NAME_THEM = (
    "benchmarks/held_out_programs/",
    "polygym/agents/experiments/splits.yaml",
    "polygym/programs/generate/",
    "polygym/programs/selection.py",
    "tests/programs/generate/test_held_out.py",
    "tests/agents/experiments/test_held_out_split.py",
    "tests/durations.tsv",  # names the tests of the split
)
SEARCHES = sorted((ROOT / "benchmarks").glob("searches*.xz"))
BINARY = (".png", ".npz", ".zip", ".model", ".xz", ".so", ".o")
WORDS = (*ROWS, *HELD_OUT_KINDS)
NAMES = re.compile(
    rf"(?<![\w-])(?:{'|'.join(ROWS)})(?![\w-])|(?:{'|'.join(map(re.escape, HELD_OUT_KINDS))})"
)
# Rows of a table, and the words of a speedup or a time.
TIMES = re.compile(r"\d\s*(?:ms|µs|us|seconds?|s)\b|\bspeedup\W+\d|\d(?:\.\d+)?\s*(?:x|times as)\b")


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [ROOT / name for name in listed.split("\0") if name]


def arguments(name: str, dataset: str) -> tuple[list[str], list[str]]:
    """Return options of the compiler, and arguments of the program, for a data set."""
    sizes = ROWS[name]["sizes"][dataset]
    if ROWS[name]["sizes_are"] == "macros":
        return [f"-D{key}={value}" for key, value in sizes.items()], []
    return [], [str(value) for value in sizes.values()]


# What is in it


def test_it_has_twenty_files_and_twelve_families() -> None:
    files = {Path(name).stem for name in SPLIT if name.endswith(".c")}
    random_programs = [name for name in SPLIT if not name.endswith(".c")]
    assert files == set(ROWS) == {path.stem for path in FOLDER.glob("*.c")}
    assert len(files) == 20
    assert sorted(map(prefix_of, random_programs)) == sorted([*HELD_OUT_KINDS, *HELD_OUT_KINDS])
    assert len(set(SPLIT)) == len(SPLIT) == 44
    assert all(map(is_reserved_for_tests, SPLIT))
    assert not set(SPLIT) & set(split_part("held-out/train"))
    assert split_part("held-out/train") == split_part("train")


@pytest.mark.parametrize("name", ROWS)
def test_the_table_has_sizes_of_every_data_set_and_reasons(name: str) -> None:
    row = ROWS[name]
    assert list(row["sizes"]) == DATASETS
    rows = list(row["sizes"].values())
    for smaller, larger in pairwise(rows):
        assert list(smaller) == list(larger)
        assert all(smaller[key] <= larger[key] for key in smaller)
        assert smaller != larger
    assert bool(row["refusal"]) is not row["accepted"]
    source = (FOLDER / f"{name}.c").read_text(encoding="utf-8")
    assert re.search(rf"\b{row['function']}\(", source)
    assert 30 <= source.count("\n") <= 150


def test_at_least_twelve_are_accepted() -> None:
    assert sum(row["accepted"] for row in ROWS.values()) >= 12


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["accepted"]])
def test_what_is_said_to_be_accepted_is(name: str) -> None:
    row = ROWS[name]
    sizes = {} if row["sizes_are"] == "macros" else row["sizes"]["MINI"]
    macros = [f"{key}={value}" for key, value in row["sizes"]["MINI"].items() if not sizes]
    path = str(FOLDER / f"{name}.c")
    program = load_program(path, function=row["function"], parameters=sizes, macros=macros)
    assert dict(program.parameters).items() >= sizes.items()
    assert program.scop.statements


@pytest.mark.parametrize("name", [name for name in SPLIT if not name.endswith(".c")])
def test_the_random_programs_are_read(name: str) -> None:
    assert load_program(name).scop.statements


@pytest.mark.parametrize("name", ROWS)
def test_a_compiler_takes_it_and_its_result_is_sound(name: str, tmp_path: Path) -> None:
    """No warning, no undefined behaviour at the smallest sizes, and twice the same output."""
    given, words = arguments(name, "MINI")
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-label")
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    binary = tmp_path / name
    source = FOLDER / f"{name}.c"
    command = ["gcc", "-std=c11", "-O1", *warnings, *checks, *given, source, "-o", binary, "-lm"]
    subprocess.run(command, check=True)
    outputs = {
        subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    (output,) = outputs
    assert re.search(r"\d", output)
    assert "nan" not in output
    assert "inf" not in output


# Who names it


def test_the_search_for_names_finds_them() -> None:
    for name in SPLIT:
        assert NAMES.search(f"see {name}.")
        assert NAMES.search(Path(name).name)
    assert not NAMES.search("small_qrs, my_small_qr, held-out:, split:held-out/test")


def test_nothing_else_in_the_repository_names_one() -> None:
    """No code, configuration, document, notebook, result or test."""
    faults = []
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(MAY_NAME_THEM) or path.suffix in BINARY or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if any(word in text for word in WORDS) and (hit := NAMES.search(text)):
            faults.append(f"{name}: {hit[0]}")
    assert faults == []


@pytest.mark.parametrize("which", SHIPPED_CORPORA)
def test_no_corpus_that_ships_has_one(which: str) -> None:
    """Neither by its name nor by its text."""
    with closing(sqlite3.connect(":memory:")) as corpus:
        corpus.deserialize(lzma.decompress(SHIPPED_CORPORA[which].path.read_bytes()))
        programs = corpus.execute("SELECT name, text FROM programs").fetchall()
    assert len(programs) > 90
    assert not [name for name, text in programs if NAMES.search(f"{name} {text}")]


@pytest.mark.parametrize("path", SEARCHES, ids=lambda path: path.name)
def test_no_stored_search_is_of_one(path: Path) -> None:
    text = lzma.decompress(path.read_bytes()).decode("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert rows
    assert not [row["program"] for row in rows if NAMES.search(row["program"])]


def test_its_folder_has_no_times() -> None:
    assert {path.suffix for path in FOLDER.iterdir()} == {".c", ".h", ".md", ".json"}
    for path in (FOLDER / "README.md", FOLDER / "programs.json"):
        assert not TIMES.search(path.read_text(encoding="utf-8")), path.name
    allowed = {"function", "domain", "habits", "sizes", "sizes_are", "accepted", "refusal"}
    assert all(set(row) == allowed for row in ROWS.values())


@pytest.mark.parametrize("text", ["3.2 ms", "12s", "speedup: 1.4", "2.1x", "3 times as fast"])
def test_the_search_for_times_finds_them(text: str) -> None:
    assert TIMES.search(text)


# Nothing learns from it


@pytest.mark.parametrize("name", [SPLIT[0], SPLIT[-1], "split:held-out/test"])
def test_a_training_refuses_it(name: str, tmp_path: Path) -> None:
    usual = Experiment("polygym/Schedule-v0", "mvt", 16, arguments={"reward": "static"})
    for experiment in (
        replace(usual, kernels=f"mvt, {name}"),
        replace(usual, evaluation=EvaluationPlan(name)),
        replace(usual, kernels=name, algorithm="cloning"),
    ):
        with pytest.raises(InputError, match="one of the held-out split"):
            train_experiment(experiment, tmp_path / "model", print)
        assert not (tmp_path / "model").exists()
    expect_no_held_out_programs(replace(usual, kernels="split:train"))


@pytest.mark.parametrize("name", [SPLIT[0], SPLIT[-1]])
def test_a_collection_refuses_it(name: str) -> None:
    with pytest.raises(InputError, match="one of the held-out split"):
        ProgramChoice.of([f"mvt, {name}"])


def test_a_package_without_the_files_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polygym.agents.experiments.splits._ROOT", tmp_path)
    with pytest.raises(InputError, match="split:held-out/test: expected a clone of polygym"):
        split_part("held-out/test")


def test_paths_lead_to_the_files_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [name for name in split_part("held-out/test") if name.endswith(".c")]
    assert len(names) == 20
    assert all(Path(name).is_file() for name in names)
