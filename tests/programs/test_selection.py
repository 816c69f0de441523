"""Selections of programs: what is named, what is excluded, and that all commands agree."""

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polybench
from polygym.cli import dispatch
from polygym.errors import InputError
from polygym.frontend.tc import library
from polygym.mdp.problems.loading import program_targets
from polygym.programs.selection import function_for, select_programs
from tests.c_programs import Y_AX

ALL = tuple(kernel.name for kernel in polybench.KERNELS)
STENCILS = tuple(polybench_kernel.name for polybench_kernel in polybench.select(["stencils"]))
PATTERNS = ("all", "gemm", "lu", "*mm", "stencils", "linear-algebra/*", "floyd_warshall", "t*")


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("all,!gemm", [name for name in ALL if name != "gemm"]),
        ("!gemm,all", [name for name in ALL if name != "gemm"]),
        ("!gemm", [name for name in ALL if name != "gemm"]),
        (" all , ! GEMM ", [name for name in ALL if name != "gemm"]),
        ("lu,*mm,!?mm", ["lu", "gemm", "symm", "trmm"]),
        ("all,!linear-algebra/*,!medley,!datamining", list(STENCILS)),
        ("stencils,!gemm", list(STENCILS)),
        ("all,!tc:conv2d", list(ALL)),
        ("tc:t?mm,tc:matmul,!tc:tmm", ["tc:tbmm", "tc:matmul"]),
        ("tc:*mm:double,!tc:gemm:double,!tc:b*:double", ["tc:tmm:double", "tc:tbmm:double"]),
    ],
)
def test_what_is_excluded(selection: str, expected: list[str]) -> None:
    assert list(program_targets(selection)) == expected


def test_ranges_of_random_programs() -> None:
    assert select_programs(["random:8-11, !random:9", "scalars:0-0"]) == (
        "random:8", "random:10", "random:11", "scalars:0",
    )  # fmt: skip
    for wrong in ("random:11-8", "random:0-10000"):
        with pytest.raises(InputError, match="expected a range of 1 to 10000 numbers"):
            select_programs([wrong])
    for wrong in ("random:1-", "random:-3", "random:1-2-3", "random:a-b"):
        with pytest.raises(InputError, match="expected random: and a number from 0 on"):
            select_programs([wrong])


def test_categories_of_comprehensions_are_selections_too() -> None:
    every = [f"tc:{name}" for name in library.definitions()]
    pooling = program_targets("pooling")
    assert list(program_targets("comprehensions")) == every
    assert len(pooling) > 1
    expected = [name for name in every if name not in pooling]
    assert list(program_targets("comprehensions,!pooling")) == expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(PATTERNS)), min_size=1, max_size=5),
    st.randoms(),
)
def test_the_order_of_patterns_decides_the_order_alone(
    drawn: list[tuple[bool, str]], rng: Random
) -> None:
    named = {name for excludes, text in drawn if not excludes for name in program_targets(text)}
    excluded = {name for excludes, text in drawn if excludes for name in program_targets(text)}
    expected = (named or set(ALL)) - excluded
    texts = [f"!{text}" if excludes else text for excludes, text in drawn]
    for _ in range(2):
        if expected:
            selected = program_targets(",".join(texts))
            assert set(selected) == expected
            assert len(selected) == len(expected)
            assert set(selected) == {kernel.name for kernel in polybench.select(texts)}
        else:
            with pytest.raises(InputError, match="excludes all that it names"):
                program_targets(",".join(texts))
        rng.shuffle(texts)


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ("all,!gemmm", r"^kernel: no kernel matches 'gemmm': did you mean gemm"),
        ("all,!tc:conv9d", r"^kernel: tc:conv9d: expected one of .*conv1d, "),
        ("all,!nowhere/x.c", r"^kernel: expected the path of a file, found no file 'nowhere/x.c'"),
        ("all,!", r"^kernel: expected a name, a glob, a category or a path behind !, found none"),
        ("all,!!gemm", r"^kernel: expected a name, .* or a path behind !, found '!gemm'$"),
        ("!! gemm", r"^kernel: expected a name, .* or a path behind !, found '! gemm'$"),
        ("gemm,!gemm", r"^kernel: expected at least one .* 'gemm,!gemm', which excludes all"),
        ("!all", r"which excludes all that it names$"),
        (" , ", r"^kernel: expected at least one kernel or file, found ' , '$"),
    ],
)
def test_what_excludes_nothing_or_everything_is_refused(selection: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        program_targets(selection)


def test_files_are_the_same_by_whatever_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.c", "b.c", "c,d.c"):
        (tmp_path / name).write_text(Y_AX)
    (tmp_path / "link.c").symlink_to("a.c")
    here = str(tmp_path)
    assert select_programs([f"{here}/[ab].c"]) == (f"{here}/a.c", f"{here}/b.c")
    assert select_programs([f"{here}/[ab].c", "!./a.c"]) == (f"{here}/b.c",)
    assert select_programs(["./*.c,!link.c"]) == ("./b.c", "./c,d.c")
    assert select_programs(["c,d.c"]) == ("c,d.c",)
    assert select_programs(["*.c", "!c,d.c", "!b.c"]) == ("a.c",)
    with pytest.raises(InputError, match="excludes all"):
        select_programs(["./a.c", f"!{here}/*.c"])


def test_a_line_behind_a_file_names_a_region_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.c").write_text(Y_AX)
    here = str(tmp_path)
    assert select_programs(["a.c:3", f"{here}/a.c:3", "a.c:9"]) == ("a.c:3", "a.c:9")
    assert select_programs(["./*.c:3", "!./a.c:9"]) == ("./a.c:3",)
    assert function_for("a.c:3", "f") == "f"
    with pytest.raises(InputError, match="found no file"):
        select_programs(["b.c:3"])


def test_the_commands_exclude(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert dispatch.run(["kernels", "blas", "!*mm", "!syr*", "--json"]) == 0
    names = [load["name"] for load in json.loads(capsys.readouterr().out)]
    assert names == ["gemver", "gesummv"]

    usual = ["-d", "mini", "--schedules", "original", "--repeat", "1", "--json"]
    assert dispatch.run(["bench", "datamining,mvt", "!covariance", *usual]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [entry["program"] for entry in entries] == ["correlation", "mvt"]

    sizes = ["--search-dataset", "mini", "--dataset", "mini", "--confirm", "0", "--budget", "1"]
    out = ["--out", str(tmp_path), "--json"]
    assert dispatch.run(["sweep", "mvt", "--programs", "atax,bicg,!mvt,!b*", *sizes, *out]) == 0
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    assert [row["kernel"] for row in kernels] == ["atax"]

    for command in (["kernels"], ["bench"], ["sweep", *out]):
        assert dispatch.run([*command, "gemm", "!gemm"]) == 2
        assert "excludes all that it names" in "".join(capsys.readouterr())


def test_the_list_of_kernels_is_of_what_comes_along(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x.c").write_text(Y_AX)
    assert dispatch.run(["kernels", str(tmp_path / "x.c")]) == 2
    assert "expected names of kernels and comprehensions" in capsys.readouterr().err
    assert dispatch.run(["kernels", "!gemm", "!stencils", "!tc:*_gradient*", "--json"]) == 0
    names = [load["name"] for load in json.loads(capsys.readouterr().out)]
    assert names[:3] == ["correlation", "covariance", "2mm"]
    assert "tc:matmul" in names
    assert not {"gemm", *STENCILS, "tc:matmul_gradient"} & set(names)
