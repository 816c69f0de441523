"""The command line as its users see it: text, JSON, exit codes."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from polygym.cli import dispatch as cli
from polygym.errors import InputError
from polygym.frontend.tc import library
from polygym.mdp.problems.loading import parse_parameters
from tests.cli.invoke import call, call_json

TWO_FUNCTIONS = """
void first(int n, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i++) A[i] = i;
#pragma endscop
}
void second(int n, double A[n]) {
#pragma scop
  for (int i = 0; i < n; i++) A[i] = 2 * i;
#pragma endscop
}
"""

REFERENCE_KEYS = {"array", "values", "sum", "sum_of_squares", "first", "middle", "last"}


def test_kernels_lists_thirty_and_the_comprehensions(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = call_json(capsys, "kernels")
    assert code == 0
    ours = [row for row in rows if row["name"].startswith("tc:")]
    assert rows[30:] == ours
    assert [row["name"] for row in ours] == [f"tc:{name}" for name in library.definitions()]
    softmax = [row for row in ours if row["category"].endswith("normalizations")]
    assert call_json(capsys, "kernels", "normalizations", "tc:softmax") == (0, softmax)
    code, few = call_json(capsys, "kernels", "tc:conv2d_s*d", "gemm", "normalizations")
    assert [row["name"] for row in few] == [
        "gemm", "tc:conv2d_strided",
        "tc:moments", "tc:softmax", "tc:layer_norm", "tc:group_norm",
    ]  # fmt: skip
    assert few[1]["description"] == "(sh, sw, I, K) -> (O)"
    assert (few[1]["statements"], few[1]["depth"], few[1]["dependences"]) == (2, 7, 4)
    code, _, error = call(capsys, "kernels", "tc:conv3d")
    assert code == 2
    assert "tc:conv3d: expected one of conv1d" in error
    gemm = next(row for row in rows if row["name"] == "gemm")
    assert gemm["category"] == "linear-algebra/blas"
    assert (gemm["statements"], gemm["depth"], gemm["dependences"]) == (2, 3, 2)
    code, out, _ = call(capsys, "kernels", "stencils")
    assert code == 0
    assert len(out.splitlines()) == 1 + 6
    assert out.splitlines()[0].split()[:3] == ["NAME", "CATEGORY", "STATEMENTS"]


def test_show_prints_everything(capsys: pytest.CaptureFixture[str], y_ax: str) -> None:
    code, out, _ = call(capsys, "show", y_ax)
    assert code == 0
    for fragment in ("int n", "S: y[i] = 0;", "S -> T", "flow, output", "void yax(int n"):
        assert fragment in out
    code, data = call_json(capsys, "show", y_ax, "--schedule", "{ S[i] -> [i,0]; T[i,j] -> [i,1] }")
    assert code == 1, "T's instances are tied, and they depend on each other"
    code, data = call_json(capsys, "show", y_ax, "--schedule", "isl")
    assert code == 0
    assert next(d["kinds"] for d in data["dependences"]) == ["flow", "output"]
    assert data["statements"][1]["iterators"] == ["i", "j"]
    assert "void yax" in data["c"]
    code, out, _ = call(capsys, "show", y_ax, "--c")
    assert out.startswith("/*")


def test_show_after_a_pass(capsys: pytest.CaptureFixture[str], y_ax: str) -> None:
    code, listed, _ = call(capsys, "show", y_ax, "--after", "list")
    _, data = call_json(capsys, "show", y_ax, "--after", "list")
    names = [entry["name"] for entry in data["passes"]]
    assert (code, [line.split()[0] for line in listed.splitlines()]) == (0, names)
    words = ("show", y_ax, "--mapping", "tile=8 vector_bits=off", "--threads", "2", "--after")
    for name, fragment in (
        ("build", "T: j"),
        ("plan", "T: [(i)/8]   parallel, dynamic"),
        ("generate", "#pragma omp parallel for"),
        ("pack_arrays", "#pragma omp parallel for"),
        ("emit", "define i32 @"),
        ("optimize", "target triple = "),
    ):
        code, out, err = call(capsys, *words, name)
        assert (code, err) == (0, "")
        assert fragment in out
        assert f"yax after {name}: " in out.splitlines()[0]
        code, data = call_json(capsys, *words, name)
        assert (code, data["text"], data["after"]) == (0, out, name)
        assert data["mapping"] == "threads=2 tile=8 vector_bits=off"
    code, out, err = call(capsys, "show", y_ax, "--after", "tiling")
    assert (code, out) == (2, "")
    assert "found 'tiling'; passes in order:" in err
    assert all(name in err for name in names)
    code, _, err = call(capsys, "show", y_ax, "--after", "plan", "--c")
    assert (code, "--c and --after: expected one of them" in err) == (2, True)


REMARKS = {
    "own": (
        "int n",
        "double A[n]; for (int i = 0; i < n; i++) A[i] = i;",
        "nothing was compared",
    ),
    "own_scalar": ("double x", "double s; s = x * 2;", "nothing was compared"),
    "division": ("int n, double A[n]", "A[0] = A[0] / (A[1] - A[1]);", "A: not all values"),
    "finite": ("int n, double A[n][n]", "A[1][1] = 1 / (A[0][0] * A[1][1] - A[0][1]);", ""),
}


@pytest.mark.parametrize("name", REMARKS)
def test_run_says_what_results_are_worth(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    arguments, region, remark = REMARKS[name]
    path = tmp_path / "f.c"
    path.write_text(f"void f({arguments}) {{\n#pragma scop\n{region}\n#pragma endscop\n}}\n")
    sizes = ("-p", "n=8") if "int n" in arguments else ()
    code, printed, _ = call(capsys, "run", str(path), "--repeat", "1", *sizes)
    assert code == 0
    assert remark in printed
    assert bool(remark) == ("nothing was compared" in printed or "not all values" in printed)


def test_run_reports_and_replays(
    capsys: pytest.CaptureFixture[str], y_ax: str, tmp_path: Path
) -> None:
    code, data = call_json(capsys, "run", y_ax, "-p", "n=50", "--schedule", "isl", "--repeat", "3")
    assert code == 0
    assert data["status"] == "ok"
    assert data["parameters"] == {"n": 50}
    assert len(data["samples"]) == len(data["baseline_samples"]) == 3
    assert data["seconds"] == min(data["samples"]) > 0
    (row,) = data["arrays"]
    assert row.keys() == REFERENCE_KEYS
    assert (row["array"], row["values"]) == ("y", 50)
    saved = tmp_path / "result.json"
    saved.write_text(json.dumps(data))
    code, again = call_json(capsys, "run", y_ax, "-p", "n=50", "--schedule", str(saved))
    assert code == 0
    assert again["schedule"] == data["schedule"]
    assert again["arrays"] == data["arrays"]
    code, out, _ = call(capsys, "run", y_ax, "-p", "n=50")
    assert code == 0
    assert "ok" in out
    assert "\x1b[" not in out, "no colours in a pipe"


def test_the_documented_initial_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "copy.c"
    path.write_text(
        "void f(int n, int m, double A[n][m], int B[m], double C[n][m], int D[m]) {\n"
        "#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) C[i][j] = A[i][j];\n"
        "for (int j = 0; j < m; j++) D[j] = B[j];\n"
        "#pragma endscop\n}\n"
    )
    code, shown = call_json(capsys, "show", str(path))
    position = {array["name"]: k for k, array in enumerate(shown["arrays"])}
    code, data = call_json(capsys, "run", str(path), "-p", "n=3", "-p", "m=60")
    assert code == 0
    copied = {row["array"]: row for row in data["arrays"]}
    rule = [(1 + 3 * position["B"] + j) % 97 + 1 for j in range(60)]
    assert copied["D"]["sum"] == sum(rule)
    assert copied["D"]["first"] == rule[:3]
    matrix = [
        ((1 + 3 * position["A"] + i + 3 * j) % 97 + 1) / 97 for i in range(3) for j in range(60)
    ]
    assert copied["C"]["last"] == matrix[-3:]
    assert copied["C"]["sum"] == pytest.approx(sum(matrix), rel=1e-12)


def test_check(capsys: pytest.CaptureFixture[str], y_ax: str) -> None:
    legal = "{ S[i] -> [i, 0]; T[i, j] -> [i + j, 1 + i] }"
    code, out, _ = call(capsys, "check", y_ax, "--schedule", legal)
    assert (code, out.strip()) == (0, "legal")
    code, out, _ = call(
        capsys, "check", y_ax, "--schedule", "{ S[i] -> [1, i]; T[i, j] -> [0, j] }"
    )
    assert code == 1
    assert "S -> T on y" in out
    assert "T[0, 0] before S[0]" in out
    code, data = call_json(
        capsys, "check", y_ax, "--schedule", "{ S[i] -> [0, i]; T[i, j] -> [1, -j] }"
    )
    assert code == 1
    violation = data["violation"]
    assert (violation["source"], violation["sink"], violation["arrays"]) == ("T", "T", ["y"])
    assert violation["source_instance"][1] < violation["sink_instance"][1]


def test_bench_measures_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(
        capsys,
        "bench",
        "mvt",
        "gesummv",
        "--dataset",
        "mini",
        "--schedules",
        "isl",
        "--repeat",
        "2",
    )
    assert code == 0
    assert [(e["program"], e["schedule"]) for e in data["entries"]] == [
        ("mvt", "original"),
        ("mvt", "isl"),
        ("gesummv", "original"),
        ("gesummv", "isl"),
    ]
    assert all(len(entry["samples"]) == 2 for entry in data["entries"])
    assert data["geometric_mean"]["original"] == 1.0
    ratios = [e["speedup"] for e in data["entries"] if e["schedule"] == "isl"]
    assert data["geometric_mean"]["isl"] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    code, out, _ = call(capsys, "bench", "mvt", "--dataset", "mini", "--repeat", "1")
    assert code == 0
    assert "geometric mean" in out


def test_several_functions_need_a_choice(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "two.c"
    path.write_text(TWO_FUNCTIONS)
    code, _, err = call(capsys, "show", str(path))
    assert code == 2
    assert "first" in err
    assert "second" in err
    code, data = call_json(capsys, "run", str(path), "--function", "second", "-p", "n=10")
    assert code == 0
    assert data["arrays"][0]["sum"] == sum(2 * i for i in range(10))


@pytest.mark.parametrize(
    ("arguments", "code", "fragment"),
    [
        (["show", "gem"], 2, "gemm"),
        (["show", "nowhere.c"], 2, "nowhere.c"),
        (["show", "/"], 2, "/"),
        (["run", "gemm", "--dataset", "huge"], 2, "medium"),
        (["run", "gemm", "-p", "n=1"], 2, "ni, nj, nk"),
        (["run", "gemm", "-p", "ni"], 2, "NAME=INTEGER"),
        (["run", "gemm", "-p", "ni=0"], 2, "not defined for ni = 0"),
        (["run", "gemm", "-p", "ni=3000000000"], 2, "type int"),
        (["run", "gemm", "-p", f"ni={10**30}"], 2, "type int"),
        (["run", "gemm", "--schedule", "nope"], 2, "no such file"),
        (["run", "gemm", "--schedule", "{ S0[i,j] -> [i] }"], 2, "none for S1"),
        (["check", "gemm"], 2, "--schedule"),
        (["check", "gemm", "--schedule", "{"], 2, "expected isl text"),
        (["bench", "nothing"], 2, "nothing"),
        (["bench", "mvt", "--schedules", ","], 2, "at least one"),
        (["frobnicate"], 2, "frobnicate"),
        (["run", "gemm", "--dataset", "mini", "--schedule",
          "{ S0[i,j] -> [1,i,j]; S1[i,k,j] -> [0,i,j,k] }"], 1, "breaks the"),
    ],
)  # fmt: skip
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, fragment: str
) -> None:
    status, out, err = call(capsys, *arguments)
    assert status == code
    assert out == ""
    assert fragment in err
    assert "Traceback" not in err
    status, data = call_json(capsys, *arguments)
    assert status == code
    assert fragment in data["error"]


def test_too_much_memory_is_an_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "run", "gemm", "--dataset", "large", "--memory-limit", "16MiB")
    assert code == 1
    assert data["status"] == "out of memory"


@pytest.mark.parametrize(
    "command", ["", "kernels", "show", "run", "bench", "check", "space", "optimize", "replay"]
)
def test_help_teaches(command: str) -> None:
    result = CliRunner().invoke(cli.polygym, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert "polygym" in result.output
    assert len(result.output.splitlines()) > 10


@pytest.mark.parametrize(
    "sizes",
    [
        ("-p", "ni=4", "-p", "nj=5", "-p", "nk=6"),
        ("--parameters", "ni=4,nj=5,nk=6"),
        ("-p", "ni=4, nj=0x5", "--parameters", "nk=6"),
        ("-p", "ni=4", "--parameters", "nj=5", "-p", "nk=6"),
    ],
)
def test_sizes_are_given_as_environments_take_them(
    capsys: pytest.CaptureFixture[str], sizes: tuple[str, ...]
) -> None:
    code, data = call_json(capsys, "run", "gemm", "--repeat", "1", *sizes)
    assert code == 0
    text = "ni=4,nj=5,nk=6"
    assert tuple(data["parameters"].items()) == parse_parameters(text)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("ni=4,", "found ''"),
        ("ni=4,nj", "found 'nj'"),
        ("=4", "found '=4'"),
        ("ni=4,nj=5,ni=4", "found 'ni' twice"),
        ("ni=4.5", "found 'ni=4.5'"),
    ],
)
def test_environments_and_commands_refuse_the_same_sizes(
    capsys: pytest.CaptureFixture[str], sizes: str, message: str
) -> None:
    code, _, err = call(capsys, "run", "gemm", "--parameters", sizes)
    assert code == 2
    assert message in err
    with pytest.raises(InputError, match=f"^parameters: .*{re.escape(message)}"):
        parse_parameters(sizes)
