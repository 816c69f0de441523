"""The catalogue: complete, in the suite's order, and easy to search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polybench import (
    CATEGORIES,
    KERNELS,
    ArrayPart,
    Dataset,
    LiveOut,
    UnknownKernelError,
    kernel,
    select,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "polybench_reference.json"


def names(patterns: list[str]) -> list[str]:
    return [entry.name for entry in select(patterns)]


def test_the_table_is_the_suite() -> None:
    reference = json.loads(GOLDEN.read_text())
    assert [entry.name for entry in KERNELS] == list(reference["sizes"])
    for entry in KERNELS:
        expected = reference["sizes"][entry.name]
        assert (entry.category, entry.dtype.value) == (expected["category"], expected["dtype"])
        for dataset in Dataset:
            assert list(entry.parameters(dataset).items()) == list(
                expected["sizes"][str(dataset)].items()
            )
        arrays = [summary["array"] for summary in reference["live_out"][entry.name]["mini"]]
        assert [live_out.array for live_out in entry.live_out] == arrays


def test_every_file_is_there_and_no_other() -> None:
    folder = KERNELS[0].path.parent
    assert sorted(folder.iterdir()) == sorted(entry.path for entry in KERNELS)


def test_categories_keep_the_order_of_the_suite() -> None:
    assert CATEGORIES == (
        "datamining",
        "linear-algebra/kernels",
        "linear-algebra/blas",
        "linear-algebra/solvers",
        "medley",
        "stencils",
    )


def test_a_kernel_knows_its_functions_and_triangle() -> None:
    entry = kernel("nussinov")
    assert (entry.function, entry.init_function) == ("kernel_nussinov", "init_nussinov")
    assert entry.live_out == (LiveOut("table", ArrayPart.UPPER),)
    assert kernel("floyd-warshall").function == "kernel_floyd_warshall"
    assert kernel("cholesky").live_out == (LiveOut("A", ArrayPart.LOWER),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mini", Dataset.MINI),
        ("Large", Dataset.LARGE),
        (" EXTRALARGE_DATASET ", Dataset.EXTRALARGE),
        ("extra large", Dataset.EXTRALARGE),
    ],
)
def test_data_sets_are_read_tolerantly(text: str, expected: Dataset) -> None:
    assert Dataset.parse(text) is expected


@pytest.mark.parametrize("text", ["huge", "", "dataset"])
def test_an_unknown_data_set_lists_the_known(text: str) -> None:
    with pytest.raises(ValueError, match="mini, small, medium, large, extralarge"):
        Dataset.parse(text)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["gemm"], ["gemm"]),
        (["trmm", "GEMM", "gemm"], ["gemm", "trmm"]),
        (["?mm"], ["2mm", "3mm"]),
        (["*mm"], ["2mm", "3mm", "gemm", "symm", "trmm"]),
        (["datamining"], ["correlation", "covariance"]),
        (["linear-algebra/kernels"], ["2mm", "3mm", "atax", "bicg", "doitgen", "mvt"]),
        (["kernels", "medley"], [*names(["kernels"]), "deriche", "floyd-warshall", "nussinov"]),
        (["floyd_warshall"], ["floyd-warshall"]),
        (["all"], [entry.name for entry in KERNELS]),
        (["all", "!linear-algebra/*", "!stencils"], names(["datamining", "medley"])),
        (["!?mm", "*mm", "!SYMM"], ["gemm", "trmm"]),
        (["!gemm"], [name for name in names(["all"]) if name != "gemm"]),
        ([], []),
    ],
)
def test_selection(patterns: list[str], expected: list[str]) -> None:
    assert names(patterns) == expected


def test_a_glob_over_categories() -> None:
    expected = names(["kernels"]) + names(["blas"]) + names(["solvers"])
    assert names(["linear-algebra/*"]) == expected


def test_an_unknown_kernel_names_those_close_to_it() -> None:
    with pytest.raises(UnknownKernelError) as caught:
        kernel("gem")
    assert str(caught.value).startswith("unknown kernel 'gem': did you mean gemm")


def test_an_unknown_pattern_close_to_nothing_lists_everything() -> None:
    with pytest.raises(KeyError) as caught:
        select(["atax", "zzzz*"])
    assert "no kernel matches 'zzzz*'" in str(caught.value)
    assert "seidel-2d" in str(caught.value)
    assert "stencils" in str(caught.value)


@pytest.mark.parametrize("patterns", [["gemm", "!*mm"], ["!all"]])
def test_excluding_everything_is_refused(patterns: list[str]) -> None:
    with pytest.raises(UnknownKernelError, match=r"no kernel is left of .* all are excluded"):
        select(patterns)


def test_what_is_excluded_must_exist() -> None:
    with pytest.raises(UnknownKernelError, match="no kernel matches 'gemmm': did you mean gemm"):
        select(["all", "!gemmm"])
